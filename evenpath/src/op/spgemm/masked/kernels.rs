//! Launches of products under a mask.

use evenpath_kernels::spgemm::{
    MASKED_TILE, SpgemmMaskedAddParts, SpgemmMaskedMultiply, SpgemmMaskedParts, SpgemmMaskedWeights,
};

use crate::device::DeviceVec;
use crate::format::DeviceCsr;
use crate::format::path_tiles::PathTiles;
use crate::op::spgemm::base::{SpgemmCall, SpgemmOperands, Workspace};
use crate::operand::OpError;
use crate::operand::requirement::Requirement;
use crate::operation::Operator;
use crate::sequence::scan::{self, ScanOptions};
use crate::{Offset, Scalar};

/// A product with a mask, on a device with kernels.
pub(super) struct MaskedProduct<'a, V: Scalar, M: Scalar, O: Offset> {
    pub(super) product: &'a SpgemmCall<'a, V, O>,
    pub(super) mask: &'a DeviceCsr<M, O>,
}

/// Device memory of `len` counts and their scan.
fn scanned(len: usize) -> Requirement {
    let counts = Requirement::of::<u64>(len as u64);
    let state = scan::values_temporary_bytes(len, ScanOptions::<u64>::exclusive(Operator::Sum));
    Requirement::all_of([counts, counts, Requirement::new(state)])
}

impl<V: Scalar, M: Scalar, O: Offset> MaskedProduct<'_, V, M, O> {
    /// Computes the values. Waits for the device.
    pub(super) fn multiply(&self, workspace: &Workspace) -> Result<DeviceVec<V>, OpError> {
        let SpgemmOperands { a, b } = self.product.operands;
        let mut values = a.device().zeros(self.mask.nnz())?;
        if a.nnz() == 0 || b.nnz() == 0 || self.mask.nnz() == 0 {
            return Ok(values);
        }
        let required = Requirement::all_of([scanned(a.nnz() + 1), scanned(a.nrows() + 1)]);
        let _charge = workspace.take("the workspace", required)?;
        let weights = self.weights()?;
        let first_sums = self.first_sums(&weights)?;
        let (weight, sums) = (weights.get(a.nnz())?, first_sums.get(a.nrows())?);
        let _sums = workspace.take("the workspace", Requirement::of::<V>(sums))?;
        let mut part_sums = a.device().zeros(sums as usize)?;
        let (a, b) = self.product.views();
        let launch = values.device().kernel().warps(weight.div_ceil(MASKED_TILE) as usize)?;
        let kernel = SpgemmMaskedMultiply {
            a,
            b,
            mask: self.mask.pattern().view(),
            weights: weights.as_global(),
            first_sums: first_sums.as_global(),
            values: values.as_global_mut(),
            part_sums: part_sums.as_global_mut(),
        };
        // SAFETY: the views are of canonical matrices that fit together, of the weights of A's entries, and of sums for each entry of the
        // mask and as many as were counted, all zero; the grid has a warp for each tile. Buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        if sums > 0 {
            self.add_parts(&first_sums, &part_sums, &mut values)?;
        }
        Ok(values)
    }

    /// The weight before each entry of A, and that of all at the end.
    fn weights(&self) -> Result<DeviceVec<u64>, OpError> {
        let SpgemmOperands { a, b } = self.product.operands;
        let launcher = a.device().kernel::<SpgemmMaskedWeights<O>>();
        let (tiles, launch) = PathTiles::find(a, launcher)?;
        let mut weights = a.device().uninitialized(a.nnz() + 1)?;
        let kernel = SpgemmMaskedWeights {
            a: a.pattern().view(),
            tile_rows: tiles.rows.as_global(),
            b_row_offsets: b.pattern().row_offsets.as_global(),
            mask_row_offsets: self.mask.pattern().row_offsets.as_global(),
            weights: weights.as_global_mut(),
        };
        // SAFETY: the views are of matrices that fit together and of a weight for each entry of A, and one more.
        unsafe { launch.launch(kernel) }?;
        scan::values(&weights, ScanOptions::exclusive(Operator::Sum))
    }

    /// The sums of further parts before those of each row, and all at the end.
    fn first_sums(&self, weights: &DeviceVec<u64>) -> Result<DeviceVec<u64>, OpError> {
        let a = self.product.operands.a;
        let launch = a.device().kernel().threads(a.nrows() + 1)?;
        let mut sums = a.device().uninitialized(a.nrows() + 1)?;
        let kernel = SpgemmMaskedParts {
            row_offsets: a.pattern().row_offsets.as_global(),
            weights: weights.as_global(),
            mask_row_offsets: self.mask.pattern().row_offsets.as_global(),
            sums: sums.as_global_mut(),
            rows: a.nrows() as u32,
        };
        // SAFETY: the views are of matrices with the same rows, of the weights of A's entries, and of a number for each row, and one more.
        unsafe { launch.launch(kernel) }?;
        scan::values(&sums, ScanOptions::exclusive(Operator::Sum))
    }

    /// Adds the sums of further parts of rows to those of the first.
    fn add_parts(
        &self,
        first_sums: &DeviceVec<u64>,
        part_sums: &DeviceVec<V>,
        values: &mut DeviceVec<V>,
    ) -> Result<(), OpError> {
        let launcher = self.mask.device().kernel::<SpgemmMaskedAddParts<V, O>>();
        let (tiles, launch) = PathTiles::find(self.mask, launcher)?;
        let kernel = SpgemmMaskedAddParts {
            mask: self.mask.pattern().view(),
            tile_rows: tiles.rows.as_global(),
            first_sums: first_sums.as_global(),
            part_sums: part_sums.as_global(),
            values: values.as_global_mut(),
        };
        // SAFETY: the views are of the mask, of the sums that were counted, and of a sum for each entry of the mask.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}
