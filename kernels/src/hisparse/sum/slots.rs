//! A block reads the slots of dense nodes, in the order of the sum.
use evenpath_simt::{device, thread, Word};

use super::side::{NodeHandle, NodePair, SumTree};
use crate::unroll::unroll;

/// Rows whose slots a warp has in flight. In a transposed node, this many consecutive slots are loaded together.
const BATCH: usize = 4;
const BATCH_LOG2: u32 = (BATCH as u32).ilog2();

/// One of 32 consecutive positions in a row of the sum, one per lane, with the slots of dense nodes there.
#[derive(Clone, Copy)]
pub(super) struct DenseSlots<T> {
    pub(super) row: u32,
    pub(super) col: u32,
    /// All bits zero if A's node has no entry there, or is not dense.
    pub(super) a: T,
    /// The same for B's node.
    pub(super) b: T,
}

/// Calls `visit` in whole warps, which together cover every position.
#[device(track_caller)]
pub(super) fn for_each<T: Word, const BLOCK: usize>(
    a: SumTree<T>,
    b: SumTree<T>,
    pair: NodePair,
    visit: impl Fn(DenseSlots<T>),
) {
    // A row has 1 << words_log2 words of 32 positions.
    let words_log2 = a.d_log2 - 5;
    let batches = 1 << (words_log2 + a.d_log2 - BATCH_LOG2);
    let mut batch = thread::warp();
    while batch < batches {
        let row = batch >> words_log2 << BATCH_LOG2;
        let col = (batch & ((1 << words_log2) - 1)) * thread::WARP_SIZE + thread::lane();
        let (of_a, of_b) = (load(a, pair.a, row, col), load(b, pair.b, row, col));
        unroll!(for index in 0..BATCH {
            visit(DenseSlots { row: row + index as u32, col, a: of_a[index], b: of_b[index] });
        });
        batch += BLOCK as u32 / thread::WARP_SIZE;
    }
}

#[device(track_caller)]
fn load<T: Word>(side: SumTree<T>, handle: NodeHandle, row: u32, col: u32) -> [T; BATCH] {
    let (node, is_dense) = (side.node(handle), handle.is_dense());
    let mut slots = [T::ZERO; BATCH];
    if side.is_transposed {
        // The batch's rows are consecutive in the node, and start at a multiple of 16 bytes;
        // so does a dense node, and of others nothing is loaded.
        let mut packets = [[0; 2]; BATCH];
        for packet in 0..BATCH * T::SIZE / 16 {
            let slot = side.slot_of(row + (packet * 16 / T::SIZE) as u32, col);
            packets[packet] = node.slots.load_16_if(slot as usize, is_dense);
        }
        for item in 0..BATCH {
            let byte = item * T::SIZE;
            slots[item] = T::from_bits(packets[byte / 16][byte % 16 / 8] >> (8 * (byte % 8)));
        }
    } else {
        for item in 0..BATCH {
            let slot = side.slot_of(row + item as u32, col);
            slots[item] = node.slots.load_if(slot as usize, is_dense);
        }
    }
    slots
}
