//! Rows of any size: a block a row, with a bit a column.

use evenpath_simt::{kernel, thread, warp, Arena, Element, Float, Global, GlobalMut, Shared};

use super::bitmap::{Bitmap, PACKET};
use super::entries::{nth_row, Entries, Matrix};
use crate::block::count_scan::CountScan;
use crate::Offset;

/// Windows are made of so many columns.
pub const WINDOW_COLUMNS: u32 = PACKET;

/// Bytes of shared memory of a block of `block` threads: for windows of `packets` times [`WINDOW_COLUMNS`] columns,
/// `sums` sums and row offsets of `offset_bytes`. Who only counts has values of 0 bytes.
pub const fn window_shared_bytes(
    block: u32,
    packets: u32,
    sums: u32,
    value_bytes: u32,
    offset_bytes: u32,
) -> u32 {
    let bytes = Bitmap::bytes(packets)
        + block / 32 * 4
        + block * (offset_bytes + value_bytes + 8)
        + sums * value_bytes;
    // Arrays of 8 bytes an element may begin behind one of 4.
    bytes + 8
}

kernel! {
    /// Counts the entries of rows of C: a block a row.
    pub struct SpgemmWindowCount<O: Offset> {
        /// Row offsets of A.
        pub a_row_offsets: Global<O>,
        /// Column indices of A.
        pub a_columns: Global<u32>,
        /// Row offsets of B.
        pub b_row_offsets: Global<O>,
        /// Column indices of B, ascending within rows.
        pub b_columns: Global<u32>,
        /// The rows, if `listed`.
        pub list: Global<u32>,
        /// First column of each row of C.
        pub firsts: Global<u32>,
        /// Last column of each row of C.
        pub lasts: Global<u32>,
        /// Output: entries of each of the rows.
        pub lengths: GlobalMut<u64>,
        /// Not zero if `list` has the rows; else they are the first of the matrix.
        pub listed: u32,
        /// Columns of a window, in units of [`WINDOW_COLUMNS`].
        pub packets: u32,
        /// Lanes a row of B, as a power of two: no more than a block has, and a thirty-second of them or more.
        pub lanes_log2: u32,
    }
    shared: 0;
    body: count_row::<O, BLOCK>;
    entries: {
        spgemm_window_count_u32_32 in spgemm_count: <O = u32>, 32 x 1;
        spgemm_window_count_u64_32 in spgemm_count: <O = u64>, 32 x 1;
        spgemm_window_count_u32_128 in spgemm_count: <O = u32>, 128 x 1;
        spgemm_window_count_u64_128 in spgemm_count: <O = u64>, 128 x 1;
        spgemm_window_count_u32_512 in spgemm_count: <O = u32>, 512 x 1;
        spgemm_window_count_u64_512 in spgemm_count: <O = u64>, 512 x 1;
    }
}

#[inline(always)]
fn count_row<O: Offset, const BLOCK: usize>(
    _: Arena,
    a_row_offsets: Global<O>,
    a_columns: Global<u32>,
    b_row_offsets: Global<O>,
    b_columns: Global<u32>,
    list: Global<u32>,
    firsts: Global<u32>,
    lasts: Global<u32>,
    lengths: GlobalMut<u64>,
    listed: u32,
    packets: u32,
    lanes_log2: u32,
) {
    let a = Matrix { row_offsets: a_row_offsets, columns: a_columns, values: a_columns };
    let b = Matrix { row_offsets: b_row_offsets, columns: b_columns, values: b_columns };
    let mut arena = Arena::dynamic(window_shared_bytes(BLOCK as u32, packets, 0, 0, O::SIZE as u32));
    let bitmap = Bitmap::take(&mut arena, packets);
    let stage = Stage::<u32, O, BLOCK>::take::<false>(&mut arena, lanes_log2);
    let scan = CountScan::<BLOCK>::take(&mut arena);
    let row = nth_row(list, listed, thread::block(), true);
    let own = a.entries_if(row, true);
    let mut count = 0;
    let mut windows = Windows::new(firsts.load(row as usize), lasts.load(row as usize), packets);
    while let Some(window) = windows.next() {
        let bitmap = bitmap.window(window.start, window.len);
        bitmap.clear::<BLOCK>();
        thread::barrier();
        stage.mark(a, b, own, window, bitmap);
        thread::barrier();
        count += bitmap.count_own::<BLOCK>();
        thread::barrier();
    }
    let counted = scan.exclusive(count);
    if thread::index() == 0 {
        lengths.store(row as usize, u64::from(counted.total));
    }
}

kernel! {
    /// Computes rows of C: a block a row.
    pub struct SpgemmWindowFill<V: Float, O: Offset> {
        /// Row offsets of A.
        pub a_row_offsets: Global<O>,
        /// Column indices of A.
        pub a_columns: Global<u32>,
        /// Values of A.
        pub a_values: Global<V>,
        /// Row offsets of B.
        pub b_row_offsets: Global<O>,
        /// Column indices of B, ascending within rows.
        pub b_columns: Global<u32>,
        /// Values of B.
        pub b_values: Global<V>,
        /// Row offsets of C.
        pub c_row_offsets: Global<u64>,
        /// Column indices of C: output, unless `known`.
        pub c_columns: GlobalMut<u32>,
        /// Output: values of C.
        pub c_values: GlobalMut<V>,
        /// The rows, if `listed`.
        pub list: Global<u32>,
        /// First column of each row of C.
        pub firsts: Global<u32>,
        /// Last column of each row of C.
        pub lasts: Global<u32>,
        /// Not zero if `list` has the rows; else they are the first of the matrix.
        pub listed: u32,
        /// Not zero if C's columns are given; products that fall elsewhere are left out.
        pub known: u32,
        /// Columns of a window, in units of [`WINDOW_COLUMNS`].
        pub packets: u32,
        /// Sums that shared memory has room for; rows with more are summed in C.
        pub sums: u32,
        /// Lanes a row of B, as a power of two: no more than a block has, and a thirty-second of them or more.
        pub lanes_log2: u32,
    }
    shared: 0;
    body: fill_row::<V, O, BLOCK>;
    entries: {
        spgemm_window_fill_f32_u32_32 in spgemm_fill_f32_u32: <V = f32, O = u32>, 32 x 1;
        spgemm_window_fill_f32_u64_32 in spgemm_fill_f32_u64: <V = f32, O = u64>, 32 x 1;
        spgemm_window_fill_f64_u32_32 in spgemm_fill_f64_u32: <V = f64, O = u32>, 32 x 1;
        spgemm_window_fill_f64_u64_32 in spgemm_fill_f64_u64: <V = f64, O = u64>, 32 x 1;
        spgemm_window_fill_f32_u32_128 in spgemm_fill_f32_u32: <V = f32, O = u32>, 128 x 1;
        spgemm_window_fill_f32_u64_128 in spgemm_fill_f32_u64: <V = f32, O = u64>, 128 x 1;
        spgemm_window_fill_f64_u32_128 in spgemm_fill_f64_u32: <V = f64, O = u32>, 128 x 1;
        spgemm_window_fill_f64_u64_128 in spgemm_fill_f64_u64: <V = f64, O = u64>, 128 x 1;
        spgemm_window_fill_f32_u32_512 in spgemm_fill_f32_u32: <V = f32, O = u32>, 512 x 1;
        spgemm_window_fill_f32_u64_512 in spgemm_fill_f32_u64: <V = f32, O = u64>, 512 x 1;
        spgemm_window_fill_f64_u32_512 in spgemm_fill_f64_u32: <V = f64, O = u32>, 512 x 1;
        spgemm_window_fill_f64_u64_512 in spgemm_fill_f64_u64: <V = f64, O = u64>, 512 x 1;
    }
}

#[inline(always)]
fn fill_row<V: Float, O: Offset, const BLOCK: usize>(
    _: Arena,
    a_row_offsets: Global<O>,
    a_columns: Global<u32>,
    a_values: Global<V>,
    b_row_offsets: Global<O>,
    b_columns: Global<u32>,
    b_values: Global<V>,
    c_row_offsets: Global<u64>,
    c_columns: GlobalMut<u32>,
    c_values: GlobalMut<V>,
    list: Global<u32>,
    firsts: Global<u32>,
    lasts: Global<u32>,
    listed: u32,
    known: u32,
    packets: u32,
    sums: u32,
    lanes_log2: u32,
) {
    let a = Matrix { row_offsets: a_row_offsets, columns: a_columns, values: a_values };
    let b = Matrix { row_offsets: b_row_offsets, columns: b_columns, values: b_values };
    let bytes = window_shared_bytes(BLOCK as u32, packets, sums, V::SIZE as u32, O::SIZE as u32);
    let mut arena = Arena::dynamic(bytes);
    let bitmap = Bitmap::take(&mut arena, packets);
    let stage = Stage::<V, O, BLOCK>::take::<true>(&mut arena, lanes_log2);
    let shared_sums: Shared<V> = arena.take(sums as usize);
    let scan = CountScan::<BLOCK>::take(&mut arena);
    let row = nth_row(list, listed, thread::block(), true);
    let own = a.entries_if(row, true);
    let c_begin = c_row_offsets.load(row as usize);
    let c_len = (c_row_offsets.load(row as usize + 1) - c_begin) as u32;
    let (c_columns, c_values) = (c_columns.skip(c_begin as usize), c_values.skip(c_begin as usize));
    let sums = Sums { shared: shared_sums, global: c_values, in_shared: c_len <= sums };
    each::<BLOCK>(c_len, |place| sums.clear(place));

    let mut before = 0;
    let mut windows = Windows::new(firsts.load(row as usize), lasts.load(row as usize), packets);
    while let Some(mut window) = windows.next() {
        let bitmap = bitmap.window(window.start, window.len);
        bitmap.clear::<BLOCK>();
        thread::barrier();
        let count = if known != 0 {
            window.is_part = true;
            each::<BLOCK>(c_len, |place| {
                let column = c_columns.load(place as usize);
                if window.has(column) {
                    bitmap.set(column);
                }
            });
            bitmap.rank(scan, |_, _| {})
        } else {
            stage.mark(a, b, own, window, bitmap);
            bitmap.rank(scan, |rank, column| c_columns.store_streaming((before + rank) as usize, column))
        };
        thread::barrier();
        stage.add(a, b, own, window, bitmap, before, sums);
        before += count;
    }
    thread::barrier();
    if sums.in_shared {
        each::<BLOCK>(c_len, |place| {
            c_values.store_streaming(place as usize, shared_sums.load(place as usize));
        });
    }
}

/// Calls `visit` for 0 to `len` − 1, each in one thread of the block.
#[inline(always)]
fn each<const BLOCK: usize>(len: u32, mut visit: impl FnMut(u32)) {
    let mut place = thread::index();
    while place < len {
        visit(place);
        place += BLOCK as u32;
    }
}

/// The sums of a row of C.
#[derive(Clone, Copy)]
struct Sums<V> {
    shared: Shared<V>,
    global: GlobalMut<V>,
    in_shared: bool,
}

impl<V: Float> Sums<V> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn clear(self, place: u32) {
        if self.in_shared {
            self.shared.store(place as usize, V::ZERO);
        } else {
            self.global.store(place as usize, V::ZERO);
        }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn add(self, place: u32, left: V, right: V) {
        let place = place as usize;
        if self.in_shared {
            self.shared.store(place, left.fma(right, self.shared.load(place)));
        } else {
            self.global.store(place, left.fma(right, self.global.load(place)));
        }
    }
}

/// Some columns of C.
#[derive(Clone, Copy)]
struct Window {
    start: u32,
    len: u32,
    /// Whether rows of B may have columns outside.
    is_part: bool,
}

impl Window {
    #[inline(always)]
    fn has(self, column: u32) -> bool {
        column.wrapping_sub(self.start) < self.len
    }
}

/// The windows of a row of C, ascending.
struct Windows {
    start: u32,
    left: u32,
    columns: u32,
    is_part: bool,
}

impl Windows {
    /// Of the columns `first` to `last`; none if `first` is above.
    #[inline(always)]
    fn new(first: u32, last: u32, packets: u32) -> Self {
        let left = if first <= last { last - first + 1 } else { 0 };
        let columns = packets * PACKET;
        Self { start: first, left, columns, is_part: left > columns }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<Window> {
        if self.left == 0 {
            return None;
        }
        let len = self.left.min(self.columns);
        let window = Window { start: self.start, len, is_part: self.is_part };
        self.start += len;
        self.left -= len;
        Some(window)
    }
}

/// Entries of A, one a thread, with what a window has of the rows of B that they name; in shared memory.
#[derive(Clone, Copy)]
struct Stage<V, O, const BLOCK: usize> {
    begins: Shared<O>,
    lefts: Shared<V>,
    lens: Shared<u32>,
    /// The longest of the rows of B that are taken side by side.
    longest: Shared<u32>,
    lanes_log2: u32,
}

impl<V: Element, O: Offset, const BLOCK: usize> Stage<V, O, BLOCK> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn take<const VALUES: bool>(arena: &mut Arena, lanes_log2: u32) -> Self {
        Self {
            begins: arena.take(BLOCK),
            lefts: arena.take(if VALUES { BLOCK } else { 0 }),
            lens: arena.take(BLOCK),
            longest: arena.take(BLOCK),
            lanes_log2,
        }
    }

    /// Rows of B side by side.
    #[inline(always)]
    fn groups(self) -> u32 {
        BLOCK as u32 >> self.lanes_log2
    }

    /// Stages the thread's entry of A, the `place`th of its row. Every thread; wants a barrier before and behind.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn bring<const VALUES: bool>(
        self,
        a: Matrix<V, O>,
        b: Matrix<V, O>,
        own: Entries,
        place: u32,
        window: Window,
    ) {
        let is_entry = place < own.len;
        let mut entries = b.entries_if(a.column_if(own, place, is_entry), is_entry);
        if VALUES {
            self.lefts.store(thread::index() as usize, a.value_if(own, place, is_entry));
        }
        if window.is_part {
            let first = lower_bound(b, entries, window.start);
            let end = window.start.checked_add(window.len);
            let behind = if let Some(end) = end { lower_bound(b, entries, end) } else { entries.len };
            entries = Entries { begin: entries.begin + first as usize, len: behind - first };
        }
        self.begins.store(thread::index() as usize, O::from_bits(entries.begin as u64));
        self.lens.store(thread::index() as usize, entries.len);
        let mut longest = entries.len;
        let mut distance = self.groups() / 2;
        while distance > 0 {
            longest = longest.max(warp::shuffle_xor(warp::FULL, longest, distance));
            distance /= 2;
        }
        self.longest.store(thread::index() as usize, longest);
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn staged(self, entry: u32) -> Entries {
        Entries { begin: self.begins.load(entry as usize).to_usize(), len: self.lens.load(entry as usize) }
    }

    /// The thread's number among the lanes of a row of B.
    #[inline(always)]
    fn lane(self) -> u32 {
        thread::index() & ((1 << self.lanes_log2) - 1)
    }

    /// Sets the bits of all columns of the row of C in a window. Every thread; wants a barrier before and behind.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn mark(self, a: Matrix<V, O>, b: Matrix<V, O>, own: Entries, window: Window, bitmap: Bitmap) {
        let mut first = 0;
        while first < own.len {
            self.bring::<false>(a, b, own, first + thread::index(), window);
            thread::barrier();
            let staged = (own.len - first).min(BLOCK as u32);
            let mut entry = thread::index() >> self.lanes_log2;
            while entry < staged {
                let entries = self.staged(entry);
                let mut place = self.lane();
                while place < entries.len {
                    bitmap.set(b.column_if(entries, place, true));
                    place += 1 << self.lanes_log2;
                }
                entry += self.groups();
            }
            thread::barrier();
            first += BLOCK as u32;
        }
    }
}

impl<V: Float, O: Offset, const BLOCK: usize> Stage<V, O, BLOCK> {
    /// Adds the products in a window to the sums, of which `before` belong to columns before it. Rows of B are taken side
    /// by side and added one by one, in an order that nothing but the row and the launch determines. Every thread; wants
    /// a barrier before, and has one at the end.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn add(
        self,
        a: Matrix<V, O>,
        b: Matrix<V, O>,
        own: Entries,
        window: Window,
        bitmap: Bitmap,
        before: u32,
        sums: Sums<V>,
    ) {
        let group = thread::index() >> self.lanes_log2;
        let mut first = 0;
        while first < own.len {
            self.bring::<true>(a, b, own, first + thread::index(), window);
            thread::barrier();
            let staged = (own.len - first).min(BLOCK as u32);
            let mut base = 0;
            while base < staged {
                let entries = self.staged(base + group);
                let left = self.lefts.load((base + group) as usize);
                let longest = self.longest.load(base as usize);
                let mut round = 0;
                while round < longest {
                    let place = round + self.lane();
                    let is_product = place < entries.len;
                    let column = b.column_if(entries, place, is_product);
                    let right = b.value_if(entries, place, is_product);
                    let (slot, is_there) = if is_product { bitmap.place(column) } else { (0, false) };
                    let mut turn = 0;
                    while turn < self.groups() {
                        if turn == group && is_there {
                            sums.add(before + slot, left, right);
                        }
                        thread::barrier();
                        turn += 1;
                    }
                    round += 1 << self.lanes_log2;
                }
                base += self.groups();
            }
            thread::barrier();
            first += BLOCK as u32;
        }
    }
}

/// How many of some entries have a column below `bound`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn lower_bound<V: Element, O: Offset>(matrix: Matrix<V, O>, entries: Entries, bound: u32) -> u32 {
    let (mut low, mut high) = (0, entries.len);
    while low < high {
        let middle = low + (high - low) / 2;
        if matrix.column_if(entries, middle, true) < bound {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
