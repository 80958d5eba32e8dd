//! The entries of leaves as coordinates, in the order of the tree: a warp a leaf.

use evenpath_simt::{kernel, thread, warp, Arena, Element, Float, Global, GlobalMut};

use super::layout;
use super::leaves::warp_node;
use super::node::Pool;

kernel! {
    /// Counts the entries of leaves: a warp a leaf. Values are taken as integers of their size.
    pub struct HiSparseCountEntries<T: Element> {
        /// The pool as words.
        pub words: Global<u32>,
        /// The same, as coordinates.
        pub coordinates: Global<u16>,
        /// The same, as values.
        pub slots: Global<T>,
        /// References to the leaves.
        pub references: Global<u32>,
        /// Output: entries of each.
        pub counts: GlobalMut<u32>,
        /// Leaves.
        pub len: u32,
        /// The logarithm of the rows of a node.
        pub d_log2: u32,
    }
    shared: 0;
    body: HiSparseCountEntries::count_entries::<BLOCK>;
    entries: {
        hisparse_count_entries_u32 in hisparse_entries: <T = u32>, 256 x 1;
        hisparse_count_entries_u64 in hisparse_entries: <T = u64>, 256 x 1;
    }
}

impl<T: Element> HiSparseCountEntries<T> {
    #[inline(always)]
    fn count_entries<const BLOCK: usize>(self, _: Arena) {
        let leaf = warp_node::<BLOCK>();
        if leaf >= self.len as usize {
            return;
        }
        let reference = self.references.load(leaf);
        let node = Pool { words: self.words, coordinates: self.coordinates, slots: self.slots }
            .node(reference, self.d_log2);
        let mut count = node.len;
        if layout::kind(reference) == layout::DENSE {
            count = 0;
            let mut slot = thread::lane();
            while slot < node.len {
                count += u32::from(node.slots.load(slot as usize).to_bits() != 0);
                slot += thread::WARP_SIZE;
            }
            count = warp::reduce_add(count);
        }
        if thread::lane() == 0 {
            self.counts.store(leaf, count);
        }
    }
}

kernel! {
    /// Lists the entries of leaves, turned and scaled: a warp a leaf.
    pub struct HiSparseListEntries<V: Float> {
        /// The pool as words.
        pub words: Global<u32>,
        /// The same, as coordinates.
        pub coordinates: Global<u16>,
        /// The same, as values.
        pub slots: Global<V>,
        /// References to the leaves.
        pub references: Global<u32>,
        /// The row of each in the content, counted in leaves.
        pub leaf_rows: Global<u32>,
        /// The column of each.
        pub leaf_cols: Global<u32>,
        /// The entries of each leaf and all before it.
        pub ends: Global<u32>,
        /// Output: rows of the entries.
        pub rows: GlobalMut<u32>,
        /// Output: their columns.
        pub cols: GlobalMut<u32>,
        /// Output: their values.
        pub values: GlobalMut<V>,
        /// Leaves.
        pub len: u32,
        /// Whether rows and columns change places.
        pub is_transposed: u32,
        /// Whether values are multiplied.
        pub is_scaled: u32,
        /// With what.
        pub factor: V,
        /// The logarithm of the rows of a node.
        pub d_log2: u32,
    }
    shared: 0;
    body: HiSparseListEntries::list_entries::<BLOCK>;
    entries: {
        hisparse_list_entries_f32 in hisparse_entries: <V = f32>, 256 x 1;
        hisparse_list_entries_f64 in hisparse_entries: <V = f64>, 256 x 1;
    }
}

impl<V: Float> HiSparseListEntries<V> {
    #[inline(always)]
    fn list_entries<const BLOCK: usize>(self, _: Arena) {
        let leaf = warp_node::<BLOCK>();
        if leaf >= self.len as usize {
            return;
        }
        let reference = self.references.load(leaf);
        let (first_row, first_col) =
            (self.leaf_rows.load(leaf) << self.d_log2, self.leaf_cols.load(leaf) << self.d_log2);
        let mut place = self.ends.load_if(leaf.saturating_sub(1), leaf > 0) as usize;
        let is_dense = layout::kind(reference) == layout::DENSE;
        let node = Pool { words: self.words, coordinates: self.coordinates, slots: self.slots }
            .node(reference, self.d_log2);
        let mut base = 0;
        while base < node.len {
            let slot = base + thread::lane();
            let value = node.slots.load_if(slot as usize, slot < node.len);
            let is_entry = slot < node.len && (!is_dense || value.to_bits() != 0);
            let entries = warp::ballot(warp::FULL, is_entry);
            if is_entry {
                let (row, col) = if is_dense {
                    (slot >> self.d_log2, slot & ((1 << self.d_log2) - 1))
                } else {
                    layout::unpack(u32::from(node.coordinates.load(slot as usize)))
                };
                let (row, col) = (first_row + row, first_col + col);
                let (row, col) = if self.is_transposed != 0 { (col, row) } else { (row, col) };
                let own = place + (entries & ((1 << thread::lane()) - 1)).count_ones() as usize;
                self.rows.store(own, row);
                self.cols.store(own, col);
                // What is not multiplied keeps its bits, those of a NaN too.
                self.values.store(own, if self.is_scaled != 0 { self.factor * value } else { value });
            }
            place += entries.count_ones() as usize;
            base += thread::WARP_SIZE;
        }
    }
}
