//! Symmetric Gauss–Seidel in the order of colors.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use evenpath::row_order::DeviceRowOrder;
use evenpath::sort::{self, SortOptions};
use evenpath::spmv::{SpmvOptions, SpmvPlan};
use evenpath::{DeviceCsr, DeviceSlice, DeviceVec, Offset, Value, graph, key::Pairs, vector};

use crate::Preconditioner;
use crate::error::{Result, check_len, check_relaxation};
use crate::preconditioner::inverse_diagonal;

/// Symmetric Gauss–Seidel by colors, or with a relaxation factor ω symmetric successive over-relaxation (SSOR): the
/// [`SymmetricGaussSeidel`](crate::SymmetricGaussSeidel) of the matrix whose rows and columns are ordered by the colors of its graph.
///
/// No two rows of a color are neighbors, so that all are relaxed at once: for k colors an application is 2k − 2 products with parts of
/// the matrix, k − 1 forward and k − 1 backward, and no triangular solve. It takes fewer launches than a triangular solve has levels,
/// and somewhat more steps of a method than the natural order of a grid. The colors are those of [`graph::color`], and rows of a color
/// keep their order, so that the order is the same in every run and on all devices.
///
/// M is symmetric positive definite if A is. The pattern of A need not be symmetric.
///
/// ```
/// use evenpath::{Csr, Device};
/// use evenpath_solvers::{Cg, CsrOperator, MulticolorGaussSeidel, SolverOptions};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let n = 100;
///     let entries = (0..n).flat_map(|i| [(i, i, 2.1), (i, (i + 1) % n, -1.0), ((i + 1) % n, i, -1.0)]);
///     let device = Device::best()?;
///     let a = device.upload(&Csr::from_triplets(n, n, entries)?)?;
///     let sweeps = MulticolorGaussSeidel::new(&a)?;
///     assert!((2..=3).contains(&sweeps.colors()));
///     let operator = CsrOperator::new(&a)?;
///     let mut solver = Cg::new(&operator, &sweeps, SolverOptions::default())?;
///     let (b, mut x) = (device.upload(&vec![1.0; n])?, device.zeros(n)?);
///     assert!(solver.solve(&b, &mut x)?.is_converged());
///     Ok(())
/// }
/// ```
///
/// Source: Saad, *Iterative Methods for Sparse Linear Systems*, 2003, sections 4.1 and 12.4.
pub struct MulticolorGaussSeidel<V: Value, O: Offset = u32> {
    matrix: DeviceCsr<V, O>,
    inverse_diagonal: DeviceVec<V>,
    order: ColorOrder,
    parts: Vec<Color<V, O>>,
    relaxation: f64,
    /// z in the order of colors, of one application at a time.
    ordered: Mutex<DeviceVec<V>>,
}

impl<V: Value, O: Offset> MulticolorGaussSeidel<V, O> {
    /// Colors and analyzes an n × n matrix, with ω = 1. Keeps the matrix, whose memory is shared, and a copy of its values in the
    /// order of colors. Waits for the device.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, or a row's entry on the diagonal is missing, zero or not finite; the error names the row. If
    /// there is too little memory, or the device was lost.
    pub fn new(a: &DeviceCsr<V, O>) -> Result<Self> {
        Self::with_relaxation(a, 1.0)
    }

    /// [`new`](Self::new) with ω between 0 and 2.
    ///
    /// # Errors
    ///
    /// The same as for [`new`](Self::new), and if ω is not between 0 and 2.
    pub fn with_relaxation(a: &DeviceCsr<V, O>, relaxation: f64) -> Result<Self> {
        check_relaxation(relaxation)?;
        Self::with_inverse_diagonal(a, inverse_diagonal(a)?, relaxation)
    }

    /// Takes D⁻¹, which may have zeros for rows that stay as they are.
    pub(crate) fn with_inverse_diagonal(
        a: &DeviceCsr<V, O>,
        inverse_diagonal: DeviceVec<V>,
        relaxation: f64,
    ) -> Result<Self> {
        let order = ColorOrder::new(a)?;
        let ordered = order.apply(a, &inverse_diagonal, relaxation)?;
        let parts = order.ranges().map(|rows| Color::new(&ordered, rows)).collect::<Result<_>>()?;
        let z = Mutex::new(a.device().zeros(a.nrows())?);
        Ok(Self { matrix: a.clone(), inverse_diagonal, order, parts, relaxation, ordered: z })
    }

    /// Takes the matrix's new values; colors and analysis stay. Waits for the device.
    ///
    /// # Errors
    ///
    /// If an entry on the diagonal is zero or not finite; the error names the row, and the old values stay. If there is too little
    /// memory, or the device was lost.
    pub fn update(&mut self) -> Result<()> {
        self.update_with(inverse_diagonal(&self.matrix)?)
    }

    /// Takes the matrix's new values, and D⁻¹.
    pub(crate) fn update_with(&mut self, inverse_diagonal: DeviceVec<V>) -> Result<()> {
        let ordered = self.order.apply(&self.matrix, &inverse_diagonal, self.relaxation)?;
        self.inverse_diagonal = inverse_diagonal;
        self.parts.iter().try_for_each(|part| part.update(&ordered))
    }

    /// Number of colors.
    pub fn colors(&self) -> usize {
        self.parts.len()
    }
}

impl<V: Value, O: Offset> Preconditioner<V> for MulticolorGaussSeidel<V, O> {
    /// M⁻¹ = ω(2 − ω) (I + ωD⁻¹U)⁻¹ (I + ωD⁻¹L)⁻¹ D⁻¹ in the order of colors.
    fn apply(&self, r: &DeviceSlice<V>, z: &mut DeviceSlice<V>) -> Result<()> {
        let rows = self.inverse_diagonal.len();
        check_len("r", r.len(), rows)?;
        check_len("z", z.len(), rows)?;
        let mut ordered = self.ordered.lock().unwrap_or_else(PoisonError::into_inner);
        vector::multiply_elements(&self.inverse_diagonal, r, z)?;
        let scale = V::from_f64(self.relaxation * (2.0 - self.relaxation));
        self.order.inverse.restore(scale, &*z, V::ZERO, &mut ordered)?;
        for part in self.parts.iter().skip(1) {
            part.relax(Triangle::Lower, &mut ordered)?;
        }
        for part in self.parts.iter().rev().skip(1) {
            part.relax(Triangle::Upper, &mut ordered)?;
        }
        Ok(self.order.forward.restore(V::ONE, &ordered, V::ZERO, z)?)
    }

    fn can_capture(&self) -> bool {
        true
    }
}

/// The order of rows by color.
struct ColorOrder {
    /// The row at each position.
    forward: DeviceRowOrder,
    /// The position of each row.
    inverse: DeviceRowOrder,
    /// The first position of each color, and the number of rows.
    starts: Vec<usize>,
}

impl ColorOrder {
    fn new<V: Value, O: Offset>(a: &DeviceCsr<V, O>) -> Result<Self> {
        let (device, rows) = (a.device(), a.nrows());
        let both = a.spadd(V::ONE, &a.transpose()?, V::ONE)?;
        let graph::Coloring { colors, count, .. } = graph::color(&both)?;
        drop(both);
        // A row per row with an entry in the column of its color, whose transpose lists the rows of each color.
        let (offsets, numbers, _) = DeviceCsr::<f32>::identity(device, rows)?.into_parts()?;
        let of_rows = DeviceCsr::try_new(rows, count, offsets, colors, device.zeros::<f32>(rows)?)?;
        let (starts, order, _) = of_rows.transpose()?.into_parts()?;
        let (_, positions) = sort::pairs(Pairs::new(&order, &numbers), SortOptions::default())?;
        let starts = starts.download()?.into_iter().map(|start| start as usize).collect();
        let (forward, inverse) = (DeviceRowOrder::try_new(order)?, DeviceRowOrder::try_new(positions)?);
        Ok(Self { forward, inverse, starts })
    }

    /// The rows of each color.
    fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.starts.windows(2).map(|ends| ends[0]..ends[1])
    }

    /// ωD⁻¹A in this order.
    fn apply<V: Value, O: Offset>(
        &self,
        a: &DeviceCsr<V, O>,
        inverse_diagonal: &DeviceSlice<V>,
        relaxation: f64,
    ) -> Result<DeviceCsr<V, O>> {
        let mut factors = a.device().uninitialized(a.nrows())?;
        vector::axpby(V::from_f64(relaxation), inverse_diagonal, V::ZERO, &mut factors)?;
        let ordered = a.permute(&self.forward)?;
        let mut of_positions = a.device().uninitialized(a.nrows())?;
        self.inverse.restore(V::ONE, &factors, V::ZERO, &mut of_positions)?;
        ordered.scale_rows(&of_positions)?;
        Ok(ordered)
    }
}

/// A side of the diagonal.
#[derive(Debug, Clone, Copy)]
enum Triangle {
    Lower,
    Upper,
}

/// The rows of a color.
struct Color<V: Value, O: Offset> {
    rows: Range<usize>,
    /// Their part below the diagonal, and its products.
    lower: DeviceCsr<V, O>,
    lower_plan: SpmvPlan<V, O>,
    /// Their part above the diagonal.
    upper: DeviceCsr<V, O>,
    upper_plan: SpmvPlan<V, O>,
}

impl<V: Value, O: Offset> Color<V, O> {
    fn new(ordered: &DeviceCsr<V, O>, rows: Range<usize>) -> Result<Self> {
        let [lower, upper] = triangles(ordered, &rows)?;
        let plan = |part: &DeviceCsr<V, O>| part.plan_spmv(SpmvOptions::default());
        let (lower_plan, upper_plan) = (plan(&lower)?, plan(&upper)?);
        Ok(Self { rows, lower, lower_plan, upper, upper_plan })
    }

    fn update(&self, ordered: &DeviceCsr<V, O>) -> Result<()> {
        let [lower, upper] = triangles(ordered, &self.rows)?;
        self.lower.set_values_from(&lower.values())?;
        Ok(self.upper.set_values_from(&upper.values())?)
    }

    /// Subtracts the product of a triangle's rows and z from the rows of z.
    fn relax(&self, triangle: Triangle, z: &mut DeviceSlice<V>) -> Result<()> {
        let Range { start, end } = self.rows;
        match triangle {
            Triangle::Lower => {
                let (before, mut own) = z.split_at_mut(start)?;
                let mut own = own.slice_mut(..end - start)?;
                Ok(self.lower_plan.run(-V::ONE, &before, V::ONE, &mut own)?)
            }
            Triangle::Upper => {
                let (mut own, after) = z.split_at_mut(end)?;
                let mut own = own.slice_mut(start..)?;
                Ok(self.upper_plan.run(-V::ONE, &after, V::ONE, &mut own)?)
            }
        }
    }
}

/// The parts of rows below the diagonal and above it.
fn triangles<V: Value, O: Offset>(
    ordered: &DeviceCsr<V, O>,
    rows: &Range<usize>,
) -> Result<[DeviceCsr<V, O>; 2]> {
    let lower = ordered.submatrix(rows.clone(), 0..rows.start)?;
    Ok([lower, ordered.submatrix(rows.clone(), rows.end..ordered.ncols())?])
}
