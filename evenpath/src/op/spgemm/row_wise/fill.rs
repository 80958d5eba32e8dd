//! The numeric phase: the columns and values of C, a launch for each class of rows.

use evenpath_kernels::spgemm::{Class, SpgemmHashFill, SpgemmWindowFill};
use evenpath_simt::{Global, GlobalMut};

use super::ranks::Ranks;
use super::target::Target;
use crate::op::spgemm::base::Product;
use crate::op::spgemm::symbolic::{Bin, HashShape, Rows, WindowShape, blocks, window_instance};
use crate::op::{OpError, instance};
use crate::{Offset, Value};

/// Computes the rows of C; those that are done by windows by the ranks of their products, if these are known.
pub(super) fn fill<V: Value, O: Offset>(
    rows: &Rows,
    product: &Product<'_, V, O>,
    mut target: Target<'_, V>,
    ranks: Option<&Ranks>,
) -> Result<(), OpError> {
    if let Some(ranks) = ranks {
        ranks.add(product, rows, &mut target)?;
    }
    let Target { row_offsets, column_indices, values, known } = target;
    let fill = Fill {
        rows,
        product,
        row_offsets: row_offsets.as_global(),
        column_indices,
        values: values.as_global_mut(),
        known: u32::from(known),
    };
    for bin in &rows.bins.filled {
        match bin.class {
            Class::Empty => {}
            Class::Hash { .. } => fill.by_hash(bin)?,
            Class::Window { .. } if ranks.is_some() => {}
            Class::Window { size_class } => fill.by_windows(bin, size_class)?,
        }
    }
    Ok(())
}

/// The operands, and the arrays of C as kernels see them.
struct Fill<'a, V: Value, O: Offset> {
    rows: &'a Rows,
    product: &'a Product<'a, V, O>,
    row_offsets: Global<u64>,
    column_indices: GlobalMut<u32>,
    values: GlobalMut<V>,
    known: u32,
}

impl<V: Value, O: Offset> Fill<'_, V, O> {
    /// The rows of a class, with a hash table for each.
    fn by_hash(&self, bin: &Bin) -> Result<(), OpError> {
        let Self { rows, product, row_offsets, column_indices, values: c_values, known } = *self;
        let (a, b) = (product.operands.a.pattern(), product.operands.b.pattern());
        let device = product.operands.device();
        let (list, listed) = rows.bins.list(bin);
        let info = instance::<SpgemmHashFill<V, O>>();
        let shape = HashShape::new(bin, rows.mean, info, size_of::<V>() as u32);
        let kernel = SpgemmHashFill {
            a_row_offsets: a.row_offsets.as_global(),
            a_columns: a.column_indices.as_global(),
            a_values: product.a_values.as_global(),
            b_row_offsets: b.row_offsets.as_global(),
            b_columns: b.column_indices.as_global(),
            b_values: product.b_values.as_global(),
            c_row_offsets: row_offsets,
            c_columns: column_indices,
            c_values,
            list,
            rows: bin.rows,
            listed,
            known,
            lanes_log2: shape.lanes_log2,
            table_log2: shape.table_log2,
        };
        let blocks = blocks(a, bin.rows as usize, info.block_size >> shape.lanes_log2)?;
        // SAFETY: as for counting; C has room for the entries that were counted, or its columns are there.
        unsafe { device.launch(kernel, info, blocks, shape.shared_bytes) }?;
        Ok(())
    }

    /// The rows of a class, each by a block that goes over its columns in windows.
    fn by_windows(&self, bin: &Bin, size_class: usize) -> Result<(), OpError> {
        let Self { rows, product, row_offsets, column_indices, values: c_values, known } = *self;
        let (a, b) = (product.operands.a.pattern(), product.operands.b.pattern());
        let device = product.operands.device();
        let (list, listed) = rows.bins.list(bin);
        let info = window_instance::<SpgemmWindowFill<V, O>>(size_class);
        let shape =
            WindowShape::new(device, bin, rows.mean, info, size_of::<V>() as u32, size_of::<O>() as u32);
        let kernel = SpgemmWindowFill {
            a_row_offsets: a.row_offsets.as_global(),
            a_columns: a.column_indices.as_global(),
            a_values: product.a_values.as_global(),
            b_row_offsets: b.row_offsets.as_global(),
            b_columns: b.column_indices.as_global(),
            b_values: product.b_values.as_global(),
            c_row_offsets: row_offsets,
            c_columns: column_indices,
            c_values,
            list,
            firsts: rows.firsts.as_global(),
            lasts: rows.lasts.as_global(),
            listed,
            known,
            packets: shape.packets,
            sums: shape.sums,
            lanes_log2: shape.lanes_log2,
        };
        // SAFETY: as above.
        unsafe { device.launch(kernel, info, blocks(a, bin.rows as usize, 1)?, shape.shared_bytes) }?;
        Ok(())
    }
}
