//! The numeric phase: the columns and values of C, with a launch for each class of rows.

use evenpath_kernels::GlobalCsr;
use evenpath_kernels::spgemm::{Class, ResultEntries, SpgemmHashFill, SpgemmWindowFill};
use evenpath_simt::Arithmetic;
use evenpath_simt::kernel::KernelInfo;

use super::destinations::ProductDestinations;
use super::target::Target;
use crate::device::Device;
use crate::op::spgemm::base::SpgemmCall;
use crate::op::spgemm::symbolic::{Bin, ClassifiedRows, HashShape, WindowShape, window_instance};
use crate::operand::OpError;
use crate::{Offset, Scalar};

/// Computes the rows of C; those that use windows by the destinations of their products, if these are known.
pub(super) fn fill<V: Scalar, O: Offset>(
    rows: &ClassifiedRows,
    product: &SpgemmCall<'_, V, O>,
    mut target: Target<'_, V>,
    destinations: Option<&ProductDestinations>,
) -> Result<(), OpError> {
    if let Some(destinations) = destinations {
        destinations.add(product, rows, &mut target)?;
    }
    let fill = Fill {
        device: product.operands.device(),
        rows,
        operands: product.views(),
        c: target.view(),
        window: window_instance::<SpgemmWindowFill<V, O>>,
    };
    fill.launch(destinations.is_none())
}

/// The operands and the result, as kernels take them.
pub(in crate::op::spgemm) struct Fill<'a, E: Arithmetic, O: Offset> {
    pub(in crate::op::spgemm) device: &'a Device,
    pub(in crate::op::spgemm) rows: &'a ClassifiedRows,
    pub(in crate::op::spgemm) operands: (GlobalCsr<E, O>, GlobalCsr<E, O>),
    pub(in crate::op::spgemm) c: ResultEntries<E>,
    /// The instance of `SpgemmWindowFill` for rows of a size class.
    pub(in crate::op::spgemm) window: fn(usize) -> &'static KernelInfo,
}

impl<E: Arithmetic, O: Offset> Fill<'_, E, O> {
    /// Computes the rows of every class; those that use windows only if asked to.
    pub(in crate::op::spgemm) fn launch(&self, with_windows: bool) -> Result<(), OpError> {
        for bin in &self.rows.bins.launches(self.device) {
            match bin.class {
                Class::Hash { .. } => self.by_hash(bin)?,
                Class::Window { size_class } if with_windows => self.by_windows(bin, size_class)?,
                Class::Empty | Class::Window { .. } => {}
            }
        }
        Ok(())
    }

    /// Computes the rows of a class with a hash table for each.
    fn by_hash(&self, bin: &Bin) -> Result<(), OpError> {
        let Self { device, rows, operands: (a, b), c, .. } = *self;
        let launcher = device.kernel();
        let shape = HashShape::new(bin, rows.mean, launcher.info(), E::SIZE as u32);
        let launch = shape.launch(launcher, bin)?;
        let (lanes_log2, table_log2) = (shape.lanes_log2, shape.table_log2);
        let kernel = SpgemmHashFill { a, b, c, rows: rows.bins.rows(bin), lanes_log2, table_log2 };
        // SAFETY: the operands were checked; C has room for the counted entries, or its columns are given. Tables have room
        // for the rows of the class, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// Computes the rows of a class, each with a block that covers its columns by windows.
    fn by_windows(&self, bin: &Bin, size_class: usize) -> Result<(), OpError> {
        let Self { device, rows, operands: (a, b), c, window } = *self;
        let info = window(size_class);
        let shape = WindowShape::new(device, bin, rows.mean, info, E::SIZE as u32, size_of::<O>() as u32);
        let launch = shape.launch(device.instance(info), bin)?;
        let kernel = SpgemmWindowFill {
            a,
            b,
            c,
            rows: rows.bins.rows(bin),
            spans: rows.spans(),
            packets: shape.packets,
            sums: shape.sums,
            lanes_log2: shape.lanes_log2,
        };
        // SAFETY: as above.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}
