//! Counts the entries of C.

use evenpath_kernels::spgemm::{Class, SpgemmHashCount, SpgemmWindowCount};
use evenpath_simt::GlobalMut;

use super::Rows;
use super::bins::Bin;
use super::shapes::{HashShape, WindowShape, blocks, window_instance};
use crate::device::DeviceVec;
use crate::op::spgemm::base::Operands;
use crate::op::{OpError, instance};
use crate::{Offset, Value};

impl Rows {
    /// Writes the entries of each row of C that has products.
    pub(super) fn count<V: Value, O: Offset>(
        &self,
        operands: Operands<'_, V, O>,
        lengths: &mut DeviceVec<u64>,
    ) -> Result<(), OpError> {
        let lengths = lengths.as_global_mut();
        for bin in &self.bins.filled {
            match bin.class {
                Class::Empty => {}
                Class::Hash { .. } => self.count_by_hash(bin, operands, lengths)?,
                Class::Window { size_class } => self.count_by_windows(bin, size_class, operands, lengths)?,
            }
        }
        Ok(())
    }

    fn count_by_hash<V: Value, O: Offset>(
        &self,
        bin: &Bin,
        operands: Operands<'_, V, O>,
        lengths: GlobalMut<u64>,
    ) -> Result<(), OpError> {
        let (a, b) = (operands.a.pattern(), operands.b.pattern());
        let (list, listed) = self.bins.list(bin);
        let info = instance::<SpgemmHashCount<O>>();
        let shape = HashShape::new(bin, self.mean, info, 0);
        let kernel = SpgemmHashCount {
            a_row_offsets: a.row_offsets.as_global(),
            a_columns: a.column_indices.as_global(),
            b_row_offsets: b.row_offsets.as_global(),
            b_columns: b.column_indices.as_global(),
            list,
            lengths,
            rows: bin.rows,
            listed,
            lanes_log2: shape.lanes_log2,
            table_log2: shape.table_log2,
        };
        let blocks = blocks(a, bin.rows as usize, info.block_size >> shape.lanes_log2)?;
        // SAFETY: the views are of matrices that fit together, of a list of rows, and of an array with an
        // element per row; tables have room for the products of the class's rows. Buffers are freed in the
        // stream's order.
        unsafe { operands.device().launch(kernel, info, blocks, shape.shared_bytes) }?;
        Ok(())
    }

    fn count_by_windows<V: Value, O: Offset>(
        &self,
        bin: &Bin,
        size_class: usize,
        operands: Operands<'_, V, O>,
        lengths: GlobalMut<u64>,
    ) -> Result<(), OpError> {
        let (a, b) = (operands.a.pattern(), operands.b.pattern());
        let device = operands.device();
        let (list, listed) = self.bins.list(bin);
        let info = window_instance::<SpgemmWindowCount<O>>(size_class);
        let shape = WindowShape::new(device, bin, self.mean, info, 0, size_of::<O>() as u32);
        let kernel = SpgemmWindowCount {
            a_row_offsets: a.row_offsets.as_global(),
            a_columns: a.column_indices.as_global(),
            b_row_offsets: b.row_offsets.as_global(),
            b_columns: b.column_indices.as_global(),
            list,
            firsts: self.firsts.as_global(),
            lasts: self.lasts.as_global(),
            lengths,
            listed,
            packets: shape.packets,
            lanes_log2: shape.lanes_log2,
        };
        // SAFETY: as above.
        unsafe { device.launch(kernel, info, blocks(a, bin.rows as usize, 1)?, shape.shared_bytes) }?;
        Ok(())
    }
}
