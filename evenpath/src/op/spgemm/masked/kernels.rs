//! Launches of products under a mask.

use evenpath_kernels::GlobalCsr;
use evenpath_kernels::spgemm::{
    MASKED_TILE, SpgemmMaskedAddParts, SpgemmMaskedMultiply, SpgemmMaskedParts, SpgemmMaskedWeights,
};
use evenpath_simt::Arithmetic;

use crate::device::{Device, DeviceVec};
use crate::format::csr::DevicePattern;
use crate::format::path_tiles::PathTiles;
use crate::op::spgemm::base::Workspace;
use crate::operand::OpError;
use crate::operand::requirement::Requirement;
use crate::operation::Operator;
use crate::sequence::scan::{self, ScanOptions};
use crate::{Entry, Offset};

/// A product with a mask, on a device with kernels, which take values as `E`.
pub(super) struct MaskedProduct<'a, E: Arithmetic, O: Offset> {
    pub(super) device: &'a Device,
    pub(super) a: &'a DevicePattern<O>,
    pub(super) b: &'a DevicePattern<O>,
    pub(super) mask: &'a DevicePattern<O>,
    /// A and B with their values.
    pub(super) operands: (GlobalCsr<E, O>, GlobalCsr<E, O>),
}

/// Device memory of `len` counts and their scan.
fn scanned(len: usize) -> Requirement {
    let counts = Requirement::of::<u64>(len as u64);
    let state = scan::values_temporary_bytes(len, ScanOptions::<u64>::exclusive(Operator::Sum));
    Requirement::all_of([counts, counts, Requirement::new(state)])
}

impl<E: Arithmetic, O: Offset> MaskedProduct<'_, E, O> {
    /// Computes the values. `zeros` makes a vector of zeros of `E`. Waits for the device.
    pub(super) fn multiply<V: Entry>(
        &self,
        workspace: &Workspace,
        zeros: impl Fn(usize) -> Result<DeviceVec<V>, OpError>,
    ) -> Result<DeviceVec<V>, OpError> {
        let (a, b) = self.operands;
        let (rows, nonzeros) = (a.rows as usize, a.nonzeros as usize);
        let mut values = zeros(self.mask.column_indices.len())?;
        if nonzeros == 0 || b.nonzeros == 0 || values.is_empty() {
            return Ok(values);
        }
        let required = Requirement::all_of([scanned(nonzeros + 1), scanned(rows + 1)]);
        let _charge = workspace.take("the workspace", required)?;
        let weights = self.weights()?;
        let first_sums = self.first_sums(&weights)?;
        let (weight, sums) = (weights.get(nonzeros)?, first_sums.get(rows)?);
        let _sums = workspace.take("the workspace", Requirement::of::<V>(sums))?;
        let mut part_sums = zeros(sums as usize)?;
        let launch = self.device.kernel().warps(weight.div_ceil(MASKED_TILE) as usize)?;
        let kernel = SpgemmMaskedMultiply {
            a,
            b,
            mask: self.mask.view(),
            weights: weights.as_global(),
            first_sums: first_sums.as_global(),
            values: values.as_global_mut_of(),
            part_sums: part_sums.as_global_mut_of(),
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
        let launcher = self.device.kernel::<SpgemmMaskedWeights<O>>();
        let (tiles, launch) = PathTiles::of_view(self.device, self.a.view(), launcher)?;
        let mut weights = self.device.uninitialized(self.a.column_indices.len() + 1)?;
        let kernel = SpgemmMaskedWeights {
            a: self.a.view(),
            tile_rows: tiles.rows.as_global(),
            b_row_offsets: self.b.row_offsets.as_global(),
            mask_row_offsets: self.mask.row_offsets.as_global(),
            weights: weights.as_global_mut(),
        };
        // SAFETY: the views are of matrices that fit together and of a weight for each entry of A, and one more.
        unsafe { launch.launch(kernel) }?;
        scan::values(&weights, ScanOptions::exclusive(Operator::Sum))
    }

    /// The sums of further parts before those of each row, and all at the end.
    fn first_sums(&self, weights: &DeviceVec<u64>) -> Result<DeviceVec<u64>, OpError> {
        let launch = self.device.kernel().threads(self.a.rows + 1)?;
        let mut sums = self.device.uninitialized(self.a.rows + 1)?;
        let kernel = SpgemmMaskedParts {
            row_offsets: self.a.row_offsets.as_global(),
            weights: weights.as_global(),
            mask_row_offsets: self.mask.row_offsets.as_global(),
            sums: sums.as_global_mut(),
            rows: self.a.rows as u32,
        };
        // SAFETY: the views are of matrices with the same rows, of the weights of A's entries, and of a number for each row, and one more.
        unsafe { launch.launch(kernel) }?;
        scan::values(&sums, ScanOptions::exclusive(Operator::Sum))
    }

    /// Adds the sums of further parts of rows to those of the first.
    fn add_parts<V: Entry>(
        &self,
        first_sums: &DeviceVec<u64>,
        part_sums: &DeviceVec<V>,
        values: &mut DeviceVec<V>,
    ) -> Result<(), OpError> {
        let launcher = self.device.kernel::<SpgemmMaskedAddParts<E, O>>();
        let (tiles, launch) = PathTiles::of_view(self.device, self.mask.view(), launcher)?;
        let kernel = SpgemmMaskedAddParts {
            mask: self.mask.view(),
            tile_rows: tiles.rows.as_global(),
            first_sums: first_sums.as_global(),
            part_sums: part_sums.as_global_of(),
            values: values.as_global_mut_of(),
        };
        // SAFETY: the views are of the mask, of the sums that were counted, and of a sum for each entry of the mask.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}
