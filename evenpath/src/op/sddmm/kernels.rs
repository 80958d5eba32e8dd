//! Division of the nonzeros, and launches.

use evenpath_kernels::sddmm::{DenseLines, Sddmm, chunk_len};
use evenpath_simt::GlobalMut;

use crate::device::DeviceError;
use crate::format::path_tiles::PathTiles;
use crate::format::{DeviceCsr, DeviceDense};
use crate::operand::Factor;
use crate::{Offset, Storage, Value};

/// Tiles of the nonzeros, the same for all types of A and B.
pub(super) struct SddmmTiles(PathTiles);

/// A product as kernels take it. The shapes match, and all is on one device.
pub(super) struct SddmmCall<'a, V: Value, T: Storage> {
    pub(super) alpha: Factor<'a, V>,
    pub(super) a: &'a DeviceDense<T>,
    pub(super) b: &'a DeviceDense<T>,
    pub(super) beta: Factor<'a, V>,
    pub(super) values: GlobalMut<V>,
}

impl SddmmTiles {
    /// Divides a matrix on a device with kernels.
    pub(super) fn find<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<Self, DeviceError> {
        let (tiles, _) = PathTiles::find(matrix, matrix.device().kernel::<Sddmm<V, O>>())?;
        Ok(Self(tiles))
    }

    /// Size in bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// Launches the product.
    pub(super) fn run<V: Value, T: Storage<Computed = V>, O: Offset>(
        &self,
        matrix: &DeviceCsr<V, O>,
        call: &SddmmCall<'_, V, T>,
    ) -> Result<(), DeviceError> {
        let &SddmmCall { alpha, a, b, beta, values } = call;
        let (a_row, a_column) = a.strides();
        let (b_row, b_column) = b.strides();
        let of_16_bytes = chunk_len::<T>();
        let is_packed = (a_column, b_row) == (1, 1)
            && [a.ncols(), a_row, b_column].iter().all(|elements| elements.is_multiple_of(of_16_bytes));
        let launcher = matrix.device().variant(if is_packed { "Packets" } else { "Elements" });
        let lines = |dense: &DeviceDense<T>, stride: usize, step: usize| DenseLines {
            values: dense.as_vec().as_aligned(),
            stride: stride as u64,
            step: step as u64,
        };
        let inner = a.ncols() as u32;
        let kernel = Sddmm {
            pattern: matrix.pattern().view(),
            tile_rows: self.0.rows.as_global(),
            a: lines(a, a_row, a_column),
            b: lines(b, b_column, b_row),
            inner,
            lanes_log2: Sddmm::<T, O>::lanes_log2(inner),
            values,
            alpha: alpha.view(),
            beta: beta.view(),
        };
        // SAFETY: the tiles are the matrix's, of the length that all instances have; there is a value per nonzero, A has the rows of the
        // matrix and B its columns, and both have `inner` elements in each; factors are numbers or one element on this device;
        // buffers are freed in the stream's order.
        unsafe { launcher.blocks(self.0.count as usize)?.launch(kernel) }
    }
}

#[cfg(test)]
mod tests {
    use evenpath_simt::kernel::Kernel;

    use super::*;

    #[test]
    fn all_instances_have_the_same_tiles() {
        let first = Sddmm::<f32, u32>::INSTANCES[0];
        for info in Sddmm::<f32, u32>::INSTANCES {
            assert_eq!(info.tile_items(), first.tile_items(), "{}", info.name);
        }
    }
}
