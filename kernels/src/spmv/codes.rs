//! Narrow columns: 16 bits per nonzero, relative to a directory of the columns that a tile of rows has.
//!
//! The rows of a matrix that comes from a mesh have their columns in a few places, near the diagonal and at some distances
//! from it. A *directory* lists up to 32 *segments* of 2048 columns, one per lane of a warp; a *code* is the number of a
//! segment and a place in it. Where all columns of a tile lie within 2¹⁶, segments are consecutive and a code is the
//! distance from the least column. Tiles that need more segments have no codes. Every code, in any directory, stands for
//! a column of the matrix, so that wide loads may decode the codes of neighboring tiles.
//!
//! Codes do not depend on where a tile is, so tiles that look alike have the same codes: those of a structured grid, of
//! bands, and of dense rows. Such tiles read the first one's codes, which then stay in cache ([`super::ShareCodes`]).

use evenpath_simt::{device, parameters, thread, warp, Aligned16, Element, Global};

/// Segments of a directory: one per lane.
pub const SEGMENTS: u32 = thread::WARP_SIZE;

/// Bits of a code that say where in its segment a column is.
pub(super) const PLACE_BITS: u32 = 11;

/// Columns of a segment.
pub(super) const SEGMENT_LEN: u32 = 1 << PLACE_BITS;

/// Meaning of the codes of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TileKind {
    /// Distances from the one column that fills the directory.
    Distances,
    /// Places in segments.
    Segments,
    /// There are no codes: the column indices are read.
    Whole,
}

impl TileKind {
    /// Packs the kind with the place of a tile's first code, which is below 2⁶².
    #[device]
    pub(super) fn pack(self, place: usize) -> u64 {
        (place as u64) << 2 | self as u64
    }

    #[device]
    pub(super) fn unpack(word: u64) -> (Self, usize) {
        let kind = match word % 4 {
            0 => Self::Distances,
            1 => Self::Segments,
            _ => Self::Whole,
        };
        (kind, (word >> 2) as usize)
    }
}

parameters! {
    /// The columns of a matrix as codes, for tiles of rows. The codes are 16 bits, two per word where `W` has 32.
    pub struct CodedColumns<W: Element> {
        /// The codes, from [`super::EncodeColumns`].
        pub codes: Global<W, Aligned16>,
        /// The first column of each segment, [`SEGMENTS`] per tile, likewise.
        pub directories: Global<u32>,
        /// Place and kind of each tile's codes, from [`super::ShareCodes`].
        pub places: Global<u64>,
        /// The first nonzero of each tile, and the number of nonzeros, from [`super::EncodeColumns`].
        pub tile_nonzeros: Global<u64>,
    }
}

/// Computes columns from the codes of a tile. Every code stands for a column of the matrix.
pub(super) trait Decoder: Copy {
    /// Returns the column of a code. All lanes of the warp call it together.
    fn column(self, code: u32) -> u32;
}

/// Codes that are distances from a column.
#[derive(Clone, Copy)]
pub(super) struct Distances {
    /// The column.
    pub(super) from: u32,
}

impl Decoder for Distances {
    #[device]
    fn column(self, code: u32) -> u32 {
        self.from + code
    }
}

/// Codes that are places in segments.
#[derive(Clone, Copy)]
pub(super) struct Segments {
    /// The first column of this lane's segment.
    pub(super) own: u32,
}

impl Decoder for Segments {
    #[device]
    fn column(self, code: u32) -> u32 {
        let first = warp::shuffle(warp::FULL, self.own, code >> PLACE_BITS);
        first + (code & ((1 << PLACE_BITS) - 1))
    }
}
