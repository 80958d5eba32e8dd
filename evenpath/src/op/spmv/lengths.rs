use evenpath_kernels::spmv::{LENGTH_TOTALS, RowLengths};

use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::{Offset, Scalar};

/// Statistics of a matrix's row lengths.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lengths {
    /// Nonzeros of the longest row.
    pub(super) longest: u64,
    /// Rows without nonzeros.
    pub(super) empty: u64,
    /// Nonzeros per row.
    pub(super) mean: f64,
    /// Rows with more nonzeros than this are long.
    pub(super) limit: u32,
    /// The long rows.
    pub(super) long: Long,
}

/// Statistics of the rows over a limit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Long {
    /// How many.
    pub(super) rows: u64,
    /// Their nonzeros.
    pub(super) nonzeros: u64,
    /// The pieces that they are cut into.
    pub(super) pieces: u64,
}

impl Lengths {
    /// Counts on a device with kernels, and waits for it.
    pub(super) fn count<V: Scalar, O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        let device = matrix.device();
        let (rows, nonzeros) = (matrix.nrows(), matrix.nnz());
        let mean = nonzeros as f64 / rows.max(1) as f64;
        let limit = (8.0 * mean).clamp(32.0, 2048.0) as u32;
        let launch = device.kernel().items(rows)?;
        let mut totals = device.zeros::<u64>(LENGTH_TOTALS)?;
        let kernel = RowLengths { pattern: matrix.pattern().view(), totals: totals.as_global_mut(), limit };
        // SAFETY: there are `rows` + 1 row offsets and as many totals as the kernel has; buffers are freed in the
        // stream's order.
        unsafe { launch.launch(kernel) }?;
        let totals = totals.download()?;
        let long = Long { rows: totals[2], nonzeros: totals[3], pieces: totals[4] };
        Ok(Self { longest: totals[0], empty: totals[1], mean, limit, long })
    }
}
