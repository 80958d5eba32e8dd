//! Products on the CPU.

use super::SpgemmMethod;
use super::base::{Arrays, Operands, Product, Workspace, convert_offsets, result_arrays};
use super::strategy::{Found, Info, Strategy};
use crate::device::DeviceVec;
use crate::op::OpError;
use crate::op::device_csr::Pattern;
use crate::{Offset, Value};

/// Row by row, on all threads.
pub(super) struct OnCpu {
    /// Where the rows of C begin, and its entries at the end.
    row_offsets: Vec<u64>,
    products: u64,
}

impl OnCpu {
    /// Counts products and entries of C.
    pub(super) fn count<V: Value, O: Offset>(operands: Operands<'_, V, O>) -> Self {
        let product = operands.product();
        let cpu = product.on_cpu();
        Self { row_offsets: cpu.row_offsets(), products: cpu.products() }
    }

    fn nonzeros(&self) -> u64 {
        self.row_offsets[self.row_offsets.len() - 1]
    }
}

impl<V: Value, O: Offset, C: Offset> Strategy<V, O, C> for OnCpu {
    fn first(&self, product: &Product<'_, V, O>, workspace: &Workspace) -> Result<Found<V, C>, OpError> {
        let device = product.operands.device();
        let rows = product.operands.a.rows();
        let (mut column_indices, mut values, _charge) =
            result_arrays::<V, C>(device, rows, self.nonzeros(), workspace)?;
        if let (Some(columns), Some(values)) = (column_indices.host_slice_mut(), values.host_slice_mut()) {
            product.on_cpu().fill(&self.row_offsets, columns, values);
        }
        let row_offsets = convert_offsets(&device.upload(&self.row_offsets)?)?;
        Ok(Found { arrays: Arrays { row_offsets, column_indices, values }, repeats: true })
    }

    fn again(
        &self,
        product: &Product<'_, V, O>,
        pattern: &Pattern<C>,
        _workspace: &Workspace,
    ) -> Result<DeviceVec<V>, OpError> {
        let mut values = product.operands.device().uninitialized(pattern.column_indices.len())?;
        if let (Some(columns), Some(values)) = (pattern.column_indices.host_slice(), values.host_slice_mut())
        {
            product.on_cpu().fill_pattern(&self.row_offsets, columns, values);
        }
        Ok(values)
    }

    fn info(&self) -> Info {
        Info {
            method: SpgemmMethod::RowWise,
            products: self.products,
            nonzeros: self.nonzeros(),
            kept_bytes: 0,
        }
    }
}
