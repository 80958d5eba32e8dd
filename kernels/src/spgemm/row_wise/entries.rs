//! The rows of the operands.

use evenpath_simt::{device, Element};

use crate::{GlobalCsr, GlobalPattern, Offset};

/// The entries of a row.
#[derive(Clone, Copy)]
pub(in crate::spgemm) struct RowEntries {
    pub(in crate::spgemm) begin: usize,
    pub(in crate::spgemm) len: u32,
}

impl RowEntries {
    pub(super) const NONE: Self = Self { begin: 0, len: 0 };
}

impl<O: Offset> GlobalPattern<O> {
    /// Returns the entries of a row if `wanted`, else none.
    #[device(track_caller)]
    pub(in crate::spgemm) fn entries_if(self, row: u32, wanted: bool) -> RowEntries {
        let begin = self.row_offsets.load_if(row as usize, wanted);
        let end = self.row_offsets.load_if(row as usize + 1, wanted);
        RowEntries { begin: begin.to_usize(), len: (end.to_usize() - begin.to_usize()) as u32 }
    }

    /// Returns the column of an entry if `wanted`, else 0.
    #[device(track_caller)]
    pub(super) fn column_if(self, entries: RowEntries, place: u32, wanted: bool) -> u32 {
        self.column_indices.load_if(entries.begin + place as usize, wanted)
    }
}

/// A matrix that is multiplied, with or without values.
pub(super) trait Operand: Copy {
    /// The type of row offsets.
    type Offset: Offset;
    /// A value; the unit type if the matrix has none.
    type Value: Copy;
    /// Zero.
    const ZERO: Self::Value;

    /// Returns the pattern.
    fn pattern(self) -> GlobalPattern<Self::Offset>;

    /// Returns the value of an entry if `wanted`, else zero.
    fn value_if(self, entries: RowEntries, place: u32, wanted: bool) -> Self::Value;
}

impl<O: Offset> Operand for GlobalPattern<O> {
    type Offset = O;
    type Value = ();
    const ZERO: Self::Value = ();

    #[device]
    fn pattern(self) -> GlobalPattern<O> {
        self
    }

    #[device]
    fn value_if(self, _: RowEntries, _: u32, _: bool) {}
}

impl<V: Element, O: Offset> Operand for GlobalCsr<V, O> {
    type Offset = O;
    type Value = V;
    const ZERO: V = V::ZERO;

    #[device]
    fn pattern(self) -> GlobalPattern<O> {
        Self::pattern(self)
    }

    #[device(track_caller)]
    fn value_if(self, entries: RowEntries, place: u32, wanted: bool) -> V {
        self.values.load_if(entries.begin + place as usize, wanted)
    }
}
