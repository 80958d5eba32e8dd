//! Division of the nonzeros, and launches.

use evenpath_kernels::sddmm::{DenseLines, Sddmm, chunk_len};
use evenpath_simt::{Aligned16, Global, GlobalMut};

use crate::device::{DeviceError, DeviceVec};
use crate::format::path_tiles::PathTiles;
use crate::format::{DeviceCsr, DeviceDense, Layout};
use crate::operand::Factor;
use crate::{Offset, Storage, Value};

/// Blocks of each multiprocessor among which a small matrix is divided.
const BLOCKS: usize = 4;
/// Minimum number of row ends and nonzeros of a tile.
const MIN_TILE: usize = 64;

/// Tiles of the nonzeros, the same for all types of A and B.
pub(super) struct SddmmTiles {
    tiles: PathTiles,
    /// Row ends and nonzeros of a tile.
    items: u32,
}

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
        let device = matrix.device();
        let launcher = device.kernel::<Sddmm<V, O>>();
        let work = matrix.nrows().saturating_add(matrix.nnz());
        let most = launcher.info().tile_items();
        let items = tile_items(work, device.properties().multiprocessors as usize, most);
        let tiles = launcher.blocks(work.div_ceil(items))?.grid();
        let rows = PathTiles::rows_of(device, matrix.pattern().view(), (tiles, items as u32))?;
        Ok(Self { tiles: PathTiles { count: tiles, rows }, items: items as u32 })
    }

    /// Size in bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        self.tiles.bytes()
    }

    /// Launches the product.
    pub(super) fn run<V: Value, T: Storage<Computed = V>, O: Offset>(
        &self,
        matrix: &DeviceCsr<V, O>,
        call: &SddmmCall<'_, V, T>,
    ) -> Result<(), DeviceError> {
        let &SddmmCall { alpha, a, b, beta, values } = call;
        let (rows, columns) = (
            Lines::new(a, Layout::RowMajor, matrix.nnz())?,
            Lines::new(b, Layout::ColumnMajor, matrix.nnz())?,
        );
        let launcher =
            matrix.device().variant(if rows.is_packed && columns.is_packed { "Packets" } else { "Elements" });
        let launch = launcher.blocks(self.tiles.count as usize)?;
        let inner = a.ncols() as u32;
        let kernel = Sddmm {
            pattern: matrix.pattern().view(),
            tile_rows: self.tiles.rows.as_global(),
            tile_items: self.items,
            a: rows.view,
            b: columns.view,
            inner,
            lanes_log2: Sddmm::<T, O>::lanes_log2(inner),
            values,
            alpha: alpha.view(),
            beta: beta.view(),
        };
        // SAFETY: the tiles are the matrix's, and no longer than those of any instance; there is a value per nonzero, A has the rows of the
        // matrix and B its columns, and both have `inner` elements in each; factors are numbers or one element on this device;
        // buffers, of copies too, are freed in the stream's order.
        unsafe { launch.launch(kernel) }
    }
}

/// Rows of A, or columns of B, as kernels take them.
struct Lines<T: Storage> {
    view: DenseLines<T>,
    /// True if their elements are neighbors, and all begin and end at multiples of 16 bytes.
    is_packed: bool,
    /// Memory of a copy.
    _copy: Option<DeviceVec<T>>,
}

impl<T: Storage> Lines<T> {
    /// The rows of a matrix if `layout` is by rows, else its columns. If it has the other layout, and there are at least as many nonzeros as
    /// lines, they are copied: a single element would take a memory access of 32 bytes each time.
    fn new(dense: &DeviceDense<T>, layout: Layout, nonzeros: usize) -> Result<Self, DeviceError> {
        let (count, len) = match layout {
            Layout::RowMajor => dense.shape(),
            Layout::ColumnMajor => (dense.ncols(), dense.nrows()),
        };
        let (row_stride, column_stride) = dense.strides();
        let strides = match layout {
            Layout::RowMajor => (row_stride, column_stride),
            Layout::ColumnMajor => (column_stride, row_stride),
        };
        if dense.layout() == layout || nonzeros < count {
            return Ok(Self::of(dense.as_vec().as_aligned(), strides, len, None));
        }
        let mut copy = dense.device().uninitialized(count * len)?;
        dense.copy_across(&(0..len), &mut copy)?;
        Ok(Self::of(copy.as_aligned(), (len, 1), len, Some(copy)))
    }

    /// Lines of `len` elements, given the distances between lines and between elements.
    fn of(
        values: Global<T, Aligned16>,
        (stride, step): (usize, usize),
        len: usize,
        copy: Option<DeviceVec<T>>,
    ) -> Self {
        let is_packed = step == 1 && [len, stride].iter().all(|at| at.is_multiple_of(chunk_len::<T>()));
        let view = DenseLines { values, stride: stride as u64, step: step as u64 };
        Self { view, is_packed, _copy: copy }
    }
}

/// Returns the length of tiles, at most `most`: shorter where there would be too few to keep the multiprocessors busy.
fn tile_items(work: usize, multiprocessors: usize, most: usize) -> usize {
    let share = work / (BLOCKS * multiprocessors).max(1);
    share.min(most).next_power_of_two().clamp(MIN_TILE.min(most), most)
}

#[cfg(test)]
mod tests {
    use evenpath_simt::kernel::Kernel;

    use super::*;

    #[test]
    fn tiles_of_small_matrices_are_shorter() {
        let works = [0, 1000, 100_000, 132 * 4 * 600, 132 * 4 * 1024, 1 << 40];
        assert_eq!(works.map(|work| tile_items(work, 132, 1024)), [64, 64, 256, 1024, 1024, 1024]);
    }

    #[test]
    fn all_instances_have_the_same_tiles() {
        let first = Sddmm::<f32, u32>::INSTANCES[0];
        for info in Sddmm::<f32, u32>::INSTANCES {
            assert_eq!(info.tile_items(), first.tile_items(), "{}", info.name);
        }
    }
}
