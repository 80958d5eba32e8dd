//! The plan for c = α (AB) + β c at the nonzeros of a matrix.

use std::fmt;

use super::info::SddmmPlanInfo;
use super::kernels::{SddmmCall, SddmmTiles};
use crate::device::{DeviceError, DeviceKind, DeviceSlice, Event};
use crate::format::dense::check_dense;
use crate::format::{DeviceCsr, DeviceDense};
use crate::operand::factor::factors;
use crate::operand::{Factor, OpError};
use crate::{Offset, Storage, Value, cpu};

/// Maximum number of terms of an inner product on devices with kernels.
const MOST_TERMS: usize = 1 << 31;

/// Plan of the sampled product of dense matrices (SDDMM): AB is computed only at the nonzeros of a sparse matrix C,
/// whose values the result replaces, C = α (AB) ∘ pattern(C) + βC. Made once for a pattern, and run as often as
/// needed with dense A and B of any inner dimension.
///
/// On a GPU, rows of A and columns of B should be contiguous: A by rows, and B by columns. An A by columns or a B by rows is copied first, in
/// every run, unless C has fewer nonzeros than rows or columns.
///
/// Results are bitwise the same in every run, for all layouts of A and B, and on all GPUs, real and simulated.
///
/// ```
/// use evenpath::{Csr, Device, DeviceDense, Layout};
///
/// let device = Device::best()?;
/// let c = device.upload(&Csr::from_triplets(2, 3, [(0, 0, 0.0), (0, 2, 0.0), (1, 1, 0.0)])?)?;
/// // Two queries and three keys of two elements each: B is the transpose of the keys.
/// let queries = device.upload(&[1.0, 2.0, 3.0, 4.0])?;
/// let keys = device.upload(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0])?;
/// let a = DeviceDense::try_new(queries, 2, 2, Layout::RowMajor)?;
/// let b = DeviceDense::try_new(keys, 2, 3, Layout::ColumnMajor)?;
/// c.plan_sddmm()?.run(1.0, &a, &b, 0.0)?;
/// assert_eq!(c.values().download()?, [1.0, 3.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SddmmPlan<V: Value, O: Offset = u32> {
    matrix: DeviceCsr<V, O>,
    /// The tiles, on devices that run kernels.
    tiles: Option<SddmmTiles>,
    analysis: (Event, Event),
}

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// Prepares C = α (AB) ∘ pattern(C) + βC for [`SddmmPlan::run`]: dense A and B are multiplied at the nonzeros of this
    /// matrix C. Its columns may be in any order, and repeat.
    ///
    /// # Errors
    ///
    /// If there is too little memory for the plan (4 bytes for each 64 to 1024 rows and nonzeros), the matrix is too large for a
    /// launch, or the device was lost.
    pub fn plan_sddmm(&self) -> Result<SddmmPlan<V, O>, OpError> {
        let start = self.device().record()?;
        let tiles = match self.device().kind() {
            DeviceKind::Cpu => None,
            DeviceKind::Cuda(_) | DeviceKind::Simulated => Some(SddmmTiles::find(self)?),
        };
        let analysis = (start, self.device().record()?);
        Ok(SddmmPlan { matrix: self.clone(), tiles, analysis })
    }
}

impl<V: Value, O: Offset> SddmmPlan<V, O> {
    /// Computes c = `alpha`·(AB) + `beta`·c for every nonzero c of the matrix. C is m × n, A is m × k, and B is k × n. The
    /// values are changed as by [`set_values`](DeviceCsr::set_values): in clones, plans and graphs of the matrix too.
    /// Runs in the order of the device's stream; the call does not wait. In a captured graph, each launch computes them.
    ///
    /// A and B have the type of the values, or are of [`struct@f16`](crate::f16) or [`struct@bf16`](crate::bf16) for
    /// values of `f32`, in which they are multiplied and summed. A by rows and B by columns is the fastest, if k and
    /// both leading dimensions are multiples of 16 bytes. Copies of other layouts take temporary memory, as much as A and B without gaps.
    ///
    /// If `beta` is zero, the values are overwritten without being read. If `alpha` is zero, the product is still
    /// computed: infinity and NaN in A or B propagate.
    ///
    /// # Errors
    ///
    /// If A does not have the rows of the matrix, or B its columns and a row for each column of A, a factor is not one
    /// element, any of them is on another device, the values are [borrowed](DeviceCsr::values), A has more than 2³¹
    /// columns and the device is not the CPU, or there is too little memory; then nothing is written. If the device was
    /// lost.
    pub fn run<'f, T: Storage<Computed = V>>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        a: &DeviceDense<T>,
        b: &DeviceDense<T>,
        beta: impl Into<Factor<'f, V>>,
    ) -> Result<(), OpError> {
        let matrix = &self.matrix;
        let device = matrix.device();
        let (alpha, beta) = factors(device, alpha, beta)?;
        check_dense(device, ("A", a), (matrix.nrows(), a.ncols()))?;
        check_dense(device, ("B", b), (a.ncols(), matrix.ncols()))?;
        if self.tiles.is_some() && a.ncols() > MOST_TERMS {
            return Err(OpError::TooLong { what: "a row of A", len: a.ncols(), limit: MOST_TERMS });
        }
        let multiply = |values: &mut DeviceSlice<V>| {
            if let Some(tiles) = &self.tiles {
                tiles.run(matrix, &SddmmCall { alpha, a, b, beta, values: values.as_global_mut() })?;
            } else if let (Some(alpha), Some(beta)) = (alpha.known(), beta.known()) {
                multiply_on_cpu(matrix, (alpha, beta), a, b, values);
            }
            Ok::<(), DeviceError>(())
        };
        if beta.known().is_some_and(|beta| beta == V::ZERO) {
            matrix.shared_values().write(multiply)
        } else {
            matrix.shared_values().change(multiply)
        }
    }

    /// Returns the costs of the plan. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<SddmmPlanInfo, DeviceError> {
        let (start, end) = &self.analysis;
        let workspace_bytes = self.tiles.as_ref().map_or(0, SddmmTiles::bytes);
        Ok(SddmmPlanInfo { workspace_bytes, analysis_ms: end.elapsed_since(start)? })
    }
}

fn multiply_on_cpu<V: Value, T: Storage<Computed = V>, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    factors: (V, V),
    a: &DeviceDense<T>,
    b: &DeviceDense<T>,
    values: &mut DeviceSlice<V>,
) {
    let (inner, b_strides) = (a.ncols(), b.strides());
    let operands = (a.as_vec().host_slice(), b.as_vec().host_slice(), values.host_slice_mut());
    if let (Some((row_offsets, column_indices)), (Some(rows), Some(columns), Some(values))) =
        (matrix.pattern().host_arrays(), operands)
    {
        let rows = cpu::Dense { values: rows, strides: a.strides() };
        let columns = cpu::Dense { values: columns, strides: (b_strides.1, b_strides.0) };
        let shape = (matrix.nrows(), matrix.ncols(), inner);
        let product = cpu::Sddmm { row_offsets, column_indices, shape, rows, columns, factors };
        product.write(values);
    }
}

impl<V: Value, O: Offset> fmt::Debug for SddmmPlan<V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SddmmPlan({:?})", self.matrix)
    }
}
