use std::ops::Range;

use evenpath::ell::PaddingLimit;
use evenpath::hyb::HybWidth;
use evenpath::{Csr, Offset, RealStorage, Value};
use proptest::prelude::*;

/// No limit on padding.
pub const UNLIMITED: PaddingLimit = PaddingLimit::Bytes(u64::MAX);

/// Ways to split a matrix into a HYB.
pub fn hyb_widths() -> [HybWidth; 4] {
    [HybWidth::Typical, HybWidth::Slots(0), HybWidth::Slots(3), HybWidth::Slots(usize::MAX)]
}

/// A matrix with rows of the given lengths: columns are unsorted, some duplicated, and some values are zero.
///
/// # Panics
///
/// If there are nonzeros but no columns, or more nonzeros than `O` can count.
pub fn with_row_lengths<V: Value, O: Offset>(cols: usize, lengths: &[usize]) -> Csr<V, O> {
    let mut offsets = vec![O::ZERO];
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for (row, &len) in lengths.iter().enumerate() {
        columns.extend((0..len).map(|i| ((row * 17 + i * 7919) % cols) as u32));
        values.extend((0..len).map(|i| V::from_f64(((row * 31 + i * 17) % 101) as f64 / 50.0 - 1.0)));
        offsets.push(O::try_from_usize(columns.len()).expect("few nonzeros"));
    }
    Csr::try_new(lengths.len(), cols, offsets, columns, values).expect("a valid matrix")
}

/// The matrix of [`with_row_lengths`] in another type.
///
/// # Panics
///
/// The same as for [`with_row_lengths`].
pub fn stored_with_row_lengths<V: RealStorage, O: Offset>(cols: usize, lengths: &[usize]) -> Csr<V, O> {
    with_row_lengths::<f64, O>(cols, lengths).into_values()
}

/// Columns and values of each row, in their order.
pub fn rows_of<V: RealStorage, O: Offset>(matrix: &Csr<V, O>) -> Vec<Vec<(u32, f64)>> {
    matrix
        .iter_rows()
        .map(|row| row.iter().map(|(column, value)| (column, value.to_f64())).collect())
        .collect()
}

/// Numbers of columns and row lengths that are edge cases for formats and kernels.
pub fn odd_row_lengths() -> Vec<(usize, Vec<usize>)> {
    vec![
        (0, vec![]),
        (5, vec![]),
        (0, vec![0; 7]),
        (5, vec![0; 300]),
        (1, vec![1]),
        (4, vec![0, 3, 0, 0, 9, 1, 0]),
        (3000, vec![3000]),
        (1, vec![1; 600]),
        (700, vec![1, 700, 0, 2, 650]),
    ]
}

/// Up to `rows` rows of many lengths: mostly short, some empty, some with 200 nonzeros, some with up to `longest`.
pub fn row_lengths(longest: usize, rows: usize) -> impl Strategy<Value = Vec<usize>> {
    let length = prop_oneof![3 => Just(0_usize), 6 => 1..6_usize, 2 => 6..60_usize, 1 => 200..longest];
    prop::collection::vec(length, 0..rows)
}

/// Unsorted entries of a matrix: row, column and value.
pub type Entries = Vec<(usize, usize, f64)>;

/// A shape, and entries of all kinds: scattered, full squares, single, repeated, zero. Some shapes have a
/// side in `large`, and some squares have a side in `squares`.
pub fn scattered_squares(
    large: Range<usize>,
    squares: Range<usize>,
) -> impl Strategy<Value = (usize, usize, Entries)> {
    let len = prop_oneof![Just(0_usize), 1..4_usize, 30..34_usize, 120..135_usize, 250..520_usize, large];
    (len.clone(), len).prop_flat_map(move |(rows, cols)| {
        let has_room = rows > 0 && cols > 0;
        let side = prop_oneof![6 => 1..3_usize, 2 => 3..20_usize, 1 => squares.clone()];
        let piece = (0..rows.max(1), 0..cols.max(1), side);
        let pieces = prop::collection::vec(piece, if has_room { 0..12 } else { 0..1 });
        pieces.prop_map(move |pieces| {
            let mut entries = Entries::new();
            for (first_row, first_col, side) in pieces {
                for row in first_row..rows.min(first_row + side) {
                    for col in first_col..cols.min(first_col + side) {
                        entries.push((row, col, (entries.len() % 7) as f64 - 3.0));
                    }
                }
            }
            (rows, cols, entries)
        })
    })
}
