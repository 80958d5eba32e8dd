use evenpath_kernels::spmv::{LENGTH_TOTALS, RowLengths};

use crate::device::DeviceKind;
use crate::op::{DeviceCsr, OpError, instance, tile_count};
use crate::{Offset, Value};

/// What the row lengths of a matrix are like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lengths {
    /// Nonzeros of the longest row.
    pub(super) longest: u64,
    /// Rows without nonzeros.
    pub(super) empty: u64,
    /// Nonzeros a row.
    pub(super) mean: f64,
}

impl Lengths {
    /// Counts on the device, and waits for it.
    pub(super) fn count<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        let device = matrix.device();
        let (rows, nonzeros) = (matrix.rows(), matrix.nnz());
        let mean = nonzeros as f64 / rows.max(1) as f64;
        if let Some(offsets) = matrix.pattern().row_offsets.host_slice() {
            debug_assert_eq!(device.kind(), DeviceKind::Cpu);
            let lengths = || offsets.windows(2).map(|ends| ends[1].to_u64() - ends[0].to_u64());
            let empty = lengths().filter(|&length| length == 0).count() as u64;
            return Ok(Self { longest: lengths().max().unwrap_or(0), empty, mean });
        }
        let info = instance::<RowLengths<O>>();
        let mut totals = device.zeros::<u64>(LENGTH_TOTALS)?;
        let kernel = RowLengths {
            row_offsets: matrix.pattern().row_offsets.as_global(),
            totals: totals.as_global_mut(),
            rows: rows as u32,
        };
        let tiles = tile_count("the count of row lengths", info, rows)?;
        // SAFETY: there are `rows` + 1 row offsets and as many totals as the kernel has; buffers are freed in the
        // stream's order.
        unsafe { device.launch(kernel, info, tiles, 0) }?;
        let totals = totals.to_vec()?;
        Ok(Self { longest: totals[0], empty: totals[1], mean })
    }
}
