//! Rows of C, with the vector instructions that the processor has.

use std::ops::Range;

use evenpath_simt::{Element, WidenTo};

use super::by_rows::ByRows;
use super::dense::{Dense, DenseRowsMut};
use super::instructions::SpmmInstructions;
use super::sums::{PortableSums, RowOfA, SumInstructions};
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2Sums, Avx512Sums};
use crate::{Compute, CsrView, Offset, Scalar, Storage};

/// Number of columns of C that are summed before C is updated.
const COLUMNS: usize = 128;

/// Operands of a product.
pub(super) struct CpuSpmmOperands<'a, S: Storage, T: Storage, O> {
    pub(super) matrix: CsrView<'a, S, O>,
    pub(super) alpha: Compute<T>,
    pub(super) b: &'a ByRows<'a, T>,
    pub(super) beta: Compute<T>,
    pub(super) columns: usize,
}

impl<S: Storage + WidenTo<Compute<T>>, T: Storage, O: Offset> CpuSpmmOperands<'_, S, T, O> {
    /// Computes a block of rows. The machine must have the instructions.
    pub(super) fn compute(
        &self,
        block: Range<usize>,
        c_rows: DenseRowsMut<'_, T>,
        instructions: SpmmInstructions,
    ) {
        match instructions {
            // SAFETY: every machine has the instructions.
            SpmmInstructions::Portable => unsafe { self.compute_with::<PortableSums>(block, c_rows) },
            // SAFETY: the machine has the instructions.
            #[cfg(target_arch = "x86_64")]
            SpmmInstructions::Avx2 => unsafe { self.compute_avx2(block, c_rows) },
            // SAFETY: the machine has the instructions.
            #[cfg(target_arch = "x86_64")]
            SpmmInstructions::Avx512 => unsafe { self.compute_avx512(block, c_rows) },
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn compute_avx2(&self, block: Range<usize>, c_rows: DenseRowsMut<'_, T>) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.compute_with::<Avx2Sums>(block, c_rows) };
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c,avx512f")]
    unsafe fn compute_avx512(&self, block: Range<usize>, c_rows: DenseRowsMut<'_, T>) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.compute_with::<Avx512Sums>(block, c_rows) };
    }

    /// # Safety
    /// The machine has the instructions.
    // Inlined into the function that enables the instructions, as is everything that it calls.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn compute_with<I: SumInstructions>(&self, block: Range<usize>, mut c_rows: DenseRowsMut<'_, T>) {
        let mut products = [Compute::<T>::ZERO; COLUMNS];
        for (index, row) in block.enumerate() {
            let range = self.matrix.range(row);
            let row = RowOfA {
                columns: &self.matrix.column_indices()[range.clone()],
                values: &self.matrix.values()[range],
            };
            for first in (0..self.columns).step_by(COLUMNS) {
                let own = first..self.columns.min(first + COLUMNS);
                match &mut c_rows {
                    DenseRowsMut::Rows(values, leading_dimension) => {
                        let c = &mut values[index * *leading_dimension + first..][..own.len()];
                        if self.beta == Compute::<T>::ZERO && T::TYPE == Compute::<T>::TYPE {
                            // SAFETY: guaranteed by the caller.
                            unsafe { self.products::<I>(row, first, bytemuck::cast_slice_mut(c)) };
                        } else {
                            let products = &mut products[..own.len()];
                            // SAFETY: guaranteed by the caller.
                            unsafe { self.products::<I>(row, first, products) };
                            if self.beta == Compute::<T>::ZERO {
                                // SAFETY: guaranteed by the caller.
                                unsafe { I::narrow_all(products, c) };
                                continue;
                            }
                            for (c, &mut product) in c.iter_mut().zip(products) {
                                // SAFETY: guaranteed by the caller.
                                unsafe { self.update::<I>(c, product) };
                            }
                        }
                    }
                    DenseRowsMut::Columns(columns) => {
                        let products = &mut products[..own.len()];
                        // SAFETY: guaranteed by the caller.
                        unsafe { self.products::<I>(row, first, products) };
                        let c = columns[own].iter_mut().map(|column| &mut column[index]);
                        // SAFETY: guaranteed by the caller.
                        c.zip(products).for_each(|(c, product)| unsafe { self.update::<I>(c, *product) });
                    }
                }
            }
        }
    }

    /// Computes alpha times the products of a row with columns of B starting at `first`.
    ///
    /// # Safety
    /// The machine has the instructions.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn products<I: SumInstructions>(
        &self,
        row: RowOfA<'_, S>,
        first: usize,
        products: &mut [Compute<T>],
    ) {
        match self.b {
            ByRows::Rows(b, stride) => {
                // B may have no rows.
                let b = b.get(first..).unwrap_or_default();
                // SAFETY: column indices are less than the rows of B, and each of these has all columns.
                unsafe { I::sum(row, self.alpha, b, *stride, products) };
            }
            ByRows::Strided(b) => {
                // SAFETY: guaranteed by the caller.
                unsafe { sum_strided::<I, S, T>(row, *b, first, products) };
                for product in products {
                    *product = self.alpha * *product;
                }
            }
        }
    }

    /// # Safety
    /// The machine has the instructions.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn update<I: SumInstructions>(&self, c: &mut T, product: Compute<T>) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let is_zero = self.beta == Compute::<T>::ZERO;
            let new = if is_zero { product } else { product + self.beta * I::widen::<T, Compute<T>>(*c) };
            *c = I::narrow(new);
        }
    }
}

/// The same sums, of columns starting at `first`, for a B with arbitrary strides.
///
/// # Safety
/// The machine has the instructions.
#[allow(clippy::inline_always)]
#[inline(always)]
unsafe fn sum_strided<I: SumInstructions, S: Storage + WidenTo<Compute<T>>, T: Storage>(
    row: RowOfA<'_, S>,
    b: Dense<'_, T>,
    first: usize,
    sums: &mut [Compute<T>],
) {
    let (row_stride, column_stride) = b.strides;
    sums.fill(Compute::<T>::ZERO);
    for (&column, value) in row.columns.iter().zip(row.values) {
        // SAFETY: guaranteed by the caller.
        let value: Compute<T> = unsafe { I::widen(*value) };
        let start = column as usize * row_stride + first * column_stride;
        for (at, sum) in sums.iter_mut().enumerate() {
            // SAFETY: guaranteed by the caller.
            let b: Compute<T> = unsafe { I::widen(b.values[start + at * column_stride]) };
            *sum = if I::IS_FUSED { Scalar::mul_add(value, b, *sum) } else { *sum + value * b };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Kind, generate};
    use crate::{Csr, RealStorage, f16};

    /// Computes C by rows, with each of the machine's instructions.
    fn products<S: RealStorage>(
        a: &Csr<S>,
        b: &ByRows<'_, S>,
        columns: usize,
    ) -> Vec<(SpmmInstructions, Vec<S>)>
    where
        Compute<S>: Storage<Computed = Compute<S>>,
    {
        let rows = CpuSpmmOperands {
            matrix: a.view(),
            alpha: Compute::<S>::ONE,
            b,
            beta: Compute::<S>::ZERO,
            columns,
        };
        let with = |instructions| {
            let mut c = vec![S::from_f64(f64::NAN); a.nrows() * columns];
            rows.compute(0..a.nrows(), DenseRowsMut::Rows(&mut c, columns), instructions);
            (instructions, c)
        };
        SpmmInstructions::of_machine().into_iter().map(with).collect()
    }

    fn check<S: RealStorage>(columns: usize) {
        let a: Csr<f64> = generate(Kind::PowerLaw { rows: 300 }, 2).expect("a matrix");
        let a = a.into_values::<S>();
        let values: Vec<S> =
            (0..a.ncols() * columns).map(|at| S::from_f64((at as f64 * 0.618).fract() - 0.5)).collect();
        let b = Dense { values: &values[..], strides: (columns, 1) };
        let by_rows = products(&a, &ByRows::new(b, a.ncols(), columns, a.nnz()), columns);
        let strided = products(&a, &ByRows::Strided(b), columns);
        assert!(by_rows == strided, "the way to B changes nothing, {columns} columns of {}", S::NAME);
        for (instructions, c) in by_rows {
            for (row, column) in (0..a.nrows()).flat_map(|row| (0..columns).map(move |column| (row, column)))
            {
                let (mut sum, mut size) = (0.0, 1.0);
                for at in a.view().range(row) {
                    let b = values[a.column_indices()[at] as usize * columns + column];
                    let product = a.values()[at].to_f64() * b.to_f64();
                    sum += product;
                    size += f64::abs(product);
                }
                let found = c[row * columns + column].to_f64();
                let unit = if S::NAME == "f64" {
                    1e-14
                } else if S::NAME == "f32" {
                    1e-5
                } else {
                    1e-3
                };
                assert!(
                    (found - sum).abs() <= unit * size,
                    "{instructions:?}, {row}, {column}: {found}, {sum}"
                );
            }
        }
    }

    #[test]
    fn all_instructions_give_the_sums() {
        for columns in [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 127, 128, 129, 300] {
            check::<f64>(columns);
            check::<f32>(columns);
        }
        check::<f16>(5);
        check::<f16>(40);
    }
}
