//! The nodes of a tree, from runs sorted by their leaves' paths. A run begins a node on every level from the first digit
//! downwards in which its path differs from that of the run before.
//!
//! Nodes are numbered level by level from the root, within a level in the order of paths; that is their order in the pool.
//! The entries of leaves are numbered on from there. So the children of a node, and the entries of a leaf, are numbered
//! from its first one up to the first one of the next node.
// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{bits, kernel, parameters, thread, Arena, Global, GlobalMut, Shared};

use super::link::Link;
use super::runs::Run;
use crate::block::count_scan::CountScan;
use crate::Key;

/// The largest number of levels of a tree.
pub(super) const MAX_DEPTH: usize = 7;

/// A small count per level, the leaves' first, in fields of 16 bits.
#[derive(Debug, Clone, Copy)]
struct LevelCounts {
    lower: u64,
    upper: u64,
}

impl LevelCounts {
    const FIELD: u32 = 16;
    const FIELDS: u32 = 4;

    #[inline(always)]
    fn get(self, height: u32) -> u32 {
        let word = if height < Self::FIELDS { self.lower } else { self.upper };
        (word >> (height % Self::FIELDS * Self::FIELD)) as u32 & 0xffff
    }

    /// Adds one to the count of a level.
    #[inline(always)]
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
    /// Runs sorted by their leaves' paths, cut into tiles.
    pub struct SortedRuns<K: Key> {
        /// Paths of the runs' leaves, ascending.
        pub keys: Global<K>,
        /// The runs.
        pub runs: Global<u64>,
        /// The number of runs.
        pub len: u32,
        /// log2 of a node's rows.
        pub d_log2: u32,
        /// Levels of the tree.
        pub depth: u32,
        /// The number of tiles.
        pub tiles: u32,
    }
}

/// The consecutive runs of a thread.
struct Share<K, const ITEMS: usize> {
    keys: [K; ITEMS],
    runs: [Run; ITEMS],
    /// On how many levels, from the leaves up, each run begins a node.
    begun: [u32; ITEMS],
    start: u32,
    counts: LevelCounts,
    entries: u32,
}

impl<K: Key, const ITEMS: usize> Share<K, ITEMS> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load<const BLOCK: usize>(sorted: SortedRuns<K>) -> Self {
        let SortedRuns { keys, runs, len, d_log2, depth, .. } = sorted;
        let start = (thread::block() * BLOCK as u32 + thread::index()) * ITEMS as u32;
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

/// The number of levels on which a node begins, from the bitwise difference of two paths.
#[inline(always)]
fn begun(difference: u64, d_log2: u32) -> u32 {
    (u64::BITS - bits::leading_zeros(difference)).div_ceil(2 * d_log2)
}

/// The results of the block's scans.
struct Counted {
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

    #[inline(always)]
    fn take(arena: &mut Arena) -> Self {
        Self { lower: CountScan::take(arena), upper: CountScan::take(arena), entries: CountScan::take(arena) }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn exclusive(self, counts: LevelCounts, entries: u32) -> Counted {
        let lower = self.lower.exclusive(counts.lower);
        let upper = self.upper.exclusive(counts.upper);
        let entries = self.entries.exclusive(entries);
        Counted {
            before: LevelCounts { lower: lower.before, upper: upper.before },
            total: LevelCounts { lower: lower.total, upper: upper.total },
            entries_before: entries.before,
            entries: entries.total,
        }
    }
}

kernel! {
    /// Counts the nodes that begin in a tile of sorted runs, and its entries: one block per tile.
    pub struct HiSparseCountNodes<K: Key> {
        /// The runs.
        pub runs: SortedRuns<K>,
        /// Output: a count per tile, level by level from the root, and then for entries.
        pub counts: GlobalMut<u64>,
    }
    shared: Scans::<BLOCK>::BYTES;
    body: HiSparseCountNodes::count_nodes::<BLOCK, ITEMS>;
    entries: {
        hisparse_count_nodes_u32 in hisparse_convert: <K = u32>, 256 x 4;
        hisparse_count_nodes_u64 in hisparse_convert: <K = u64>, 256 x 4;
    }
}

impl<K: Key> HiSparseCountNodes<K> {
    #[inline(always)]
    fn count_nodes<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let scans = Scans::<BLOCK>::take(&mut arena);
        let SortedRuns { depth, tiles, .. } = self.runs;
        let share = Share::<K, ITEMS>::load::<BLOCK>(self.runs);
        let counted = scans.exclusive(share.counts, share.entries);
        let level = thread::index();
        if level <= depth {
            let count = if level == depth { counted.entries } else { counted.total.get(depth - 1 - level) };
            self.counts.store(level as usize * tiles as usize + thread::block() as usize, u64::from(count));
        }
    }
}

kernel! {
    /// Gathers the first number of each level, for the host: one block.
    pub struct HiSparseLevelStarts {
        /// Inclusive sums of the counts of [`HiSparseCountNodes`].
        pub ends: Global<u64>,
        /// Output: the number of each level's first node, of the first entry, and one past the last entry.
        pub starts: GlobalMut<u64>,
        /// Levels of the tree.
        pub depth: u32,
        /// The number of tiles.
        pub tiles: u32,
    }
    shared: 0;
    body: HiSparseLevelStarts::level_starts;
    entries: {
        hisparse_level_starts in hisparse_convert: 32 x 1;
    }
}

impl HiSparseLevelStarts {
    #[inline(always)]
    fn level_starts(self, _: Arena) {
        let level = thread::index() as usize;
        if level <= self.depth as usize + 1 {
            let end = level * self.tiles as usize;
            self.starts.store(level, if end == 0 { 0 } else { self.ends.load(end - 1) });
        }
    }
}

kernel! {
    /// Writes the nodes that begin in a tile of sorted runs, and where each run's entries go: one block per tile.
    pub struct HiSparseWriteNodes<K: Key> {
        /// The runs.
        pub runs: SortedRuns<K>,
        /// Inclusive sums of the counts of [`HiSparseCountNodes`].
        pub ends: Global<u64>,
        /// Output: the number of each node's first child or entry, and one past the last entry.
        pub firsts: GlobalMut<u32>,
        /// Output: each node's link to its parent, without the entry's number.
        pub links: GlobalMut<u64>,
        /// Output: the leaf of each run.
        pub leaves: GlobalMut<u32>,
        /// Output: the number of each run's first entry.
        pub places: GlobalMut<u32>,
    }
    shared: Scans::<BLOCK>::BYTES + (MAX_DEPTH + 1) * 4;
    body: HiSparseWriteNodes::write_nodes::<BLOCK, ITEMS>;
    entries: {
        hisparse_write_nodes_u32 in hisparse_convert: <K = u32>, 256 x 4;
        hisparse_write_nodes_u64 in hisparse_convert: <K = u64>, 256 x 4;
    }
}

impl<K: Key> HiSparseWriteNodes<K> {
    #[inline(always)]
    fn write_nodes<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let SortedRuns { len, d_log2, depth, tiles, .. } = self.runs;
        let scans = Scans::<BLOCK>::take(&mut arena);
        let bases: Shared<u32> = arena.take(MAX_DEPTH + 1);
        // 1. Load the tile's first number on each level, and that of its first entry.
        let level = thread::index();
        if level <= depth {
            let tile = level as usize * tiles as usize + thread::block() as usize;
            // Numbers of entries may exceed 32 bits; only their differences matter.
            bases.store(level as usize, if tile == 0 { 0 } else { self.ends.load(tile - 1) as u32 });
        }
        // 2. Find the nodes that begin at the thread's runs. The scan's barriers order the bases too.
        let share = Share::<K, ITEMS>::load::<BLOCK>(self.runs);
        let counted = scans.exclusive(share.counts, share.entries);
        let mut counts = counted.before;
        let mut entry = bases.load(depth as usize).wrapping_add(counted.entries_before);
        // The number of the next node of a level.
        let next =
            |counts: LevelCounts, height: u32| bases.load((depth - 1 - height) as usize) + counts.get(height);
        // 3. Write the nodes, and the place of each run.
        for item in 0..ITEMS {
            let place = share.start + item as u32;
            if place < len {
                let key = share.keys[item].to_bits();
                let mut height = share.begun[item];
                while height > 0 {
                    height -= 1;
                    let node = next(counts, height) as usize;
                    self.firsts.store(node, if height == 0 { entry } else { next(counts, height - 1) });
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
                    // After the last leaf comes the end of the entries.
                    self.firsts.store(next(counts, 0) as usize, entry);
                }
            }
        }
    }
}

kernel! {
    /// Counts each node's children or entries, and numbers the node among its parent's entries: one thread per node.
    pub struct HiSparseNumberEntries {
        /// The number of each node's first child or entry, and one past the last entry.
        pub firsts: Global<u32>,
        /// Output: the number of children or entries of each node.
        pub counts: GlobalMut<u32>,
        /// Input: links without the entries' numbers; output: with them.
        pub links: GlobalMut<u64>,
        /// The number of nodes.
        pub nodes: u32,
    }
    shared: 0;
    body: HiSparseNumberEntries::number_entries::<BLOCK>;
    entries: {
        hisparse_number_entries in hisparse_convert: 256 x 1;
    }
}

impl HiSparseNumberEntries {
    #[inline(always)]
    fn number_entries<const BLOCK: usize>(self, _: Arena) {
        let node = thread::block() * BLOCK as u32 + thread::index();
        if node < self.nodes {
            let count = self.firsts.load(node as usize + 1).wrapping_sub(self.firsts.load(node as usize));
            self.counts.store(node as usize, count);
            if node > 0 {
                let link = Link::from_word(self.links.load(node as usize));
                let at = node - self.firsts.load(link.parent as usize);
                self.links.store(node as usize, Link { at, ..link }.word());
            }
        }
    }
}
