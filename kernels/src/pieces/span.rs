use evenpath_simt::{device, parameters, Element, Global, GlobalMut};

use crate::Offset;

parameters! {
    /// The pieces of rows that are too long for one group of lanes, and memory for their sums.
    pub struct Pieces<V: Element> {
        /// The row of each piece; the pieces of a row are consecutive.
        pub rows: Global<u32>,
        /// The first entry of each piece.
        pub begins: Global<u64>,
        /// Output: the sums of each piece.
        pub sums: GlobalMut<V>,
        /// Pieces.
        pub count: u32,
        /// Entries of a piece, of which the last of a row may have fewer.
        pub len: u32,
        /// The most entries of a row that is not cut.
        pub longest: u32,
    }
}

/// The entries that a group of lanes sums: a row, a piece of one, or none.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// The first entry.
    pub begin: usize,
    /// Entries.
    pub len: u32,
    /// The row, or the piece.
    pub target: usize,
    /// True if it is a piece.
    pub is_piece: bool,
    /// True if its sums are stored: not for a row that is cut, nor for none.
    pub is_stored: bool,
}

impl Span {
    /// No entries.
    pub const NONE: Self = Self { begin: 0, len: 0, target: 0, is_piece: false, is_stored: false };
}

impl<V: Element> Pieces<V> {
    /// Returns the entries of item `item` of a matrix of `rows` rows: first come the pieces, then the rows.
    #[device]
    pub fn span<O: Offset>(self, row_offsets: Global<O>, rows: u32, item: usize) -> Span {
        let count = self.count as usize;
        if item < count {
            let begin = self.begins.load(item) as usize;
            let left = row_offsets.load(self.rows.load(item) as usize + 1).to_usize() - begin;
            let len = if left < self.len as usize { left as u32 } else { self.len };
            return Span { begin, len, target: item, is_piece: true, is_stored: true };
        }
        let row = item - count;
        if row >= rows as usize {
            return Span::NONE;
        }
        let begin = row_offsets.load(row).to_usize();
        let len = row_offsets.load(row + 1).to_usize() - begin;
        let is_cut = len > self.longest as usize;
        let len = if is_cut { 0 } else { len as u32 };
        Span { begin, len, target: row, is_piece: false, is_stored: !is_cut }
    }
}
