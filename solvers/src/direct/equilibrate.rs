//! Scales of rows and columns, so that pivots do not depend on units.

use super::value::DirectValue;

/// Powers of two, which change no digit: after the scales of its row and column are multiplied to each element, the largest of a column
/// is between ½ and 1, and no element is larger.
pub(super) struct Scales {
    rows: Vec<f64>,
    columns: Vec<f64>,
}

impl Scales {
    /// Scales of the rows, then of the columns of a square matrix, and its scaled values.
    pub(super) fn new<V: DirectValue>(offsets: &[usize], columns: &[usize], values: &[V]) -> (Self, Vec<V>) {
        let entries = || {
            offsets.windows(2).enumerate().flat_map(|(row, ends)| {
                (ends[0]..ends[1]).map(move |at| (row, columns[at], values[at].to_f64()))
            })
        };
        let largest = |of: &mut dyn Iterator<Item = (usize, f64)>| {
            let mut largest = vec![0.0_f64; offsets.len() - 1];
            of.for_each(|(at, value)| largest[at] = largest[at].max(value.abs()));
            largest.into_iter().map(reciprocal).collect::<Vec<f64>>()
        };
        let rows = largest(&mut entries().map(|(row, _, value)| (row, value)));
        let columns = largest(&mut entries().map(|(row, column, value)| (column, value * rows[row])));
        let scaled = entries().map(|(row, column, value)| V::from_f64(value * rows[row] * columns[column]));
        let scaled = scaled.collect();
        (Self { rows, columns }, scaled)
    }

    /// Scales a right-hand side.
    pub(super) fn scale_rows<V: DirectValue>(&self, b: &mut [V]) {
        multiply(b, &self.rows);
    }

    /// Scales a solution back.
    pub(super) fn scale_columns<V: DirectValue>(&self, x: &mut [V]) {
        multiply(x, &self.columns);
    }
}

fn multiply<V: DirectValue>(elements: &mut [V], scales: &[f64]) {
    for (element, scale) in elements.iter_mut().zip(scales) {
        *element = V::from_f64(element.to_f64() * scale);
    }
}

/// The power of two that brings a number between ½ and 1, within the exponents of normal numbers; 1 for zero.
fn reciprocal(largest: f64) -> f64 {
    if largest == 0.0 { 1.0 } else { (-(largest.log2().floor() + 1.0)).clamp(-1000.0, 1000.0).exp2() }
}
