use evenpath_simt::{device, parameters, Element, GlobalMut};

use crate::Offset;

parameters! {
    /// The result: its pattern, its values, or both.
    pub struct SpaddOutput<V: Element, O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: GlobalMut<O>,
        /// Column indices, one per result.
        pub column_indices: GlobalMut<u32>,
        /// Values, one per result.
        pub values: GlobalMut<V>,
        /// Bits for the arrays that are written.
        pub written: u32,
    }
}

/// Row offsets and column indices are written.
const PATTERN: u32 = 1;
/// Values are written.
const VALUES: u32 = 2;

impl<V: Element, O: Offset> SpaddOutput<V, O> {
    /// Arrays that are `None` are not written.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn new(pattern: Option<(GlobalMut<O>, GlobalMut<u32>)>, values: Option<GlobalMut<V>>) -> Self {
        let written = if pattern.is_some() { PATTERN } else { 0 } | if values.is_some() { VALUES } else { 0 };
        let (row_offsets, column_indices) =
            pattern.unwrap_or((GlobalMut::from_device(0, 0), GlobalMut::from_device(0, 0)));
        let values = values.unwrap_or(GlobalMut::from_device(0, 0));
        Self { row_offsets, column_indices, values, written }
    }

    /// Returns whether row offsets and column indices are written.
    #[device]
    pub(super) fn has_pattern(self) -> bool {
        self.written & PATTERN != 0
    }

    /// Returns whether values are written.
    #[device]
    pub(super) fn has_values(self) -> bool {
        self.written & VALUES != 0
    }

    /// Returns the same starting at a result, whose number is `first`; with all row offsets.
    #[device(track_caller)]
    pub(super) fn skip(self, first: usize) -> Self {
        Self {
            column_indices: self.column_indices.skip(if self.has_pattern() { first } else { 0 }),
            values: self.values.skip(if self.has_values() { first } else { 0 }),
            ..self
        }
    }
}
