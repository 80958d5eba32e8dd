//! A window of columns in shared memory, one bit per column, and the place of each set bit among them.

use evenpath_simt::{bits, device, thread, Arena, Shared};

use crate::block::count_scan::CountScan;

/// Columns of a packet, which one access to shared memory moves.
pub(super) const PACKET: u32 = 128;

/// The bits of `packets` packets, starting at column `start`.
#[derive(Clone, Copy)]
pub(super) struct Bitmap {
    words: Shared<u32>,
    /// The number of bits set before each packet.
    places: Shared<u32>,
    pub(super) start: u32,
    pub(super) packets: u32,
}

impl Bitmap {
    /// Bytes of shared memory for `packets` packets.
    pub(super) const fn bytes(packets: u32) -> u32 {
        packets * (PACKET / 8 + 4)
    }

    /// Takes memory for `packets` packets, which begins at a multiple of 16 bytes.
    #[device(track_caller)]
    pub(super) fn take(arena: &mut Arena, packets: u32) -> Self {
        let words = arena.take(packets as usize * 4);
        Self { words, places: arena.take(packets as usize), start: 0, packets: 0 }
    }

    /// Returns the window of `len` columns starting at `start`.
    #[device]
    pub(super) fn window(self, start: u32, len: u32) -> Self {
        Self { start, packets: (len - 1) / PACKET + 1, ..self }
    }

    /// Clears all bits; called by every thread of the block.
    #[device(track_caller)]
    pub(super) fn clear<const BLOCK: usize>(self) {
        thread::block_stride::<BLOCK>(self.packets, |packet| {
            self.words.store_16(packet as usize * 4, [0, 0]);
        });
    }

    /// Sets the bit of a column of the window.
    #[device(track_caller)]
    pub(super) fn set(self, column: u32) {
        let bit = column - self.start;
        self.words.fetch_or((bit / 32) as usize, 1 << (bit % 32));
    }

    /// Returns the number of bits set in the thread's packets. A barrier must separate it from [`set`](Self::set).
    #[device(track_caller)]
    pub(super) fn count_own<const BLOCK: usize>(self) -> u32 {
        let mut count = 0;
        thread::block_stride::<BLOCK>(self.packets, |packet| {
            let [low, high] = self.words.load_16(packet as usize * 4);
            count += bits::count_ones(low) + bits::count_ones(high);
        });
        count
    }

    /// Ranks the set bits: calls `visit` with the place of each among them, and its column, and returns their number. Called
    /// by every thread of the block. It begins with a barrier, after which all set bits are visible; another one must follow it.
    #[device(track_caller)]
    pub(super) fn rank<const BLOCK: usize>(
        self,
        scan: CountScan<u32, BLOCK>,
        mut visit: impl FnMut(u32, u32),
    ) -> u32 {
        let mut before = 0;
        let mut round = 0;
        while round < self.packets {
            thread::barrier();
            let packet = round + thread::index();
            let [low, high] =
                if packet < self.packets { self.words.load_16(packet as usize * 4) } else { [0, 0] };
            let counted = scan.exclusive(bits::count_ones(low) + bits::count_ones(high));
            if packet < self.packets {
                let mut place = before + counted.before;
                self.places.store(packet as usize, place);
                let column = self.start + packet * PACKET;
                let (mut left, mut rest, mut column) = (low, high, column);
                loop {
                    while left != 0 {
                        visit(place, column + bits::trailing_zeros(left));
                        place += 1;
                        left &= left - 1;
                    }
                    if rest == 0 {
                        break;
                    }
                    (left, rest, column) = (rest, 0, column + PACKET / 2);
                }
            }
            before += counted.total;
            round += BLOCK as u32;
        }
        before
    }

    /// Returns the number of bits set before a column's bit, and whether its own is set.
    #[device(track_caller)]
    pub(super) fn place(self, column: u32) -> (u32, bool) {
        let bit = column - self.start;
        let [low, high] = self.words.load_16((bit / PACKET) as usize * 4);
        let in_half = bit % (PACKET / 2);
        let is_high = bit % PACKET >= PACKET / 2;
        let own = if is_high { high } else { low };
        let below = own & ((1 << in_half) - 1);
        let mut place = self.places.load((bit / PACKET) as usize) + bits::count_ones(below);
        if is_high {
            place += bits::count_ones(low);
        }
        (place, own >> in_half & 1 != 0)
    }
}
