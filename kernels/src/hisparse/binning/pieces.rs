//! Bins a node of more than a tile of entries: several blocks, a piece of the entries each, in phases.
//!
//! It is a radix sort by the digit of the column, then by that of the row. Each of the two passes counts the digits of every
//! piece, adds up the counts, and moves the entries, to other memory and back. Two more phases count the bins that begin in each
//! piece, and list them as children. The last piece of a phase to be done begins the next phase, so no block waits for another.

use evenpath_simt::atomic::{fence, Scope};
use evenpath_simt::{device, thread, GlobalMut};

use super::binner::{Binner, BinningMemory, BLOCK, ITEMS, TILE};
use super::skeleton::EntryArrays;
use super::work::{BinningWork, PIECES};
use crate::block::radix_rank::{Digit, RadixRank, BINS};
use crate::block::radix_sort::warp_striped;
use crate::hisparse::queue::{FoundElement, WIDE};

/// Counts the digits of columns.
const COUNT_COLUMNS: u32 = 0;
/// Moves entries by the digits of columns.
const MOVE_BY_COLUMNS: u32 = 1;
/// Counts the digits of rows.
const COUNT_ROWS: u32 = 2;
/// Moves entries by the digits of rows.
const MOVE_BY_ROWS: u32 = 3;
/// Counts the bins that begin.
const COUNT_BINS: u32 = 4;
/// Lists the bins that begin.
const LIST_BINS: u32 = 5;

/// The largest number of pieces of a node: one block adds up their counts.
const MOST_PIECES: u32 = 1024;
/// Tiles of a piece, at least: what a block does in one phase should take longer than the way through a queue.
const LEAST_TILES: u32 = 4;

/// Words of the counts for `len` entries. A node uses those from `first_count` of its first entry up to that of its end.
pub const fn count_words(len: usize, d_log2: u32) -> usize {
    (2 * len / TILE as usize) << d_log2
}

/// Returns the number of the first count of a node that begins with this entry. A node of n > [`TILE`] entries has at most
/// ⌈n / `TILE`⌉ ≤ ⌊2n / `TILE`⌋ pieces, so the counts of different nodes do not overlap.
#[device]
fn first_count(entry: u32, d_log2: u32) -> usize {
    ((2 * u64::from(entry) / u64::from(TILE)) as usize) << d_log2
}

/// The division of a node into pieces of whole tiles.
#[derive(Clone, Copy)]
pub(super) struct PieceCount {
    /// The number of pieces.
    pub(super) pieces: u32,
    /// Tiles of each piece; the last may have fewer.
    tiles: u32,
}

impl PieceCount {
    /// Returns the division of `len` entries.
    #[device]
    pub(super) fn of(len: u32) -> Self {
        let all = len.div_ceil(TILE);
        let most = all.div_ceil(MOST_PIECES);
        let tiles = if most < LEAST_TILES { LEAST_TILES } else { most };
        Self { pieces: all.div_ceil(tiles), tiles }
    }
}

/// A piece of a node.
#[derive(Clone, Copy)]
struct Piece {
    node: u32,
    height: u32,
    /// The node's first entry, and one past its last.
    of_node: (u32, u32),
    /// The piece's.
    begin: u32,
    end: u32,
    number: u32,
    pieces: u32,
    /// The node's counts: those of a digit or of bins for each piece, one after another.
    counts: GlobalMut<u32>,
}

impl Binner {
    /// Processes a piece in a phase, and in all later ones if it is the only piece. All threads of the block call it together, and
    /// thread 0 finds the next phase, or the children.
    #[device(track_caller)]
    pub(super) fn process_piece(&mut self, work: BinningWork) -> Option<FoundElement<BinningWork>> {
        let (piece, mut phase) = (self.piece(work), work.task - PIECES);
        loop {
            self.process_phase(piece, phase);
            if !self.is_last(piece) {
                return None;
            }
            self.end_phase(piece, phase);
            if phase == LIST_BINS || piece.pieces > 1 {
                break;
            }
            phase += 1;
        }
        if thread::index() > 0 {
            return None;
        }
        if phase == LIST_BINS {
            let (first, count) = self.skeleton.children(piece.node);
            return Some(BinningWork::found_children(piece.height - 1, first, count));
        }
        let element = BinningWork { task: work.task + 1, begin: 0, end: piece.pieces, ..work };
        Some(FoundElement { queue: WIDE, element })
    }

    /// Processes a piece in a phase.
    #[device(track_caller)]
    fn process_phase(&self, piece: Piece, phase: u32) {
        let (own, moved) = (self.entries.own(), self.entries.moved());
        let shift = self.entries.d_log2 * piece.height;
        if phase == COUNT_COLUMNS {
            self.count_digits(piece, own, shift);
        } else if phase == MOVE_BY_COLUMNS {
            self.move_entries(piece, (own, moved), shift);
        } else if phase == COUNT_ROWS {
            self.count_digits(piece, moved, 32 + shift);
        } else if phase == MOVE_BY_ROWS {
            self.move_entries(piece, (moved, own), 32 + shift);
        } else if phase == COUNT_BINS {
            self.count_bins(piece);
        } else {
            self.list_bins_of_piece(piece);
        }
    }

    /// Ends a phase of which all pieces are done. It ends with a barrier.
    #[device(track_caller)]
    fn end_phase(&mut self, piece: Piece, phase: u32) {
        if phase == COUNT_COLUMNS || phase == COUNT_ROWS {
            self.add_up(piece.counts, piece.pieces << self.entries.d_log2);
        } else if phase == COUNT_BINS {
            let count = self.add_up(piece.counts, piece.pieces);
            self.make_children(piece, count);
        }
        thread::barrier();
    }

    /// Returns the piece of an element.
    #[device(track_caller)]
    fn piece(&self, work: BinningWork) -> Piece {
        let BinningWork { node, height, begin: number, .. } = work;
        let of_node = self.skeleton.extent(height, node);
        let PieceCount { pieces, tiles } = PieceCount::of(of_node.1 - of_node.0);
        let begin = of_node.0 + number * tiles * TILE;
        let rest = of_node.1 - begin;
        let end = begin + if rest < tiles * TILE { rest } else { tiles * TILE };
        let counts = self.counts.skip(first_count(of_node.0, self.entries.d_log2));
        Piece { node, height, of_node, begin, end, number, pieces, counts }
    }

    /// Counts a piece as done, and returns whether it was the last of its phase, which then sees what all wrote. All threads of
    /// the block call it together.
    #[device(track_caller)]
    fn is_last(&self, piece: Piece) -> bool {
        fence(Scope::Device);
        thread::barrier();
        if thread::index() == 0 {
            let is_last = self.skeleton.arrive(piece.node, piece.pieces);
            self.memory.told.store(0, u32::from(is_last));
        }
        thread::barrier();
        fence(Scope::Device);
        self.memory.told.load(0) != 0
    }

    /// Counts the digits of a piece, which are the bits of positions starting at `shift`.
    #[device(track_caller)]
    fn count_digits(&self, piece: Piece, entries: EntryArrays, shift: u32) {
        let (counts, digits) = (self.memory.places, 1 << self.entries.d_log2);
        thread::block_stride::<BLOCK>(digits, |digit| counts.store(digit as usize, 0));
        thread::barrier();
        let mut entry = piece.begin + thread::index();
        while entry < piece.end {
            let position = entries.positions.load(entry as usize);
            counts.fetch_add((position >> shift) as usize & (digits - 1) as usize, 1);
            entry += BLOCK as u32;
        }
        thread::barrier();
        thread::block_stride::<BLOCK>(digits, |digit| {
            piece.counts.store((digit * piece.pieces + piece.number) as usize, counts.load(digit as usize));
        });
    }

    /// Replaces each of `len` counts by the sum of those before it. Returns the sum of all. All threads of the block call it
    /// together.
    #[device(track_caller)]
    fn add_up(&self, counts: GlobalMut<u32>, len: u32) -> u32 {
        let (mut base, mut sum) = (0, 0);
        while base < len {
            let start = base + thread::index() * ITEMS as u32;
            let mut own = [0; ITEMS];
            let mut total = 0;
            for item in 0..ITEMS {
                if start + (item as u32) < len {
                    own[item] = counts.load((start + item as u32) as usize);
                    total += own[item];
                }
            }
            let counted = self.memory.scan.exclusive(total);
            let mut before = sum + counted.before;
            for item in 0..ITEMS {
                if start + (item as u32) < len {
                    counts.store((start + item as u32) as usize, before);
                    before += own[item];
                }
            }
            sum += counted.total;
            base += TILE;
            // The next scan uses the same memory.
            thread::barrier();
        }
        sum
    }

    /// Moves the entries of a piece to where the counts say, by the digits that are the bits of positions starting at `shift`.
    #[device(track_caller)]
    fn move_entries(&self, piece: Piece, (from, to): (EntryArrays, EntryArrays), shift: u32) {
        // Place in the node for the next entry with each digit; less, while a tile is moved, that in the tile.
        let BinningMemory { places, rank, .. } = self.memory;
        let digit = Digit { begin: 0, bits: self.entries.d_log2 };
        thread::block_stride::<BLOCK>(digit.bins(), |value| {
            places.store(value as usize, piece.counts.load((value * piece.pieces + piece.number) as usize));
        });
        let first = RadixRank::<BLOCK>::first_bin();
        let mut base = piece.begin;
        while base < piece.end {
            let (mut positions, mut sources, mut digits) = ([0; ITEMS], [0; ITEMS], [0; ITEMS]);
            for item in 0..ITEMS {
                let entry = base as usize + warp_striped::<ITEMS>(item);
                // Places after the last entry come last.
                digits[item] = digit.bins() - 1;
                if entry < piece.end as usize {
                    (positions[item], sources[item]) = (from.positions.load(entry), from.sources.load(entry));
                    digits[item] = (positions[item] >> shift) as u32 & (digit.bins() - 1);
                }
            }
            rank.clear();
            let alike = rank.count(&digits, digit);
            thread::barrier();
            let counted = rank.scan(digit, |_, _| ());
            for bin in 0..BINS / BLOCK {
                if first + bin < digit.bins() as usize {
                    let place = places.load(first + bin);
                    places.store(first + bin, place.wrapping_sub(counted.start[bin]));
                }
            }
            thread::barrier();
            rank.rank_each(&digits, digit, alike, |item, place| {
                if base as usize + warp_striped::<ITEMS>(item) < piece.end as usize {
                    let place = places.load(digits[item] as usize).wrapping_add(place);
                    let target = (piece.of_node.0 + place) as usize;
                    to.positions.store(target, positions[item]);
                    to.sources.store(target, sources[item]);
                }
            });
            thread::barrier();
            for bin in 0..BINS / BLOCK {
                if first + bin < digit.bins() as usize {
                    let place = places.load(first + bin);
                    let next = place.wrapping_add(counted.start[bin] + counted.count[bin]);
                    places.store(first + bin, next);
                }
            }
            base += TILE;
        }
    }

    /// Returns a bit for each of this thread's entries of a tile, neighbors starting at `start`, whether it begins a bin.
    #[device(track_caller)]
    fn begun_bins(&self, piece: Piece, start: u32) -> u32 {
        let positions = self.entries.positions;
        let bin = |entry: u32| self.entries.bin(positions.load(entry as usize), piece.height);
        let mut before = if start > piece.of_node.0 && start < piece.end { bin(start - 1) } else { 0 };
        let mut begun = 0;
        for item in 0..ITEMS {
            let entry = start + item as u32;
            if entry < piece.end {
                let own = bin(entry);
                begun |= u32::from(entry == piece.of_node.0 || own != before) << item;
                before = own;
            }
        }
        begun
    }

    /// Counts the bins that begin in a piece.
    #[device(track_caller)]
    fn count_bins(&self, piece: Piece) {
        let mut base = piece.begin;
        let mut count = 0;
        while base < piece.end {
            count += self.begun_bins(piece, base + thread::index() * ITEMS as u32).count_ones();
            base += TILE;
        }
        let total = self.memory.scan.exclusive(count).total;
        if thread::index() == 0 {
            piece.counts.store(piece.number as usize, total);
        }
    }

    /// Makes the children of a node. All threads of the block call it together.
    #[device(track_caller)]
    fn make_children(&mut self, piece: Piece, count: u32) {
        if thread::index() == 0 {
            let first = self.skeleton.make(piece.height - 1, count);
            self.skeleton.set_children(piece.node, first, count);
            self.skeleton.end(piece.height - 1, first + count - 1, piece.of_node.1);
            self.add_units(piece.height, count);
        }
    }

    /// Writes the children that begin in a piece, and the ends of those before them.
    #[device(track_caller)]
    fn list_bins_of_piece(&self, piece: Piece) {
        let (height, first) = (piece.height - 1, self.skeleton.children(piece.node).0);
        let mut before = piece.counts.load(piece.number as usize);
        let mut base = piece.begin;
        while base < piece.end {
            let start = base + thread::index() * ITEMS as u32;
            let begun = self.begun_bins(piece, start);
            let counted = self.memory.scan.exclusive(begun.count_ones());
            let mut child = first + before + counted.before;
            for item in 0..ITEMS {
                if begun >> item & 1 != 0 {
                    let entry = start + item as u32;
                    let bin = self.entries.bin(self.entries.positions.load(entry as usize), piece.height);
                    let parent = (piece.node, self.entries.coordinates(bin));
                    self.skeleton.begin(height, child, entry, parent);
                    if child > first {
                        self.skeleton.end(height, child - 1, entry);
                    }
                    child += 1;
                }
            }
            before += counted.total;
            base += TILE;
            // The next scan uses the same memory.
            thread::barrier();
        }
    }
}
