//! Sums of the products of a row of A with columns of B.

use evenpath_simt::WidenTo;

use crate::{Compute, Scalar, Storage};

/// A row of A.
#[derive(Clone, Copy)]
pub(super) struct RowOfA<'a, S> {
    pub(super) columns: &'a [u32],
    pub(super) values: &'a [S],
}

/// Instructions that sum products.
pub(super) trait SumInstructions {
    /// True if a product and a sum are rounded together.
    const IS_FUSED: bool;

    /// Computes `alpha` times the products of a row of A with as many columns of B as there are sums. B
    /// starts at the first of these columns, and its rows are `stride` elements apart.
    ///
    /// # Safety
    /// The machine has the instructions. For each of the row's column indices, B has that many strides and the columns.
    unsafe fn sum<S: WidenTo<C>, C: Scalar>(
        row: RowOfA<'_, S>,
        alpha: C,
        b: &[C],
        stride: usize,
        sums: &mut [C],
    );

    /// Converts a stored value to the type of arithmetic; exact.
    ///
    /// # Safety
    /// The machine has the instructions.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn widen<S: WidenTo<C>, C: Scalar>(value: S) -> C {
        value.widen_to()
    }

    /// Rounds to a stored value.
    ///
    /// # Safety
    /// The machine has the instructions.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn narrow<T: Storage>(value: Compute<T>) -> T {
        T::narrow(value)
    }

    /// [Widens](Self::widen) the values of a slice to another of the same length.
    ///
    /// # Safety
    /// The machine has the instructions.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn widen_all<T: Storage>(values: &[T], wide: &mut [Compute<T>]) {
        for (wide, value) in wide.iter_mut().zip(values) {
            *wide = value.widen();
        }
    }

    /// [Rounds](Self::narrow) the values of a slice to another of the same length.
    ///
    /// # Safety
    /// The machine has the instructions.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn narrow_all<T: Storage>(wide: &[Compute<T>], values: &mut [T]) {
        for (value, &wide) in values.iter_mut().zip(wide) {
            *value = T::narrow(wide);
        }
    }
}

/// Instructions that every machine has.
pub(super) struct PortableSums;

impl SumInstructions for PortableSums {
    const IS_FUSED: bool = false;

    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn sum<S: WidenTo<C>, C: Scalar>(
        row: RowOfA<'_, S>,
        alpha: C,
        b: &[C],
        stride: usize,
        sums: &mut [C],
    ) {
        sums.fill(C::ZERO);
        for (&column, value) in row.columns.iter().zip(row.values) {
            let value = value.widen_to();
            let b = &b[column as usize * stride..][..sums.len()];
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum += value * *b;
            }
        }
        for sum in sums {
            *sum = alpha * *sum;
        }
    }
}
