//! All products sorted at once, in global memory.

use std::sync::OnceLock;

use evenpath_kernels::reduce::ReduceByKey;
use evenpath_kernels::spgemm::two_level_sort::{ExpandProducts, ListEntries, SplitKeys, WeighEntries};

use super::super::method::SpgemmMethod;
use super::rows::MAX_PRODUCTS;
use super::setup::{ProductEntries, Weighed, tile_len};
use crate::device::{DeviceVec, Kernels};
use crate::format::csr::DevicePattern;
use crate::op::spgemm::base::{ProductArrays, SpgemmCall, SpgemmOperands, Workspace, result_arrays};
use crate::op::spgemm::strategy::{FirstRun, Info, Multiply, SortedRegion, Strategy};
use crate::operand::requirement::Requirement;
use crate::operand::{OpError, Pairs};
use crate::operation::Operator;
use crate::sequence::radix_sort::pair_kernels;
use crate::sequence::reduce;
use crate::sequence::scan::sum_kernel;
use crate::sequence::sort::{self, SortOptions, index_bits};
use crate::{Offset, Value};

/// The kernels of products by one sort, to be compiled ahead.
pub(in crate::op::spgemm) fn kernels<V: Value, O: Offset, C: Offset>() -> Kernels {
    sum_kernel::<u64>()
        .and::<WeighEntries<O>>()
        .and::<ListEntries<O>>()
        .and::<ExpandProducts<V, O>>()
        .and_all(pair_kernels::<u64, V>())
        .and_variant::<ReduceByKey<V, u64>>(Operator::Sum.variant())
        .and::<SplitKeys<C>>()
}

/// Products by one sort. Nothing is kept from run to run but their number.
#[derive(Default)]
pub(in crate::op::spgemm) struct GlobalSort {
    counted: OnceLock<GlobalSortCounts>,
}

#[derive(Clone, Copy, Default)]
struct GlobalSortCounts {
    products: u64,
    nonzeros: u64,
}

/// Keys, the row above the column, and values.
struct KeyedProducts<V: Value> {
    keys: DeviceVec<u64>,
    values: DeviceVec<V>,
}

/// The memory that a product takes beside its result.
struct Required {
    /// The entries of A, listed.
    listed: Requirement,
    /// Keys and values of all products, once.
    pairs: Requirement,
    /// At most.
    all: Requirement,
}

/// Room for what is as long as tiles, or one.
const FEW_WORDS: Requirement = Requirement::new(1 << 16);

impl Required {
    fn new<V: Value>(entries: u64, products: u64, bits: SortOptions) -> Result<Self, OpError> {
        let tiles = products / u64::from(tile_len::<u32>());
        // Weights and their sums; then first products, sources, rows and numbers, and the tiles' first entries.
        let listed = Requirement::all_of([
            Requirement::each(entries, 8 + 8),
            Requirement::each(entries, 4 + 8 + 4 + 4),
            Requirement::each(tiles, 4),
        ]);
        let pairs = Requirement::each(products, size_of::<u64>() + V::SIZE);
        let len = products as usize;
        let sorting = Requirement::new(sort::pairs_temporary_bytes::<u64, V>(len, bits)?);
        let reduction = Requirement::new(reduce::by_keys_temporary_bytes::<u64, V>(len));
        let two = Requirement::all_of([pairs, pairs]);
        let all = Requirement::any_of([
            Requirement::all_of([listed, pairs]),
            Requirement::all_of([two, Requirement::any_of([sorting, reduction])]),
        ]);
        Ok(Self { listed, pairs, all: Requirement::all_of([all, FEW_WORDS]) })
    }
}

/// The products with their keys, in the order of A's entries; `None` if there are none.
fn expand<V: Value, O: Offset>(
    product: &SpgemmCall<'_, V, O>,
    weighed: Weighed,
    column_bits: u32,
) -> Result<Option<KeyedProducts<V>>, OpError> {
    let device = product.operands.a.device();
    let Some(entries) = ProductEntries::list(product, &(0..product.operands.a.nrows()), weighed)? else {
        return Ok(None);
    };
    let mut keys = device.uninitialized(entries.products as usize)?;
    let mut values = device.uninitialized(entries.products as usize)?;
    let launch = device.kernel().blocks(entries.tiles as usize)?;
    let (_, b) = product.views();
    let kernel = ExpandProducts {
        entries: entries.view(),
        a_values: product.a_values.as_global(),
        b,
        keys: keys.as_global_mut(),
        products: values.as_global_mut(),
        column_bits,
    };
    // SAFETY: the entries are those of A that make the products, from entries of B; both outputs have an element per
    // product, and the grid has a block per tile of the list.
    unsafe { launch.launch(kernel) }?;
    Ok(Some(KeyedProducts { keys, values }))
}

impl<V: Value> KeyedProducts<V> {
    /// Sorts the products by row and column, and adds up those of each entry of C. The sort keeps the order of equal
    /// keys, so sums are the same from run to run.
    fn compress(self, bits: SortOptions) -> Result<Self, OpError> {
        let (keys, values) = sort::pairs(Pairs::new(&self.keys, &self.values), bits)?;
        drop(self);
        let (keys, values) = reduce::by_keys(&keys, &values, Operator::Sum)?;
        Ok(Self { keys, values })
    }
}

impl GlobalSort {
    /// The product; with the number of products.
    fn sort<V: Value, O: Offset, C: Offset>(
        product: &SpgemmCall<'_, V, O>,
        workspace: &Workspace,
    ) -> Result<(ProductArrays<V, C>, u64), OpError> {
        let (a, b) = (product.operands.a, product.operands.b);
        let (device, rows, entries) = (a.device(), a.nrows(), a.nnz() as u64);
        let column_bits = index_bits(b.ncols());
        let bits = SortOptions::default().with_bits(0..column_bits + index_bits(rows));
        check_countable(entries.max(rows as u64))?;
        let charge = workspace.take("the workspace", Required::new::<V>(entries, 0, bits)?.listed)?;
        let weighed = Weighed::new(product, &(0..rows))?;
        let products = weighed.products;
        check_countable(products)?;
        let required = Required::new::<V>(entries, products, bits)?;
        drop(charge);
        let mut charge = workspace.take("the workspace", required.all)?;
        let Some(pairs) = expand(product, weighed, column_bits)? else {
            let (column_indices, values, _charge) = result_arrays::<V, C>(device, rows, 0, workspace)?;
            return Ok((ProductArrays { row_offsets: device.zeros(rows + 1)?, column_indices, values }, 0));
        };
        let KeyedProducts { keys, values: sums } = pairs.compress(bits)?;
        charge.shrink_to(Requirement::all_of([required.pairs, FEW_WORDS]));
        let (mut column_indices, mut values, _charge) =
            result_arrays::<V, C>(device, rows, keys.len() as u64, workspace)?;
        values.slice_mut(..sums.len())?.copy_from(&sums)?;
        let mut row_offsets = device.uninitialized(rows + 1)?;
        let launch = device.kernel().threads(keys.len().max(rows + 1))?;
        let kernel = SplitKeys {
            keys: keys.as_global(),
            row_offsets: row_offsets.as_global_mut(),
            column_indices: column_indices.as_global_mut(),
            len: keys.len() as u32,
            rows: rows as u32,
            column_bits,
        };
        // SAFETY: C has a column per key, and a row offset more than rows; there are fewer than 2³¹ of both.
        unsafe { launch.launch(kernel) }?;
        Ok((ProductArrays { row_offsets, column_indices, values }, products))
    }
}

/// That there are no more rows, entries or products than the kernels count.
fn check_countable(count: u64) -> Result<(), OpError> {
    if count < MAX_PRODUCTS {
        return Ok(());
    }
    let what = "a matrix product by `global-sort`";
    Err(OpError::TooLong { what, len: count as usize, limit: MAX_PRODUCTS as usize - 1 })
}

impl<V: Value, O: Offset, C: Offset> Multiply<V, O, C> for GlobalSort {
    fn multiply(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        workspace: &Workspace,
    ) -> Result<FirstRun<V, C>, OpError> {
        let product = &operands.product();
        let (arrays, products) = Self::sort(product, workspace)?;
        let nonzeros = arrays.column_indices.len() as u64;
        // If another run was first, it has counted the same.
        let _ = self.counted.set(GlobalSortCounts { products, nonzeros });
        Ok(FirstRun { arrays, repeats: false })
    }
}

impl<V: Value, O: Offset, C: Offset> Strategy<V, O, C> for GlobalSort {
    fn again(
        &self,
        _operands: SpgemmOperands<'_, V, O>,
        _pattern: &DevicePattern<C>,
        _workspace: &Workspace,
    ) -> Result<DeviceVec<V>, OpError> {
        unreachable!("no pattern is kept")
    }

    fn info(&self) -> Info {
        let GlobalSortCounts { products, nonzeros } = self.counted.get().copied().unwrap_or_default();
        let sorted = SortedRegion::default();
        Info { method: SpgemmMethod::GlobalSort, products, nonzeros, kept_bytes: 0, sorted }
    }
}
