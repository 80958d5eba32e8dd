//! Products on the CPU.

use super::base::{
    ProductArrays, SpgemmOperands, Workspace, convert_offsets, countable, result_arrays, result_required,
};
use super::method::SpgemmMethod;
use super::strategy::{FirstRun, Info, Multiply, SortedRegion, Strategy};
use crate::cpu::{SpgemmArrays, in_pool};
use crate::device::{Device, DeviceVec};
use crate::format::csr::DevicePattern;
use crate::operand::OpError;
use crate::{Offset, Scalar};

/// The product in one pass, which finds columns and values together.
pub(super) struct OnePass;

impl OnePass {
    /// Returns whether memory suffices for one pass, which does not know the size of the result: only where none is limited.
    pub(super) fn may_run(device: &Device, limit: Option<u64>) -> bool {
        limit.is_none() && device.memory_limit().is_none()
    }
}

impl<V: Scalar, O: Offset, C: Offset> Multiply<V, O, C> for OnePass {
    fn multiply(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        workspace: &Workspace,
    ) -> Result<FirstRun<V, C>, OpError> {
        let (device, product) = (operands.device(), operands.product());
        let Some(arrays) = in_pool(operands.a.nrows(), || product.on_cpu().multiply::<C>()) else {
            // There is too little memory for it.
            return OnCpu::count(operands).multiply(operands, workspace);
        };
        let SpgemmArrays { row_offsets, column_indices, values } = arrays;
        let nonzeros = values.len() as u64;
        countable::<C>(nonzeros)?;
        let _charge = workspace.take("the result", result_required::<V, C>(operands.a.nrows(), nonzeros))?;
        let arrays = ProductArrays {
            row_offsets: device.adopt(row_offsets)?,
            column_indices: device.adopt(column_indices)?,
            values: device.adopt(values)?,
        };
        Ok(FirstRun { arrays, repeats: false })
    }
}

/// Row by row, on all threads.
pub(super) struct OnCpu {
    /// Where the rows of C begin, and its entries at the end.
    row_offsets: Vec<u64>,
    products: u64,
}

impl OnCpu {
    /// Counts products and entries of C.
    pub(super) fn count<V: Scalar, O: Offset>(operands: SpgemmOperands<'_, V, O>) -> Self {
        let product = operands.product();
        in_pool(operands.a.nrows(), || {
            let cpu = product.on_cpu();
            Self { row_offsets: cpu.row_offsets(), products: cpu.products() }
        })
    }

    fn nonzeros(&self) -> u64 {
        self.row_offsets[self.row_offsets.len() - 1]
    }
}

impl<V: Scalar, O: Offset, C: Offset> Multiply<V, O, C> for OnCpu {
    fn multiply(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        workspace: &Workspace,
    ) -> Result<FirstRun<V, C>, OpError> {
        let (device, product) = (operands.device(), operands.product());
        let rows = operands.a.nrows();
        let (mut column_indices, mut values, _charge) =
            result_arrays::<V, C>(device, rows, self.nonzeros(), workspace)?;
        if let (Some(columns), Some(values)) = (column_indices.host_slice_mut(), values.host_slice_mut()) {
            in_pool(rows, || product.on_cpu().fill(&self.row_offsets, columns, values));
        }
        let row_offsets = convert_offsets(&device.upload(&self.row_offsets)?)?;
        Ok(FirstRun { arrays: ProductArrays { row_offsets, column_indices, values }, repeats: true })
    }
}

impl<V: Scalar, O: Offset, C: Offset> Strategy<V, O, C> for OnCpu {
    fn again(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        pattern: &DevicePattern<C>,
        _workspace: &Workspace,
    ) -> Result<DeviceVec<V>, OpError> {
        let product = operands.product();
        let mut values = operands.device().uninitialized(pattern.column_indices.len())?;
        if let Some(values) = values.host_slice_mut() {
            in_pool(operands.a.nrows(), || product.on_cpu().fill_values(&self.row_offsets, values));
        }
        Ok(values)
    }

    fn info(&self) -> Info {
        Info {
            method: SpgemmMethod::RowWise,
            products: self.products,
            nonzeros: self.nonzeros(),
            kept_bytes: 0,
            sorted: SortedRegion::default(),
        }
    }
}
