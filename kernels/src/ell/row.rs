//! One row times x.

use evenpath_simt::{device, parameters, thread, Arithmetic, Global};

/// The column of a slot that holds nothing. No matrix has that many columns.
pub const PADDING: u32 = u32::MAX;

parameters! {
    /// The slots of a padded matrix: nonzeros and padding.
    pub struct Slots<V: Arithmetic> {
        /// Column indices; [`PADDING`] where a slot holds nothing.
        pub column_indices: Global<u32>,
        /// Values in the same places; zero where a slot holds nothing.
        pub values: Global<V>,
    }
}

/// The slots of a row: the first at `first`, each next one `stride` further.
#[derive(Clone, Copy)]
pub(super) struct RowSlots<V: Arithmetic> {
    pub(super) slots: Slots<V>,
    pub(super) first: usize,
    pub(super) stride: u32,
}

/// Choice of the element of x for a nonzero, and the load.
pub trait XAccess {
    /// Returns the element for the nonzero in slot `slot` of its row. `column` is below the number of columns.
    fn load<V: Arithmetic>(x: Global<V>, column: u32, slot: u32) -> V;
}

/// The element that the column names, through the read-only cache.
#[derive(Debug, Clone, Copy)]
pub struct ByColumn;

impl XAccess for ByColumn {
    #[device(track_caller)]
    fn load<V: Arithmetic>(x: Global<V>, column: u32, _: u32) -> V {
        x.load(column as usize)
    }
}

/// The element that the column names, by plain loads: the study of row sorting compares texture memory with them.
#[derive(Debug, Clone, Copy)]
pub struct PlainByColumn;

impl XAccess for PlainByColumn {
    #[device(track_caller)]
    fn load<V: Arithmetic>(x: Global<V>, column: u32, _: u32) -> V {
        x.load_plain(column as usize)
    }
}

/// The first element, the second, and so on: not a product, but the cost of one if reading x were free. The j-th column
/// of a canonical row is at least j, so the smaller of both is j; the dependence on the column keeps the column's
/// load.
#[derive(Debug, Clone, Copy)]
pub struct InSequence;

impl XAccess for InSequence {
    #[device(track_caller)]
    fn load<V: Arithmetic>(x: Global<V>, column: u32, slot: u32) -> V {
        x.load(column.min(slot) as usize)
    }
}

impl<V: Arithmetic> RowSlots<V> {
    /// Returns the sum of the first `count` slots' products, in order. Padding adds nothing.
    ///
    /// `ITEMS` columns, then as many values, then as many elements of x are loaded before the first is used. Their
    /// addresses are computed again in each round: kept in registers, they would cost half of the threads.
    #[device(track_caller)]
    pub(super) fn dot<X: XAccess, const ITEMS: usize>(self, x: Global<V>, count: u32) -> V {
        let mut sum = V::ZERO;
        let mut slot = 0;
        let mut place = self.first;
        while slot < count {
            let left = count - slot;
            let stride = thread::opaque(self.stride) as usize;
            let mut columns = [PADDING; ITEMS];
            let mut values = [V::ZERO; ITEMS];
            let mut elements = [V::ZERO; ITEMS];
            for item in 0..ITEMS {
                if (item as u32) < left {
                    columns[item] = self.slots.column_indices.load_streaming(place + item * stride);
                }
            }
            for item in 0..ITEMS {
                if (item as u32) < left {
                    values[item] = self.slots.values.load_streaming(place + item * stride);
                }
            }
            for item in 0..ITEMS {
                if columns[item] != PADDING {
                    elements[item] = X::load(x, columns[item], slot + item as u32);
                }
            }
            for item in 0..ITEMS {
                sum = values[item].fma(elements[item], sum);
            }
            slot += (ITEMS as u32).min(left);
            place += ITEMS * stride;
        }
        sum
    }
}
