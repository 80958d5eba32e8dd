//! The products of each row of C.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, GlobalMut};

use crate::block::count_scan::CountScan;
use crate::block::operator::{Operator, Summary};
use crate::block::tile_prefix::{self, clear_stale, entry_words, TilePrefix};
use crate::spgemm::row_wise::{each_long_row, each_row_of_b};
use crate::{GlobalPattern, Offset};

/// The result of [`CountProducts`] that is the number of all products.
pub const TOTAL: usize = 0;
/// The result that is the most products of a row.
pub const LONGEST: usize = 1;

/// The most products of a row that are counted: a row with more counts as having this many.
pub const MOST_IN_A_ROW: u64 = 1 << 16;

/// Entries of a row of A beyond which its products are not counted; it then has [`MOST_IN_A_ROW`].
const MOST_ENTRIES: u32 = 1 << 13;

/// Entries of A per lane beyond which the whole warp takes a row.
const LONG: u32 = 32;

kernel! {
    /// Counts the products of each row of C, and those of all rows before it: `1 << lanes_log2` lanes per row. Blocks take rows in
    /// the order in which they start. There are at most 2²⁴ rows.
    pub struct CountProducts<O: Offset> {
        /// A.
        pub a: GlobalPattern<O>,
        /// B.
        pub b: GlobalPattern<O>,
        /// [`count_state_words`] words, all zero.
        pub state: GlobalMut<u64>,
        /// Output: [`TOTAL`] and [`LONGEST`]. The host may read them while the kernel runs.
        pub results: GlobalMut<u64>,
        /// Output: words that are set to zero, those that another launch has used.
        pub stale: GlobalMut<u64>,
        /// Their number.
        pub stale_words: u32,
        /// Output: the products before each row, and at the end all of them; modulo 2³².
        pub before: GlobalMut<u32>,
        /// log2 of the lanes per row, at most 5.
        pub lanes_log2: u32,
    }
    shared: CountScan::<u64, BLOCK>::BYTES + BLOCK / thread::WARP_SIZE as usize * 8 + 8 + 4;
    body: CountProducts::count_products::<BLOCK>;
    entry: spgemm_count_products_{O} in spgemm_row_tiles_plan: O in [u32, u64], 256 x 1 resident 4;
}

/// Words of state of [`CountProducts`] for a grid of `blocks` blocks.
pub const fn count_state_words(blocks: u32) -> usize {
    tile_prefix::state_words(blocks as usize, entry_words(8, false))
}

/// The sum of counts and the greatest, in one word.
#[derive(Debug, Clone, Copy)]
struct SumAndGreatest;

/// Bits of the sum, below the greatest.
const SUM_BITS: u32 = 40;

/// Returns the sum in a word.
#[device]
fn sum(word: u64) -> u64 {
    word & ((1 << SUM_BITS) - 1)
}

impl Operator<u64> for SumAndGreatest {
    const IDENTITY: u64 = 0;
    #[device]
    fn combine(before: u64, after: u64) -> u64 {
        let greatest = (before >> SUM_BITS).max(after >> SUM_BITS);
        (sum(before) + sum(after)) | greatest << SUM_BITS
    }
}

impl<O: Offset> CountProducts<O> {
    #[device]
    fn count_products<const BLOCK: usize>(self, mut arena: Arena) {
        let scan = CountScan::<u64, BLOCK>::take(&mut arena);
        let longest_words = arena.take::<u64>(BLOCK / thread::WARP_SIZE as usize);
        let before_word = arena.take::<u64>(1);
        let number_word = arena.take::<u32>(1);
        let blocks = thread::grid_size();

        // 1. Count the products of the block's rows; find their sum and the greatest.
        let prefix = TilePrefix::new(self.state, blocks);
        let number = prefix.draw(number_word);
        let row = number * (BLOCK as u32 >> self.lanes_log2) + (thread::index() >> self.lanes_log2);
        let is_first_lane = thread::index() & ((1 << self.lanes_log2) - 1) == 0;
        let products = self.of_row(row);
        let own = if is_first_lane { products } else { 0 };
        let longest = warp::reduce(products, u64::max);
        if thread::lane() == 0 {
            longest_words.store(thread::warp() as usize, longest);
        }
        let counted = scan.exclusive(own);
        let mut longest = 0;
        for warp in 0..BLOCK / thread::WARP_SIZE as usize {
            longest = longest.max(longest_words.load(warp));
        }

        // 2. Find those of the rows before them.
        let total = Summary::<u64, SumAndGreatest>::new(counted.total | longest << SUM_BITS, 0);
        if thread::index() == 0 {
            prefix.publish_own(number, total);
        }
        prefix.store_exclusive(number, total, before_word);
        thread::barrier();

        // 3. Store both.
        let before = before_word.load(0);
        if is_first_lane && row < self.a.rows {
            self.before.store(row as usize, (before + counted.before) as u32);
        }
        if number + 1 == blocks && thread::index() == 0 {
            let all = SumAndGreatest::combine(before, total.value);
            self.before.store(self.a.rows as usize, all as u32);
            self.results.atomic_store(TOTAL, sum(all), Ordering::Relaxed, Scope::System);
            self.results.atomic_store(LONGEST, all >> SUM_BITS, Ordering::Relaxed, Scope::System);
        }
        clear_stale::<BLOCK>(self.stale, self.stale_words, number);
    }

    /// Returns the products of a row, in each of its lanes; zero if there is no such row. The lanes of a warp call it
    /// together.
    #[device(track_caller)]
    fn of_row(&self, row: u32) -> u64 {
        let Self { a, b, lanes_log2, .. } = *self;
        let lane = thread::index() & ((1 << lanes_log2) - 1);
        let own = a.entries_if(row, row < a.rows);
        let is_countable = own.len <= MOST_ENTRIES;
        let is_long = is_countable && own.len > LONG << lanes_log2;
        let mut count = 0_u64;
        if is_countable && !is_long {
            each_row_of_b(a, b, own, lane, lanes_log2, |entries| count += u64::from(entries.len));
        }
        count = warp::reduce_groups(count, 1 << lanes_log2, |a, b| a + b);
        // Long rows, one after the other, with the whole warp.
        each_long_row(own, is_long && lane == 0, |source, entries| {
            let mut part = 0_u64;
            each_row_of_b(a, b, entries, thread::lane(), thread::WARP_SIZE.ilog2(), |entries| {
                part += u64::from(entries.len);
            });
            let all = warp::reduce_add(part);
            if thread::lane() >> lanes_log2 == source >> lanes_log2 {
                count = all;
            }
        });
        if is_countable && count < MOST_IN_A_ROW {
            count
        } else {
            MOST_IN_A_ROW
        }
    }
}
