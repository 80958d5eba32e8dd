//! Widths: the columns of a dense row that a lane moves at once.

use evenpath_simt::{device, Aligned16, Element, Global, GlobalMut, Packet, Stored, Words};

/// The most columns of a lane: 16 bytes of the smallest type.
pub(super) const MAX_WIDTH: usize = 8;

/// Number of consecutive columns of a lane, and the accesses that move them.
pub trait Width: Sized + 'static {
    /// The columns of a lane as they are moved.
    type Moved<T: Stored>: Copy;
    /// The most columns of a lane; fewer if they have more than 16 bytes.
    const MOST: usize;
    /// Nothing but zeros.
    fn zeros<T: Stored>() -> Self::Moved<T>;
    /// Columns of a lane.
    #[device]
    fn len<T: Stored>() -> usize {
        const { width::<T, Self>() }
    }
    /// Loads the columns starting at element `index`, `stride` elements from one to the next.
    fn load<T: Stored>(source: Global<T, Aligned16>, index: usize, stride: usize) -> Self::Moved<T>;
    /// [`load`](Self::load) where `condition` holds, else zeros.
    fn load_if<T: Stored>(
        source: Global<T, Aligned16>,
        index: usize,
        stride: usize,
        condition: bool,
    ) -> Self::Moved<T>;
    /// Loads neighboring columns, which the kernel may write.
    fn load_mut<T: Stored>(source: GlobalMut<T, Aligned16>, index: usize) -> Self::Moved<T>;
    /// Stores neighboring columns starting at element `index`, which the kernel does not read again.
    fn store<T: Stored>(target: GlobalMut<T, Aligned16>, index: usize, moved: Self::Moved<T>);
    /// Column `at`.
    fn get<T: Stored>(moved: Self::Moved<T>, at: usize) -> T;
    /// Replaces column `at`, which is zero.
    fn set<T: Stored>(moved: &mut Self::Moved<T>, at: usize, value: T);
}

/// 16 bytes of neighbors: for rows whose addresses and lengths are multiples of 16 bytes.
#[derive(Debug)]
pub struct Packets;

/// Up to `MOST` columns of any stride, one access each.
#[derive(Debug)]
pub struct Separate<const MOST: usize>;

/// Up to 4 columns: for a B by columns whose number is a multiple.
pub type Strided = Separate<4>;

/// One column: for any matrix.
pub type Elements = Separate<1>;

/// Columns of a lane, for constants.
pub const fn width<T: Stored, W: Width>() -> usize {
    let of_16_bytes = 16 / T::SIZE;
    if of_16_bytes < W::MOST {
        of_16_bytes
    } else {
        W::MOST
    }
}

/// Returns the place of element `at` in a packet: its word, and the shift in it.
#[device]
fn place<T: Element>(at: usize) -> (usize, usize) {
    (at * T::SIZE / 8, at * T::SIZE % 8 * 8)
}

impl Width for Packets {
    type Moved<T: Stored> = Packet;
    const MOST: usize = MAX_WIDTH;

    #[device]
    fn zeros<T: Stored>() -> Packet {
        [0; 2]
    }

    #[device(track_caller)]
    fn load<T: Stored>(source: Global<T, Aligned16>, index: usize, _: usize) -> Packet {
        source.load_16(index)
    }

    #[device(track_caller)]
    fn load_if<T: Stored>(source: Global<T, Aligned16>, index: usize, _: usize, condition: bool) -> Packet {
        source.load_16_if(index, condition)
    }

    #[device(track_caller)]
    fn load_mut<T: Stored>(source: GlobalMut<T, Aligned16>, index: usize) -> Packet {
        source.load_16(index)
    }

    #[device(track_caller)]
    fn store<T: Stored>(target: GlobalMut<T, Aligned16>, index: usize, moved: Packet) {
        target.store_streaming_16(index, moved);
    }

    #[device]
    fn get<T: Stored>(moved: Packet, at: usize) -> T {
        let (word, shift) = place::<T>(at);
        T::from_bits(T::Words::from_fn(|index| moved[word + index] >> shift))
    }

    #[device]
    fn set<T: Stored>(moved: &mut Packet, at: usize, value: T) {
        let (word, shift) = place::<T>(at);
        T::Words::each(|index| moved[word + index] |= value.to_bits().word(index) << shift);
    }
}

impl<const MOST: usize> Width for Separate<MOST> {
    type Moved<T: Stored> = [T; MOST];
    const MOST: usize = MOST;

    #[device]
    fn zeros<T: Stored>() -> [T; MOST] {
        [T::ZERO; MOST]
    }

    #[device(track_caller)]
    fn load<T: Stored>(source: Global<T, Aligned16>, index: usize, stride: usize) -> [T; MOST] {
        let mut moved = Self::zeros::<T>();
        for at in 0..Self::len::<T>() {
            moved[at] = source.load(index + at * stride);
        }
        moved
    }

    #[device(track_caller)]
    fn load_if<T: Stored>(
        source: Global<T, Aligned16>,
        index: usize,
        stride: usize,
        condition: bool,
    ) -> [T; MOST] {
        let mut moved = Self::zeros::<T>();
        for at in 0..Self::len::<T>() {
            moved[at] = source.load_if(index + at * stride, condition);
        }
        moved
    }

    #[device(track_caller)]
    fn load_mut<T: Stored>(source: GlobalMut<T, Aligned16>, index: usize) -> [T; MOST] {
        let mut moved = Self::zeros::<T>();
        for at in 0..Self::len::<T>() {
            moved[at] = source.load(index + at);
        }
        moved
    }

    #[device(track_caller)]
    fn store<T: Stored>(target: GlobalMut<T, Aligned16>, index: usize, moved: [T; MOST]) {
        for at in 0..Self::len::<T>() {
            target.store_streaming(index + at, moved[at]);
        }
    }

    #[device]
    fn get<T: Stored>(moved: [T; MOST], at: usize) -> T {
        moved[at]
    }

    #[device]
    fn set<T: Stored>(moved: &mut [T; MOST], at: usize, value: T) {
        moved[at] = value;
    }
}
