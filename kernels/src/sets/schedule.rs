//! The tiles that a block processes, one after the other, and where their results go.

use evenpath_simt::{device, thread, Arena, Global, GlobalMut, Shared};

use super::partition::decode;
use super::state::{RESULT_SIZE, RESULT_STATES};
use crate::block::count_scan::{CountScan, ScannedCount};
use crate::block::lookback::{Lookback, Tickets};
use crate::block::two_sequences::{Sequences, TilePair};
use crate::Key;

/// Shared state of a block.
///
/// A block draws its next tile while it works on one, so that the next tile's loads are issued early. It publishes a
/// tile's number of results at once, but asks for their place one tile later, when it rarely has to wait for it.
/// Meanwhile the results stay in shared memory.
pub(super) struct TileDraws<K: Key, const BLOCK: usize, const ITEMS: usize> {
    starts: Global<u64>,
    states: GlobalMut<u64>,
    inputs: Sequences<K>,
    tiles: u32,
    /// The next tile's place in the inputs.
    pair: Shared<u64>,
    /// The next tile; the place of the waiting results.
    words: Shared<u64>,
    scan: CountScan<u32, BLOCK>,
}

const TILE: usize = 0;
const PLACE: usize = 1;
const WORDS: usize = 2;

/// The thread that draws tiles: not of the warp that looks back.
const DRAWER: u32 = thread::WARP_SIZE;

/// A drawn tile.
#[derive(Clone, Copy)]
pub(super) struct DrawnTile {
    /// Its number, or the number of tiles or more if there was none left.
    pub(super) number: u32,
    pub(super) pair: TilePair,
}

/// A ticket for a tile, in the thread that draws.
#[derive(Clone, Copy)]
pub(super) struct Ticket(u32);

/// A tile whose results wait for their place.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) tile: u32,
    /// Its results.
    pub(super) count: u32,
}

impl Waiting {
    /// No tile.
    pub(super) const NONE: Self = Self { tile: u32::MAX, count: 0 };
}

/// Bytes of shared memory of a [`TileDraws`], a multiple of 16.
pub(super) const fn schedule_bytes(block: usize) -> usize {
    let warps = block / thread::WARP_SIZE as usize;
    (TilePair::WORDS + WORDS) * 8 + (warps * 4).next_multiple_of(16)
}

impl<K: Key, const BLOCK: usize, const ITEMS: usize> TileDraws<K, BLOCK, ITEMS> {
    /// Takes the memory from the beginning of an arena, so that the next array is aligned to 16 bytes.
    #[device]
    pub(super) fn new(
        arena: &mut Arena,
        starts: Global<u64>,
        states: GlobalMut<u64>,
        inputs: Sequences<K>,
        tiles: u32,
    ) -> Self {
        let pair = arena.take(TilePair::WORDS);
        let words = arena.take(WORDS);
        let scan = CountScan::take(arena);
        let used = (TilePair::WORDS + WORDS) * 8 + CountScan::<u32, BLOCK>::BYTES;
        let _: Shared<u32> = arena.take((schedule_bytes(BLOCK) - used) / 4);
        Self { starts, states, inputs, tiles, pair, words, scan }
    }

    /// Returns whether there was a tile left.
    #[device]
    pub(super) fn has(&self, tile: DrawnTile) -> bool {
        tile.number < self.tiles
    }

    /// Returns the block's first tile. It has a barrier.
    #[device(track_caller)]
    pub(super) fn first(&self) -> DrawnTile {
        let ticket = self.draw();
        self.announce(ticket, self.look_up(ticket));
        thread::barrier();
        self.announced()
    }

    /// Draws the next tile. This, [`look_up`](Self::look_up) and [`announce`](Self::announce) are separate calls so that
    /// other work hides the latency of memory.
    #[device(track_caller)]
    pub(super) fn draw(&self) -> Ticket {
        Ticket(if thread::index() == DRAWER { Tickets::new(self.states).draw() } else { 0 })
    }

    /// Returns the bounds of a drawn tile, from the partition.
    #[device(track_caller)]
    pub(super) fn look_up(&self, Ticket(tile): Ticket) -> [u64; 2] {
        if thread::index() == DRAWER && tile < self.tiles {
            [self.starts.load(tile as usize), self.starts.load(tile as usize + 1)]
        } else {
            [0; 2]
        }
    }

    /// Shares the next tile with the block, which sees it after a barrier.
    #[device(track_caller)]
    pub(super) fn announce(&self, Ticket(tile): Ticket, [start, end]: [u64; 2]) {
        if thread::index() == DRAWER {
            if tile < self.tiles {
                let first = u64::from(tile) * (BLOCK * ITEMS) as u64;
                let last = (first + (BLOCK * ITEMS) as u64).min(self.inputs.len());
                let Sequences { a_len, b_len, .. } = self.inputs;
                TilePair::between(decode(start, first), decode(end, last), a_len, b_len).store(self.pair);
            }
            self.words.store(TILE, u64::from(tile));
        }
    }

    /// Returns the next tile.
    #[device(track_caller)]
    pub(super) fn announced(&self) -> DrawnTile {
        let number = self.words.load(TILE) as u32;
        // If there is no tile left, the memory is not used.
        let pair = if number < self.tiles { TilePair::load(self.pair) } else { TilePair::EMPTY };
        DrawnTile { number, pair }
    }

    /// Counts a tile's results and publishes the count to the other blocks. It has a barrier.
    #[device(track_caller)]
    pub(super) fn count(&self, tile: DrawnTile, count: u32) -> ScannedCount<u32> {
        let counted = self.scan.exclusive(count);
        if thread::index() == DRAWER {
            self.lookback().publish(tile.number, counted.total);
        }
        counted
    }

    /// Sums a count over the block. It has a barrier.
    #[device(track_caller)]
    pub(super) fn total(&self, count: u32) -> u32 {
        self.scan.exclusive(count).total
    }

    /// Finds where the waiting results go, for [`place`](Self::place) after a barrier.
    #[device(track_caller)]
    pub(super) fn find_place(&self, waiting: Waiting) {
        if thread::warp() == 0 && waiting.tile < self.tiles {
            let before = self.lookback().prefix(waiting.tile, waiting.count);
            if thread::lane() == 0 {
                self.words.store(PLACE, before);
                if waiting.tile == self.tiles - 1 {
                    self.states.store(RESULT_SIZE, before + u64::from(waiting.count));
                }
            }
        }
    }

    /// Returns the place of the waiting results, and the number for which there is room.
    #[device(track_caller)]
    pub(super) fn place(&self, waiting: Waiting, capacity: u64) -> (usize, u32) {
        if waiting.tile >= self.tiles {
            return (0, 0);
        }
        let start = self.words.load(PLACE).min(capacity);
        (start as usize, u64::from(waiting.count).min(capacity - start) as u32)
    }

    #[device]
    fn lookback(&self) -> Lookback {
        Lookback::new(self.states.skip(RESULT_STATES))
    }
}
