//! The elements of a line that a lane loads at once: as many as 16 bytes have.

use evenpath_simt::{device, Packet, Stored};

use super::lines::DenseLines;
use crate::spmm::{width, Elements, Packets, Width};

/// The most elements of a chunk, those of the smallest type.
const MOST: usize = 8;

/// Accesses that load a chunk. They do not change its elements, so results do not depend on the choice.
pub trait Chunk: 'static {
    /// A chunk as it is loaded.
    type Loaded<T: Stored>: Copy;
    /// Zeros.
    fn zeros<T: Stored>() -> Self::Loaded<T>;
    /// Loads the elements starting at `first`, a multiple of a chunk's, of lines that are `len` long: zeros beyond the end, and where
    /// `condition` does not hold.
    fn load_if<T: Stored>(
        lines: DenseLines<T>,
        line: u32,
        first: u32,
        len: u32,
        condition: bool,
    ) -> Self::Loaded<T>;
    /// Returns `new` where `condition` holds, else `old`.
    fn select<T: Stored>(condition: bool, new: Self::Loaded<T>, old: Self::Loaded<T>) -> Self::Loaded<T>;
    /// Element `at`.
    fn get<T: Stored>(loaded: Self::Loaded<T>, at: usize) -> T;
}

/// One access: for lines of neighbors that begin at multiples of 16 bytes, whose length is a multiple too.
impl Chunk for Packets {
    type Loaded<T: Stored> = Packet;

    #[device]
    fn zeros<T: Stored>() -> Packet {
        [0; 2]
    }

    #[device(track_caller)]
    fn load_if<T: Stored>(lines: DenseLines<T>, line: u32, first: u32, len: u32, condition: bool) -> Packet {
        lines.values.load_16_if(lines.index(line, first), condition && first < len)
    }

    #[device]
    fn select<T: Stored>(condition: bool, new: Packet, old: Packet) -> Packet {
        if condition {
            new
        } else {
            old
        }
    }

    #[device]
    fn get<T: Stored>(loaded: Packet, at: usize) -> T {
        <Self as Width>::get::<T>(loaded, at)
    }
}

/// One access per element: for any lines.
impl Chunk for Elements {
    type Loaded<T: Stored> = [T; MOST];

    #[device]
    fn zeros<T: Stored>() -> [T; MOST] {
        [T::ZERO; MOST]
    }

    #[device(track_caller)]
    fn load_if<T: Stored>(
        lines: DenseLines<T>,
        line: u32,
        first: u32,
        len: u32,
        condition: bool,
    ) -> [T; MOST] {
        let mut loaded = [T::ZERO; MOST];
        for at in 0..const { width::<T, Packets>() } {
            let element = first + at as u32;
            loaded[at] = lines.values.load_if(lines.index(line, element), condition && element < len);
        }
        loaded
    }

    #[device]
    fn select<T: Stored>(condition: bool, new: [T; MOST], old: [T; MOST]) -> [T; MOST] {
        let mut selected = old;
        for at in 0..const { width::<T, Packets>() } {
            selected[at] = if condition { new[at] } else { old[at] };
        }
        selected
    }

    #[device]
    fn get<T: Stored>(loaded: [T; MOST], at: usize) -> T {
        loaded[at]
    }
}
