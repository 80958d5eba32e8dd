//! The strategy of products row by row, and what it keeps.

use std::sync::OnceLock;

use evenpath_kernels::spgemm::{
    SpgemmConvertOffsets, SpgemmHashCount, SpgemmHashFill, SpgemmWindowCount, SpgemmWindowFill,
};

use super::destinations::ProductDestinations;
use super::target::Target;
use super::{destinations, fill};
use crate::device::{DeviceVec, Kernels};
use crate::format::csr::DevicePattern;
use crate::op::spgemm::base::{ProductArrays, SpgemmOperands, Workspace, convert_offsets, result_arrays};
use crate::op::spgemm::method::SpgemmMethod;
use crate::op::spgemm::strategy::{FirstRun, Info, Multiply, SortedRegion, Strategy};
use crate::op::spgemm::symbolic::Symbolic;
use crate::operand::OpError;
use crate::operand::requirement::Requirement;
use crate::{Offset, Scalar};

/// The kernels of products row by row after the analysis, to be compiled ahead.
pub(in crate::op::spgemm) fn kernels<V: Scalar, O: Offset, C: Offset>() -> Kernels {
    destinations::kernels::<V, O>()
        .and::<SpgemmHashCount<O>>()
        .and::<SpgemmWindowCount<O>>()
        .and::<SpgemmHashFill<V, O>>()
        .and::<SpgemmWindowFill<V, O>>()
        .and::<SpgemmConvertOffsets<u64, C>>()
}

/// Each row of C by itself.
pub(in crate::op::spgemm) struct RowWise {
    symbolic: Symbolic,
    /// Where products go, if there is memory to keep that: once a run found a pattern that was known, or earlier where
    /// it pays for the first product.
    destinations: OnceLock<Option<ProductDestinations>>,
}

impl RowWise {
    pub(in crate::op::spgemm) fn new(symbolic: Symbolic) -> Self {
        Self { symbolic, destinations: OnceLock::new() }
    }

    /// The row offsets of C.
    pub(in crate::op::spgemm) fn row_offsets(&self) -> &DeviceVec<u64> {
        &self.symbolic.row_offsets
    }

    /// Where products go, if the workspace has room to keep that; found unless an earlier run did, or a graph is captured, which has
    /// not run. Writes the columns of the rows that it is for, unless they are known.
    fn destinations<V: Scalar, O: Offset>(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        target: &Target<'_, V>,
        workspace: &Workspace,
    ) -> Result<Option<&ProductDestinations>, OpError> {
        let is_recording = operands.device().is_recording();
        if !target.known || self.destinations.get().is_none() && !is_recording {
            let destinations = ProductDestinations::find(operands, &self.symbolic.rows, target, workspace)?;
            let are_found = destinations.is_some();
            // If another run was first, its destinations are the same.
            let _ = self.destinations.set(destinations);
            if !are_found {
                return Ok(None);
            }
        }
        Ok(self.destinations.get().and_then(Option::as_ref))
    }
}

impl<V: Scalar, O: Offset, C: Offset> Multiply<V, O, C> for RowWise {
    fn multiply(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        workspace: &Workspace,
    ) -> Result<FirstRun<V, C>, OpError> {
        let (symbolic, product) = (&self.symbolic, &operands.product());
        let device = operands.device();
        let _kept = workspace.take("the workspace", symbolic.required())?;
        let (mut column_indices, mut values, _charge) =
            result_arrays::<V, C>(device, operands.a.nrows(), symbolic.nonzeros, workspace)?;
        let target = Target {
            row_offsets: &symbolic.row_offsets,
            column_indices: column_indices.as_global_mut(),
            values: &mut values,
            known: false,
        };
        let destinations = if ProductDestinations::pay_at_once::<V>(device, &symbolic.rows) {
            self.destinations(operands, &target, workspace)?
        } else {
            None
        };
        fill::fill(&symbolic.rows, product, target, destinations)?;
        let row_offsets = convert_offsets(&symbolic.row_offsets)?;
        Ok(FirstRun { arrays: ProductArrays { row_offsets, column_indices, values }, repeats: true })
    }
}

impl<V: Scalar, O: Offset, C: Offset> Strategy<V, O, C> for RowWise {
    fn again(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        pattern: &DevicePattern<C>,
        workspace: &Workspace,
    ) -> Result<DeviceVec<V>, OpError> {
        let (symbolic, product) = (&self.symbolic, &operands.product());
        let mut values = operands.device().uninitialized(pattern.column_indices.len())?;
        let target = Target {
            row_offsets: &symbolic.row_offsets,
            column_indices: pattern.columns_of_known(),
            values: &mut values,
            known: true,
        };
        let kept = Requirement::all_of([symbolic.required(), Requirement::of::<u32>(symbolic.nonzeros)]);
        // Without room for destinations, the product is computed without them.
        let kept = workspace.take("the workspace", kept).ok();
        let destinations = match &kept {
            Some(_) => self.destinations(operands, &target, workspace)?,
            None => None,
        };
        fill::fill(&symbolic.rows, product, target, destinations)?;
        Ok(values)
    }

    fn info(&self) -> Info {
        let Symbolic { products, nonzeros, .. } = self.symbolic;
        let destinations =
            self.destinations.get().and_then(Option::as_ref).map_or(0, ProductDestinations::bytes);
        let kept_bytes = self.symbolic.bytes() + destinations;
        let sorted = SortedRegion::default();
        Info { method: SpgemmMethod::RowWise, products, nonzeros, kept_bytes, sorted }
    }
}
