//! A tile in shared memory, copied from and to global memory.
//!
//! Copies bypass the registers, so that as many tiles can be in flight as shared memory holds.
use evenpath_simt::{device, thread, Aligned16, Arena, Element, Global, GlobalMut, Shared};

use crate::key::{element_of, packet_of};

/// `BLOCK × ITEMS` elements in shared memory, `ITEMS` consecutive ones per thread.
#[derive(Debug, Clone, Copy)]
pub struct StagedTile<T, const BLOCK: usize, const ITEMS: usize> {
    elements: Shared<T>,
}

impl<T: Element, const BLOCK: usize, const ITEMS: usize> StagedTile<T, BLOCK, ITEMS> {
    const LEN: usize = BLOCK * ITEMS;
    /// Elements in 16 bytes.
    const PACKET: usize = 16 / T::SIZE;
    /// True if each thread's elements begin at a multiple of 16 bytes.
    const ALIGNED: bool = ITEMS.is_multiple_of(Self::PACKET);
    /// Packets of the tile.
    const PACKETS: usize = Self::LEN / Self::PACKET;
    const ROUNDS: usize = Self::PACKETS.div_ceil(BLOCK);

    /// Takes the memory from an arena that is aligned to 16 bytes, and leaves it so.
    #[device(track_caller)]
    pub fn take(arena: &mut Arena) -> Self {
        const { assert!(BLOCK.is_multiple_of(32) && Self::LEN.is_multiple_of(Self::PACKET)) };
        Self { elements: arena.take(Self::LEN) }
    }

    /// Returns the memory.
    #[device]
    pub fn elements(self) -> Shared<T> {
        self.elements
    }

    /// Starts to copy `len` elements from a source; the rest of the tile is `fill`. They are
    /// there after [`thread::await_copies`] and a barrier.
    #[device(track_caller)]
    pub fn fetch(self, source: Global<T, Aligned16>, len: u32, fill: T) {
        if len as usize == Self::LEN {
            for round in 0..Self::ROUNDS {
                let packet = thread::index() as usize + round * BLOCK;
                if Self::PACKETS.is_multiple_of(BLOCK) || packet < Self::PACKETS {
                    self.elements.copy_16(packet * Self::PACKET, source, packet * Self::PACKET);
                }
            }
            return;
        }
        let mut place = thread::index();
        while place < Self::LEN as u32 {
            let element = if place < len { source.load_streaming(place as usize) } else { fill };
            self.elements.store(place as usize, element);
            place += BLOCK as u32;
        }
    }

    /// Returns this thread's elements.
    #[device(track_caller)]
    pub fn own(self) -> [T; ITEMS] {
        let first = thread::index() as usize * ITEMS;
        let mut items = [T::ZERO; ITEMS];
        if Self::ALIGNED {
            for packet in 0..ITEMS / Self::PACKET {
                let words = self.elements.load_16(first + packet * Self::PACKET);
                for index in 0..Self::PACKET {
                    items[packet * Self::PACKET + index] = element_of(words, index);
                }
            }
        } else {
            for item in 0..ITEMS {
                items[item] = self.elements.load(first + item);
            }
        }
        items
    }

    /// Replaces this thread's elements, which fill whole packets.
    #[device(track_caller)]
    pub fn replace(self, items: [T; ITEMS]) {
        const { assert!(Self::ALIGNED) };
        let first = thread::index() as usize * ITEMS;
        for packet in 0..ITEMS / Self::PACKET {
            let words = packet_of(|index| items[packet * Self::PACKET + index]);
            self.elements.store_16(first + packet * Self::PACKET, words);
        }
    }

    /// Stores the first `len` elements to a target, as `change` computes them from place and
    /// element.
    #[device(track_caller)]
    pub fn store(self, target: GlobalMut<T, Aligned16>, len: u32, change: impl Fn(u32, T) -> T) {
        if len as usize == Self::LEN {
            for round in 0..Self::ROUNDS {
                let packet = thread::index() as usize + round * BLOCK;
                if Self::PACKETS.is_multiple_of(BLOCK) || packet < Self::PACKETS {
                    let first = packet * Self::PACKET;
                    let words = self.elements.load_16(first);
                    let changed = packet_of(|index| change((first + index) as u32, element_of(words, index)));
                    target.store_streaming_16(first, changed);
                }
            }
            return;
        }
        let mut place = thread::index();
        while place < len {
            target.store(place as usize, change(place, self.elements.load(place as usize)));
            place += BLOCK as u32;
        }
    }
}
