//! The rows of one tile.

#[cfg(target_arch = "x86_64")]
mod even;
#[cfg(target_arch = "x86_64")]
mod grouped;

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use evenpath_simt::ScalarType;

use super::cut::CpuTile;
use super::instructions::SpmvInstructions;
#[cfg(target_arch = "x86_64")]
use super::kernel::{FourRows, RowsKernel};
use super::portable;
#[cfg(target_arch = "x86_64")]
use super::x86::{self, Avx2Rows, Lanes};
use crate::{CsrView, Offset, Value};

/// Number of rows for which elements of x are prefetched together.
#[cfg(target_arch = "x86_64")]
const FETCHED_ROWS: usize = 16;

/// Operands that all tiles share. Every column is below the length of x.
pub(super) struct CpuSpmvOperands<'a, V, O> {
    row_ends: &'a [O],
    columns: &'a [u32],
    values: &'a [V],
    pub(super) alpha: V,
    x: &'a [V],
    pub(super) beta: V,
}

impl<'a, V: Value, O: Offset> CpuSpmvOperands<'a, V, O> {
    /// Creates the operands for an x with one element per column.
    pub(super) fn new(matrix: CsrView<'a, V, O>, alpha: V, x: &'a [V], beta: V) -> Self {
        assert_eq!(x.len(), matrix.ncols(), "shapes are checked by the caller");
        let row_ends = &matrix.row_offsets()[1..];
        Self { row_ends, columns: matrix.column_indices(), values: matrix.values(), alpha, x, beta }
    }

    /// Computes the rows that end in the tile, and returns its partial sum of the row after them. The machine must have the
    /// instructions.
    pub(super) fn run_tile(
        &self,
        tile: &CpuTile,
        instructions: SpmvInstructions,
        finished: &mut [V],
    ) -> Option<V> {
        match instructions {
            // SAFETY: ranges are those of rows, and columns are below the length of x.
            SpmvInstructions::Portable => unsafe { self.run_rows(tile, finished, &PortableRows(self)) },
            // SAFETY: the machine has the instructions, and x is no longer than `i32::MAX`.
            #[cfg(target_arch = "x86_64")]
            SpmvInstructions::Gathers if tile.kernel.suits_gathers() => unsafe {
                self.run_tile_gathers(tile, finished)
            },
            #[cfg(target_arch = "x86_64")]
            SpmvInstructions::Avx2 | SpmvInstructions::Gathers => {
                // SAFETY: the machine has AVX2 and FMA.
                unsafe {
                    match V::TYPE {
                        ScalarType::F32 => self
                            .cast::<f32>()
                            .run_tile_avx2(tile, bytemuck::cast_slice_mut(finished))
                            .map(bytemuck::cast),
                        _ => self
                            .cast::<f64>()
                            .run_tile_avx2(tile, bytemuck::cast_slice_mut(finished))
                            .map(bytemuck::cast),
                    }
                }
            }
        }
    }

    /// Casts the operands to type W, which they already have.
    #[cfg(target_arch = "x86_64")]
    fn cast<W: Value>(&self) -> CpuSpmvOperands<'a, W, O> {
        let &Self { row_ends, columns, values, alpha, x, beta } = self;
        let (values, x) = (bytemuck::cast_slice(values), bytemuck::cast_slice(x));
        CpuSpmvOperands {
            row_ends,
            columns,
            values,
            alpha: bytemuck::cast(alpha),
            x,
            beta: bytemuck::cast(beta),
        }
    }

    /// # Safety
    /// The machine has AVX2, FMA, and AVX-512 F and VL, and x is no longer than `i32::MAX`.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,avx512f,avx512vl")]
    unsafe fn run_tile_gathers(&self, tile: &CpuTile, finished: &mut [V]) -> Option<V> {
        // SAFETY: guaranteed by the caller; ranges are those of rows, and columns are below the length of x.
        unsafe { self.run_rows(tile, finished, &GatheredRows(self)) }
    }

    /// # Safety
    /// The machine has the instructions of `sums`.
    // Inlined into the function that enables the instructions, so that sums are compiled with them.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn run_rows(&self, tile: &CpuTile, finished: &mut [V], sums: &impl RowSum<V>) -> Option<V> {
        let row_ends = &self.row_ends[tile.path.start.row..tile.path.end.row];
        // SAFETY: guaranteed by the caller; ranges are those of rows.
        unsafe {
            let start = self.sum_rows(tile.path.start.nonzero, row_ends, finished, sums);
            carry(tile, start, sums)
        }
    }

    /// Computes rows, the first of which starts at the nonzero `start`, and returns the start of the next.
    ///
    /// # Safety
    /// The machine has the instructions of `sums`, and the ranges are those of rows.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn sum_rows(&self, mut start: usize, ends: &[O], y: &mut [V], sums: &impl RowSum<V>) -> usize {
        for (y, end) in y.iter_mut().zip(ends) {
            let end = end.to_usize();
            // SAFETY: guaranteed by the caller.
            self.update(y, unsafe { sums.sum(start..end) });
            start = end;
        }
        start
    }

    #[inline]
    fn update(&self, y: &mut V, sum: V) {
        let product = self.alpha * sum;
        *y = if self.beta == V::ZERO { product } else { product + self.beta * *y };
    }
}

/// Sums the tile's part of the row after those that end in it, which starts at the nonzero `start`.
///
/// # Safety
/// The machine has the instructions of `sums`, and the range is within the arrays.
#[allow(clippy::inline_always)]
#[inline(always)]
unsafe fn carry<V>(tile: &CpuTile, start: usize, sums: &impl RowSum<V>) -> Option<V> {
    let rest = start..tile.path.end.nonzero;
    if rest.is_empty() {
        return None;
    }
    // SAFETY: guaranteed by the caller. Not in a closure, which would be compiled without the instructions.
    Some(unsafe { sums.sum(rest) })
}

/// Sums the products of a row. A trait rather than a closure, because closures are not always inlined.
trait RowSum<V> {
    /// Sums the products of a range of nonzeros.
    ///
    /// # Safety
    /// The machine has the instructions, the range is within the arrays, and every column is below the length of x.
    unsafe fn sum(&self, range: Range<usize>) -> V;
}

/// Uses the instructions of every machine.
struct PortableRows<'o, 'a, V, O>(&'o CpuSpmvOperands<'a, V, O>);

impl<V: Value, O> RowSum<V> for PortableRows<'_, '_, V, O> {
    #[inline]
    unsafe fn sum(&self, range: Range<usize>) -> V {
        let CpuSpmvOperands { columns, values, x, .. } = self.0;
        // SAFETY: guaranteed by the caller.
        unsafe { portable::sum(&columns[range.clone()], &values[range], x) }
    }
}

/// Uses gathers.
#[cfg(target_arch = "x86_64")]
struct GatheredRows<'o, 'a, V, O>(&'o CpuSpmvOperands<'a, V, O>);

#[cfg(target_arch = "x86_64")]
impl<V: Value, O> RowSum<V> for GatheredRows<'_, '_, V, O> {
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn sum(&self, range: Range<usize>) -> V {
        let CpuSpmvOperands { columns, values, x, .. } = self.0;
        // SAFETY: guaranteed by the caller.
        unsafe { x86::sum_by_gathers(&columns[range.clone()], &values[range], x) }
    }
}

/// Uses AVX2.
#[cfg(target_arch = "x86_64")]
struct WithoutRuns<'a, V>(Avx2Rows<'a, V>);

#[cfg(target_arch = "x86_64")]
impl<V: Lanes> RowSum<V> for WithoutRuns<'_, V> {
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn sum(&self, range: Range<usize>) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.sum::<false>(range) }
    }
}

/// Uses AVX2, and searches consecutive columns.
#[cfg(target_arch = "x86_64")]
struct WithRuns<'a, V>(Avx2Rows<'a, V>);

#[cfg(target_arch = "x86_64")]
impl<V: Lanes> RowSum<V> for WithRuns<'_, V> {
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn sum(&self, range: Range<usize>) -> V {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.sum::<true>(range) }
    }
}

#[cfg(target_arch = "x86_64")]
impl<V: Lanes, O: Offset> CpuSpmvOperands<'_, V, O> {
    /// # Safety
    /// The machine has AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn run_tile_avx2(&self, tile: &CpuTile, finished: &mut [V]) -> Option<V> {
        let rows = Avx2Rows { columns: self.columns, values: self.values, x: self.x };
        // SAFETY: guaranteed by the caller; ranges are those of rows, and columns are below the length of x.
        unsafe {
            match &tile.kernel {
                RowsKernel::Rows => self.run_rows(tile, finished, &WithoutRuns(rows)),
                RowsKernel::Runs => self.run_rows(tile, finished, &WithRuns(rows)),
                RowsKernel::Scattered => self.run_scattered_rows(&WithoutRuns(rows), tile, finished),
                RowsKernel::EvenRows(even) => self.run_even_rows(&WithoutRuns(rows), tile, even, finished),
                RowsKernel::Singles => self.run_singles(&WithoutRuns(rows), tile, finished),
                RowsKernel::ShortRows => self.run_short_rows(&WithoutRuns(rows), tile, finished),
                RowsKernel::Groups(groups) => self.run_groups(&WithoutRuns(rows), tile, groups, finished),
            }
        }
    }

    /// # Safety
    /// The machine has AVX2 and FMA.
    #[inline(never)]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn run_scattered_rows(
        &self,
        rows: &WithoutRuns<'_, V>,
        tile: &CpuTile,
        finished: &mut [V],
    ) -> Option<V> {
        let row_ends = &self.row_ends[tile.path.start.row..tile.path.end.row];
        // SAFETY: guaranteed by the caller.
        unsafe {
            let start = self.sum_scattered_rows(tile.path.start.nonzero, row_ends, finished, rows);
            carry(tile, start, rows)
        }
    }

    /// Sums consecutive rows, with elements of x prefetched, and returns the nonzero after them.
    ///
    /// # Safety
    /// The machine has AVX2 and FMA; the rows are those of the matrix.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn sum_scattered_rows(
        &self,
        mut start: usize,
        row_ends: &[O],
        y: &mut [V],
        rows: &WithoutRuns<'_, V>,
    ) -> usize {
        for (y, ends) in y.chunks_mut(FETCHED_ROWS).zip(row_ends.chunks(FETCHED_ROWS)) {
            rows.0.prefetch_x(&self.columns[start..], ends[ends.len() - 1].to_usize() - start);
            // SAFETY: guaranteed by the caller; ranges are those of rows, and columns are below the length of x.
            start = unsafe { self.sum_rows(start, ends, y, rows) };
        }
        start
    }

    /// # Safety
    /// The machine has AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn run_short_rows(
        &self,
        rows: &WithoutRuns<'_, V>,
        tile: &CpuTile,
        finished: &mut [V],
    ) -> Option<V> {
        let mut start = tile.path.start.nonzero;
        let row_ends = &self.row_ends[tile.path.start.row..tile.path.end.row];
        let (fours, rest) = finished.as_chunks_mut::<4>();
        let (end_fours, end_rest) = row_ends.as_chunks::<4>();
        for (y, ends) in fours.iter_mut().zip(end_fours) {
            let four = FourRows::new(start, ends);
            // SAFETY: guaranteed by the caller; ranges are those of rows, and columns are below the length of x.
            let sums = unsafe {
                if four.are_short() {
                    rows.0.short_sums(four)
                } else {
                    let [a, b, c, d] = four.ranges();
                    [rows.sum(a), rows.sum(b), rows.sum(c), rows.sum(d)]
                }
            };
            self.update_all(y, &sums);
            start = four.end;
        }
        // SAFETY: as above.
        unsafe {
            start = self.sum_rows(start, end_rest, rest, rows);
            carry(tile, start, rows)
        }
    }

    #[inline]
    fn update_all(&self, y: &mut [V], sums: &[V]) {
        for (y, sum) in y.iter_mut().zip(sums) {
            self.update(y, *sum);
        }
    }
}
