//! One row times x.

use evenpath_simt::{parameters, thread, Float, Global};

/// The column of a slot that holds nothing. No matrix has that many columns.
pub const PADDING: u32 = u32::MAX;

parameters! {
    /// The slots of a padded matrix: nonzeros and padding.
    pub struct Slots<V: Float> {
        /// Column indices; [`PADDING`] where a slot holds nothing.
        pub column_indices: Global<u32>,
        /// Values in the same places; zero where a slot holds nothing.
        pub values: Global<V>,
    }
}

/// The slots of a row: the first at `first`, each next one `stride` further.
#[derive(Clone, Copy)]
pub(super) struct RowSlots<V: Float> {
    pub(super) slots: Slots<V>,
    pub(super) first: usize,
    pub(super) stride: u32,
}

/// Which element of x a nonzero is multiplied by.
pub trait XAccess {
    /// For the nonzero in slot `slot` of its row. Below the number of columns, as `column` is.
    fn index(column: u32, slot: u32) -> u32;
}

/// The one that the column says.
#[derive(Debug, Clone, Copy)]
pub struct ByColumn;

impl XAccess for ByColumn {
    #[inline(always)]
    fn index(column: u32, _: u32) -> u32 {
        column
    }
}

/// The first, the second, and so on: not a product, but the cost of one if reading x were free. The j-th column
/// of a canonical row is at least j, so the smaller of both is j; the dependence on the column keeps the column's
/// load.
#[derive(Debug, Clone, Copy)]
pub struct InSequence;

impl XAccess for InSequence {
    #[inline(always)]
    fn index(column: u32, slot: u32) -> u32 {
        column.min(slot)
    }
}

impl<V: Float> RowSlots<V> {
    /// The sum of the first `count` slots' products, in order. Padding adds nothing, whatever x holds.
    ///
    /// `ITEMS` columns, then as many values, then as many elements of x are loaded before the first is used. Their
    /// addresses are computed again in each round: kept in registers, they would cost half of the threads.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[allow(clippy::needless_range_loop)] // Iterators over two arrays leave registers for local memory.
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
                    elements[item] = x.load(X::index(columns[item], slot + item as u32) as usize);
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
