use evenpath_kernels::spmv::TransposedProducts;

use super::{Bytes, Product, Schedule};
use crate::device::DeviceVec;
use crate::op::path_tiles::PathTiles;
use crate::op::requirement::Requirement;
use crate::op::scan::Operator;
use crate::op::sort::{SortOptions, sort_pairs, temporary_bytes_pairs};
use crate::op::transpose::{by_column, check_countable};
use crate::op::{DeviceCsr, OpError, instance, reduce, tile_items, vector};
use crate::{Offset, Value};

/// Products in the order of the nonzeros, sorted by column, summed by column.
pub(super) struct Ordered {
    tiles: PathTiles,
    by_column: SortOptions,
    run_bytes: u64,
}

impl Ordered {
    pub(super) fn new<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        check_countable(matrix)?;
        let tiles = PathTiles::find(matrix, tile_items(instance::<TransposedProducts<V, O>>()))?;
        let by_column = by_column(matrix.cols());
        let len = matrix.nnz();
        let products = Requirement::of::<V>(len as u64);
        let pairs = Requirement::all_of([Requirement::of::<u32>(len as u64), products]);
        // Sorted pairs; and beside them the products and what the sort takes, or the sums and what the reduction takes.
        let sort = Requirement::new(temporary_bytes_pairs::<u32, V>(len, by_column)?);
        let reduction = Requirement::new(reduce::temporary_bytes_by_keys::<u32, V>(len));
        let sorting = Requirement::all_of([products, sort]);
        let summing = Requirement::all_of([pairs, Requirement::of::<u64>(1), reduction]);
        let run = Requirement::all_of([pairs, Requirement::any_of([sorting, summing])]);
        Ok(Self { tiles, by_column, run_bytes: run.bytes() })
    }

    /// The products αax in the order of the nonzeros.
    fn products<V: Value, O: Offset>(
        &self,
        matrix: &DeviceCsr<V, O>,
        alpha: V,
        x: &DeviceVec<V>,
    ) -> Result<DeviceVec<V>, OpError> {
        let device = matrix.device();
        let values = matrix.values();
        let mut products = device.uninitialized(matrix.nnz())?;
        let kernel = TransposedProducts {
            row_offsets: matrix.pattern().row_offsets.as_global(),
            values: values.as_global(),
            x: x.as_global(),
            products: products.as_global_mut(),
            tile_rows: self.tiles.rows.as_global(),
            rows: matrix.rows() as u32,
            nonzeros: matrix.nnz() as u64,
            alpha,
        };
        // SAFETY: x has an element for each row, as a `Product` promises; the tiles are the matrix's, and there is a product for each
        // nonzero.
        unsafe { device.launch(kernel, instance::<TransposedProducts<V, O>>(), self.tiles.count, 0) }?;
        Ok(products)
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Ordered {
    fn run(&self, Product { matrix, alpha, x, beta, y, .. }: Product<'_, V, O>) -> Result<(), OpError> {
        let device = matrix.device();
        let products = self.products(matrix, alpha, x)?;
        let (columns, sorted) = sort_pairs(&matrix.pattern().column_indices, &products, self.by_column)?;
        drop(products);
        let mut sum_columns = device.uninitialized(columns.len())?;
        let mut sums = device.uninitialized(columns.len())?;
        let mut count = device.zeros(1)?;
        reduce::by_keys_into(&columns, &sorted, Operator::Sum, &mut sum_columns, &mut sums, &mut count)?;
        // y is written when nothing can be refused any more.
        vector::scale(beta, y)?;
        // SAFETY: `count` sums have different columns of the matrix, which are below y's length; all are of this device.
        unsafe { vector::add_at(&sum_columns, &sums, &count, y) }?;
        Ok(())
    }

    fn bytes(&self) -> Bytes {
        Bytes { held: self.tiles.bytes(), run: self.run_bytes }
    }
}
