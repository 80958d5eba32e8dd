//! Global sort: all products are expanded in global memory and sorted there together. The publication compares with this
//! method (expansion, sorting and compression: Bell, Dalton, Olson, SIAM J. Sci. Comput. 34, 2012).

use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Global, GlobalMut};

use super::expansion::ListedEntries;
use crate::block::search::partition_point;
use crate::{GlobalCsr, Offset};

kernel! {
    /// Computes all products, in the order of A's entries, with a key each: the row above the column. One block per tile.
    pub struct ExpandProducts<V: Arithmetic, O: Offset> {
        /// The listed entries of A.
        pub entries: ListedEntries<O>,
        /// Values of A.
        pub a_values: Global<V>,
        /// B.
        pub b: GlobalCsr<V, O>,
        /// Output: the key of each product.
        pub keys: GlobalMut<u64>,
        /// Output: the products.
        pub products: GlobalMut<V>,
        /// Bits of a column in a key, at most 32.
        pub column_bits: u32,
    }
    shared: 0;
    body: ExpandProducts::expand_products::<BLOCK, ITEMS>;
    entry: spgemm_expand_products_{V}_{O} in spgemm_global_sort: V in [f32, f64], O in [u32, u64], 256 x 8;
}

impl<V: Arithmetic, O: Offset> ExpandProducts<V, O> {
    #[device]
    fn expand_products<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let Self { entries, a_values, b, keys, products, column_bits } = self;
        let tile = entries.tile((BLOCK * ITEMS) as u32);
        let first_products = entries.first_products.skip(tile.first_entry);
        for item in 0..ITEMS {
            let place = (item * BLOCK) as u32 + thread::index();
            if place >= tile.len {
                return;
            }
            let product = tile.first + place;
            // The last entry whose products begin at or before this one.
            let begins = |entry: u32| first_products.load(entry as usize) <= product;
            let entry = tile.first_entry + partition_point(1, tile.entries, begins) as usize - 1;
            let source = entries.sources.load(entry).to_bits();
            let nonzero = O::from_bits(source.wrapping_add(u64::from(product))).to_usize();
            let row = u64::from(entries.rows.load(entry));
            let column = u64::from(b.column_indices.load(nonzero));
            keys.store(product as usize, row << column_bits | column);
            let a_value = a_values.load(entries.numbers.load(entry) as usize);
            products.store(product as usize, a_value * b.values.load(nonzero));
        }
    }
}

kernel! {
    /// Makes the pattern of C from the sorted keys of its entries: one thread per entry, and per row offset.
    pub struct SplitKeys<C: Offset> {
        /// The keys.
        pub keys: Global<u64>,
        /// Output: row offsets of C, `rows` + 1.
        pub row_offsets: GlobalMut<C>,
        /// Output: column indices of C.
        pub column_indices: GlobalMut<u32>,
        /// The number of keys.
        pub len: u32,
        /// Rows of C, fewer than 2³¹.
        pub rows: u32,
        /// Bits of a column in a key.
        pub column_bits: u32,
    }
    shared: 0;
    body: SplitKeys::split_keys::<BLOCK>;
    entry: spgemm_split_keys_{C} in spgemm_global_sort: C in [u32, u64], 256 x 1;
}

impl<C: Offset> SplitKeys<C> {
    #[device]
    fn split_keys<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>() as u32;
        if index < self.len {
            let column = self.keys.load(index as usize) & ((1 << self.column_bits) - 1);
            self.column_indices.store(index as usize, column as u32);
        }
        if index <= self.rows {
            let row = |entry: u32| self.keys.load(entry as usize) >> self.column_bits;
            let begin = partition_point(0, self.len, |entry| row(entry) < u64::from(index));
            self.row_offsets.store(index as usize, C::from_bits(u64::from(begin)));
        }
    }
}
