//! The numbers of a tree's nodes while it is made. Nodes are numbered level by level from the root, within a level in
//! the order of paths. Only the device knows the number of a level's nodes, so each level has numbers for the largest
//! possible number of nodes, and some are not used.

use evenpath_simt::{device, parameters, thread, Arena, GlobalMut, Shared};

/// The largest number of levels of a tree.
pub(super) const MAX_DEPTH: usize = 7;

/// Words of results, which come first in the state: the number of nodes of each level starting at the root, and then of
/// entries; the units of the pool; the reference to the root.
pub const TREE_RESULTS: usize = TREE_ROOT + 1;
/// The word with the units of the pool, without the first, which belongs to no node.
pub const TREE_UNITS: usize = MAX_DEPTH + 1;
/// The word with the reference to the root.
pub const TREE_ROOT: usize = TREE_UNITS + 1;

parameters! {
    /// Bounds of the number of a tree's nodes.
    pub struct TreeShape {
        /// Rows of the matrix, counted in leaves.
        pub leaf_rows: u32,
        /// Columns of the matrix, counted in leaves.
        pub leaf_columns: u32,
        /// The number of runs, each of which is in one leaf.
        pub runs: u32,
        /// Levels of the tree.
        pub depth: u32,
        /// log2 of a node's rows.
        pub d_log2: u32,
    }
}

impl TreeShape {
    /// Returns the largest number of nodes that a level can have.
    #[device]
    fn bound(self, level: u32) -> u64 {
        let below = self.d_log2 * (self.depth - 1 - level);
        let along = |leaves: u32| (u64::from(leaves) + (1 << below) - 1) >> below;
        let squares = along(self.leaf_rows) * along(self.leaf_columns);
        let runs = u64::from(self.runs);
        if squares < runs {
            squares
        } else {
            runs
        }
    }

    /// Returns the number of the first node of a level. After the numbers of each level comes one that no node has. The
    /// first number of the level below the leaves is the number of all numbers.
    #[device]
    pub fn first(self, level: u32) -> u64 {
        let mut first = 0;
        let mut above = 0;
        while above < level {
            first += self.bound(above) + 1;
            above += 1;
        }
        first
    }
}

parameters! {
    /// The levels of a tree that is being made, whose nodes' numbers fit in 32 bits.
    pub struct TreeLevels {
        /// Bounds of their nodes.
        pub shape: TreeShape,
        /// The [results](TREE_RESULTS), zero before.
        pub results: GlobalMut<u64>,
    }
}

/// The numbers of all nodes, in a block's shared memory.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    /// Number of nodes above each level, and at the end the number of all nodes.
    above: Shared<u32>,
    /// The number of each level's first node.
    firsts: Shared<u32>,
    depth: u32,
}

impl Numbers {
    /// Bytes that [`take`](Self::take) takes.
    pub(super) const BYTES: usize = (2 * MAX_DEPTH + 1) * 4;

    /// Returns the numbers, once all nodes are counted. It ends with a barrier.
    #[device(track_caller)]
    pub(super) fn take(arena: &mut Arena, levels: TreeLevels) -> Self {
        let numbers = Self {
            above: arena.take(MAX_DEPTH + 1),
            firsts: arena.take(MAX_DEPTH),
            depth: levels.shape.depth,
        };
        let level = thread::index();
        if level <= numbers.depth {
            let mut above = 0;
            let mut earlier = 0;
            while earlier < level {
                above += levels.results.load(earlier as usize) as u32;
                earlier += 1;
            }
            numbers.above.store(level as usize, above);
            if level < numbers.depth {
                numbers.firsts.store(level as usize, levels.shape.first(level) as u32);
            }
        }
        thread::barrier();
        numbers
    }

    /// Returns the number of nodes.
    #[device(track_caller)]
    pub(super) fn len(self) -> u32 {
        self.above.load(self.depth as usize)
    }

    /// Returns the number of the node that `before` others come before, and whether it is a leaf.
    #[device(track_caller)]
    pub(super) fn of(self, before: u32) -> (u32, bool) {
        let mut level = 0;
        while level + 1 < self.depth && before >= self.above.load(level as usize + 1) {
            level += 1;
        }
        let number = self.firsts.load(level as usize) + (before - self.above.load(level as usize));
        (number, level + 1 == self.depth)
    }
}
