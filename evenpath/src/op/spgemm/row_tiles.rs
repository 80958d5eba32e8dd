//! Small products in two launches, each followed by a wait for what it counted.

use evenpath_kernels::spgemm::row_tiles::{
    CountProducts, LONGEST, MOST_IN_A_ROW, MultiplyTiles, TOTAL, count_state_words, multiply_state_words,
    shared_bytes,
};
use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::base::{ProductArrays, SpgemmCall, SpgemmOperands, Workspace, result_arrays, result_required};
use super::method::SpgemmMethod;
use super::strategy::{FirstRun, Multiply};
use super::symbolic::lanes_log2;
use crate::device::{Device, DeviceVec, Kernels};
use crate::operand::OpError;
use crate::operand::requirement::Requirement;
use crate::{Offset, Value};

/// Nonzeros of A and of B, and rows of C, up to which a product is small.
const MOST_NONZEROS: usize = 1 << 18;
/// Products up to which it is. The memory for as many entries is kept with the result: it is not known how many there will be.
const MOST_PRODUCTS: u64 = 1 << 20;
/// The fewest products of a tile that are not the longest row's: an eighth of the smallest tile, and one.
const FEWEST_TILE_PRODUCTS: u32 = TILE_THREADS[0] * TILE_ITEMS / 8 + 1;
/// Threads of the blocks that there are, and items of each.
const TILE_THREADS: [u32; 2] = [256, 512];
const TILE_ITEMS: u32 = 8;

/// The kernels of counting.
fn counting_kernels<O: Offset>() -> Kernels {
    Kernels::default().and::<CountProducts<O>>()
}

/// The kernels of multiplying.
fn kernels<V: Value, O: Offset>() -> Kernels {
    Kernels::default().and::<MultiplyTiles<V, O>>()
}

/// Returns whether a product whose rows have at most `longest` products, and `total` together, is computed by tiles of rows, if
/// there is memory for it. A plan then goes row by row, which gives the same bits.
pub(super) fn takes<V: Value, O: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    total: u64,
    longest: u64,
) -> bool {
    is_small(operands)
        && total <= MOST_PRODUCTS
        && tile_instance::<V, O>(operands.device(), longest).is_some()
}

/// Returns whether the operands may make a small product.
fn is_small<V: Value, O: Offset>(SpgemmOperands { a, b }: SpgemmOperands<'_, V, O>) -> bool {
    [a.nrows(), a.nnz(), b.nnz()].iter().all(|&count| count <= MOST_NONZEROS)
}

/// The smallest tile that the device has room for and in which the longest row leaves an eighth to others.
fn tile_instance<V: Value, O: Offset>(device: &Device, longest: u64) -> Option<&'static KernelInfo> {
    let room = device.properties().shared_bytes();
    TILE_THREADS
        .into_iter()
        .filter_map(|block| MultiplyTiles::<V, O>::instance(block, TILE_ITEMS))
        .find(|info| 8 * longest <= 7 * info.tile_items() as u64 && tile_bytes(info) <= room)
}

/// Bytes of shared memory of a block.
fn tile_bytes(info: &KernelInfo) -> u32 {
    shared_bytes(info.block_size as usize, info.items_per_thread as usize)
}

/// A small product, whose rows are counted.
pub(super) struct RowTilesProduct {
    counted: CountedProducts,
    info: &'static KernelInfo,
}

impl RowTilesProduct {
    /// Counts the products, if the operands are small and there is memory; `None` if another method is for them. Waits for the
    /// device.
    pub(super) fn find<V: Value, O: Offset, C: Offset>(
        operands: SpgemmOperands<'_, V, O>,
        method: SpgemmMethod,
        workspace: &Workspace,
    ) -> Result<Option<Self>, OpError> {
        // The kernel writes row offsets of the operands' type.
        let is_for = matches!(method, SpgemmMethod::Auto | SpgemmMethod::RowTiles) && C::NAME == O::NAME;
        let required = counting_required(operands.a.nrows());
        if !is_for || operands.a.nrows() == 0 || !is_small(operands) || !workspace.has_room(required) {
            return Ok(None);
        }
        let _charge = workspace.take("the workspace", required)?;
        let counted = CountedProducts::find(operands)?;
        let most = result_required::<V, C>(operands.a.nrows(), counted.total);
        if counted.total > MOST_PRODUCTS || !workspace.has_room(most) {
            return Ok(None);
        }
        let info = tile_instance::<V, O>(operands.device(), counted.longest);
        Ok(info.map(|info| Self { counted, info }))
    }
}

impl<V: Value, O: Offset, C: Offset> Multiply<V, O, C> for RowTilesProduct {
    fn multiply(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        workspace: &Workspace,
    ) -> Result<FirstRun<V, C>, OpError> {
        let _charge = workspace.take("the workspace", counting_required(operands.a.nrows()))?;
        let arrays = self.counted.multiply(&operands.product(), self.info, workspace)?;
        Ok(FirstRun { arrays, repeats: false })
    }
}

/// Memory beside the result: the products before each row, and the states of the kernels.
fn counting_required(rows: usize) -> Requirement {
    let tiles = MOST_PRODUCTS as u32 / FEWEST_TILE_PRODUCTS + 1;
    let states = 2 * (count_state_words(MOST_NONZEROS as u32 >> 8) + multiply_state_words(tiles));
    Requirement::all_of([Requirement::of::<u32>(rows as u64 + 1), Requirement::of::<u64>(states as u64)])
}

/// The products of the rows of C.
struct CountedProducts {
    /// Those before each row, and at the end all of them.
    before: DeviceVec<u32>,
    total: u64,
    /// The most of a row.
    longest: u64,
}

impl CountedProducts {
    /// Counts them; waits for the device.
    fn find<V: Value, O: Offset>(operands: SpgemmOperands<'_, V, O>) -> Result<Self, OpError> {
        let (device, (a, b)) = (operands.device(), operands.views());
        device.prepare(counting_kernels::<O>)?;
        let rows = operands.a.nrows();
        // Each lane has four loads in flight.
        let lanes_log2 = lanes_log2(operands.a.nnz() as f64 / rows as f64 / 4.0, 0, 5);
        let launch = device.kernel().threads(rows << lanes_log2)?;
        let mut state = device.launch_state(count_state_words(launch.grid()))?;
        let mut before = device.uninitialized(rows + 1)?;
        let (stale, stale_words) = state.stale();
        let kernel = CountProducts {
            a,
            b,
            state: state.own(),
            results: state.results(),
            stale,
            stale_words,
            before: before.as_global_mut(),
            lanes_log2,
        };
        // SAFETY: the views are of matrices that fit together, of the state of the grid's blocks, which is zero, and of an output
        // with an element per row and one more. Buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        let numbers: [u64; 2] = state.finish()?;
        Ok(Self { before, total: numbers[TOTAL], longest: numbers[LONGEST] })
    }

    /// The product, by tiles of this kernel instance, which have room for the longest row; waits for the device.
    fn multiply<V: Value, O: Offset, C: Offset>(
        &self,
        product: &SpgemmCall<'_, V, O>,
        info: &'static KernelInfo,
        workspace: &Workspace,
    ) -> Result<ProductArrays<V, C>, OpError> {
        let (device, (a, b)) = (product.operands.device(), product.views());
        device.prepare(kernels::<V, O>)?;
        let rows = product.operands.a.nrows();
        let tile_products = info.tile_items() as u64 + 1 - self.longest.max(1);
        let tiles = self.total / tile_products + 1;
        let launch = device.instance(info).shared_bytes(tile_bytes(info)).blocks(tiles as usize)?;
        let mut state = device.launch_state(multiply_state_words(launch.grid()))?;
        let mut row_offsets: DeviceVec<C> = device.uninitialized(rows + 1)?;
        let (mut columns, mut values, _charge) = result_arrays::<V, C>(device, rows, self.total, workspace)?;
        let (stale, stale_words) = state.stale();
        let kernel = MultiplyTiles {
            a,
            b,
            before: self.before.as_global(),
            state: state.own(),
            results: state.results(),
            stale,
            stale_words,
            row_offsets: row_offsets.as_global_mut_of::<O>(),
            column_indices: columns.as_global_mut(),
            values: values.as_global_mut(),
            tile_products: tile_products as u32,
        };
        // SAFETY: the views are of matrices that fit together, of the products that were counted for them, of the state of the
        // tiles, which is zero, and of outputs with room for an entry per product and for `rows` + 1 row offsets, of which the type
        // is that of the operands'. A tile's products and the longest row's fit in a block. Buffers are freed in the
        // stream's order.
        unsafe { launch.launch(kernel) }?;
        let [entries] = state.finish()?;
        columns.truncate(entries as usize);
        values.truncate(entries as usize);
        Ok(ProductArrays { row_offsets, column_indices: columns, values })
    }
}

const _: () = assert!(MOST_IN_A_ROW > 1 << 12, "rows that are not counted whole fit in no tile");
