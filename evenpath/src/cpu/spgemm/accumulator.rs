//! Sums by column for one row of C at a time.

use super::instructions::{FLAGS, Vectors};
use crate::Scalar;

/// A sum for each column after a first one, and the set of columns with products.
///
/// A sum without products is -0, which does not change the bits of an added product: the first product needs
/// no branch.
#[derive(Default)]
pub(super) struct Accumulator<V> {
    sums: Vec<V>,
    /// 1 for columns with products; [`FLAGS`] of them form a group.
    is_used: Vec<u8>,
    /// 1 for groups with products, used if there are more groups than products. The length is a multiple of
    /// [`FLAGS`].
    groups: Vec<u8>,
}

impl<V: Scalar> Accumulator<V> {
    /// Grows the arrays to at least `columns` columns.
    #[inline]
    pub(super) fn reserve(&mut self, columns: usize) {
        if self.sums.len() < columns {
            self.grow(columns);
        }
    }

    #[cold]
    fn grow(&mut self, columns: usize) {
        let len = columns.next_power_of_two().max(FLAGS);
        self.sums.resize(len, -V::default());
        self.is_used.resize(len, 0);
        self.groups.resize((len / FLAGS).next_multiple_of(FLAGS), 0);
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<V>() * self.sums.capacity() + self.is_used.capacity() + self.groups.capacity()
    }

    /// Adds the products of a number and a row of B.
    ///
    /// # Safety
    /// There is room for all columns, counted from `first`.
    #[allow(clippy::inline_always)] // needs the caller's instructions
    #[inline(always)]
    pub(super) unsafe fn add<const SPARSE: bool>(
        &mut self,
        first: u32,
        left: V,
        columns: &[u32],
        values: &[V],
    ) {
        for (&column, &right) in columns.iter().zip(values) {
            let at = (column - first) as usize;
            // SAFETY: guaranteed by the caller.
            unsafe {
                let sum = self.sums.get_unchecked_mut(at);
                *sum += left * right;
                *self.is_used.get_unchecked_mut(at) = 1;
                if SPARSE {
                    *self.groups.get_unchecked_mut(at / FLAGS) = 1;
                }
            }
        }
    }

    /// Writes the columns with products, ascending, and their sums, and clears them. Returns their number.
    ///
    /// # Safety
    /// The machine has the instructions. Columns are from `first` to `last`, and `columns` and `values` have room for all and
    /// [`FLAGS`] more.
    #[allow(clippy::inline_always)] // needs the caller's instructions
    #[inline(always)]
    pub(super) unsafe fn drain<I: Vectors, const SPARSE: bool>(
        &mut self,
        (first, last): (u32, u32),
        columns: &mut [u32],
        values: &mut [V],
    ) -> usize {
        let mut found = 0;
        let mut take = |group: usize, flags: &mut [u8; FLAGS]| {
            // SAFETY: guaranteed by the caller.
            found += unsafe { I::take_flags(flags, first + (group * FLAGS) as u32, &mut columns[found..]) };
        };
        let is_used = self.is_used.as_chunks_mut::<FLAGS>().0;
        let groups = (last - first) as usize / FLAGS + 1;
        if SPARSE {
            let all = self.groups[..groups.next_multiple_of(FLAGS)].as_chunks_mut::<FLAGS>().0;
            for (at, flags) in all.iter_mut().enumerate() {
                // SAFETY: guaranteed by the caller.
                let mut left = unsafe { I::take_bits(flags) };
                while left != 0 {
                    let group = at * FLAGS + left.trailing_zeros() as usize;
                    take(group, &mut is_used[group]);
                    left &= left - 1;
                }
            }
        } else {
            for (group, flags) in is_used[..groups].iter_mut().enumerate() {
                take(group, flags);
            }
        }
        for (column, value) in columns[..found].iter().zip(values) {
            // SAFETY: there is room for these columns.
            let sum = unsafe { self.sums.get_unchecked_mut((column - first) as usize) };
            *value = std::mem::replace(sum, -V::default());
        }
        found
    }
}
