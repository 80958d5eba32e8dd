//! Matrices of blocks: matrices below and beside each other.
//!
//! The row offsets of blocks beside each other are the sums of theirs ([`AddOffsets`]). Blocks are then copied from left to right,
//! each to where its part of every row starts ([`PlaceBlock`], [`AdvanceStarts`]). A block that has its rows to itself keeps the
//! order of its entries, and only its columns are shifted ([`ShiftColumns`]).

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Element, Global, GlobalMut, Shared};

use crate::spmv::PathTile;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Adds the row offsets of a block to those of the result: one thread per offset.
    pub struct AddOffsets<O: Offset> {
        /// The block's row offsets.
        pub source: Global<O>,
        /// The result's, of the same rows.
        pub target: GlobalMut<O>,
        /// The first row offset of the result, if this is the first block of its rows.
        pub base: u64,
        /// One if this is the first block of its rows; then the result's offsets are not read.
        pub is_first: u32,
        /// Number of offsets.
        pub len: u64,
    }
    shared: 0;
    body: AddOffsets::add_offsets::<BLOCK>;
    entry: stack_add_offsets_{O} in stack: O in [u32, u64], 256 x 1;
}

impl<O: Offset> AddOffsets<O> {
    #[device]
    fn add_offsets<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            let before = if self.is_first != 0 { self.base } else { self.target.load(index).to_bits() };
            self.target.store(index, O::from_bits(before + self.source.load(index).to_bits()));
        }
    }
}

kernel! {
    /// Moves the start of the next block's part of each row behind a block: one thread per row.
    pub struct AdvanceStarts<O: Offset> {
        /// The block's row offsets.
        pub row_offsets: Global<O>,
        /// Where the block's part of each row starts; then, where it ends.
        pub starts: GlobalMut<O>,
        /// Number of rows.
        pub rows: u32,
    }
    shared: 0;
    body: AdvanceStarts::advance_starts::<BLOCK>;
    entry: stack_advance_starts_{O} in stack: O in [u32, u64], 256 x 1;
}

impl<O: Offset> AdvanceStarts<O> {
    #[device]
    fn advance_starts<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        if row < self.rows as usize {
            let length = self.row_offsets.load(row + 1).to_bits() - self.row_offsets.load(row).to_bits();
            self.starts.store(row, O::from_bits(self.starts.load(row).to_bits() + length));
        }
    }
}

kernel! {
    /// Adds a number to column indices: one thread per index.
    pub struct ShiftColumns {
        /// The columns.
        pub source: Global<u32>,
        /// Output.
        pub target: GlobalMut<u32>,
        /// The number.
        pub shift: u32,
        /// Number of columns.
        pub len: u64,
    }
    shared: 0;
    body: ShiftColumns::shift_columns::<BLOCK>;
    entry: stack_shift_columns in stack: 256 x 1;
}

impl ShiftColumns {
    #[device]
    fn shift_columns<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            self.target.store(index, self.source.load_streaming(index) + self.shift);
        }
    }
}

kernel! {
    /// Copies a block to its rows of the result: one block of threads per tile of the merge of row ends and nonzeros of the block.
    pub struct PlaceBlock<W: Element, O: Offset> {
        /// The block.
        pub block: GlobalPattern<O>,
        /// The bits of its values.
        pub values: Global<W>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// Where the block's part of each row starts in the result.
        pub starts: Global<O>,
        /// The result's column of the block's first one.
        pub first_column: u32,
        /// Output: column indices.
        pub target_columns: GlobalMut<u32>,
        /// Output: the bits of values.
        pub target_values: GlobalMut<W>,
    }
    shared: BLOCK * ITEMS * u64::SIZE;
    body: PlaceBlock::place_block::<BLOCK, ITEMS>;
    entries: {
        stack_place_{W}_{O} in stack: W in [u16, u32, u64], O in [u32, u64], 256 x 8;
        stack_place_{W}_{O} in stack_c64: W = Complex<f64> as c64, O in [u32, u64], 256 x 8;
    }
}

impl<W: Element, O: Offset> PlaceBlock<W, O> {
    #[device]
    fn place_block<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let block = self.block;
        // How far each entry is moved, modulo 2⁶⁴.
        let shifts: Shared<u64> = arena.take(BLOCK * ITEMS);
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, block);
        tile.spread::<u64, O, BLOCK>(block.row_offsets, shifts, |row| {
            self.starts.load(row).to_bits().wrapping_sub(block.row_offsets.load(row).to_bits())
        });
        thread::barrier();
        let columns = tile.load::<u32, BLOCK, ITEMS>(block.column_indices.natural());
        let values = tile.load::<W, BLOCK, ITEMS>(self.values);
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < tile.nonzeros {
                let source = tile.first_nonzero + place as usize;
                let target = (source as u64).wrapping_add(shifts.load(place as usize)) as usize;
                self.target_columns.store(target, self.first_column + columns[item]);
                self.target_values.store(target, values[item]);
            }
        }
    }
}
