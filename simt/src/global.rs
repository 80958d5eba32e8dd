//! Typed views of global memory.
//!
//! A view is a kernel's parameter: on the GPU a 64-bit address and nothing else; on the simulated GPU it also carries
//! its length, and every access is checked against it. Kernels get views only from their parameters, and the host makes
//! them only from live buffers; the kernel must keep indices inside the view, which the simulated GPU verifies.

use core::marker::PhantomData;
use evenpath_simt_macros::device;

use crate::element::{Element, Packet};
use crate::machine;

/// Alignment of the first element of a view: [`Natural`] or [`Aligned16`].
pub trait Alignment: Copy + core::fmt::Debug + Send + Sync + 'static {}

/// Alignment to the element's size, as for part of a vector.
#[derive(Debug, Clone, Copy)]
pub struct Natural;

/// Alignment to 16 bytes, as for every allocation. Only such views have accesses of several elements at once.
#[derive(Debug, Clone, Copy)]
pub struct Aligned16;

impl Alignment for Natural {}
impl Alignment for Aligned16 {}

macro_rules! views {
    ($($(#[$doc:meta])* $view:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        #[cfg_attr(target_arch = "nvptx64", repr(transparent))]
        pub struct $view<T, A = Natural> {
            address: u64,
            #[cfg(not(target_arch = "nvptx64"))]
            len: u64,
            element: PhantomData<(T, A)>,
        }

        impl<T, A> Clone for $view<T, A> {
            #[device]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T, A> Copy for $view<T, A> {}

        impl<T: Element> $view<T> {
            /// Returns a view of `len` elements at a device address.
            #[cfg(not(target_arch = "nvptx64"))]
            pub fn from_device(address: u64, len: u64) -> Self {
                Self { address, len, element: PhantomData }
            }

            /// Returns the same view for accesses of several elements at once; `None` unless it begins at a multiple of
            /// 16 bytes.
            #[cfg(not(target_arch = "nvptx64"))]
            pub fn aligned(self) -> Option<$view<T, Aligned16>> {
                self.address.is_multiple_of(16).then(|| self.cast())
            }
        }

        impl<T: Element> $view<T, Aligned16> {
            /// Returns a view of `len` elements at a device address, which is a multiple of 16.
            ///
            /// # Panics
            ///
            /// If it is not.
            #[cfg(not(target_arch = "nvptx64"))]
            pub fn from_aligned_device(address: u64, len: u64) -> Self {
                assert!(address.is_multiple_of(16), "a view at {address:#x} is not aligned to 16 bytes");
                Self { address, len, element: PhantomData }
            }

            /// Returns the same view without its alignment.
            #[device]
            #[must_use]
            pub fn natural(self) -> $view<T> {
                self.cast()
            }

            /// Returns the rest of the view starting at element `start`. If several elements are accessed at once in
            /// it, that element must be at a multiple of 16 bytes, which the simulated GPU verifies.
            #[device(track_caller)]
            #[must_use]
            pub fn skip_aligned(self, start: usize) -> Self {
                self.skip(start).cast()
            }
        }

        impl<T: Element, A: Alignment> $view<T, A> {
            #[device]
            fn cast<B: Alignment>(self) -> $view<T, B> {
                $view {
                    address: self.address,
                    #[cfg(not(target_arch = "nvptx64"))]
                    len: self.len,
                    element: PhantomData,
                }
            }

            /// Returns the same memory as elements of another type, which are no larger.
            #[cfg(not(target_arch = "nvptx64"))]
            pub fn reinterpret<B: Element>(self) -> $view<B, A> {
                const { assert!(B::SIZE <= T::SIZE && T::SIZE.is_multiple_of(B::SIZE)) };
                $view { address: self.address, len: self.len * (T::SIZE / B::SIZE) as u64, element: PhantomData }
            }

            /// Returns the view that a launch was given, in a lane of the simulated GPU.
            #[cfg(not(target_arch = "nvptx64"))]
            pub(crate) fn unpacked(address: u64, len: u64) -> Self {
                Self { address, len, element: PhantomData }
            }

            /// Returns the view's device address.
            #[device]
            pub fn address(self) -> u64 {
                self.address
            }

            /// Elements in the view; the GPU does not know it.
            #[cfg(not(target_arch = "nvptx64"))]
            #[allow(clippy::len_without_is_empty)]
            pub fn len(self) -> u64 {
                self.len
            }

            /// Returns the rest of the view starting at element `start`.
            #[device(track_caller)]
            #[must_use]
            pub fn skip(self, start: usize) -> $view<T> {
                #[cfg(not(target_arch = "nvptx64"))]
                machine::check_view(self.address, self.len, start, 0, T::TYPE);
                $view {
                    address: self.address + (start * T::SIZE) as u64,
                    #[cfg(not(target_arch = "nvptx64"))]
                    len: self.len - start as u64,
                    element: PhantomData,
                }
            }

            /// Returns the address of `count` elements starting at `index`.
            #[device(track_caller)]
            fn at(self, index: usize, count: usize) -> u64 {
                #[cfg(not(target_arch = "nvptx64"))]
                machine::check_view(self.address, self.len, index, count, T::TYPE);
                #[cfg(target_arch = "nvptx64")]
                let _ = count;
                self.address + (index * T::SIZE) as u64
            }
        }
    )*};
}

views! {
    /// Global memory that is not written while the kernel runs.
    Global;
    /// Global memory that the kernel may write.
    GlobalMut;
}

impl<T: Element, A: Alignment> Global<T, A> {
    /// Prefetches the element's line into the second-level cache, without waiting for it.
    #[device(track_caller)]
    pub fn prefetch(self, index: usize) {
        machine::prefetch(self.at(index, 1));
    }

    /// Loads through the read-only cache: for data that is used again, by this thread or others.
    #[device(track_caller)]
    pub fn load(self, index: usize) -> T {
        machine::load_read_only(self.at(index, 1))
    }

    /// Loads by the path of memory that may be written: to measure what [`load`](Self::load) gains.
    #[device(track_caller)]
    pub fn load_plain(self, index: usize) -> T {
        machine::load(self.at(index, 1))
    }

    /// [`load`](Self::load) where `condition` holds, and zero without an access elsewhere.
    #[device(track_caller)]
    pub fn load_if(self, index: usize, condition: bool) -> T {
        machine::load_read_only_if(self.at_if(index, 1, condition), condition)
    }

    /// Loads without keeping the line in L1: for data that is read once.
    #[device(track_caller)]
    pub fn load_streaming(self, index: usize) -> T {
        machine::load_streaming(self.at(index, 1))
    }

    /// [`at`](Self::at), checked only where `condition` holds.
    #[device(track_caller)]
    fn at_if(self, index: usize, count: usize, condition: bool) -> u64 {
        #[cfg(not(target_arch = "nvptx64"))]
        if !condition {
            return self.address;
        }
        let _ = condition;
        self.at(index, count)
    }
}

impl<T: Element> Global<T, Aligned16> {
    /// [`load`](Self::load) of 16 bytes of neighbors in one access; `index` must be a multiple of the
    /// elements in 16 bytes.
    #[device(track_caller)]
    pub fn load_16(self, index: usize) -> Packet {
        machine::load_read_only_16::<T>(self.packet_at(index))
    }

    /// [`load_16`](Self::load_16) where `condition` holds, and zeros without an access elsewhere.
    #[device(track_caller)]
    pub fn load_16_if(self, index: usize, condition: bool) -> Packet {
        machine::load_read_only_16_if::<T>(self.at_if(index, 16 / T::SIZE, condition), condition)
    }

    /// [`load_streaming`](Self::load_streaming) of two neighbors in one access; the address of the
    /// first must be a multiple of both elements' size.
    #[device(track_caller)]
    pub fn load_streaming_2(self, index: usize) -> [T; 2] {
        machine::load_streaming_2(self.at(index, 2))
    }

    /// [`load_streaming`](Self::load_streaming) of four neighbors in accesses of at most 16 bytes;
    /// the address of the first must be a multiple of the access's size.
    #[device(track_caller)]
    pub fn load_streaming_4(self, index: usize) -> [T; 4] {
        machine::load_streaming_4(self.at(index, 4))
    }

    /// [`load_streaming`](Self::load_streaming) of 16 bytes of neighbors in one access; the address of
    /// the first must be a multiple of 16.
    #[device(track_caller)]
    pub fn load_streaming_16(self, index: usize) -> Packet {
        machine::load_streaming_16::<T>(self.packet_at(index))
    }

    /// Returns the address of the 16 bytes starting at element `index`.
    #[device(track_caller)]
    pub(crate) fn packet_at(self, index: usize) -> u64 {
        self.at(index, 16 / T::SIZE)
    }
}

impl<T: Element, A: Alignment> GlobalMut<T, A> {
    /// Loads what this block, or an earlier launch, wrote.
    #[device(track_caller)]
    pub fn load(self, index: usize) -> T {
        machine::load(self.at(index, 1))
    }

    /// Stores one element.
    #[device(track_caller)]
    pub fn store(self, index: usize, value: T) {
        machine::store(self.at(index, 1), value);
    }

    /// Stores one element that this kernel will not read again.
    #[device(track_caller)]
    pub fn store_streaming(self, index: usize, value: T) {
        machine::store_streaming(self.at(index, 1), value);
    }

    /// Returns the address of one element, for atomics.
    #[device(track_caller)]
    pub(crate) fn atomic_address(self, index: usize) -> u64 {
        self.at(index, 1)
    }

    /// [`atomic_address`](Self::atomic_address), checked only where `condition` holds.
    #[device(track_caller)]
    pub(crate) fn atomic_address_if(self, index: usize, condition: bool) -> u64 {
        #[cfg(not(target_arch = "nvptx64"))]
        if !condition {
            return self.address;
        }
        let _ = condition;
        self.at(index, 1)
    }
}

impl<T: Element> GlobalMut<T, Aligned16> {
    /// [`load`](Self::load) of 16 bytes of neighbors in one access; `index` must be a multiple of the
    /// elements in 16 bytes.
    #[device(track_caller)]
    pub fn load_16(self, index: usize) -> Packet {
        machine::load_16::<T>(self.at(index, 16 / T::SIZE))
    }

    /// [`store_streaming`](Self::store_streaming) of 16 bytes of neighbors in one access; the address of
    /// the first must be a multiple of 16.
    #[device(track_caller)]
    pub fn store_streaming_16(self, index: usize, packet: Packet) {
        machine::store_streaming_16::<T>(self.at(index, 16 / T::SIZE), packet);
    }

    /// [`store_streaming`](Self::store_streaming) of two neighbors in one access; the address of the first must be a
    /// multiple of both elements' size.
    #[device(track_caller)]
    pub fn store_streaming_2(self, index: usize, values: [T; 2]) {
        machine::store_streaming_2(self.at(index, 2), values);
    }

    /// [`store_streaming`](Self::store_streaming) of four neighbors in accesses of at most 16 bytes; the address of
    /// the first must be a multiple of the access's size.
    #[device(track_caller)]
    pub fn store_streaming_4(self, index: usize, values: [T; 4]) {
        machine::store_streaming_4(self.at(index, 4), values);
    }
}
