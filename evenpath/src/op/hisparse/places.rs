//! Places of products, assigned by a frozen schedule.

use evenpath_kernels::hisparse::{self, HiSparsePlaceProducts, MOST_CHUNK_QUADS, MOST_PART_QUADS};

use super::device::Nodes;
use super::frozen::Frozen;
use crate::Value;
use crate::device::{DeviceSlice, DeviceVec};
use crate::operand::OpError;

/// Cost of starting and ending a block, in chunks.
const BLOCK_COST: u64 = 1;

/// Maximum number of quads in a part, for `quads` quads in total, blocks that process `chunk_quads` at a
/// time, and a device that runs `blocks` blocks at once: among the numbers of whole chunks, the one with
/// which the last block should end first.
pub(super) fn part_quads(quads: u64, chunk_quads: u32, blocks: u32) -> u32 {
    // Blocks come in waves, of which the last may be short.
    let time = |chunks: u32| {
        let parts = quads.div_ceil(u64::from(chunks * chunk_quads));
        parts.div_ceil(u64::from(blocks.max(1))) * (u64::from(chunks) + BLOCK_COST)
    };
    let chunks = (1..=MOST_PART_QUADS / chunk_quads).min_by_key(|&chunks| time(chunks));
    chunks.unwrap_or(1) * chunk_quads
}

/// Places of a schedule's products.
pub(super) struct ProductPlaces {
    quads: DeviceVec<u64>,
    ends: DeviceVec<u16>,
    chunks: u32,
}

impl ProductPlaces {
    /// Computes the places for a schedule of a tree of `D` × `D` nodes, whose parts have at most `part_quads`
    /// quads, as returned by [`part_quads`], and whose leaves have these first quads.
    pub(super) fn new<V: Value, const D: usize>(
        nodes: &Nodes,
        is_transposed: bool,
        frozen: &Frozen,
        firsts: &DeviceSlice<u64>,
        (part_quads, chunk_quads): (u32, u32),
    ) -> Result<Self, OpError> {
        debug_assert!(
            part_quads <= MOST_PART_QUADS && chunk_quads <= MOST_CHUNK_QUADS,
            "places have few bits"
        );
        let device = nodes.pool.device();
        let chunks = part_quads.div_ceil(chunk_quads);
        let mut quads = device.uninitialized(frozen.quads as usize)?;
        let mut ends = device.uninitialized(frozen.parts as usize * chunks as usize * D)?;
        let kernel = HiSparsePlaceProducts::<V> {
            pool: nodes.view(),
            schedule: frozen.view(),
            firsts: firsts.as_global(),
            quads: quads.as_global_mut(),
            ends: ends.as_global_mut(),
            chunks,
            chunk_quads,
            d_log2: D.ilog2(),
            is_transposed: u32::from(is_transposed),
        };
        let launch = device.kernel().blocks(frozen.parts as usize)?;
        // SAFETY: the tree is valid and the schedule is of it. There is a word for each quad and an end for each element of
        // each chunk; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(Self { quads, ends, chunks })
    }

    /// A view for products.
    pub(super) fn view(&self) -> hisparse::Places {
        hisparse::Places { quads: self.quads.as_global(), ends: self.ends.as_global(), chunks: self.chunks }
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        self.quads.bytes() + self.ends.bytes()
    }
}
