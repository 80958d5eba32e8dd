//! The numeric phase: the columns and values of C, with a launch for each class of rows.

use evenpath_kernels::spgemm::{Class, ResultEntries, SpgemmHashFill, SpgemmWindowFill};

use super::destinations::ProductDestinations;
use super::target::Target;
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
    let fill = Fill { rows, product, c: target.view() };
    for bin in &rows.bins.launches(product.operands.device()) {
        match bin.class {
            Class::Empty => {}
            Class::Hash { .. } => fill.by_hash(bin)?,
            Class::Window { .. } if destinations.is_some() => {}
            Class::Window { size_class } => fill.by_windows(bin, size_class)?,
        }
    }
    Ok(())
}

/// The operands and the result.
struct Fill<'a, V: Scalar, O: Offset> {
    rows: &'a ClassifiedRows,
    product: &'a SpgemmCall<'a, V, O>,
    c: ResultEntries<V>,
}

impl<V: Scalar, O: Offset> Fill<'_, V, O> {
    /// Computes the rows of a class with a hash table for each.
    fn by_hash(&self, bin: &Bin) -> Result<(), OpError> {
        let Self { rows, product, c } = *self;
        let (a, b) = product.views();
        let launcher = product.operands.device().kernel();
        let shape = HashShape::new(bin, rows.mean, launcher.info(), size_of::<V>() as u32);
        let launch = shape.launch(launcher, bin)?;
        let kernel = SpgemmHashFill {
            a,
            b,
            c,
            rows: rows.bins.rows(bin),
            lanes_log2: shape.lanes_log2,
            table_log2: shape.table_log2,
        };
        // SAFETY: as for counting; C has room for the counted entries, or its columns are given.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// Computes the rows of a class, each with a block that covers its columns by windows.
    fn by_windows(&self, bin: &Bin, size_class: usize) -> Result<(), OpError> {
        let Self { rows, product, c } = *self;
        let (a, b) = product.views();
        let device = product.operands.device();
        let info = window_instance::<SpgemmWindowFill<V, O>>(size_class);
        let shape =
            WindowShape::new(device, bin, rows.mean, info, size_of::<V>() as u32, size_of::<O>() as u32);
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
