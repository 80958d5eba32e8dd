use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::Operands;
use super::{Recorder, block_sort, rows};
use crate::device::SimulatedOptions;
use crate::op::tile_items;
use crate::{Csr, Device, Offset, Value};

/// A row of C: for each column the sum, and that of magnitudes with the number of products.
type OracleRow = BTreeMap<u32, (f64, f64, u32)>;

/// C by the definition, in f64.
fn oracle<V: Value, O: Offset>(a: &Csr<V, O>, b: &Csr<V, O>) -> Vec<OracleRow> {
    let entries = |matrix: &Csr<V, O>, row: usize| {
        let range =
            matrix.row_offsets()[row].to_u64() as usize..matrix.row_offsets()[row + 1].to_u64() as usize;
        let columns = matrix.column_indices()[range.clone()].to_vec();
        columns.into_iter().zip(matrix.values()[range].to_vec()).collect::<Vec<_>>()
    };
    let row_of = |row: usize| {
        let mut sums = OracleRow::new();
        for (k, left) in entries(a, row) {
            for (column, right) in entries(b, k as usize) {
                let product = left.to_f64() * right.to_f64();
                let (sum, magnitudes, count) = sums.entry(column).or_default();
                *sum += product;
                *magnitudes += product.abs();
                *count += 1;
            }
        }
        sums
    };
    (0..a.rows()).map(row_of).collect()
}

/// The rows of C of a simulated GPU, in parts of so many rows.
fn check<V: Value, O: Offset>(a: &Csr<V, O>, b: &Csr<V, O>, rows_at_once: usize, epsilon: f64) {
    let device = Device::simulated(SimulatedOptions::default());
    let expected = oracle(a, b);
    let (a, b) = (device.upload(a).unwrap(), device.upload(b).unwrap());
    let product = Operands { a: &a, b: &b }.product();
    let mut first = 0;
    while first < a.rows() {
        let range = first..(first + rows_at_once).min(a.rows());
        let part = rows(&product, range.clone(), &mut Recorder::default()).unwrap();
        let lengths = part.lengths.to_vec().unwrap();
        let columns = part.column_indices.to_vec().unwrap();
        let values = part.values.to_vec().unwrap();
        let expected = &expected[range];
        let expected_lengths: Vec<u32> = expected.iter().map(|row| row.len() as u32).collect();
        assert_eq!(lengths, expected_lengths);
        assert_eq!((columns.len(), values.len()), (lengths.iter().sum::<u32>() as usize, columns.len()));
        let found = columns.iter().zip(&values);
        for ((column, value), (wanted, (sum, magnitudes, count))) in found.zip(expected.iter().flatten()) {
            assert_eq!(column, wanted);
            let bound = f64::from(*count + 1) * epsilon * magnitudes;
            assert!((value.to_f64() - sum).abs() <= bound, "{value} for {sum} in column {column}");
        }
        first += rows_at_once;
    }
}

fn check_all(a: &Csr<f64>, b: &Csr<f64>, rows_at_once: usize) {
    check(a, b, rows_at_once, f64::EPSILON);
}

/// `rows` x `cols`, the columns of each row as given and values that tell products apart.
fn matrix(rows: usize, cols: usize, columns: impl Fn(usize) -> Vec<u32>) -> Csr<f64> {
    let mut triplets = Vec::new();
    for row in 0..rows {
        for column in columns(row) {
            triplets.push((row, column as usize, 1.0 + (row * 31 + column as usize * 17) as f64 / 64.0));
        }
    }
    Csr::from_triplets(rows, cols, triplets).unwrap()
}

fn tile_len() -> usize {
    tile_items(block_sort::<u32>()) as usize
}

#[test]
fn nothing_to_multiply() {
    let none = |_: usize| Vec::new();
    let diagonal = |row: usize| vec![row as u32];
    check_all(&matrix(0, 3, none), &matrix(3, 4, diagonal), 1);
    check_all(&matrix(5, 0, none), &matrix(0, 4, none), 5);
    check_all(&matrix(5, 4, none), &matrix(4, 4, diagonal), 5);
    check_all(&matrix(4, 4, diagonal), &matrix(4, 0, none), 4);
    // Entries of A, and none of B where they point.
    check_all(
        &matrix(6, 6, |_| vec![0, 2]),
        &matrix(6, 6, |row| if row % 2 == 0 { vec![] } else { vec![1] }),
        6,
    );
}

#[test]
fn one_row_of_products_around_a_tile() {
    for products in [1, tile_len() - 1, tile_len(), tile_len() + 1, 2 * tile_len()] {
        let b = matrix(1, products, |_| (0..products as u32).collect());
        check_all(&matrix(1, 1, |_| vec![0]), &b, 1);
        check_all(&matrix(3, 1, |row| if row == 1 { vec![0] } else { vec![] }), &b, 3);
    }
}

#[test]
fn one_column_around_a_tile() {
    // All products of a row are one entry, of as many tiles as it has.
    for products in [1, tile_len() - 1, tile_len(), tile_len() + 1, 2 * tile_len() + 5] {
        let a = matrix(2, products, |_| (0..products as u32).collect());
        let b = matrix(products, 9, |_| vec![7]);
        check_all(&a, &b, 2);
        check_all(&a, &b, 1);
    }
}

#[test]
fn rows_end_where_tiles_do() {
    // Rows of a quarter of a tile, then of one and a half, and of one product.
    for per_row in [tile_len() / 4, tile_len() * 3 / 2, 1] {
        let rows = 5 * tile_len() / (2 * per_row);
        let b = matrix(4, per_row, |_| (0..per_row as u32).collect());
        check_all(&matrix(rows, 4, |row| vec![row as u32 % 4]), &b, rows);
    }
}

#[test]
fn columns_that_take_all_bits() {
    // Wide keys: the farthest columns, in rows that are many; and cut rows of them.
    let cols = u32::MAX as usize;
    let b = matrix(3, cols, |row| vec![0, 5 + row as u32, u32::MAX - 1]);
    let rows = tile_len() / 3;
    check_all(&matrix(rows, 3, |row| vec![row as u32 % 3]), &b, rows);
    let wide = matrix(tile_len(), cols, |row| vec![row as u32 / 2, u32::MAX - 1 - row as u32 / 2]);
    check_all(&matrix(1, tile_len(), |_| (0..tile_len() as u32).collect()), &wide, 1);
}

#[test]
fn other_types() {
    let a = matrix(40, 40, |row| (0..40).filter(|column| (row + 3 * *column as usize) % 7 < 3).collect());
    let offsets = a.row_offsets().iter().map(|&offset| u64::from(offset)).collect();
    let wide = Csr::try_new(40, 40, offsets, a.column_indices().to_vec(), a.values().to_vec()).unwrap();
    check::<f64, u64>(&wide, &wide, 40, f64::EPSILON);
    let values = a.values().iter().map(|&value| value as f32).collect();
    let single = Csr::try_new(40, 40, a.row_offsets().to_vec(), a.column_indices().to_vec(), values).unwrap();
    check::<f32, u32>(&single, &single, 40, f64::from(f32::EPSILON));
}

#[test]
fn sums_are_repeatable() {
    let a = matrix(120, 120, |row| {
        (0..120).filter(|column| (row * column ^ row) % 3 == 0).map(|c| c as u32).collect()
    });
    let device = Device::simulated(SimulatedOptions::default());
    let a = device.upload(&a).unwrap();
    let product = Operands { a: &a, b: &a }.product();
    let run = || rows(&product, 0..120, &mut Recorder::default()).unwrap().values.to_vec().unwrap();
    let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(run()), bits(run()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_structure(
        (rows, inner, cols) in (1_usize..60, 1_usize..60, 1_usize..300),
        a_entries in prop::collection::vec((any::<u32>(), any::<u32>()), 0..400),
        b_entries in prop::collection::vec((any::<u32>(), any::<u32>()), 0..1500),
        rows_at_once in 1_usize..80,
    ) {
        let fit = |entries: Vec<(u32, u32)>, rows: usize, cols: usize| {
            // The square of a uniform number: rows of all lengths.
            let place = |(row, column): (u32, u32)| {
                let row = (u64::from(row) * u64::from(row) >> 32) * rows as u64 >> 32;
                (row as usize, column as usize % cols)
            };
            let unique: BTreeMap<(usize, usize), ()> = entries.into_iter().map(|entry| (place(entry), ())).collect();
            let triplets = unique.into_keys().map(|(row, column)| (row, column, (row * 7 % 13) as f64 - column as f64 / 3.0));
            Csr::<f64>::from_triplets(rows, cols, triplets.collect::<Vec<_>>()).unwrap()
        };
        check_all(&fit(a_entries, rows, inner), &fit(b_entries, inner, cols), rows_at_once);
    }
}
