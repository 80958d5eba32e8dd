//! How many columns of a dense row a lane moves at once.

use evenpath_simt::{Element, Global, GlobalMut, Packet, Stored};

/// The most columns of a lane: 16 bytes of the smallest type.
pub(super) const MAX_WIDTH: usize = 8;

/// How a lane moves its columns, which are consecutive in a row, and how many they are.
pub trait Width: 'static {
    /// What one access moves.
    type Moved<T: Stored>: Copy;
    /// Nothing but zeros.
    fn zeros<T: Stored>() -> Self::Moved<T>;
    /// Columns in an access.
    fn len<T: Stored>() -> usize;
    /// Loads the columns from element `index` on.
    fn load<T: Stored>(source: Global<T>, index: usize) -> Self::Moved<T>;
    /// [`load`](Self::load) where `condition` holds, else zeros.
    fn load_if<T: Stored>(source: Global<T>, index: usize, condition: bool) -> Self::Moved<T>;
    /// [`load`](Self::load) of what the kernel may write.
    fn load_mut<T: Stored>(source: GlobalMut<T>, index: usize) -> Self::Moved<T>;
    /// Stores the columns from element `index` on, which the kernel does not read again.
    fn store<T: Stored>(target: GlobalMut<T>, index: usize, moved: Self::Moved<T>);
    /// Column `at`.
    fn get<T: Stored>(moved: Self::Moved<T>, at: usize) -> T;
    /// Replaces column `at`, which is zero.
    fn set<T: Stored>(moved: &mut Self::Moved<T>, at: usize, value: T);
}

/// 16 bytes of columns: for rows whose addresses and lengths are multiples of 16 bytes.
#[derive(Debug)]
pub struct Packets;

/// One column: for any rows.
#[derive(Debug)]
pub struct Elements;

/// The place of element `at` in a packet: its word, and the shift in it.
#[inline(always)]
fn place<T: Element>(at: usize) -> (usize, usize) {
    (at * T::SIZE / 8, at * T::SIZE % 8 * 8)
}

impl Width for Packets {
    type Moved<T: Stored> = Packet;

    #[inline(always)]
    fn zeros<T: Stored>() -> Packet {
        [0; 2]
    }

    #[inline(always)]
    fn len<T: Stored>() -> usize {
        16 / T::SIZE
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load<T: Stored>(source: Global<T>, index: usize) -> Packet {
        source.load_16(index)
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load_if<T: Stored>(source: Global<T>, index: usize, condition: bool) -> Packet {
        source.load_16_if(index, condition)
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load_mut<T: Stored>(source: GlobalMut<T>, index: usize) -> Packet {
        source.load_16(index)
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn store<T: Stored>(target: GlobalMut<T>, index: usize, moved: Packet) {
        target.store_streaming_16(index, moved);
    }

    #[inline(always)]
    fn get<T: Stored>(moved: Packet, at: usize) -> T {
        let (word, shift) = place::<T>(at);
        T::from_bits(moved[word] >> shift)
    }

    #[inline(always)]
    fn set<T: Stored>(moved: &mut Packet, at: usize, value: T) {
        let (word, shift) = place::<T>(at);
        moved[word] |= value.to_bits() << shift;
    }
}

impl Width for Elements {
    type Moved<T: Stored> = T;

    #[inline(always)]
    fn zeros<T: Stored>() -> T {
        T::ZERO
    }

    #[inline(always)]
    fn len<T: Stored>() -> usize {
        1
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load<T: Stored>(source: Global<T>, index: usize) -> T {
        source.load(index)
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load_if<T: Stored>(source: Global<T>, index: usize, condition: bool) -> T {
        source.load_if(index, condition)
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load_mut<T: Stored>(source: GlobalMut<T>, index: usize) -> T {
        source.load(index)
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn store<T: Stored>(target: GlobalMut<T>, index: usize, moved: T) {
        target.store_streaming(index, moved);
    }

    #[inline(always)]
    fn get<T: Stored>(moved: T, _: usize) -> T {
        moved
    }

    #[inline(always)]
    fn set<T: Stored>(moved: &mut T, _: usize, value: T) {
        *moved = value;
    }
}
