use crate::{Value, parallel};

/// Replaces square blocks of `size` rows, each row by row, by their inverses, by the operations of the kernel. `rows` are those of all
/// blocks; rows of the last one after them are those of the identity, and become zero. Returns the first row without a pivot.
pub(crate) fn invert_blocks<V: Value>(blocks: &mut [V], size: usize, rows: usize) -> Option<usize> {
    parallel::chunks_mut_until(blocks, size * size, |block, values| {
        let inside = rows.saturating_sub(block * size).min(size);
        set_outside(values, (size, inside), V::ONE);
        if let Some(row) = (Block { values, size }).invert() {
            return Some(block * size + row);
        }
        set_outside(values, (size, inside), V::ZERO);
        None
    })
}

/// Sets the entries outside the first `inside` rows and columns to zero, and the diagonal there to a value.
fn set_outside<V: Value>(values: &mut [V], (size, inside): (usize, usize), diagonal: V) {
    for (row, values) in values.chunks_exact_mut(size).enumerate().filter(|_| inside < size) {
        let first = if row < inside { inside } else { 0 };
        values[first..].fill(V::ZERO);
        if row >= inside {
            values[row] = diagonal;
        }
    }
}

/// A block.
struct Block<'a, V> {
    values: &'a mut [V],
    size: usize,
}

impl<V: Value> Block<'_, V> {
    /// Replaces the block by its inverse. Returns the first row without a pivot.
    fn invert(mut self) -> Option<usize> {
        let mut exchanged = Vec::with_capacity(self.size);
        for step in 0..self.size {
            let pivot_row = self.pivot_row(step);
            exchanged.push(pivot_row);
            self.exchange_rows(step, pivot_row);
            let has_pivot = self.at(step, step).abs() > V::ZERO;
            if !has_pivot {
                return Some(step);
            }
            self.eliminate(step);
        }
        for (column, other) in exchanged.into_iter().enumerate().rev() {
            (0..self.size)
                .for_each(|row| self.values.swap(row * self.size + column, row * self.size + other));
        }
        None
    }

    fn at(&self, row: usize, column: usize) -> V {
        self.values[row * self.size + column]
    }

    /// Returns the row of the largest magnitude in a column, from the diagonal on; of several the first.
    fn pivot_row(&self, step: usize) -> usize {
        let mut pivot_row = step;
        for row in step + 1..self.size {
            if self.at(row, step).abs() > self.at(pivot_row, step).abs() {
                pivot_row = row;
            }
        }
        pivot_row
    }

    fn exchange_rows(&mut self, row: usize, other: usize) {
        (0..self.size)
            .for_each(|column| self.values.swap(row * self.size + column, other * self.size + column));
    }

    /// Subtracts multiples of the pivot's row from all others, and replaces its column by that of the inverse.
    fn eliminate(&mut self, step: usize) {
        let (size, pivot) = (self.size, self.at(step, step));
        for column in (0..size).filter(|&column| column != step) {
            self.values[step * size + column] = self.at(step, column) / pivot;
        }
        for row in (0..size).filter(|&row| row != step) {
            let own = self.at(row, step);
            for column in (0..size).filter(|&column| column != step) {
                self.values[row * size + column] = self.at(row, column) - own * self.at(step, column);
            }
            self.values[row * size + step] = (V::ZERO - own) / pivot;
        }
        self.values[step * size + step] = V::ONE / pivot;
    }
}
