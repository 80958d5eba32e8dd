//! Row offsets of another width, and whether rows are sorted.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{kernel, thread, Arena, Global, GlobalMut};

use crate::Offset;

kernel! {
    /// Row offsets of another width, which holds them all: one thread an offset.
    pub struct SpgemmConvertOffsets<S: Offset, T: Offset> {
        /// What is read.
        pub source: Global<S>,
        /// Output.
        pub target: GlobalMut<T>,
        /// Offsets.
        pub len: u64,
    }
    shared: 0;
    body: convert::<S, T, BLOCK>;
    entries: {
        spgemm_offsets_to_u32 in spgemm_plan: <S = u64, T = u32>, 256 x 1;
        spgemm_offsets_to_u64 in spgemm_plan: <S = u32, T = u64>, 256 x 1;
        spgemm_offsets_of_u64 in spgemm_plan: <S = u64, T = u64>, 256 x 1;
    }
}

#[inline(always)]
fn convert<S: Offset, T: Offset, const BLOCK: usize>(
    _: Arena,
    source: Global<S>,
    target: GlobalMut<T>,
    len: u64,
) {
    let index = thread::block() as usize * BLOCK + thread::index() as usize;
    if (index as u64) < len {
        target.store(index, T::from_bits(source.load_streaming(index).to_bits()));
    }
}

kernel! {
    /// Finds the first row whose columns do not increase: one thread a nonzero that is followed by another.
    pub struct SpgemmUnsortedRow<O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Column indices.
        pub columns: Global<u32>,
        /// Zero before; how many rows there are from the first that is not sorted on, zero if all are.
        pub unsorted: GlobalMut<u32>,
        /// Rows.
        pub rows: u32,
        /// Nonzeros.
        pub nonzeros: u64,
    }
    shared: 0;
    body: find_unsorted_row::<O, BLOCK>;
    entries: {
        spgemm_unsorted_row_u32 in spgemm_plan: <O = u32>, 256 x 1;
        spgemm_unsorted_row_u64 in spgemm_plan: <O = u64>, 256 x 1;
    }
}

#[inline(always)]
fn find_unsorted_row<O: Offset, const BLOCK: usize>(
    _: Arena,
    row_offsets: Global<O>,
    columns: Global<u32>,
    unsorted: GlobalMut<u32>,
    rows: u32,
    nonzeros: u64,
) {
    let place = thread::block() as usize * BLOCK + thread::index() as usize;
    if place as u64 + 1 >= nonzeros || columns.load(place) < columns.load(place + 1) {
        return;
    }
    // The first row that begins behind `place`.
    let (mut low, mut high) = (0, rows);
    while low < high {
        let middle = low + (high - low) / 2;
        if row_offsets.load(middle as usize).to_usize() <= place {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if row_offsets.load(low as usize).to_usize() != place + 1 {
        unsorted.fetch_max(0, rows - (low - 1), Ordering::Relaxed, Scope::Device);
    }
}
