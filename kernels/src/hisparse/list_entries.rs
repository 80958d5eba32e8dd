//! The entries of leaves as coordinates, in the order of the tree: one warp per leaf.

use evenpath_simt::{device, kernel, thread, warp, Arena, Float, Global, GlobalMut, Word};

use super::layout;
use super::node::NodeList;

kernel! {
    /// Counts the entries of leaves: one warp per leaf. Values are read as integers of their size.
    pub struct HiSparseCountEntries<T: Word> {
        /// The leaves.
        pub leaves: NodeList<T>,
        /// Output: the number of entries of each leaf.
        pub counts: GlobalMut<u32>,
    }
    shared: 0;
    body: HiSparseCountEntries::count_entries::<BLOCK>;
    entry: hisparse_count_entries_{T} in hisparse_entries: T in [u32, u64], 256 x 1;
}

impl<T: Word> HiSparseCountEntries<T> {
    #[device]
    fn count_entries<const BLOCK: usize>(self, _: Arena) {
        let leaf = thread::global_warp::<BLOCK>();
        if leaf >= self.leaves.len as usize {
            return;
        }
        let reference = self.leaves.reference(leaf);
        let node = self.leaves.node(reference);
        let mut count = node.len;
        if layout::kind(reference) == layout::DENSE {
            count = 0;
            thread::warp_stride(node.len, |slot| {
                count += u32::from(node.slots.load(slot as usize).to_bits() != 0);
            });
            count = warp::reduce_add(count);
        }
        if thread::lane() == 0 {
            self.counts.store(leaf, count);
        }
    }
}

kernel! {
    /// Lists the entries of leaves, transposed and scaled as asked for: one warp per leaf.
    pub struct HiSparseListEntries<V: Float> {
        /// The leaves.
        pub leaves: NodeList<V>,
        /// The row of each leaf in the content, counted in leaves.
        pub leaf_rows: Global<u32>,
        /// The column of each leaf in the content, counted in leaves.
        pub leaf_columns: Global<u32>,
        /// The number of entries of each leaf and all before it.
        pub ends: Global<u32>,
        /// Output: row indices of the entries.
        pub row_indices: GlobalMut<u32>,
        /// Output: column indices of the entries.
        pub column_indices: GlobalMut<u32>,
        /// Output: values of the entries.
        pub values: GlobalMut<V>,
        /// 1 if rows and columns are swapped, else 0.
        pub is_transposed: u32,
        /// 1 if values are multiplied by `factor`, else 0.
        pub is_scaled: u32,
        /// The factor.
        pub factor: V,
    }
    shared: 0;
    body: HiSparseListEntries::list_entries::<BLOCK>;
    entry: hisparse_list_entries_{V} in hisparse_entries: V in [f32, f64], 256 x 1;
}

impl<V: Float> HiSparseListEntries<V> {
    #[device]
    fn list_entries<const BLOCK: usize>(self, _: Arena) {
        let leaf = thread::global_warp::<BLOCK>();
        if leaf >= self.leaves.len as usize {
            return;
        }
        let d_log2 = self.leaves.d_log2;
        let reference = self.leaves.reference(leaf);
        let (first_row, first_col) =
            (self.leaf_rows.load(leaf) << d_log2, self.leaf_columns.load(leaf) << d_log2);
        let mut place = self.ends.load_if(leaf.saturating_sub(1), leaf > 0) as usize;
        let is_dense = layout::kind(reference) == layout::DENSE;
        let node = self.leaves.node(reference);
        let mut base = 0;
        while base < node.len {
            let slot = base + thread::lane();
            let value = node.slots.load_if(slot as usize, slot < node.len);
            let is_entry = slot < node.len && (!is_dense || value.to_bits() != 0);
            let entries = warp::ballot(warp::FULL, is_entry);
            if is_entry {
                let (row, col) = if is_dense {
                    (slot >> d_log2, slot & ((1 << d_log2) - 1))
                } else {
                    layout::unpack(u32::from(node.coordinates.load(slot as usize)))
                };
                let (row, col) = (first_row + row, first_col + col);
                let (row, col) = if self.is_transposed != 0 { (col, row) } else { (row, col) };
                let own = place + warp::count_below(entries) as usize;
                self.row_indices.store(own, row);
                self.column_indices.store(own, col);
                // An unscaled value keeps its bits, including those of a NaN.
                self.values.store(own, if self.is_scaled != 0 { self.factor * value } else { value });
            }
            place += entries.count_ones() as usize;
            base += thread::WARP_SIZE;
        }
    }
}
