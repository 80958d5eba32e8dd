//! Products by all instructions and numbers of threads.

use super::arrays::SpgemmArrays;
use super::instructions::SortInstructions;
use super::masked::MaskedSpgemm;
use super::product::Spgemm;
use crate::generate::{Kind, generate};
use crate::{Csr, Value};

/// The arrays of C, with the bits of the values.
type Bits = (Vec<u64>, Vec<u32>, Vec<u64>);

fn bits_of<V: Value>(values: &[V]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Computes row by row in a map, in the order of A's entries.
fn naive<V: Value>(a: &Csr<V>, b: &Csr<V>) -> Bits {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..a.nrows() {
        let mut sums = std::collections::BTreeMap::new();
        for at in a.view().range(row) {
            for b_at in b.view().range(a.column_indices()[at] as usize) {
                let product = a.values()[at] * b.values()[b_at];
                let sum = sums.entry(b.column_indices()[b_at]);
                sum.and_modify(|sum| *sum += product).or_insert(product);
            }
        }
        for (column, sum) in sums {
            columns.push(column);
            values.push(sum);
        }
        offsets.push(columns.len() as u64);
    }
    (offsets, columns, bits_of(&values))
}

/// Checks all variants: instructions, numbers of threads, with and without known row offsets.
fn check<V: Value>(a: &Csr<V>, b: &Csr<V>) {
    let expected = naive(a, b);
    for threads in [1, 2, 3, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for instructions in SortInstructions::of_machine() {
            // SAFETY: both are canonical and fit.
            let product = Spgemm { instructions, ..unsafe { Spgemm::new(a.view(), b.view()) } };
            pool.install(|| check_product(&product, &expected));
        }
    }
}

fn check_product<V: Value>(product: &Spgemm<'_, V, u32>, expected: &Bits) {
    let SpgemmArrays { row_offsets, column_indices, values } = product.multiply::<u64>().unwrap();
    let what = (product.instructions, rayon::current_num_threads());
    assert!((row_offsets, column_indices, bits_of(&values)) == *expected, "in one pass, {what:?}");

    assert!(product.row_offsets() == expected.0, "row offsets, {what:?}");
    let (mut columns, mut values) = (vec![0; expected.1.len()], vec![V::ONE; expected.1.len()]);
    product.fill(&expected.0, &mut columns, &mut values);
    assert!((&columns, &bits_of(&values)) == (&expected.1, &expected.2), "filled, {what:?}");

    values.fill(V::ONE);
    product.fill_values(&expected.0, &mut values);
    assert!(bits_of(&values) == expected.2, "known pattern, {what:?}");
}

/// A matrix with these columns in each row.
fn of_rows(cols: usize, rows: &[Vec<u32>]) -> Csr<f64> {
    let mut offsets = vec![0];
    let mut value = 0.0_f64;
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for row in rows {
        columns.extend_from_slice(row);
        offsets.push(columns.len() as u32);
        for _ in row {
            value += 1.0;
            values.push(value.sin());
        }
    }
    Csr::try_new(rows.len(), cols, offsets, columns, values).unwrap()
}

fn generated<V: Value>(kind: &str) -> Csr<V> {
    generate(kind.parse::<Kind>().unwrap(), 3).unwrap()
}

#[test]
fn products_of_any_structure_are_right() {
    for kind in ["stencil5:40", "stencil27:6", "uniform:900", "block-fem:60x3", "rmat:7", "power-law:1000"] {
        let a = generated::<f64>(kind);
        check(&a, &a);
        check(&a.clone().into_values::<f32>(), &a.into_values::<f32>());
    }
    // Wide, and tall.
    let wide: Vec<Vec<u32>> =
        (0..30_u32).map(|row| (row..3000).step_by(97 + row as usize).collect()).collect();
    let wide = of_rows(3000, &wide);
    check(&wide, &wide.transpose().unwrap());
    check(&wide.transpose().unwrap(), &wide);
}

#[test]
fn empty_matrices_and_rows_have_products() {
    for (rows, inner, cols) in [(0, 0, 0), (0, 3, 4), (3, 0, 4), (3, 4, 0)] {
        check(&of_rows(inner, &vec![Vec::new(); rows]), &of_rows(cols, &vec![Vec::new(); inner]));
    }
    let a = of_rows(6, &[vec![], vec![1], vec![], vec![2], vec![3], vec![3], vec![0, 5], vec![]]);
    let b = of_rows(4, &[vec![], vec![0, 1, 2, 3], vec![], vec![2], vec![], vec![0, 3]]);
    check(&a, &b);
    let rows: Vec<Vec<u32>> =
        (0..20_000).map(|row| if row % 997 == 3 { vec![row] } else { vec![] }).collect();
    let a = of_rows(20_000, &rows);
    check(&a, &a);
}

#[test]
fn columns_may_be_far_apart() {
    let cols = u32::MAX as usize;
    let rows: Vec<Vec<u32>> = (0..600_u32)
        .map(|row| (0..row % 7).map(|at| (row + 1) * 31 + at * (1 << 24) * (1 + row % 40)).collect())
        .collect();
    let b = of_rows(cols, &rows);
    let a: Vec<Vec<u32>> = [1, 2, 8, 30, 100, 300].map(|step| (0..600).step_by(600 / step).collect()).into();
    check(&of_rows(600, &a), &b);
    // The first and the last column, adjacent to many.
    let ends = of_rows(cols, &[vec![0, u32::MAX - 1], (5..900).collect(), vec![7, u32::MAX - 1]]);
    check(&of_rows(3, &[vec![0, 1, 2], vec![0], vec![1, 2]]), &ends);
    // More columns than an accumulator has sums for, with gaps of all sizes.
    for log in 4..27 {
        let spread: Vec<Vec<u32>> =
            (0..40_u32).map(|row| (0..20).map(|at| row + ((1 << log) / 20) * at).collect()).collect();
        let rows = [vec![0, 39], (0..3).collect(), (0..12).collect(), (0..40).collect::<Vec<u32>>()];
        check(&of_rows(40, &rows), &of_rows(1 << 28, &spread));
    }
}

#[test]
fn rows_may_be_long_and_repeated() {
    // Bands, blocks, and rows that almost equal the previous one.
    let mut rows: Vec<Vec<u32>> = (0..300).map(|row| (row..row + 5).collect()).collect();
    rows.extend((0..40).map(|row| (row / 4 * 7..row / 4 * 7 + 30).collect::<Vec<u32>>()));
    rows.extend((0..20).map(|row| vec![row, 100 + row, 200 + row + u32::from(row == 9)]));
    rows.resize(400, vec![]);
    let a = of_rows(400, &rows);
    check(&a, &a);
    let long: Vec<Vec<u32>> =
        (0..50).map(|row| (0..9000).filter(|at| (at * 7 + row) % 3 != 0).collect()).collect();
    let few: Vec<Vec<u32>> = (0..9).map(|row| (0..50).filter(|at| at % (row + 1) == 0).collect()).collect();
    check(&of_rows(50, &few), &of_rows(9000, &long));
}

#[test]
fn sums_keep_their_order_and_special_values() {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e300, -1e300, f64::MIN_POSITIVE];
    let columns: Vec<Vec<u32>> = (0..60).map(|row| (0..30).map(|at| at * (1 + row % 50)).collect()).collect();
    let b = of_rows(2000, &columns);
    let (offsets, indices, values) = (b.row_offsets(), b.column_indices(), b.values());
    let values = (0..values.len()).map(|at| if at % 3 == 0 { special[at / 3 % 8] } else { values[at] });
    let b = Csr::try_new(60, 2000, offsets.to_vec(), indices.to_vec(), values.collect()).unwrap();
    let rows: Vec<Vec<u32>> = (1..50).map(|row| (0..60).step_by(row).collect()).collect();
    let (a, expected) = (of_rows(60, &rows), naive(&of_rows(60, &rows), &b));
    // SAFETY: both are canonical and fit.
    let product = unsafe { Spgemm::new(a.view(), b.view()) }.multiply::<u32>().unwrap();
    assert_eq!(product.column_indices, expected.1);
    for (&found, &bits) in product.values.iter().zip(&expected.2) {
        let expected = f64::from_bits(bits);
        assert!(found.to_bits() == bits || found.is_nan() && expected.is_nan(), "{found}, {expected}");
    }
}

#[test]
fn results_grow_beyond_the_expected_size() {
    // Sampled rows have few entries per product, the others many.
    let rows: Vec<Vec<u32>> = (0..4000)
        .map(|row| if row % 32 == 0 { (0..400).collect() } else { (row / 32..row / 32 + 80).collect() })
        .collect();
    let b: Vec<Vec<u32>> = (0..4000)
        .map(|row| (0..20).map(|at| (row * 37 % 50) * 400 + at * (1 + row % 20)).collect())
        .collect();
    check(&of_rows(4000, &rows), &of_rows(20_000, &b));
}

#[test]
fn only_wanted_columns_are_filled() {
    let a = generated::<f64>("uniform:500");
    let (offsets, columns, values) = naive(&a, &a);
    let wanted: Vec<Vec<u32>> = (0..500_u32).map(|row| (row % 3..500).step_by(3).collect()).collect();
    let mask = of_rows(500, &wanted);
    let mut found = vec![1.0; mask.nnz()];
    let pattern = (mask.row_offsets(), mask.column_indices());
    let product = MaskedSpgemm { a: a.view(), b: a.view(), mask: pattern };
    product.multiply(&mut found, 0.0, |left, right, sum| sum + left * right);
    for row in 0..500 {
        let own = offsets[row] as usize..offsets[row + 1] as usize;
        for at in mask.view().range(row) {
            let place = columns[own.clone()].binary_search(&mask.column_indices()[at]);
            let expected = place.map_or(0, |place| values[own.start + place]);
            assert_eq!(found[at].to_bits(), expected);
        }
    }
}
