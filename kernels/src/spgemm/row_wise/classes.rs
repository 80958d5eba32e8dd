//! Rows by what they take.

// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{kernel, thread, warp, Arena, Global, GlobalMut, Shared};

/// Sizes of rows whose columns are looked up in a hash table, at most, a class each.
pub const HASH_CLASSES: [u32; 4] = [32, 64, 128, 256];
/// Sizes of rows that are done by windows, at most, of all but the largest.
const WINDOW_SIZES: [u32; 3] = [256, 1024, 4096];
/// Spans of columns of rows that are done by windows, at most, of all but the widest.
const WINDOW_SPANS: [u32; 4] = [1 << 13, 1 << 15, 1 << 17, 1 << 19];

/// The class of rows of size zero: nothing is done for them.
pub const EMPTY_CLASS: u32 = 0;
/// The first class with hash tables.
const FIRST_HASH_CLASS: usize = 1;
/// Classes.
pub const CLASSES: usize =
    FIRST_HASH_CLASS + HASH_CLASSES.len() + (WINDOW_SIZES.len() + 1) * (WINDOW_SPANS.len() + 1);
/// Words of counters: for each class its rows, the largest size and the widest span; then the sum of all sizes.
pub const COUNTERS: usize = 3 * CLASSES + 1;

/// What a class is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Nothing to do.
    Empty,
    /// A group of lanes with a hash table of columns.
    Hash {
        /// The largest size, of [`HASH_CLASSES`].
        size: u32,
    },
    /// A block with windows of columns.
    Window {
        /// Which class of sizes, 0 the smallest, 3 the largest.
        size_class: usize,
    },
}

impl Class {
    /// The class of a number below [`CLASSES`].
    pub fn from_index(index: usize) -> Self {
        match index.checked_sub(FIRST_HASH_CLASS) {
            None => Self::Empty,
            Some(hash) if hash < HASH_CLASSES.len() => Self::Hash { size: HASH_CLASSES[hash] },
            Some(rest) => Self::Window { size_class: (rest - HASH_CLASSES.len()) / (WINDOW_SPANS.len() + 1) },
        }
    }
}

/// What decides between tables and windows.
#[derive(Debug, Clone, Copy)]
pub struct ClassLimits {
    /// A row up to this size is never done by windows.
    pub always_hash: u32,
    /// A larger one is if its span has no more columns than its size times this.
    pub columns_an_entry: u32,
}

impl ClassLimits {
    /// The class of a row.
    #[inline(always)]
    fn class_of(self, size: u64, span: u32) -> u32 {
        if size == 0 {
            return EMPTY_CLASS;
        }
        let narrow = u64::from(span) <= size * u64::from(self.columns_an_entry);
        if size <= u64::from(HASH_CLASSES[3]) && (size <= u64::from(self.always_hash) || !narrow) {
            let mut class = FIRST_HASH_CLASS as u32;
            for at in 0..HASH_CLASSES.len() {
                class += u32::from(size > u64::from(HASH_CLASSES[at]));
            }
            return class;
        }
        let mut size_class = 0;
        for at in 0..WINDOW_SIZES.len() {
            size_class += u32::from(size > u64::from(WINDOW_SIZES[at]));
        }
        let mut span_class = 0;
        for at in 0..WINDOW_SPANS.len() {
            span_class += u32::from(span > WINDOW_SPANS[at]);
        }
        (FIRST_HASH_CLASS + HASH_CLASSES.len()) as u32
            + size_class * (WINDOW_SPANS.len() as u32 + 1)
            + span_class
    }
}

kernel! {
    /// Puts each row into a class: one thread for `ITEMS` rows.
    pub struct SpgemmClassify {
        /// Size of each row: its products, or its entries.
        pub sizes: Global<u64>,
        /// First column of each row.
        pub firsts: Global<u32>,
        /// Last column of each row.
        pub lasts: Global<u32>,
        /// Output: class of each row.
        pub classes: GlobalMut<u8>,
        /// Output: [`COUNTERS`] words, all zero before.
        pub counters: GlobalMut<u64>,
        /// Rows.
        pub rows: u32,
        /// [`ClassLimits::always_hash`].
        pub always_hash: u32,
        /// [`ClassLimits::columns_an_entry`].
        pub columns_an_entry: u32,
    }
    shared: CLASSES * 4;
    body: SpgemmClassify::classify::<BLOCK, ITEMS>;
    entries: {
        spgemm_classify in spgemm_plan: 256 x 8;
    }
}

impl SpgemmClassify {
    #[inline(always)]
    fn classify<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let counts: Shared<u32> = arena.take(CLASSES);
        let limits = ClassLimits { always_hash: self.always_hash, columns_an_entry: self.columns_an_entry };
        if (thread::index() as usize) < CLASSES {
            counts.store(thread::index() as usize, 0);
        }
        thread::barrier();
        let mut sizes_of = [0_u64; ITEMS];
        let mut spans = [0_u32; ITEMS];
        let mut classes_of = [u32::MAX; ITEMS];
        let row_of =
            |item: usize| (thread::block() as usize * ITEMS + item) * BLOCK + thread::index() as usize;
        for item in 0..ITEMS {
            let (row, is_row) = (row_of(item), row_of(item) < self.rows as usize);
            sizes_of[item] = self.sizes.load_if(row, is_row);
            let (first, last) = (self.firsts.load_if(row, is_row), self.lasts.load_if(row, is_row));
            spans[item] = if is_row && first <= last { last - first + 1 } else { 0 };
        }
        let (mut total, mut largest, mut widest) = (0, 0, 0);
        let mut is_alike = true;
        let mut alike = u32::MAX;
        for item in 0..ITEMS {
            let is_row = row_of(item) < self.rows as usize;
            let class = limits.class_of(sizes_of[item], spans[item]);
            if is_row {
                self.classes.store(row_of(item), class as u8);
            }
            classes_of[item] = if is_row { class } else { u32::MAX };
            if item == 0 {
                alike = warp::shuffle(warp::FULL, classes_of[0], 0);
            }
            is_alike &= warp::all(warp::FULL, classes_of[item] == alike);
            total += sizes_of[item];
            largest = largest.max(sizes_of[item]);
            widest = widest.max(spans[item]);
        }
        let lane = thread::lane();
        if is_alike && alike < CLASSES as u32 {
            // One access a warp.
            let mut distance = thread::WARP_SIZE / 2;
            while distance > 0 {
                largest = largest.max(warp::shuffle_xor(warp::FULL, largest, distance));
                widest = widest.max(warp::shuffle_xor(warp::FULL, widest, distance));
                distance /= 2;
            }
            if lane == 0 {
                counts.fetch_add(alike as usize, thread::WARP_SIZE * ITEMS as u32);
                note_largest(self.counters, 3 * alike as usize + 1, largest);
                note_largest(self.counters, 3 * alike as usize + 2, u64::from(widest));
            }
        } else {
            for item in 0..ITEMS {
                let mates = warp::match_any(warp::FULL, classes_of[item]);
                if classes_of[item] < CLASSES as u32 {
                    let class = classes_of[item] as usize;
                    if lane == mates.trailing_zeros() {
                        counts.fetch_add(class, mates.count_ones());
                    }
                    note_largest(self.counters, 3 * class + 1, sizes_of[item]);
                    note_largest(self.counters, 3 * class + 2, u64::from(spans[item]));
                }
            }
        }
        let total = warp::reduce_add(total);
        if lane == 0 && total > 0 {
            self.counters.fetch_add(3 * CLASSES, total, Ordering::Relaxed, Scope::Device);
        }
        thread::barrier();
        let class = thread::index() as usize;
        if class < CLASSES {
            let count = counts.load(class);
            if count > 0 {
                self.counters.fetch_add(3 * class, u64::from(count), Ordering::Relaxed, Scope::Device);
            }
        }
    }
}

/// Raises a counter to `value`; most often it is as high already, and a look is cheaper than a change.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn note_largest(counters: GlobalMut<u64>, index: usize, value: u64) {
    if counters.atomic_load(index, Ordering::Relaxed, Scope::Device) < value {
        counters.fetch_max(index, value, Ordering::Relaxed, Scope::Device);
    }
}

kernel! {
    /// Lists the rows of each class, one class after the other; the empty one comes first. One thread a row.
    pub struct SpgemmListRows {
        /// Class of each row.
        pub classes: Global<u8>,
        /// What [`SpgemmClassify`] counted.
        pub counters: Global<u64>,
        /// A word a class, all zero before.
        pub listed: GlobalMut<u32>,
        /// Output: the rows.
        pub list: GlobalMut<u32>,
        /// Rows.
        pub rows: u32,
    }
    shared: CLASSES * 8;
    body: SpgemmListRows::list_rows::<BLOCK>;
    entries: {
        spgemm_list_rows in spgemm_plan: 256 x 1;
    }
}

impl SpgemmListRows {
    #[inline(always)]
    fn list_rows<const BLOCK: usize>(self, mut arena: Arena) {
        let counts: Shared<u32> = arena.take(CLASSES);
        let starts: Shared<u32> = arena.take(CLASSES);
        let thread = thread::index() as usize;
        if thread < CLASSES {
            counts.store(thread, 0);
        }
        thread::barrier();
        let row = thread::block() as usize * BLOCK + thread;
        let is_row = row < self.rows as usize;
        let class = if is_row { u32::from(self.classes.load(row)) } else { u32::MAX };
        let alike = warp::match_any(warp::FULL, class);
        let first = alike.trailing_zeros();
        let mut place = 0;
        if is_row && thread::lane() == first {
            place = counts.fetch_add(class as usize, alike.count_ones());
        }
        place = warp::shuffle(warp::FULL, place, first) + (alike & ((1 << thread::lane()) - 1)).count_ones();
        thread::barrier();
        if thread < CLASSES {
            let count = counts.load(thread);
            let mut start = 0;
            if count > 0 {
                for class in 0..CLASSES {
                    if class < thread {
                        start += self.counters.load(3 * class) as u32;
                    }
                }
                start += self.listed.fetch_add(thread, count, Ordering::Relaxed, Scope::Device);
            }
            starts.store(thread, start);
        }
        thread::barrier();
        if is_row {
            self.list.store((starts.load(class as usize) + place) as usize, row as u32);
        }
    }
}
