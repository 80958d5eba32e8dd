//! Scan of a tile that lies in registers.
//!
//! A warp holds `32 × ITEMS` consecutive elements, as `ITEMS / WIDTH` rows of `32 × WIDTH`: each lane has `WIDTH`
//! neighbours of each row, which one access of 16 bytes loads, and rows follow each other.

use evenpath_simt::{thread, Arena, Element, Global, GlobalMut, Shared};

use super::operator::{Number, Operator, Summary};

/// A tile of `BLOCK × ITEMS` elements.
#[derive(Debug, Clone, Copy)]
pub struct TileScan<V, const BLOCK: usize, const ITEMS: usize> {
    values: Shared<V>,
    heads: Shared<u32>,
}

impl<V: Number, const BLOCK: usize, const ITEMS: usize> TileScan<V, BLOCK, ITEMS> {
    const WARPS: usize = BLOCK / thread::WARP_SIZE as usize;
    /// Neighbours that one access holds.
    pub const WIDTH: usize = if V::SIZE == 8 { 2 } else { 4 };
    /// Rows of a warp.
    pub const ROWS: usize = ITEMS / Self::WIDTH;
    /// Elements of the tile.
    pub const LEN: usize = BLOCK * ITEMS;
    /// Bytes of shared memory that [`take`](Self::take) takes.
    pub const BYTES: usize = (Self::WARPS + 1) * (V::SIZE + 4);

    /// Takes the scan's memory from an arena.
    #[inline(always)]
    pub fn take(arena: &mut Arena) -> Self {
        Self { values: arena.take(Self::WARPS + 1), heads: arena.take(Self::WARPS + 1) }
    }

    /// Place in the tile of the first of this thread's neighbours in a row.
    #[inline(always)]
    pub fn place(row: usize) -> u32 {
        let warp_first = thread::warp() * (thread::WARP_SIZE * ITEMS as u32);
        warp_first + (row * Self::WIDTH) as u32 * thread::WARP_SIZE + thread::lane() * Self::WIDTH as u32
    }

    /// Loads this thread's elements of a tile with `len` of them; what is missing is `fill`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn load<T: Element>(source: Global<T>, len: u32, fill: T) -> [T; ITEMS] {
        let mut items = [fill; ITEMS];
        let mut row = 0;
        if len as usize == Self::LEN {
            while row < Self::ROWS {
                let first = row * Self::WIDTH;
                if Self::WIDTH == 4 {
                    let [a, b, c, d] = source.load_streaming_4(Self::place(row) as usize);
                    (items[first], items[first + 1], items[first + 2], items[first + 3]) = (a, b, c, d);
                } else {
                    let [a, b] = source.load_streaming_2(Self::place(row) as usize);
                    (items[first], items[first + 1]) = (a, b);
                }
                row += 1;
            }
            return items;
        }
        while row < ITEMS {
            let place = Self::place(row / Self::WIDTH) + (row % Self::WIDTH) as u32;
            if place < len {
                items[row] = source.load_streaming(place as usize);
            }
            row += 1;
        }
        items
    }

    /// Stores this thread's elements of a tile with `len` of them.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn store<T: Element>(target: GlobalMut<T>, len: u32, items: [T; ITEMS]) {
        let mut row = 0;
        if len as usize == Self::LEN {
            while row < Self::ROWS {
                let first = row * Self::WIDTH;
                let place = Self::place(row) as usize;
                if Self::WIDTH == 4 {
                    let four = [items[first], items[first + 1], items[first + 2], items[first + 3]];
                    target.store_streaming_4(place, four);
                } else {
                    target.store_streaming_2(place, [items[first], items[first + 1]]);
                }
                row += 1;
            }
            return;
        }
        while row < ITEMS {
            let place = Self::place(row / Self::WIDTH) + (row % Self::WIDTH) as u32;
            if place < len {
                target.store(place as usize, items[row]);
            }
            row += 1;
        }
    }

    /// The sums before each row of this thread's elements, as far as the warp knows them, and of the whole warp.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn scan_warp<P: Operator<V>>(
        items: &[V; ITEMS],
        heads: &[u32; ITEMS],
    ) -> ([Summary<V, P>; ITEMS], Summary<V, P>) {
        // One entry a row is used; an array of `ROWS` is not to be had.
        let mut before: [Summary<V, P>; ITEMS] = [Summary::IDENTITY; ITEMS];
        let mut total: Summary<V, P> = Summary::IDENTITY;
        let mut row = 0;
        while row < Self::ROWS {
            let mut own: Summary<V, P> = Summary::IDENTITY;
            let mut item = row * Self::WIDTH;
            while item < (row + 1) * Self::WIDTH {
                own = own.then(Summary::new(items[item], heads[item]));
                item += 1;
            }
            let inclusive = warp_inclusive(own);
            let shifted = inclusive.shuffle_up(1);
            before[row] = if thread::lane() == 0 { total } else { total.then(shifted) };
            total = total.then(inclusive.broadcast(thread::WARP_SIZE - 1));
            row += 1;
        }
        (before, total)
    }

    /// Scans a tile. `prefix` gets the tile's sum, in every lane of warp 0, and gives what comes before the tile; then
    /// `each` gets, in order, for every element of this thread its heads, the sum before it and the sum with it, and
    /// gives what takes the element's place.
    ///
    /// Every thread calls it. It has two barriers; the scan's memory must not be in use.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn run<P: Operator<V>>(
        self,
        mut items: [V; ITEMS],
        heads: [u32; ITEMS],
        prefix: impl FnOnce(Summary<V, P>) -> Summary<V, P>,
        each: impl Fn(u32, Summary<V, P>, Summary<V, P>) -> V,
    ) -> [V; ITEMS] {
        let (before, total) = Self::scan_warp::<P>(&items, &heads);
        let own_warp = thread::warp() as usize;
        if thread::lane() == 0 {
            self.values.store(own_warp, total.value);
            self.heads.store(own_warp, total.heads);
        }
        thread::barrier();
        let mut sum: Summary<V, P> = Summary::IDENTITY;
        let mut before_warp: Summary<V, P> = Summary::IDENTITY;
        let mut index = 0;
        while index < Self::WARPS {
            if index == own_warp {
                before_warp = sum;
            }
            sum = sum.then(Summary::new(self.values.load(index), self.heads.load(index)));
            index += 1;
        }
        if own_warp == 0 {
            let before_tile = prefix(sum);
            if thread::lane() == 0 {
                self.values.store(Self::WARPS, before_tile.value);
                self.heads.store(Self::WARPS, before_tile.heads);
            }
        }
        thread::barrier();
        let before_tile: Summary<V, P> =
            Summary::new(self.values.load(Self::WARPS), self.heads.load(Self::WARPS));
        let before_warp = before_tile.then(before_warp);
        let mut row = 0;
        while row < Self::ROWS {
            let mut running = before_warp.then(before[row]);
            let mut item = row * Self::WIDTH;
            while item < (row + 1) * Self::WIDTH {
                let next = running.then(Summary::new(items[item], heads[item]));
                items[item] = each(heads[item], running, next);
                running = next;
                item += 1;
            }
            row += 1;
        }
        items
    }
}

/// The inclusive scan of a warp, one summary a lane.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn warp_inclusive<V: Number, P: Operator<V>>(own: Summary<V, P>) -> Summary<V, P> {
    let mut sum = own;
    let mut distance = 1;
    while distance < thread::WARP_SIZE {
        let other = sum.shuffle_up(distance);
        if thread::lane() >= distance {
            sum = other.then(sum);
        }
        distance *= 2;
    }
    sum
}
