use crate::names::named;

/// Methods of solving triangular systems. Each has a [name](Self::name).
///
/// A row is one *level* above the highest of the rows that it needs. All methods give the same bits. They differ on GPUs, real and
/// simulated; the CPU solves the rows of wide levels in parallel, and others one after the other.
///
/// ```
/// use evenpath::triangular::{TriangularMethod, TriangularOptions};
/// use evenpath::{Csr, Device};
///
/// let device = Device::best()?;
/// let a = device.upload(&Csr::from_triplets(2, 2, [(0, 0, 2.0), (1, 0, 1.0), (1, 1, 4.0)])?)?;
/// for method in TriangularMethod::ALL {
///     let (b, mut x) = (device.upload(&[2.0, 9.0])?, device.zeros(2)?);
///     let options = TriangularOptions::default().with_method(method);
///     a.plan_triangular_solve(options)?.solve(1.0, &b, &mut x)?;
///     assert_eq!(x.download()?, [1.0, 2.0], "{method}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum TriangularMethod {
    /// `auto`: the method that the plan takes to be fastest.
    #[default]
    Auto,
    /// `tickets`: one launch, in which rows wait for the rows that they need. Blocks draw rows in the order of levels (after Liu, Li, Hogg, Duff,
    /// Vinter, *A Synchronization-Free Algorithm for Parallel Sparse Triangular Solves*, Euro-Par 2016).
    Tickets,
    /// `levels`: a launch for each wide level, and one block for consecutive levels that are not (Naumov, *Parallel Solution of Sparse
    /// Triangular Linear Systems in the Preconditioned Iterative Methods on the GPU*, NVR-2011-001, 2011).
    Levels,
}

named! {
    TriangularMethod, "method of triangular solves":
    Auto = "auto",
    Tickets = "tickets",
    Levels = "levels",
}
