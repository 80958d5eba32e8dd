use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{kernel, thread, warp, Arena, GlobalMut};

use crate::{GlobalPattern, Offset};

kernel! {
    /// Counts the columns that are not greater than the one before them, except those at which a row begins: if there are
    /// none, the columns of every row increase. One item per nonzero or row, whichever are more.
    pub struct CountDescents<O: Offset> {
        /// The pattern.
        pub pattern: GlobalPattern<O>,
        /// One word, to which the number is added.
        pub descents: GlobalMut<u64>,
    }
    shared: 0;
    body: CountDescents::count_descents::<BLOCK, ITEMS>;
    entry: spadd_descents_{O} in spadd: O in [u32, u64], 256 x 8;
}

impl<O: Offset> CountDescents<O> {
    fn count_descents<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let GlobalPattern { row_offsets, column_indices, nonzeros, rows } = self.pattern;
        let start = thread::block() as usize * BLOCK * ITEMS + thread::index() as usize;
        let mut earlier = [0; ITEMS];
        let mut later = [0; ITEMS];
        let mut offsets = [O::ZERO; ITEMS];
        let mut ends = [O::ZERO; ITEMS];
        for item in 0..ITEMS {
            let place = start + item * BLOCK;
            let is_pair = (place as u64) + 1 < nonzeros;
            earlier[item] = column_indices.load_if(place, is_pair);
            later[item] = column_indices.load_if(place + 1, is_pair);
            let is_row = place < rows as usize;
            offsets[item] = row_offsets.load_if(place, is_row);
            ends[item] = row_offsets.load_if(place + 1, is_row);
        }
        let mut own = 0_i64;
        for item in 0..ITEMS {
            let place = start + item * BLOCK;
            let is_pair = (place as u64) + 1 < nonzeros;
            own += i64::from(is_pair && later[item] <= earlier[item]);
        }
        for item in 0..ITEMS {
            let (begin, end) = (offsets[item].to_usize(), ends[item].to_usize());
            // The first row that is not empty begins without a pair.
            if begin > 0 && begin < end {
                own -= i64::from(column_indices.load(begin) <= column_indices.load(begin - 1));
            }
        }
        let sum = warp::reduce_add(own);
        if thread::lane() == 0 && sum != 0 {
            self.descents.fetch_add(0, sum as u64, Ordering::Relaxed, Scope::Device);
        }
    }
}
