//! The block's shared memory: one arena a kernel, typed views of it.

use core::marker::PhantomData;
use evenpath_simt_macros::device;

use crate::element::{Element, Packet};
use crate::global::{Aligned16, Global};
use crate::machine;

/// A kernel's shared memory, or the rest of it. Taking from a copy of an arena gives views that overlap: memory that is
/// used again after a barrier has ended its first use.
#[derive(Debug, Clone, Copy)]
pub struct Arena {
    address: u32,
    bytes: u32,
}

impl Arena {
    /// Returns the statically sized arena of a kernel. Called once, by the entry that [`kernel!`](crate::kernel!)
    /// makes.
    #[doc(hidden)]
    #[device]
    pub fn fixed<const BYTES: usize>() -> Self {
        Self { address: machine::shared_arena::<BYTES>(), bytes: BYTES as u32 }
    }

    /// Returns the arena whose size the launch chooses, `bytes` long: for kernels that need more than 48 KiB.
    #[device]
    pub fn dynamic(bytes: u32) -> Self {
        Self { address: machine::dynamic_shared_arena(), bytes }
    }

    /// Splits off `len` elements, aligned to their size.
    #[device(track_caller)]
    pub fn take<T: Element>(&mut self, len: usize) -> Shared<T> {
        let aligned = self.address.next_multiple_of(T::SIZE as u32);
        #[cfg(not(target_arch = "nvptx64"))]
        machine::check_arena(aligned - self.address, len, T::TYPE, self.bytes);
        let used = (aligned - self.address) + (len * T::SIZE) as u32;
        self.address += used;
        self.bytes -= used;
        Shared { address: aligned, len: len as u32, element: PhantomData }
    }
}

/// A typed view of shared memory.
#[derive(Debug)]
pub struct Shared<T> {
    address: u32,
    len: u32,
    element: PhantomData<T>,
}

impl<T> Clone for Shared<T> {
    #[device]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<T> {}

impl<T: Element> Shared<T> {
    /// Elements in the view.
    #[device]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Returns the view's address in shared memory, in bytes: to tell how far [`skip`](Self::skip) has come.
    #[device]
    pub fn address(self) -> u32 {
        self.address
    }

    /// Returns the rest of the view starting at element `start`.
    #[device(track_caller)]
    #[must_use]
    pub fn skip(self, start: usize) -> Self {
        #[cfg(not(target_arch = "nvptx64"))]
        if start > 0 {
            machine::check_shared_view(self.address, self.len, start - 1, T::TYPE);
        }
        Self {
            address: self.address + (start * T::SIZE) as u32,
            len: self.len - start as u32,
            element: PhantomData,
        }
    }

    #[device(track_caller)]
    pub(crate) fn at(self, index: usize) -> u32 {
        #[cfg(not(target_arch = "nvptx64"))]
        machine::check_shared_view(self.address, self.len, index, T::TYPE);
        self.address + (index * T::SIZE) as u32
    }

    /// Loads one element.
    #[device(track_caller)]
    pub fn load(self, index: usize) -> T {
        machine::shared_load(self.at(index))
    }

    /// Stores one element.
    #[device(track_caller)]
    pub fn store(self, index: usize, value: T) {
        machine::shared_store(self.at(index), value);
    }

    /// Loads 16 bytes of neighbors in one access; the address of the first must be a multiple of 16.
    #[device(track_caller)]
    pub fn load_16(self, index: usize) -> Packet {
        machine::shared_load_16::<T>(self.packet_at(index))
    }

    /// Stores 16 bytes of neighbors in one access; the address of the first must be a multiple of 16.
    #[device(track_caller)]
    pub fn store_16(self, index: usize, packet: Packet) {
        machine::shared_store_16::<T>(self.packet_at(index), packet);
    }

    /// Starts to copy 16 bytes of neighbors from global memory, past the registers; both addresses must be multiples
    /// of 16. The copy is visible to this thread after [`thread::await_copies`], and to the block after a barrier that
    /// follows.
    ///
    /// [`thread::await_copies`]: crate::thread::await_copies
    #[device(track_caller)]
    pub fn copy_16(self, index: usize, source: Global<T, Aligned16>, from: usize) {
        machine::shared_copy_16::<T>(self.packet_at(index), source.packet_at(from));
    }

    #[device(track_caller)]
    fn packet_at(self, index: usize) -> u32 {
        #[cfg(not(target_arch = "nvptx64"))]
        self.at(index + 16 / T::SIZE - 1);
        self.at(index)
    }
}
