//! Counts the entries of C.

use evenpath_kernels::spgemm::{Class, SpgemmHashCount, SpgemmWindowCount};
use evenpath_simt::GlobalMut;

use super::bins::Bin;
use super::rows::ClassifiedRows;
use super::shapes::{HashShape, WindowShape, window_instance};
use crate::device::DeviceSlice;
use crate::op::spgemm::base::SpgemmOperands;
use crate::operand::OpError;
use crate::{Entry, Offset};

impl ClassifiedRows {
    /// Writes the number of entries of each row of C that has products.
    pub(super) fn count<V: Entry, O: Offset>(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        lengths: &mut DeviceSlice<u64>,
    ) -> Result<(), OpError> {
        let lengths = lengths.as_global_mut();
        for bin in &self.bins.launches(operands.device()) {
            match bin.class {
                Class::Empty => {}
                Class::Hash { .. } => self.count_by_hash(bin, operands, lengths)?,
                Class::Window { size_class } => self.count_by_windows(bin, size_class, operands, lengths)?,
            }
        }
        Ok(())
    }

    fn count_by_hash<V: Entry, O: Offset>(
        &self,
        bin: &Bin,
        operands: SpgemmOperands<'_, V, O>,
        lengths: GlobalMut<u64>,
    ) -> Result<(), OpError> {
        let (a, b) = operands.views();
        let launcher = operands.device().kernel();
        let shape = HashShape::new(bin, self.mean, launcher.info(), 0);
        let launch = shape.launch(launcher, bin)?;
        let kernel = SpgemmHashCount {
            a,
            b,
            rows: self.bins.rows(bin),
            lengths,
            lanes_log2: shape.lanes_log2,
            table_log2: shape.table_log2,
        };
        // SAFETY: the views are of matrices that fit together, of a list of rows, and of an array with an element per row;
        // tables have room for the products of the class's rows. Buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    fn count_by_windows<V: Entry, O: Offset>(
        &self,
        bin: &Bin,
        size_class: usize,
        operands: SpgemmOperands<'_, V, O>,
        lengths: GlobalMut<u64>,
    ) -> Result<(), OpError> {
        let (a, b) = operands.views();
        let device = operands.device();
        let info = window_instance::<SpgemmWindowCount<O>>(size_class);
        let shape = WindowShape::new(device, bin, self.mean, info, 0, size_of::<O>() as u32);
        let launch = shape.launch(device.instance(info), bin)?;
        let kernel = SpgemmWindowCount {
            a,
            b,
            rows: self.bins.rows(bin),
            spans: self.spans(),
            lengths,
            packets: shape.packets,
            lanes_log2: shape.lanes_log2,
        };
        // SAFETY: as above.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}
