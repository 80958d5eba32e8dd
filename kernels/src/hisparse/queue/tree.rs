//! The tree that is traversed, and the operation on its entries.

use evenpath_simt::{device, parameters, thread, Aligned16, Global, Packet, Word};

use super::super::layout::{self, COO1, COUNT_BYTES, DENSE, NULL, UNIT_WORDS};
use super::super::node::Pool;
use super::work::Work;

/// Up to `N` entries of a leaf.
#[derive(Clone, Copy)]
pub struct LoadedEntries<V, const N: usize> {
    /// Packed local coordinates.
    pub coordinates: [u32; N],
    /// Values.
    pub values: [V; N],
    /// True for the entries that exist.
    pub present: [bool; N],
}

/// The rows and columns of the content that a node covers.
#[derive(Debug, Clone, Copy)]
pub struct Region {
    /// The first row.
    pub row: u64,
    /// The first column.
    pub col: u64,
    /// log2 of the number of rows, which is also that of columns.
    pub side_log2: u32,
}

/// An operation on the entries of a tree. Each thread has a copy of it, which is given some of the entries; together they are
/// given every entry once, in no particular order.
pub trait EntryOperation<V: Word>: Copy {
    /// Returns whether there is anything to do for the entries of a node. If not, the node may be skipped.
    #[device]
    fn enters(&self, _region: Region) -> bool {
        true
    }

    /// Processes some entries of the leaf whose first row and column in the content are given. The threads of a warp may diverge
    /// here: no collectives.
    fn entries<const N: usize>(&mut self, row: u32, col: u32, entries: LoadedEntries<V, N>);

    /// Processes some rows of a dense leaf whose first row and column in the content are given; called by a whole warp.
    #[device(track_caller)]
    fn rows(&mut self, row: u32, col: u32, rows: DenseRows<V>) {
        rows.for_each_four(|entries| self.entries(row, col, entries));
    }

    /// Called once by all threads of a block together, after its last entries.
    #[device]
    fn finish(&mut self) {}
}

/// Rows of a dense leaf, with a multiple of 1024 slots.
#[derive(Clone, Copy)]
pub struct DenseRows<V> {
    /// All slots of the leaf; those of absent entries have all bits zero.
    pub slots: Global<V, Aligned16>,
    /// The first slot of the rows.
    pub begin: u32,
    /// One past their last slot.
    pub end: u32,
    /// log2 of the leaf's rows.
    pub d_log2: u32,
}

impl<V: Word> DenseRows<V> {
    /// Neighboring columns whose slots [`four`](Self::four) loads in a warp.
    pub const WIDTH: u32 = 128;

    /// Four consecutive slots, or zeros after the last.
    #[device(track_caller)]
    pub fn four(self, at: u32) -> [V; 4] {
        if at < self.end {
            four(self.slots, at, self.end)
        } else {
            [V::ZERO; 4]
        }
    }

    /// Calls `visit` with all entries of the rows, by four slots per lane.
    #[device(track_caller)]
    fn for_each_four(self, mut visit: impl FnMut(LoadedEntries<V, 4>)) {
        let mut at = self.begin + 4 * thread::lane();
        while at < self.end {
            let mut entries =
                LoadedEntries { coordinates: [0; 4], values: self.four(at), present: [false; 4] };
            for k in 0..4 {
                let slot = at + k as u32;
                entries.coordinates[k] = layout::pack(slot >> self.d_log2, slot & ((1 << self.d_log2) - 1));
                entries.present[k] = entries.values[k].to_bits() != 0;
            }
            visit(entries);
            at += 4 * thread::WARP_SIZE;
        }
    }
}

parameters! {
    /// A tree.
    pub struct Tree<V: Word> {
        /// The pool.
        pub pool: Pool<V>,
        /// Reference to the root, not null.
        pub root: u32,
        /// The number of levels below the root.
        pub height: u32,
        /// log2 of a node's rows.
        pub d_log2: u32,
        /// log2 of the entries of an inner node that are one piece, which is one block's work: 2 to 7.
        pub children_log2: u32,
    }
}

impl<V: Word> Tree<V> {
    /// Returns the root.
    #[device]
    pub fn root(self) -> Work {
        Work { reference: self.root, height: self.height, ..Work::NONE }
    }

    /// Returns the rows and columns of a node.
    #[device]
    pub fn region(self, work: Work) -> Region {
        let side_log2 = self.d_log2 * (work.height + 1);
        Region { row: u64::from(work.row) << side_log2, col: u64::from(work.col) << side_log2, side_log2 }
    }

    /// Returns the words of a node.
    #[device(track_caller)]
    fn node(self, work: Work) -> Global<u32> {
        self.pool.words.skip(layout::unit(work.reference) as usize * UNIT_WORDS as usize)
    }

    /// Returns the node in a slot of an inner node, its length unknown; no node if the slot is empty.
    #[device(track_caller)]
    pub fn child(self, work: Work, slot: u32) -> Work {
        let (node, kind) = (self.node(work), layout::kind(work.reference));
        let (reference, row, col);
        if kind == DENSE {
            reference = node.load(slot as usize);
            (row, col) = (slot >> self.d_log2, slot & ((1 << self.d_log2) - 1));
        } else {
            let pair = node.load((COUNT_BYTES / 4 + slot / 2) as usize);
            reference = node.load((layout::slots_offset(kind, work.len, 4) / 4 + slot) as usize);
            (row, col) = layout::unpack(pair >> (16 * (slot & 1)));
        }
        Work {
            reference,
            row: work.row << self.d_log2 | row,
            col: work.col << self.d_log2 | col,
            height: work.height.wrapping_sub(1),
            len: 1,
            piece: 0,
        }
    }

    /// Returns a node with its length, and its first unit; zeros for a dense node or no node.
    #[device(track_caller)]
    pub fn with_len(self, work: Work) -> (Work, Packet) {
        let is_dense = layout::kind(work.reference) == DENSE;
        let at = layout::unit(work.reference) as usize * UNIT_WORDS as usize;
        let unit = self.pool.words.load_16_if(at, work.reference != NULL && !is_dense);
        let len = if is_dense { 1 << (2 * self.d_log2) } else { unit[0] as u32 };
        (Work { len, ..work }, unit)
    }

    /// Processes the one or two entries of a COO₁ or COO₂ leaf, whose first unit is given.
    #[device(track_caller)]
    pub fn few<F: EntryOperation<V>>(self, operation: &mut F, leaf: Work, unit: Packet) {
        let has_two = layout::kind(leaf.reference) != COO1;
        let pair = (unit[0] >> 32) as u32;
        let values = if V::SIZE == 4 {
            [V::from_bits(unit[1]), V::from_bits(unit[1] >> 32)]
        } else if has_two {
            let at = layout::unit(leaf.reference) as usize * (16 / V::SIZE);
            self.pool.slots.load_streaming_2(at + 16 / V::SIZE)
        } else {
            [V::from_bits(unit[1]), V::ZERO]
        };
        let entries =
            LoadedEntries { coordinates: [pair & 0xffff, pair >> 16], values, present: [true, has_two] };
        operation.entries(leaf.row << self.d_log2, leaf.col << self.d_log2, entries);
    }

    /// Processes slots `begin..end` of a COO₄ or dense leaf with `LANES` threads, of which this is one; `begin` is a multiple of
    /// 4. With fewer threads than a warp's, the leaf is a COO₄ one. The slots of a dense leaf are whole pieces.
    #[device(track_caller)]
    pub fn sweep<F: EntryOperation<V>, const LANES: u32>(
        self,
        operation: &mut F,
        leaf: Work,
        lane: u32,
        (begin, end): (u32, u32),
    ) {
        let node = self.node(leaf);
        let (row, col) = (leaf.row << self.d_log2, leaf.col << self.d_log2);
        let size = V::SIZE as u32;
        let values = self.pool.slots.skip_aligned(layout::unit(leaf.reference) as usize * (16 / V::SIZE));
        if LANES == 32 && layout::kind(leaf.reference) == DENSE {
            operation.rows(row, col, DenseRows { slots: values, begin, end, d_log2: self.d_log2 });
            return;
        }
        let values =
            values.skip_aligned((layout::slots_offset(layout::COO4, leaf.len, size) / size) as usize);
        let mut at = begin + 4 * lane;
        while at < end {
            let values = four(values, at, end);
            let mut entries = LoadedEntries { coordinates: [0; 4], values, present: [false; 4] };
            let pairs = (COUNT_BYTES / 4 + at / 2) as usize;
            let pairs = [node.load(pairs), node.load_if(pairs + 1, at + 2 < end)];
            for k in 0..4 {
                entries.coordinates[k] = pairs[k / 2] >> (16 * (k % 2)) & 0xffff;
                entries.present[k] = at + (k as u32) < end;
            }
            operation.entries(row, col, entries);
            at += 4 * LANES;
        }
    }
}

/// Four values starting at `at`, of which those before `end` are valid. Nothing past the node is read.
#[device(track_caller)]
fn four<V: Word>(values: Global<V, Aligned16>, at: u32, end: u32) -> [V; 4] {
    if V::SIZE == 4 {
        return values.load_streaming_4(at as usize);
    }
    let [a, b] = values.load_streaming_2(at as usize);
    let [c, d] = if at + 2 < end { values.load_streaming_2(at as usize + 2) } else { [V::ZERO; 2] };
    [a, b, c, d]
}
