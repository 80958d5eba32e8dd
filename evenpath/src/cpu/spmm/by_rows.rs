use std::borrow::Cow;

use evenpath_simt::Element;

use super::dense::Dense;
use super::instructions::SpmmInstructions;
use super::sums::{PortableSums, SumInstructions};
#[cfg(target_arch = "x86_64")]
use super::x86::Avx2Sums;
use crate::{Compute, Storage, parallel};

/// Minimum number of nonzeros of A per row of B for which B is copied: copying a row costs about as much as
/// one nonzero.
const LEAST_USES: usize = 2;

/// Number of rows of B that are copied together: several cache lines of a column.
const ROWS: usize = 64;

/// B in the layout of vector instructions, if that pays off.
pub(in crate::cpu) enum ByRows<'a, T: Storage> {
    /// Rows of the type of arithmetic, and the distance between them.
    Rows(Cow<'a, [Compute<T>]>, usize),
    /// The original layout.
    Strided(Dense<'a, T>),
}

impl<'a, T: Storage> ByRows<'a, T> {
    /// Prepares a B of `rows` rows and `columns` columns, at least one, for an A of `nonzeros` nonzeros. If
    /// there is too little memory, B is not copied.
    pub(in crate::cpu) fn new(b: Dense<'a, T>, rows: usize, columns: usize, nonzeros: usize) -> Self {
        let (row_stride, column_stride) = b.strides;
        if (column_stride == 1 || columns == 1) && T::TYPE == Compute::<T>::TYPE {
            return Self::Rows(Cow::Borrowed(bytemuck::cast_slice(b.values)), row_stride);
        }
        let mut copy = Vec::new();
        if nonzeros / LEAST_USES < rows || copy.try_reserve_exact(rows * columns).is_err() {
            return Self::Strided(b);
        }
        copy.resize(rows * columns, Compute::<T>::ZERO);
        let instructions = SpmmInstructions::fastest();
        parallel::chunks_mut(&mut copy, ROWS * columns, |chunk, copy| match instructions {
            // SAFETY: every machine has the instructions.
            SpmmInstructions::Portable => unsafe {
                copy_rows::<PortableSums, T>(b, chunk * ROWS, columns, copy);
            },
            // SAFETY: the machine has the instructions.
            #[cfg(target_arch = "x86_64")]
            _ => unsafe { copy_rows_avx2(b, chunk * ROWS, columns, copy) },
        });
        Self::Rows(Cow::Owned(copy), columns)
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn copy_rows_avx2<T: Storage>(b: Dense<'_, T>, first: usize, columns: usize, copy: &mut [Compute<T>]) {
    // SAFETY: guaranteed by the caller.
    unsafe { copy_rows::<Avx2Sums, T>(b, first, columns, copy) };
}

/// Copies rows of B, starting at row `first`, until the copy is full.
///
/// # Safety
/// The machine has the instructions.
#[allow(clippy::inline_always)]
#[inline(always)]
unsafe fn copy_rows<I: SumInstructions, T: Storage>(
    b: Dense<'_, T>,
    first: usize,
    columns: usize,
    copy: &mut [Compute<T>],
) {
    // SAFETY: guaranteed by the caller.
    let widen = |(copy, b): (&mut Compute<T>, &T)| *copy = unsafe { I::widen(*b) };
    let (row_stride, column_stride) = b.strides;
    if column_stride == 1 {
        for (row, copy) in copy.chunks_mut(columns).enumerate() {
            let b = &b.values[(first + row) * row_stride..][..columns];
            // SAFETY: guaranteed by the caller.
            unsafe { I::widen_all(b, copy) };
        }
        return;
    }
    for column in 0..columns {
        let b = b.values[first * row_stride + column * column_stride..].iter().step_by(row_stride);
        copy[column..].iter_mut().step_by(columns).zip(b).for_each(widen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::f16;

    #[test]
    fn copies_have_the_elements_of_any_layout() {
        let (rows, columns) = (150, 3);
        let element = |row: usize, column: usize| (row * columns + column) as f32;
        for strides in [(columns, 1), (columns + 2, 1), (1, rows), (1, rows + 5)] {
            let mut values = vec![f16::NAN; rows * strides.0 + columns * strides.1];
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                values[row * strides.0 + column * strides.1] = f16::from_f32(element(row, column));
            }
            let b = Dense { values: &values[..], strides };
            let ByRows::Rows(copy, stride) = ByRows::new(b, rows, columns, 2 * rows) else {
                panic!("there is memory")
            };
            assert_eq!((copy.len(), stride), (rows * columns, columns));
            assert!(
                (0..rows * columns)
                    .all(|at| copy[at].to_bits() == element(at / columns, at % columns).to_bits()),
                "{strides:?}"
            );
            assert!(matches!(ByRows::new(b, rows, columns, 2 * rows - 1), ByRows::Strided(_)));
        }
    }

    #[test]
    fn rows_of_the_right_type_are_not_copied() {
        let values = [1.0_f64; 40];
        let b = ByRows::new(Dense { values: &values, strides: (4, 1) }, 10, 3, 1000);
        assert!(matches!(b, ByRows::Rows(Cow::Borrowed(b), 4) if std::ptr::eq(b, &raw const values[..])));
    }
}
