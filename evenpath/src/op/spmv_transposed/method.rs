use crate::names::named;

/// Methods of SpMV with the transpose. Each has a [name](Self::name).
///
/// They differ on GPUs, real and simulated, and times below are of GPUs. On the CPU all are the same, repeatable, and keep no copy.
///
/// ```
/// use evenpath::spmv::{SpmvTransposedMethod, SpmvTransposedOptions};
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 1, 3.0)])?;
/// let device = Device::best()?;
/// let a = device.upload(&a)?;
/// for method in SpmvTransposedMethod::ALL {
///     let (x, mut y) = (device.upload(&[1.0, 1.0])?, device.zeros(2)?);
///     a.plan_spmv_transposed(SpmvTransposedOptions::default().with_method(method))?.run(1.0, &x, 0.0, &mut y)?;
///     assert_eq!(y.download()?, [0.0, 5.0], "{method}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SpmvTransposedMethod {
    /// `ordered`: products are sorted by column and summed, in every run. Results are bitwise the same in
    /// every run. The transpose is not formed, but a run takes several times the time of SpMV, and memory.
    #[default]
    Ordered,
    /// `unordered`: products are added to y by atomic operations. The fastest method for a single product;
    /// the rounding of sums differs from run to run.
    Unordered,
    /// `copied`: the plan holds the transpose and multiplies with it. Bitwise the same in every run, as fast
    /// as SpMV, and best for many runs.
    Copied,
}

named! {
    SpmvTransposedMethod, "method of SpMV with the transpose":
    Ordered = "ordered",
    Unordered = "unordered",
    Copied = "copied",
}
