//! The levels of a sum that is made level by level. Nodes are numbered starting at the root, so those of a level follow
//! those above. Only the device knows their number: the kernel of a level writes it for that of the next, and the host
//! waits for neither.

use evenpath_simt::{device, parameters, thread, Arena, Global, GlobalMut, Shared};

use crate::block::count_scan::CountScan;
use crate::block::lookback::{Lookback, Tickets};
use crate::hisparse::layout;
use crate::hisparse::levels::MAX_DEPTH;
use crate::hisparse::link::Link;
use crate::hisparse::place;
use crate::hisparse::pool_mut::PoolMut;

/// The word with the reference to the root of a sum.
pub const SUM_ROOT: usize = 0;
/// First of the words with the number of nodes on a level and all above, the root not counted. Below the leaves' level,
/// their entries count.
pub const SUM_ENDS: usize = 1;
/// First of the words with the units of all nodes above a level.
pub const SUM_LEVEL_UNITS: usize = SUM_ENDS + MAX_DEPTH + 1;
/// The number of these words.
pub const SUM_LEVEL_WORDS: usize = SUM_LEVEL_UNITS + MAX_DEPTH + 1;

/// Words of the state of a level's tiles, of which there are at most as many as blocks: a ticket, then two words per tile.
pub const fn sum_tile_words(blocks: usize) -> usize {
    1 + 2 * blocks
}

parameters! {
    /// The levels of a sum, and the one that a kernel works on.
    pub struct SumLevels {
        /// [`SUM_LEVEL_WORDS`] words, zero before the root's level.
        pub words: GlobalMut<u64>,
        /// The level, the root's being 0.
        pub level: u32,
        /// The number of nodes that there is room for.
        pub room: u32,
    }
}

parameters! {
    /// The nodes of a sum that a kernel counts and places, by number.
    pub struct SumNodes {
        /// Output: the number of children or entries of each node.
        pub counts: GlobalMut<u32>,
        /// Output: a reference to each node.
        pub references: GlobalMut<u32>,
        /// [`sum_tile_words`] words for this level, all zero.
        pub tiles: GlobalMut<u64>,
    }
}

parameters! {
    /// The nodes of a sum with their places in the pool, by number.
    pub struct SumPlaces {
        /// The number of children or entries of each node.
        pub counts: Global<u32>,
        /// Links to parents.
        pub links: Global<u64>,
        /// References to the nodes.
        pub references: Global<u32>,
    }
}

impl SumPlaces {
    /// Links a node to its parent.
    #[device(track_caller)]
    pub(super) fn link(self, node: u32, pool: PoolMut<u32>, d_log2: u32) {
        let of = |node: usize| (self.references.load(node), self.counts.load(node));
        let parent = if node > 0 {
            let link = Link::from_word(self.links.load(node as usize));
            let (reference, count) = of(link.parent as usize);
            Some((link, reference, count))
        } else {
            None
        };
        place::link(pool, d_log2, of(node as usize), parent);
    }
}

/// Consecutive pairs of a level, which a block merges.
#[derive(Debug, Clone, Copy)]
pub(super) struct LevelTile {
    number: u32,
    /// The number of tiles.
    pub(super) tiles: u32,
    /// The number of the first pair.
    pub(super) first: u32,
    /// One past the last pair.
    pub(super) end: u32,
    /// Pairs of a warp.
    pub(super) of_warp: u32,
}

impl SumLevels {
    /// Returns the number of the first node of the level; at most as many as there is room for.
    #[device(track_caller)]
    pub(super) fn first_node(self) -> u32 {
        if self.level == 0 {
            0
        } else {
            self.number(self.words.load(SUM_ENDS + self.level as usize - 1))
        }
    }

    /// One past the number of the last node of the level.
    #[device(track_caller)]
    pub(super) fn end(self) -> u32 {
        self.number(self.words.load(SUM_ENDS + self.level as usize))
    }

    /// Returns the number of the node that `before` nodes other than the root come before.
    #[device]
    pub(super) fn number(self, before: u64) -> u32 {
        if before + 1 < u64::from(self.room) {
            before as u32 + 1
        } else {
            self.room
        }
    }

    /// Returns the tile of the given number, if the level has that many: at most a pair per thread, and few enough that
    /// no multiprocessor idles; the same number of pairs for each warp.
    #[device(track_caller)]
    pub(super) fn tile<const BLOCK: usize>(self, number: u32) -> Option<LevelTile> {
        let warps = BLOCK as u32 / thread::WARP_SIZE;
        let len = self.end() - self.first_node();
        let share = len.div_ceil(thread::grid_size());
        let of_warp = share.div_ceil(warps);
        let share = if share > warps { of_warp * warps } else { share };
        let first = number * share;
        if first >= len {
            return None;
        }
        let end = if len - first > share { first + share } else { len };
        Some(LevelTile { number, tiles: len.div_ceil(share), first, end, of_warp })
    }
}

/// Places the nodes of a tile, in a block's shared memory.
#[derive(Clone, Copy)]
pub(super) struct Placing<const BLOCK: usize> {
    scan: CountScan<u64, BLOCK>,
    /// Children or entries, and units, of all nodes before the tile.
    before: Shared<u64>,
    /// The number of children or entries of each pair; then the number of its first child among the nodes.
    counts: Shared<u32>,
    ticket: Shared<u32>,
}

impl<const BLOCK: usize> Placing<BLOCK> {
    /// Bytes that [`take`](Self::take) takes.
    pub(super) const BYTES: usize = CountScan::<u64, BLOCK>::BYTES + 2 * 8 + (BLOCK + 1) * 4;

    #[device]
    pub(super) fn take(arena: &mut Arena) -> Self {
        Self {
            scan: CountScan::take(arena),
            before: arena.take(2),
            counts: arena.take(BLOCK),
            ticket: arena.take(1),
        }
    }

    /// Returns the block's tile; blocks beyond the last tile have none.
    #[device(track_caller)]
    pub(super) fn draw(self, levels: SumLevels, tiles: GlobalMut<u64>) -> Option<LevelTile> {
        // One block draws per tile.
        levels.tile::<BLOCK>(thread::block())?;
        levels.tile::<BLOCK>(Tickets::new(tiles).draw_for_block(self.ticket))
    }

    /// Sets the number of children or entries of a pair of the tile.
    #[device(track_caller)]
    pub(super) fn set(self, tile: LevelTile, pair: u32, count: u32) {
        self.counts.store((pair - tile.first) as usize, count);
    }

    /// Places the tile's nodes, whose slots have `size` bytes, once all counts are set.
    #[device(track_caller)]
    pub(super) fn place(self, levels: SumLevels, nodes: SumNodes, d_log2: u32, size: u32) {
        thread::barrier();
        // Loaded again, so that no register holds it while pairs are counted.
        let Some(tile) = levels.tile::<BLOCK>(self.ticket.load(0)) else { return };
        let own = thread::index();
        let is_pair = own < tile.end - tile.first;
        let count = if is_pair { self.counts.load(own as usize) } else { 0 };
        let kind = layout::kind_of(count, d_log2, size);
        let units = if is_pair { layout::units(kind, count, d_log2, size) } else { 0 };
        let counted = self.scan.exclusive(u64::from(units) << 32 | u64::from(count));
        self.look_back(levels, nodes.tiles, tile, counted.total);
        thread::barrier();
        if is_pair {
            let first_child = levels.number(self.before.load(0) + u64::from(counted.before as u32));
            self.counts.store(own as usize, first_child);
            let node = (levels.first_node() + tile.first + own) as usize;
            // The host sees the total, and refuses a pool beyond the reach of references; these are then not read.
            let unit = 1 + self.before.load(1) as u32 + (counted.before >> 32) as u32;
            let reference = layout::reference(unit, kind);
            nodes.counts.store(node, count);
            nodes.references.store(node, reference);
            if node == 0 {
                levels.words.store(SUM_ROOT, u64::from(reference));
            }
        }
        thread::barrier();
    }

    /// Adds up what comes before the tile: one warp for children or entries, one for units.
    #[device(track_caller)]
    fn look_back(self, levels: SumLevels, tiles: GlobalMut<u64>, tile: LevelTile, totals: u64) {
        let warp = thread::warp();
        if warp < 2 {
            let total = (totals >> (32 * warp)) as u32;
            let before = Lookback::new(tiles.skip((1 + warp * thread::grid_size()) as usize))
                .publish_and_prefix(tile.number, total);
            if thread::lane() == 0 {
                let level = if warp == 0 { SUM_ENDS } else { SUM_LEVEL_UNITS } + levels.level as usize;
                let before = levels.words.load(level) + before;
                self.before.store(warp as usize, before);
                if tile.number + 1 == tile.tiles {
                    levels.words.store(level + 1, before + u64::from(total));
                }
            }
        }
    }

    /// Returns the number of the first child of a pair's sum among the nodes, after [`place`](Self::place).
    #[device(track_caller)]
    pub(super) fn first_child(self, tile: LevelTile, pair: u32) -> u32 {
        self.counts.load((pair - tile.first) as usize)
    }
}
