//! Rows that wait for other rows of the same launch, without deadlock (after Liu, Li, Hogg, Duff, Vinter, Euro-Par 2016).
//!
//! Blocks draw tickets. The rows of a ticket need only rows of the same ticket or of earlier ones, and each earlier ticket was drawn
//! by a block that runs or has ended. So the row with the first ticket among those that are not solved can always go on, in
//! whatever order the GPU starts blocks. The lanes of a warp never wait one for another: all look at what they need in turn, and take
//! what is there.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, thread, warp, GlobalMut, Shared};

/// Words of shared memory in which a block draws its ticket.
pub const TURN_WORDS: usize = 2;

/// A block's part of a launch.
#[derive(Clone, Copy)]
pub struct Turn {
    /// The number of the ticket, below that of the grid's blocks.
    pub ticket: u32,
    /// Number of the launch, from zero.
    pub run: u32,
}

impl Turn {
    /// Draws the next ticket, through [`TURN_WORDS`] words. `drawn` counts the tickets of all launches, whose grids are equal: it
    /// need not be cleared, and tells launches apart. Every thread calls it; it has a barrier.
    #[device(track_caller)]
    pub fn draw(drawn: GlobalMut<u64>, words: Shared<u32>) -> Self {
        if thread::index() == 0 {
            let number = drawn.fetch_add(0, 1, Ordering::Relaxed, Scope::Device);
            let grid = u64::from(thread::grid_size());
            words.store(0, (number % grid) as u32);
            words.store(1, (number / grid) as u32);
        }
        thread::barrier();
        Self { ticket: words.load(0), run: words.load(1) }
    }
}

/// One of `lanes` lanes that compute a row of a ticket.
#[derive(Clone, Copy)]
pub struct RowLane {
    /// Place of the row in the order of tickets.
    pub slot: usize,
    /// Number of the lane, below `lanes`.
    pub lane: u32,
    /// Lanes of each row: a power of two up to 32.
    pub lanes: u32,
}

impl RowLane {
    /// Returns this thread's lane among those that share `ticket`.
    #[device]
    pub fn of_ticket<const BLOCK: usize>(ticket: u32, lanes: u32) -> Self {
        let log = lanes.trailing_zeros();
        let slot = ticket as usize * (BLOCK >> log) + (thread::index() >> log) as usize;
        Self { slot, lane: thread::index() & (lanes - 1), lanes }
    }

    /// Returns the lanes of this row in the warp, one bit each.
    #[device]
    fn mask(self) -> u32 {
        let all = u32::MAX >> (thread::WARP_SIZE - self.lanes);
        all << (thread::lane() & !(self.lanes - 1))
    }
}

/// A lane's part of a row that needs other rows.
pub trait WaitingRow {
    /// Takes what is there of the rows that this lane needs.
    fn advance(&mut self);

    /// Returns whether the lane needs rows that were not there.
    fn is_waiting(&self) -> bool;

    /// Combines the lanes of each row, and stores the row where `is_complete` holds. All lanes of the warp call it, some for rows
    /// that still wait: these must stay as they are.
    fn finish(&mut self, is_complete: bool);
}

/// Computes the rows of a warp, of which this lane has a part; `is_row` is false if it has none.
#[device(track_caller)]
pub fn compute_rows(mut part: impl WaitingRow, of: RowLane, is_row: bool) {
    let mask = of.mask();
    let mut is_done = !is_row;
    loop {
        part.advance();
        let waiting = warp::ballot(warp::FULL, part.is_waiting());
        let is_complete = !is_done && waiting & mask == 0;
        if warp::any(warp::FULL, is_complete) {
            part.finish(is_complete);
            is_done |= is_complete;
        }
        if warp::all(warp::FULL, is_done) {
            return;
        }
        thread::spin_hint();
    }
}
