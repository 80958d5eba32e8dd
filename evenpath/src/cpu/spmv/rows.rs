//! The rows of one tile.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use evenpath_simt::ScalarType;

use super::Tile;
use super::instructions::Instructions;
#[cfg(target_arch = "x86_64")]
use super::kernel::{FourRows, Kernel};
use super::portable;
#[cfg(target_arch = "x86_64")]
use super::x86::{self, Avx2, Lanes};
use crate::{CsrView, Offset, Value};

/// The operands that all tiles share. Every column is below the length of x.
pub(super) struct Operands<'a, V, O> {
    row_ends: &'a [O],
    columns: &'a [u32],
    values: &'a [V],
    pub(super) alpha: V,
    x: &'a [V],
    beta: V,
}

impl<'a, V: Value, O: Offset> Operands<'a, V, O> {
    /// For x with one element per column.
    pub(super) fn new(matrix: CsrView<'a, V, O>, alpha: V, x: &'a [V], beta: V) -> Self {
        assert_eq!(x.len(), matrix.cols(), "shapes are checked by the caller");
        let row_ends = &matrix.row_offsets()[1..];
        Self { row_ends, columns: matrix.column_indices(), values: matrix.values(), alpha, x, beta }
    }

    /// Computes the rows that end in the tile, and returns its partial sum of the row after them. The machine must have the
    /// instructions.
    pub(super) fn run_tile(&self, tile: &Tile, instructions: Instructions, finished: &mut [V]) -> Option<V> {
        match instructions {
            Instructions::Portable => self.run_rows(tile, finished, |range| {
                // SAFETY: columns are below the length of x.
                unsafe { portable::sum(&self.columns[range.clone()], &self.values[range], self.x) }
            }),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => {
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
            // SAFETY: the machine has the instructions, and x is no longer than `i32::MAX`.
            #[cfg(target_arch = "x86_64")]
            Instructions::Gathers => unsafe { self.run_tile_gathers(tile, finished) },
        }
    }

    /// The operands, whose type is W.
    #[cfg(target_arch = "x86_64")]
    fn cast<W: Value>(&self) -> Operands<'a, W, O> {
        let &Self { row_ends, columns, values, alpha, x, beta } = self;
        let (values, x) = (bytemuck::cast_slice(values), bytemuck::cast_slice(x));
        Operands { row_ends, columns, values, alpha: bytemuck::cast(alpha), x, beta: bytemuck::cast(beta) }
    }

    /// # Safety
    /// The machine has AVX2, FMA, and AVX-512 F and VL, and x is no longer than `i32::MAX`.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,avx512f,avx512vl")]
    unsafe fn run_tile_gathers(&self, tile: &Tile, finished: &mut [V]) -> Option<V> {
        self.run_rows(tile, finished, |range| {
            // SAFETY: guaranteed by the caller; there is one value per column, and columns are below the length of x.
            unsafe { x86::sum_by_gathers(&self.columns[range.clone()], &self.values[range], self.x) }
        })
    }

    // Inlined into the function that enables the instructions, so that `sum` is compiled with them.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn run_rows(&self, tile: &Tile, finished: &mut [V], sum: impl Fn(Range<usize>) -> V) -> Option<V> {
        let mut start = tile.path.start.nonzero;
        let row_ends = &self.row_ends[tile.path.start.row..tile.path.end.row];
        for (y, end) in finished.iter_mut().zip(row_ends) {
            let end = end.to_usize();
            self.update(y, sum(start..end));
            start = end;
        }
        let rest = start..tile.path.end.nonzero;
        (!rest.is_empty()).then(|| sum(rest))
    }

    #[inline]
    fn update(&self, y: &mut V, sum: V) {
        let product = self.alpha * sum;
        *y = if self.beta == V::ZERO { product } else { product + self.beta * *y };
    }
}

#[cfg(target_arch = "x86_64")]
impl<V: Lanes, O: Offset> Operands<'_, V, O> {
    /// # Safety
    /// The machine has AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn run_tile_avx2(&self, tile: &Tile, finished: &mut [V]) -> Option<V> {
        let rows = Avx2 { columns: self.columns, values: self.values, x: self.x };
        // SAFETY: guaranteed by the caller; ranges are those of rows, and columns are below the length of x.
        unsafe {
            match tile.kernel {
                Kernel::Rows => self.run_rows(tile, finished, |range| rows.sum::<false>(range)),
                Kernel::Runs => self.run_rows(tile, finished, |range| rows.sum::<true>(range)),
                Kernel::ShortRows => self.run_short_rows(&rows, tile, finished),
            }
        }
    }

    /// # Safety
    /// The machine has AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn run_short_rows(&self, rows: &Avx2<'_, V>, tile: &Tile, finished: &mut [V]) -> Option<V> {
        let mut start = tile.path.start.nonzero;
        let row_ends = &self.row_ends[tile.path.start.row..tile.path.end.row];
        let (fours, rest) = finished.as_chunks_mut::<4>();
        let (end_fours, end_rest) = row_ends.as_chunks::<4>();
        for (y, ends) in fours.iter_mut().zip(end_fours) {
            let four = FourRows { start, ends: ends.map(O::to_usize) };
            // SAFETY: guaranteed by the caller; ranges are those of rows, and columns are below the length of x.
            let sums = unsafe {
                if four.are_short() {
                    rows.short_sums(four)
                } else {
                    let [a, b, c, d] = four.ranges();
                    [rows.sum::<false>(a), rows.sum::<false>(b), rows.sum::<false>(c), rows.sum::<false>(d)]
                }
            };
            for (y, sum) in y.iter_mut().zip(sums) {
                self.update(y, sum);
            }
            start = four.ends[3];
        }
        for (y, end) in rest.iter_mut().zip(end_rest) {
            let end = end.to_usize();
            // SAFETY: as above.
            self.update(y, unsafe { rows.sum::<false>(start..end) });
            start = end;
        }
        let carry = start..tile.path.end.nonzero;
        // SAFETY: as above.
        (!carry.is_empty()).then(|| unsafe { rows.sum::<false>(carry) })
    }
}
