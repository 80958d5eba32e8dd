//! y = αAx + βy for blocks of a size that the compiler does not know.

use evenpath_simt::{device, thread, Float};

use super::lanes::sum_lanes;
use super::spmv::BsrSpmv;
use crate::pieces::Span;
use crate::Offset;

/// The lane's place in the rows of a block that a warp sums at once.
#[derive(Clone, Copy)]
struct Place {
    row: u32,
    column: u32,
}

impl<V: Float, O: Offset> BsrSpmv<V, O> {
    /// Multiplies by x: a warp for each piece and block row. It sums as many rows of the blocks at once as it has lanes for.
    #[device]
    pub(super) fn multiply_any<const BLOCK: usize, const ITEMS: usize>(self) {
        let size = self.matrix.block_size.max(1);
        let span = self.span(thread::global_warp::<BLOCK>());
        let rows_at_once = thread::WARP_SIZE / size;
        let row = thread::lane() / size;
        let column = thread::lane() - row * size;
        let mut first = 0;
        while first < size {
            let place = Place { row: first + row, column };
            let is_inside = row < rows_at_once && place.row < size;
            let sum = if is_inside { self.sum_any::<ITEMS>(span, place) } else { V::ZERO };
            let sum = sum_lanes(sum, size, 1);
            if is_inside && column == 0 {
                self.store(span, size as usize, place.row as usize, sum);
            }
            first += rows_at_once;
        }
    }

    /// Returns the lane's sum over the blocks of the span, `ITEMS` at once.
    #[device]
    fn sum_any<const ITEMS: usize>(self, span: Span, place: Place) -> V {
        let size = self.matrix.block_size as usize;
        let columns = self.matrix.column_indices.skip(span.begin);
        let values = self.matrix.values.skip(span.begin * size * size);
        let in_block = place.row as usize * size + place.column as usize;
        let mut sum = V::ZERO;
        let mut begin = 0;
        while begin < span.len {
            let is_block = |item: usize| begin + (item as u32) < span.len;
            let mut loaded = [V::ZERO; ITEMS];
            let mut elements = [V::ZERO; ITEMS];
            for item in 0..ITEMS {
                let block = begin as usize + item;
                loaded[item] = values.load_if(block * size * size + in_block, is_block(item));
            }
            for item in 0..ITEMS {
                let column = columns.load_if(begin as usize + item, is_block(item));
                elements[item] = self.x.load(column as usize * size + place.column as usize);
            }
            for item in 0..ITEMS {
                if is_block(item) {
                    sum = loaded[item].fma(elements[item], sum);
                }
            }
            begin += ITEMS as u32;
        }
        sum
    }
}
