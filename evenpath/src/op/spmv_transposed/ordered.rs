use evenpath_kernels::reduce::ReduceByKey;
use evenpath_kernels::spmv::{MergePartition, TransposedProducts};
use evenpath_kernels::vector::AddAt;

use super::schedule::{HeldBytes, SpmvTransposedSchedule};
use crate::device::{DeviceSlice, DeviceVec, Kernels, Launch};
use crate::format::DeviceCsr;
use crate::format::path_tiles::PathTiles;
use crate::format::transpose::{by_column, check_countable};
use crate::op::product::SpmvCall;
use crate::operand::requirement::Requirement;
use crate::operand::{OpError, Pairs};
use crate::operation::Operator;
use crate::sequence::radix_sort::pair_kernels;
use crate::sequence::scale::scale;
use crate::sequence::sort::{self, SortOptions};
use crate::sequence::{reduce, vector};
use crate::{Offset, Value};

/// Products in the order of the nonzeros, sorted by column, summed by column.
pub(super) struct Ordered<V: Value, O: Offset> {
    launch: Launch<TransposedProducts<V, O>>,
    tiles: PathTiles,
    by_column: SortOptions,
    run_bytes: u64,
}

impl<V: Value, O: Offset> Ordered<V, O> {
    pub(super) fn new(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        check_countable(matrix)?;
        matrix.device().prepare(kernels::<V, O>)?;
        let (tiles, launch) = PathTiles::find(matrix, matrix.device().kernel())?;
        let by_column = by_column(matrix.ncols());
        let len = matrix.nnz();
        let products = Requirement::of::<V>(len as u64);
        let pairs = Requirement::all_of([Requirement::of::<u32>(len as u64), products]);
        // Sorted pairs, and beside them either the products and the memory of the sort, or the sums and the
        // memory of the reduction.
        let sort = Requirement::new(sort::pairs_temporary_bytes::<u32, V>(len, by_column)?);
        let reduction = Requirement::new(reduce::by_keys_temporary_bytes::<u32, V>(len));
        let sorting = Requirement::all_of([products, sort]);
        let summing = Requirement::all_of([pairs, Requirement::of::<u64>(1), reduction]);
        let run = Requirement::all_of([pairs, Requirement::any_of([sorting, summing])]);
        Ok(Self { launch, tiles, by_column, run_bytes: run.bytes() })
    }

    /// Computes the products αax in the order of the nonzeros.
    fn products(
        &self,
        matrix: &DeviceCsr<V, O>,
        alpha: V,
        x: &DeviceSlice<V>,
    ) -> Result<DeviceVec<V>, OpError> {
        let device = matrix.device();
        let values = matrix.values_now();
        let mut products = device.uninitialized(matrix.nnz())?;
        let kernel = TransposedProducts {
            matrix: matrix.pattern().with_values(&values),
            x: x.as_global(),
            products: products.as_global_mut(),
            tile_rows: self.tiles.rows.as_global(),
            alpha,
        };
        // SAFETY: x has one element per row, as an `SpmvCall` guarantees; the tiles are the matrix's, of the
        // kernel's length, and there is one product per nonzero.
        unsafe { self.launch.launch(kernel) }?;
        Ok(products)
    }
}

/// The kernels of a run, to be compiled ahead.
fn kernels<V: Value, O: Offset>() -> Kernels {
    pair_kernels::<u32, V>()
        .and::<MergePartition<O>>()
        .and::<TransposedProducts<V, O>>()
        .and_variant::<ReduceByKey<V, u32>>(Operator::Sum.variant())
        .and::<AddAt<V>>()
}

impl<V: Value, O: Offset> SpmvTransposedSchedule<V, O> for Ordered<V, O> {
    fn run(&self, SpmvCall { matrix, alpha, x, beta, y, .. }: SpmvCall<'_, V, O>) -> Result<(), OpError> {
        let device = matrix.device();
        let products = self.products(matrix, alpha, x)?;
        let (columns, sorted) =
            sort::pairs(Pairs::new(&matrix.pattern().column_indices, &products), self.by_column)?;
        drop(products);
        let mut sum_columns = device.uninitialized(columns.len())?;
        let mut sums = device.uninitialized(columns.len())?;
        let mut count = device.zeros(1)?;
        reduce::by_keys_into(&columns, &sorted, Operator::Sum, &mut sum_columns, &mut sums, &mut count)?;
        // y is written after everything that may fail.
        scale(beta, y)?;
        // SAFETY: `count` sums have different columns of the matrix, which are below y's length; all are on
        // this device.
        unsafe { vector::add_at(&sum_columns, &sums, &count, y) }?;
        Ok(())
    }

    fn bytes(&self) -> HeldBytes {
        HeldBytes { held: self.tiles.bytes(), run: self.run_bytes }
    }
}
