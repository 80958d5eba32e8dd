//! Inverses of the blocks on the diagonal.

use evenpath::bsr::Bsr;
use evenpath::error::{DeviceError, OpError};
use evenpath::{Csr, Offset, Value};
use evenpath_tests::{DeviceUnderTest, devices, vector};
use proptest::prelude::*;

use super::matrices::epsilon;

/// A number that depends on its place.
fn number(row: usize, column: usize) -> f64 {
    ((row * 73 + column * 151 + row * column * 19 + 7) % 97) as f64 / 48.5 - 1.0
}

/// A matrix of n rows with dense blocks on the diagonal, whose pivots are not on it, and some entries beside them.
fn blocks<V: Value, O: Offset>(n: usize, size: usize) -> Bsr<V, O> {
    let mut entries = Vec::new();
    for row in 0..n {
        let first = row / size * size;
        let inside = size.min(n - first);
        // The largest entry of a row is that of the next column, around the block.
        let largest = first + (row - first + 1) % inside;
        for column in first..first + inside {
            let value = if column == largest { 3.0 + inside as f64 } else { number(row, column) };
            entries.push((row, column, V::from_f64(value)));
        }
        entries.push((row, (row * 7 + 3) % n, V::from_f64(0.0)));
    }
    let a = Csr::<V>::from_triplets(n, n, entries).expect("inside");
    let a: Csr<V, O> = a.try_into_offsets().expect("few");
    a.to_bsr(size).expect("blocks")
}

/// The blocks, row by row, within the first n rows.
fn inside<V: Value>(blocks: &[V], n: usize, size: usize) -> Vec<Vec<Vec<f64>>> {
    let block = |(at, values): (usize, &[V])| {
        let inside = size.min(n - at * size);
        let row = |row: usize| values[row * size..][..inside].iter().map(|value| value.to_f64()).collect();
        (0..inside).map(row).collect()
    };
    blocks.chunks(size * size).enumerate().map(block).collect()
}

/// Checks that X is an inverse of B: the residual BX − I is small beside the product of their norms (Higham, *Accuracy and Stability*,
/// section 14.1).
fn check<V: Value>(b: &[Vec<f64>], x: &[Vec<f64>]) -> Result<(), String> {
    let norm = |a: &[Vec<f64>]| {
        let sums = a.iter().map(|row| row.iter().map(|value| value.abs()).sum::<f64>());
        sums.fold(0.0, f64::max)
    };
    let bound = 8.0 * (b.len() * b.len()) as f64 * epsilon::<V>() * norm(b) * norm(x);
    for (row, of_row) in b.iter().enumerate() {
        for column in 0..of_row.len() {
            let product: f64 = of_row.iter().zip(x).map(|(b, x)| b * x[column]).sum();
            let difference = (product - f64::from(u8::from(row == column))).abs();
            // Not `>`, because NaN must fail.
            let is_close = difference <= bound;
            if !is_close {
                return Err(format!("({row}, {column}): BX differs by {difference:e}, beyond {bound:e}"));
            }
        }
    }
    Ok(())
}

/// Inverts on every device, checks the inverses and a product with them, and compares bits.
fn invert_on_all<V: Value, O: Offset>(a: &Bsr<V, O>) {
    let (n, size) = (a.nrows(), a.block_size());
    let given = inside(&a.diagonal_blocks().expect("memory"), n, size);
    let mut expected = None;
    for DeviceUnderTest { device, .. } in devices() {
        let inverses = device.upload(a).expect("upload").invert_diagonal_blocks().expect("inverses");
        assert_eq!((inverses.shape(), inverses.blocks()), ((n, n), n.div_ceil(size)));
        let found = inverses.download().expect("download");
        for (at, (b, x)) in given.iter().zip(inside(found.values(), n, size)).enumerate() {
            check::<V>(b, &x)
                .unwrap_or_else(|error| panic!("block {at} of {size} x {size}, {device}: {error}"));
        }
        let (x, mut y) = (vector::<V>(n), device.zeros(n).expect("zeros"));
        inverses.spmv(V::ONE, &device.upload(&x).expect("upload"), V::ZERO, &mut y).expect("a product");
        let mut product = vec![V::ZERO; n];
        found.to_csr().expect("a matrix").spmv(V::ONE, &x, V::ZERO, &mut product).expect("a product");
        let magnitude = product.iter().fold(1.0, |most: f64, value| most.max(value.to_f64().abs()));
        for (found, expected) in y.download().expect("download").iter().zip(&product) {
            let bound = 100.0 * epsilon::<V>() * magnitude * size as f64;
            assert!((found.to_f64() - expected.to_f64()).abs() <= bound, "{found} for {expected}, {device}");
        }
        assert!(expected.get_or_insert_with(|| found.clone()) == &found, "{size}, {device}: other bits");
    }
}

#[test]
fn sizes_of_all_kinds() {
    for size in [1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 32] {
        invert_on_all(&blocks::<f64, u32>(3 * size + size / 2, size));
        invert_on_all(&blocks::<f32, u64>(2 * size + 1, size));
    }
    invert_on_all(&blocks::<f32, u32>(1000, 3));
    invert_on_all(&Bsr::<f64, u32>::try_new(0, 0, 3, vec![0], vec![], vec![]).expect("valid"));
}

/// Blocks that need each exchange of rows: permutations.
#[test]
fn permutations_are_transposed() {
    let order = [3, 0, 4, 1, 2];
    let a: Csr<f64> =
        Csr::from_triplets(5, 5, order.iter().enumerate().map(|(row, &at)| (row, at, 2.0))).expect("inside");
    let expected: Csr<f64> =
        Csr::from_triplets(5, 5, order.iter().enumerate().map(|(row, &at)| (at, row, 0.5))).expect("inside");
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&a.to_bsr(5).expect("blocks")).expect("upload");
        let found = a.invert_diagonal_blocks().expect("inverses").download().expect("download");
        let found = found.to_csr().expect("a matrix").to_dense().expect("memory");
        let expected = expected.to_dense().expect("memory");
        // Zeros may have either sign.
        let same = found.iter().zip(&expected).all(|(one, other)| (one - other).abs() < f64::MIN_POSITIVE);
        assert!(same, "{found:?} on {device}");
    }
}

#[test]
fn singular_blocks_are_named() {
    for DeviceUnderTest { device, .. } in devices() {
        let refused = |a: &Csr<f64>, size: usize| {
            let a = device.upload(&a.to_bsr(size).expect("blocks")).expect("upload");
            a.invert_diagonal_blocks().map(drop).expect_err("refused")
        };
        // The third and the fifth block, rows 4 and 5 and the missing ones 8 and 9, have no inverse.
        let regular = [(0, 0, 1.0), (1, 1, 2.0), (2, 3, 3.0), (3, 2, 4.0), (6, 6, 1.0), (7, 7, 1.0)];
        let singular = [(4, 4, 2.0), (4, 5, 4.0), (5, 4, 1.0), (5, 5, 2.0)];
        let a = Csr::from_triplets(10, 10, regular.into_iter().chain(singular)).expect("inside");
        let error = refused(&a, 2);
        assert!(matches!(error, OpError::Singular { row: 5 }), "{error}, {device}");
        let a = Csr::from_triplets(9, 9, (0..8).map(|row| (row, row, f64::from(u8::from(row != 8)))))
            .expect("inside");
        assert_eq!(
            refused(&a, 4).to_string(),
            "the block on the diagonal is singular: there is no pivot in row 8"
        );
        let a = Csr::from_triplets(3, 3, [(0, 0, 1.0), (1, 1, f64::NAN), (2, 2, 1.0)]).expect("inside");
        assert!(matches!(refused(&a, 1), OpError::Singular { row: 1 }), "{device}");
        let wide = Csr::from_triplets(2, 3, [(0, 0, 1.0), (1, 1, 1.0)]).expect("inside");
        assert!(matches!(refused(&wide, 1), OpError::Shape { operand: "A", .. }), "{device}");
    }
}

#[test]
fn what_waits_is_refused_in_graphs() {
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&blocks::<f64, u32>(4, 2)).expect("upload");
        let captured = device
            .capture((), |()| a.invert_diagonal_blocks().map(drop))
            .and_then(|mut graph| graph.launch());
        assert!(matches!(captured, Err(OpError::Device(DeviceError::Capture { .. }))), "{device}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_size(n in 1..70_usize, size in 1..=32_usize) {
        invert_on_all(&blocks::<f64, u32>(n, size));
    }
}
