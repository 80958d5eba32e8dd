//! The operands as kernels see them.

use evenpath_simt::{Element, Global};

use crate::Offset;

/// A CSR matrix. Kernels that only count have no values, and read none.
#[derive(Clone, Copy)]
pub(super) struct Matrix<V, O> {
    pub(super) row_offsets: Global<O>,
    pub(super) columns: Global<u32>,
    pub(super) values: Global<V>,
}

/// The entries of a row.
#[derive(Clone, Copy)]
pub(super) struct Entries {
    pub(super) begin: usize,
    pub(super) len: u32,
}

impl Entries {
    pub(super) const NONE: Self = Self { begin: 0, len: 0 };
}

impl<V: Element, O: Offset> Matrix<V, O> {
    /// The entries of a row if `wanted`, else none.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn entries_if(self, row: u32, wanted: bool) -> Entries {
        let begin = self.row_offsets.load_if(row as usize, wanted);
        let end = self.row_offsets.load_if(row as usize + 1, wanted);
        Entries { begin: begin.to_usize(), len: (end.to_usize() - begin.to_usize()) as u32 }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn column_if(self, entries: Entries, place: u32, wanted: bool) -> u32 {
        self.columns.load_if(entries.begin + place as usize, wanted)
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn value_if(self, entries: Entries, place: u32, wanted: bool) -> V {
        self.values.load_if(entries.begin + place as usize, wanted)
    }
}

/// The row of C that is the `index`th of a list, or of all rows where `listed` is zero.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub(super) fn nth_row(list: Global<u32>, listed: u32, index: u32, wanted: bool) -> u32 {
    if listed == 0 {
        return index;
    }
    list.load_if(index as usize, wanted)
}
