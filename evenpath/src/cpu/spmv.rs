use crate::{CsrView, Offset, Value};

pub(crate) fn spmv_tiles(rows: usize, nonzeros: usize) -> usize {
    (rows + nonzeros).div_ceil(4096)
}

pub(crate) fn spmv<V: Value, O: Offset>(matrix: CsrView<'_, V, O>, alpha: V, x: &[V], beta: V, y: &mut [V]) {
    for (row, y) in matrix.iter_rows().zip(y) {
        let mut sum = V::ZERO;
        for (column, value) in row.iter() {
            sum += value * x[column as usize];
        }
        *y = if beta == V::ZERO { alpha * sum } else { beta * *y + alpha * sum };
    }
}
