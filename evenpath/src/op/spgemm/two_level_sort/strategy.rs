//! The strategy of two-level sorting, and what it keeps.

use std::sync::OnceLock;

use evenpath_kernels::spgemm::SpgemmConvertOffsets;
use evenpath_kernels::spgemm::two_level_sort::{
    AddProducts, ListEntries, PlaceTiles, SortProducts, WeighEntries,
};

use super::batches::ReusableProduct;
use super::entries::BlockSort;
use super::recorder::Recorder;
use super::rows::ProductOrder;
use super::{batches, cut_rows};
use crate::device::{DeviceVec, Kernels};
use crate::format::csr::DevicePattern;
use crate::op::spgemm::base::{ProductArrays, SpgemmOperands, Workspace, convert_offsets};
use crate::op::spgemm::strategy::{FirstRun, Info, Multiply, SortedRegion, Strategy};
use crate::operand::OpError;
use crate::sequence::scan::sum_kernel;
use crate::{Offset, Value};

/// The kernels of products by sorting, to be compiled ahead.
pub(in crate::op::spgemm) fn kernels<V: Value, O: Offset, C: Offset>() -> Kernels {
    sum_kernel::<u64>()
        .and_all(sum_kernel::<u32>())
        .and::<WeighEntries<O>>()
        .and::<ListEntries<O>>()
        .and::<SortProducts<O>>()
        .and::<PlaceTiles>()
        .and::<AddProducts<V, O>>()
        .and_all(cut_rows::kernels::<V>())
        .and::<SpgemmConvertOffsets<u32, u64>>()
        .and::<SpgemmConvertOffsets<u64, C>>()
}

/// Products by two-level sorting, and what the first one found.
pub(in crate::op::spgemm) struct TwoLevelSort<O: Offset> {
    sort: BlockSort,
    known: OnceLock<Known<O>>,
}

/// Results of the first product that later ones reuse.
pub(super) struct Known<O: Offset> {
    products: u64,
    nonzeros: u64,
    /// Order of the products; `None` if memory was too short for all of them at once, and each run sorts again.
    order: Option<ProductOrder<O>>,
}

impl<O: Offset> TwoLevelSort<O> {
    /// A product whose tiles are sorted so.
    pub(in crate::op::spgemm) fn new(sort: BlockSort) -> Self {
        Self { sort, known: OnceLock::new() }
    }

    /// The values of C, in the order that the first product found; only where that said that it repeats.
    pub(in crate::op::spgemm) fn new_values<V: Value>(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        workspace: &Workspace,
    ) -> Result<DeviceVec<V>, OpError> {
        let product = &operands.product();
        let Some(Known { order: Some(order), .. }) = self.known.get() else {
            unreachable!("a pattern is only kept with the order of its products")
        };
        let _charge = workspace.take("the workspace", order.required::<V>())?;
        order.values(product, &mut Recorder::default())
    }
}

impl<V: Value, O: Offset, C: Offset> Multiply<V, O, C> for TwoLevelSort<O> {
    fn multiply(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        workspace: &Workspace,
    ) -> Result<FirstRun<V, C>, OpError> {
        let product = &operands.product();
        let ReusableProduct { arrays, products, order } =
            batches::multiply::<V, O, C>(product, self.sort, workspace, &mut Recorder::default())?;
        let ProductArrays { row_offsets, column_indices, values } = arrays;
        let nonzeros = column_indices.len() as u64;
        // If another run was first, its order is kept.
        let known = self.known.get_or_init(|| Known { products, nonzeros, order });
        let row_offsets = convert_offsets(&row_offsets)?;
        Ok(FirstRun {
            arrays: ProductArrays { row_offsets, column_indices, values },
            repeats: known.order.is_some(),
        })
    }
}

impl<V: Value, O: Offset, C: Offset> Strategy<V, O, C> for TwoLevelSort<O> {
    fn again(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        _pattern: &DevicePattern<C>,
        workspace: &Workspace,
    ) -> Result<DeviceVec<V>, OpError> {
        self.new_values(operands, workspace)
    }

    fn info(&self) -> Info {
        let (method, sorted) = (self.sort.method(), SortedRegion::default());
        let Some(Known { products, nonzeros, order }) = self.known.get() else {
            return Info { method, products: 0, nonzeros: 0, kept_bytes: 0, sorted };
        };
        let kept_bytes = order.as_ref().map_or(0, ProductOrder::bytes);
        Info { method, products: *products, nonzeros: *nonzeros, kept_bytes, sorted }
    }
}
