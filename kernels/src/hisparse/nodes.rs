//! The nodes of a tree, from runs sorted by their leaves' paths. A run begins a node on each level at and below the
//! first digit in which its path differs from that of the run before.
//!
//! [Nodes are numbered](super::levels) level by level from the root, within a level in the order of paths; that is their order in
//! the pool. Entries of leaves are numbered too. So the children of a node, and the entries of a leaf, are numbered from its first
//! one up to the first one of the next node.
use evenpath_simt::{bits, device, kernel, parameters, thread, Arena, Global, GlobalMut, Shared};

use super::levels::{TreeLevels, TreeShape, MAX_DEPTH};
use super::link::Link;
use super::runs::Run;
use crate::block::count_scan::CountScan;
use crate::block::lookback::{Lookback, Tickets};
use crate::Key;

/// A small count per level, the leaves' first, in fields of 16 bits.
#[derive(Debug, Clone, Copy)]
struct LevelCounts {
    lower: u64,
    upper: u64,
}

impl LevelCounts {
    const FIELD: u32 = 16;
    const FIELDS: u32 = 4;

    #[device]
    fn get(self, height: u32) -> u32 {
        let word = if height < Self::FIELDS { self.lower } else { self.upper };
        (word >> (height % Self::FIELDS * Self::FIELD)) as u32 & 0xffff
    }

    /// Adds one to the count of a level.
    #[device]
    fn add(&mut self, height: u32) {
        let one = 1 << (height % Self::FIELDS * Self::FIELD);
        if height < Self::FIELDS {
            self.lower += one;
        } else {
            self.upper += one;
        }
    }
}

parameters! {
    /// Runs sorted by their leaves' paths.
    pub struct SortedRuns<K: Key> {
        /// Paths of the runs' leaves, ascending.
        pub keys: Global<K>,
        /// The runs.
        pub runs: Global<u64>,
    }
}

/// The consecutive runs of a thread.
struct ThreadRuns<K, const ITEMS: usize> {
    keys: [K; ITEMS],
    runs: [Run; ITEMS],
    /// On how many levels, from the leaves up, each run begins a node.
    begun: [u32; ITEMS],
    start: u32,
    counts: LevelCounts,
    entries: u32,
}

impl<K: Key, const ITEMS: usize> ThreadRuns<K, ITEMS> {
    #[device(track_caller)]
    fn load<const BLOCK: usize>(sorted: SortedRuns<K>, shape: TreeShape, tile: u32) -> Self {
        let SortedRuns { keys, runs } = sorted;
        let TreeShape { runs: len, d_log2, depth, .. } = shape;
        let start = (tile * BLOCK as u32 + thread::index()) * ITEMS as u32;
        let mut share = Self {
            keys: [K::ZERO; ITEMS],
            runs: [Run::from_word(0); ITEMS],
            begun: [0; ITEMS],
            start,
            counts: LevelCounts { lower: 0, upper: 0 },
            entries: 0,
        };
        let mut words = [0; ITEMS];
        for item in 0..ITEMS {
            let place = start + item as u32;
            share.keys[item] = keys.load_if(place as usize, place < len);
            words[item] = runs.load_if(place as usize, place < len);
        }
        let earlier = start.saturating_sub(1);
        let mut before = keys.load_if(earlier as usize, start > 0 && earlier < len).to_bits();
        for item in 0..ITEMS {
            let place = start + item as u32;
            let key = share.keys[item].to_bits();
            if place < len {
                share.runs[item] = Run::from_word(words[item]);
                share.entries += share.runs[item].len;
                share.begun[item] = if place == 0 { depth } else { begun(before ^ key, d_log2) };
                let mut height = 0;
                while height < share.begun[item] {
                    share.counts.add(height);
                    height += 1;
                }
            }
            before = key;
        }
        share
    }
}

/// Returns the number of levels on which a node begins, from the bitwise difference of two paths.
#[device]
fn begun(difference: u64, d_log2: u32) -> u32 {
    (u64::BITS - bits::leading_zeros(difference)).div_ceil(2 * d_log2)
}

/// The results of the block's scans.
struct ScannedLevels {
    before: LevelCounts,
    total: LevelCounts,
    entries_before: u32,
    entries: u32,
}

#[derive(Clone, Copy)]
struct Scans<const BLOCK: usize> {
    lower: CountScan<u64, BLOCK>,
    upper: CountScan<u64, BLOCK>,
    entries: CountScan<u32, BLOCK>,
}

impl<const BLOCK: usize> Scans<BLOCK> {
    const BYTES: usize = 2 * CountScan::<u64, BLOCK>::BYTES + CountScan::<u32, BLOCK>::BYTES;

    #[device]
    fn take(arena: &mut Arena) -> Self {
        Self { lower: CountScan::take(arena), upper: CountScan::take(arena), entries: CountScan::take(arena) }
    }

    #[device(track_caller)]
    fn exclusive(self, counts: LevelCounts, entries: u32) -> ScannedLevels {
        let lower = self.lower.exclusive(counts.lower);
        let upper = self.upper.exclusive(counts.upper);
        let entries = self.entries.exclusive(entries);
        ScannedLevels {
            before: LevelCounts { lower: lower.before, upper: upper.before },
            total: LevelCounts { lower: lower.total, upper: upper.total },
            entries_before: entries.before,
            entries: entries.total,
        }
    }
}

/// Words of the state of the kernel that writes nodes: a ticket, then a word per tile for each level and for entries.
pub const fn node_state_words(depth: usize, tiles: usize) -> usize {
    1 + (depth + 1) * tiles
}

kernel! {
    /// Writes the nodes that begin in a tile of sorted runs, and the places of the runs' entries: one block per tile.
    pub struct HiSparseWriteNodes<K: Key> {
        /// The runs.
        pub runs: SortedRuns<K>,
        /// The levels. Output: the number of nodes of each, and of entries.
        pub levels: TreeLevels,
        /// [`node_state_words`] words, all zero.
        pub state: GlobalMut<u64>,
        /// Output: the number of each node's first child or entry, and after each level one past the last of them.
        pub firsts: GlobalMut<u32>,
        /// Output: each node's link to its parent, without the entry's number.
        pub links: GlobalMut<u64>,
        /// Output: the leaf of each run.
        pub leaves: GlobalMut<u32>,
        /// Output: the number of each run's first entry.
        pub places: GlobalMut<u32>,
    }
    shared: Scans::<BLOCK>::BYTES + (MAX_DEPTH + 2) * 4;
    body: HiSparseWriteNodes::write_nodes::<BLOCK, ITEMS>;
    entry: hisparse_write_nodes_{K} in hisparse_convert: K in [u32, u64], 256 x 4;
}

impl<K: Key> HiSparseWriteNodes<K> {
    #[device]
    fn write_nodes<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let TreeShape { runs: len, d_log2, depth, .. } = self.levels.shape;
        // 1. Draw a tile, and find the nodes that begin at the thread's runs.
        let scans = Scans::<BLOCK>::take(&mut arena);
        let bases: Shared<u32> = arena.take(MAX_DEPTH + 1);
        let ticket: Shared<u32> = arena.take(1);
        let tile = Tickets::new(self.state).draw_for_block(ticket);
        let share = ThreadRuns::<K, ITEMS>::load::<BLOCK>(self.runs, self.levels.shape, tile);
        let counted = scans.exclusive(share.counts, share.entries);
        // 2. Find the tile's first number on each level, and that of its first entry.
        self.look_back(&counted, tile, bases);
        thread::barrier();
        let mut counts = counted.before;
        let mut entry = bases.load(depth as usize).wrapping_add(counted.entries_before);
        // The number of the next node of a level.
        let next =
            |counts: LevelCounts, height: u32| bases.load((depth - 1 - height) as usize) + counts.get(height);
        let first_below = |counts, height, entry| if height == 0 { entry } else { next(counts, height - 1) };
        // 3. Write the nodes, and the place of each run.
        for item in 0..ITEMS {
            let place = share.start + item as u32;
            if place < len {
                let key = share.keys[item].to_bits();
                let mut height = share.begun[item];
                while height > 0 {
                    height -= 1;
                    let node = next(counts, height) as usize;
                    self.firsts.store(node, first_below(counts, height, entry));
                    if height + 1 < depth {
                        let digits = (key >> (2 * d_log2 * height)) as u32;
                        let parent = next(counts, height + 1) - 1;
                        self.links.store(node, Link::of_digits(parent, digits, d_log2).word());
                    } else {
                        self.links.store(node, 0);
                    }
                    counts.add(height);
                }
                self.leaves.store(place as usize, next(counts, 0) - 1);
                self.places.store(place as usize, entry);
                entry = entry.wrapping_add(share.runs[item].len);
                if place + 1 == len {
                    // After the last node of each level come the ends of all.
                    let mut height = 0;
                    while height < depth {
                        self.firsts.store(next(counts, height) as usize, first_below(counts, height, entry));
                        height += 1;
                    }
                }
            }
        }
    }

    /// Stores in `bases` the first number of a tile on each level, and that of its first entry: a warp for each.
    #[device(track_caller)]
    fn look_back(&self, counted: &ScannedLevels, tile: u32, bases: Shared<u32>) {
        let TreeLevels { shape, results } = self.levels;
        let (level, tiles) = (thread::warp(), thread::grid_size());
        if level > shape.depth {
            return;
        }
        let is_level = level < shape.depth;
        let total = if is_level { counted.total.get(shape.depth - 1 - level) } else { counted.entries };
        let before =
            Lookback::new(self.state.skip((1 + level * tiles) as usize)).publish_and_prefix(tile, total);
        if thread::lane() == 0 {
            if tile + 1 == tiles {
                results.store(level as usize, before + u64::from(total));
            }
            // Numbers of entries may exceed 32 bits; only their differences matter.
            let first = if is_level { shape.first(level) as u32 } else { 0 };
            bases.store(level as usize, first.wrapping_add(before as u32));
        }
    }
}
