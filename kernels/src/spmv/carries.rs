//! What tiles have of a row that a later tile finishes: its *carry*.
//!
//! A row over many tiles has a run of carries, one a tile. The runs are the segments of a segmented reduction; nearly
//! all are of one carry, a few may be of thousands. Their sums depend on nothing but the run's length, so results are
//! the same from run to run.

use evenpath_simt::{thread, warp, Arena, Float, Global, Shared};

/// Shared memory of [`add_carries`] for blocks of `block` threads: the count and the two lists of long runs, and a
/// partial sum a warp.
pub(super) const fn carry_bytes<V: Float>(block: usize) -> usize {
    8 + block * 8 + block / thread::WARP_SIZE as usize * V::SIZE
}

/// Runs of carries up to this length are summed by one thread, longer ones by the block.
const SHORT_RUN: usize = 16;

/// Finds the rows that a tile finishes but did not begin, and gives the sum of each one's carries to `add`: one thread
/// a tile.
///
/// `tile_rows` is the first row of each tile and the number of rows, `tiles` + 1; a tile finishes its first row if the
/// next tile's is another. `begins_at` says whether a row, in which a tile begins, has no nonzeros before the tile.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub(super) fn add_carries<V: Float, const BLOCK: usize>(
    mut arena: Arena,
    tile_rows: Global<u32>,
    carries: Global<V>,
    tiles: u32,
    begins_at: impl Fn(u32, usize) -> bool,
    add: impl Fn(u32, V),
) {
    let count: Shared<u32> = arena.take(1);
    let long_tiles: Shared<u32> = arena.take(BLOCK);
    let long_firsts: Shared<u32> = arena.take(BLOCK);
    let partials: Shared<V> = arena.take(BLOCK / 32);
    if thread::index() == 0 {
        count.store(0, 0);
    }
    thread::barrier();

    let tile = thread::block() as usize * BLOCK + thread::index() as usize;
    if tile > 0 && tile < tiles as usize {
        let row = tile_rows.load(tile);
        let begins_here = begins_at(row, tile);
        if tile_rows.load(tile + 1) > row && !begins_here {
            let first = first_carry(tile_rows, tile, row);
            if tile - first <= SHORT_RUN {
                let mut sum = carries.load(first);
                let mut index = first + 1;
                while index < tile {
                    sum += carries.load(index);
                    index += 1;
                }
                add(row, sum);
            } else {
                let slot = count.fetch_add(0, 1) as usize;
                long_tiles.store(slot, tile as u32);
                long_firsts.store(slot, first as u32);
            }
        }
    }
    thread::barrier();

    let long_runs = count.load(0) as usize;
    let mut run = 0;
    while run < long_runs {
        let (first, end) = (long_firsts.load(run) as usize, long_tiles.load(run) as usize);
        let sum = sum_run::<V, BLOCK>(carries, first, end, partials);
        if thread::index() == 0 {
            add(tile_rows.load(end), sum);
        }
        run += 1;
    }
}

/// The first tile whose carry belongs to `row`, in which `tile` begins: the tile before the first
/// that begins in `row`.
#[inline(always)]
fn first_carry(tile_rows: Global<u32>, tile: usize, row: u32) -> usize {
    // Nearly always the tile before, so that is looked at first; else by bisection.
    if tile == 1 || tile_rows.load(tile - 1) < row {
        return tile - 1;
    }
    let (mut low, mut high) = (0, tile - 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if tile_rows.load(middle) < row {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    // Row 0 has no tile before the first that begins in it.
    if low == 0 {
        0
    } else {
        low - 1
    }
}

/// The sum of `carries[first..end]` by the whole block, in an order that only the length determines.
/// The result is thread 0's.
#[inline(always)]
fn sum_run<V: Float, const BLOCK: usize>(
    carries: Global<V>,
    first: usize,
    end: usize,
    partials: Shared<V>,
) -> V {
    const UNROLLED: usize = 4;
    let mut sums = [V::ZERO; UNROLLED];
    let mut base = first + thread::index() as usize;
    while base + (UNROLLED - 1) * BLOCK < end {
        for (item, sum) in sums.iter_mut().enumerate() {
            *sum += carries.load(base + item * BLOCK);
        }
        base += UNROLLED * BLOCK;
    }
    while base < end {
        sums[0] += carries.load(base);
        base += BLOCK;
    }
    let sum = warp::reduce_add((sums[0] + sums[1]) + (sums[2] + sums[3]));
    if thread::lane() == 0 {
        partials.store(thread::warp() as usize, sum);
    }
    thread::barrier();
    let mut total = partials.load(0);
    let mut index = 1;
    while index < BLOCK / 32 {
        total += partials.load(index);
        index += 1;
    }
    // The next run writes the partials again.
    thread::barrier();
    total
}
