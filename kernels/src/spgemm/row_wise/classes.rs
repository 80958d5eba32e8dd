//! Classes of rows by their work.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, Global, GlobalMut, Shared};

use super::spans::Spans;

/// The largest sizes of rows whose columns are looked up in a hash table, one per class.
pub const HASH_CLASSES: [u32; 4] = [32, 64, 128, 256];
/// The largest sizes of rows that use windows, for all classes but the last.
const WINDOW_SIZES: [u32; 3] = [256, 1024, 4096];
/// The widest column spans of rows that use windows, for all classes but the last.
const WINDOW_SPANS: [u32; 4] = [1 << 13, 1 << 15, 1 << 17, 1 << 19];

/// The class of rows of size zero, which need no work.
pub const EMPTY_CLASS: u32 = 0;
/// The first class with hash tables.
const FIRST_HASH_CLASS: usize = 1;
/// The number of classes.
pub const CLASSES: usize =
    FIRST_HASH_CLASS + HASH_CLASSES.len() + (WINDOW_SIZES.len() + 1) * (WINDOW_SPANS.len() + 1);
/// Words of counters: for each class its number of rows, the largest size and the widest span; then the sum of all sizes.
pub const COUNTERS: usize = 3 * CLASSES + 1;

/// Method that computes the rows of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// They need no work.
    Empty,
    /// A group of lanes with a hash table of columns.
    Hash {
        /// The largest size, of [`HASH_CLASSES`].
        size: u32,
    },
    /// A block with windows of columns.
    Window {
        /// The class of sizes, from 0 for the smallest to 3 for the largest.
        size_class: usize,
    },
}

impl Class {
    /// Returns the class of a number below [`CLASSES`].
    pub fn from_index(index: usize) -> Self {
        match index.checked_sub(FIRST_HASH_CLASS) {
            None => Self::Empty,
            Some(hash) if hash < HASH_CLASSES.len() => Self::Hash { size: HASH_CLASSES[hash] },
            Some(rest) => Self::Window { size_class: (rest - HASH_CLASSES.len()) / (WINDOW_SPANS.len() + 1) },
        }
    }
}

/// The limits that decide between hash tables and windows.
#[derive(Debug, Clone, Copy)]
pub struct ClassLimits {
    /// A row up to this size never uses windows.
    pub always_hash: u32,
    /// A larger row does if its span has at most this many columns per unit of its size.
    pub columns_an_entry: u32,
}

impl ClassLimits {
    /// Returns the class of a row.
    #[device]
    pub(in crate::spgemm) fn class_of(self, size: u64, span: u32) -> u32 {
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
    /// Assigns each row to a class: one thread for `ITEMS` rows.
    pub struct SpgemmClassify {
        /// The size of each row: the number of its products or entries.
        pub sizes: Global<u64>,
        /// The columns that each row spans.
        pub spans: Spans,
        /// Output: the class of each row.
        pub classes: GlobalMut<u8>,
        /// Output: [`COUNTERS`] words, all zero before.
        pub counters: GlobalMut<u64>,
        /// The number of rows.
        pub rows: u32,
        /// [`ClassLimits::always_hash`].
        pub always_hash: u32,
        /// [`ClassLimits::columns_an_entry`].
        pub columns_an_entry: u32,
    }
    shared: CLASSES * 4;
    body: SpgemmClassify::classify::<BLOCK, ITEMS>;
    entry: spgemm_classify in spgemm_plan: 256 x 8;
}

/// The rows of a thread, `BLOCK` rows apart.
struct ThreadRows<const ITEMS: usize> {
    /// The number of the first row.
    first: usize,
    sizes: [u64; ITEMS],
    spans: [u32; ITEMS],
    /// Their classes; 2³² − 1 where there is no row.
    classes: [u32; ITEMS],
}

impl SpgemmClassify {
    #[device]
    fn classify<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        // 1. Clear the block's counts.
        let counts: Shared<u32> = arena.take(CLASSES);
        if (thread::index() as usize) < CLASSES {
            counts.store(thread::index() as usize, 0);
        }
        thread::barrier();
        // 2. Find the classes of the thread's rows, and whether those of the warp are all the same.
        let mut share = self.load::<BLOCK, ITEMS>();
        let alike = self.store_classes::<BLOCK, ITEMS>(&mut share);
        // 3. Count the block's rows by class, and note the largest sizes and spans.
        match alike {
            Some(class) => share.count_alike(counts, self.counters, class),
            None => share.count(counts, self.counters),
        }
        let mut total = 0;
        for item in 0..ITEMS {
            total += share.sizes[item];
        }
        let total = warp::reduce_add(total);
        if thread::lane() == 0 && total > 0 {
            self.counters.fetch_add(3 * CLASSES, total, Ordering::Relaxed, Scope::Device);
        }
        thread::barrier();
        // 4. Add the block's counts.
        let class = thread::index() as usize;
        if class < CLASSES {
            let count = counts.load(class);
            if count > 0 {
                self.counters.fetch_add(3 * class, u64::from(count), Ordering::Relaxed, Scope::Device);
            }
        }
    }

    /// Loads sizes and spans of the thread's rows; zeros where there is no row.
    #[device(track_caller)]
    fn load<const BLOCK: usize, const ITEMS: usize>(self) -> ThreadRows<ITEMS> {
        let first = thread::block() as usize * ITEMS * BLOCK + thread::index() as usize;
        let mut share =
            ThreadRows { first, sizes: [0; ITEMS], spans: [0; ITEMS], classes: [u32::MAX; ITEMS] };
        let Spans { firsts, lasts } = self.spans;
        for item in 0..ITEMS {
            let row = first + item * BLOCK;
            let is_row = row < self.rows as usize;
            share.sizes[item] = self.sizes.load_if(row, is_row);
            let (first, last) = (firsts.load_if(row, is_row), lasts.load_if(row, is_row));
            share.spans[item] = if is_row && first <= last { last - first + 1 } else { 0 };
        }
        share
    }

    /// Finds and stores the classes of the thread's rows. Returns the class of the warp's rows if all have the same.
    #[device(track_caller)]
    fn store_classes<const BLOCK: usize, const ITEMS: usize>(
        self,
        share: &mut ThreadRows<ITEMS>,
    ) -> Option<u32> {
        let limits = ClassLimits { always_hash: self.always_hash, columns_an_entry: self.columns_an_entry };
        let mut is_alike = true;
        let mut alike = u32::MAX;
        for item in 0..ITEMS {
            let row = share.first + item * BLOCK;
            let is_row = row < self.rows as usize;
            let class = limits.class_of(share.sizes[item], share.spans[item]);
            if is_row {
                self.classes.store(row, class as u8);
            }
            share.classes[item] = if is_row { class } else { u32::MAX };
            if item == 0 {
                alike = warp::shuffle(warp::FULL, share.classes[0], 0);
            }
            is_alike &= warp::all(warp::FULL, share.classes[item] == alike);
        }
        if is_alike && alike < CLASSES as u32 {
            Some(alike)
        } else {
            None
        }
    }
}

impl<const ITEMS: usize> ThreadRows<ITEMS> {
    /// Counts the rows of a warp that are all of one class, with one access per counter.
    #[device(track_caller)]
    fn count_alike(&self, counts: Shared<u32>, counters: GlobalMut<u64>, class: u32) {
        let (mut largest, mut widest) = (0, 0);
        for item in 0..ITEMS {
            largest = largest.max(self.sizes[item]);
            widest = widest.max(self.spans[item]);
        }
        let (largest, widest) = (warp::reduce(largest, u64::max), warp::reduce(widest, u32::max));
        if thread::lane() == 0 {
            counts.fetch_add(class as usize, thread::WARP_SIZE * ITEMS as u32);
            note_largest(counters, 3 * class as usize + 1, largest);
            note_largest(counters, 3 * class as usize + 2, u64::from(widest));
        }
    }

    /// Counts the rows of a warp by class.
    #[device(track_caller)]
    fn count(&self, counts: Shared<u32>, counters: GlobalMut<u64>) {
        for item in 0..ITEMS {
            let mates = warp::match_any(warp::FULL, self.classes[item]);
            if self.classes[item] < CLASSES as u32 {
                let class = self.classes[item] as usize;
                if thread::lane() == mates.trailing_zeros() {
                    counts.fetch_add(class, mates.count_ones());
                }
                note_largest(counters, 3 * class + 1, self.sizes[item]);
                note_largest(counters, 3 * class + 2, u64::from(self.spans[item]));
            }
        }
    }
}

/// Raises a counter to `value`. Usually it is high enough already, and a load is cheaper than an atomic maximum.
#[device(track_caller)]
fn note_largest(counters: GlobalMut<u64>, index: usize, value: u64) {
    if counters.atomic_load(index, Ordering::Relaxed, Scope::Device) < value {
        counters.fetch_max(index, value, Ordering::Relaxed, Scope::Device);
    }
}

kernel! {
    /// Lists the rows of each class, one class after the other, the empty one first: one thread per row.
    pub struct SpgemmListRows {
        /// The class of each row.
        pub classes: Global<u8>,
        /// The counters of [`SpgemmClassify`].
        pub counters: Global<u64>,
        /// A word per class, all zero before.
        pub listed: GlobalMut<u32>,
        /// Output: the rows.
        pub list: GlobalMut<u32>,
        /// The number of rows.
        pub rows: u32,
    }
    shared: CLASSES * 8;
    body: SpgemmListRows::list_rows::<BLOCK>;
    entry: spgemm_list_rows in spgemm_plan: 256 x 1;
}

impl SpgemmListRows {
    #[device]
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
        place = warp::shuffle(warp::FULL, place, first) + warp::count_below(alike);
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
