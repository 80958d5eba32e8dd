//! Element-wise operations on two sparse matrices, compared with a merge of triplets in f64, on every present device.

use std::collections::BTreeMap;

use approx::abs_diff_ne;
use evenpath::error::OpError;
use evenpath::spadd::Elementwise;
use evenpath::{Csr, Device, DeviceCsr, Offset, Value};
use evenpath_kernels::spadd::WalkPath;
use evenpath_tests::{devices, kernel_devices, row_lengths, tile_len};
use proptest::prelude::*;

/// A canonical matrix with rows of the given lengths, at most `cols`.
pub(crate) fn matrix<V: Value, O: Offset>(cols: usize, lengths: &[usize], seed: u64) -> Csr<V, O> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut offsets = vec![O::ZERO];
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for &len in lengths {
        for place in 0..len {
            let (low, high) = (place * cols / len, (place + 1) * cols / len);
            columns.push((low + random(high - low)) as u32);
            values.push(V::from_f64(random(2001) as f64 / 1000.0 - 1.0));
        }
        offsets.push(O::try_from_usize(columns.len()).expect("few nonzeros"));
    }
    Csr::try_new(lengths.len(), cols, offsets, columns, values).expect("a valid matrix")
}

/// The entries of the result: row and column, value in f64, and the bound on the error of three roundings.
fn oracle<V: Value, O: Offset>(
    operation: Elementwise,
    (alpha, a): (f64, &Csr<V, O>),
    (beta, b): (f64, &Csr<V, O>),
) -> Vec<(usize, usize, f64, f64)> {
    let mut entries: BTreeMap<(usize, usize), (Option<f64>, Option<f64>)> = BTreeMap::new();
    for (row, column, value) in a.iter() {
        entries.entry((row, column)).or_default().0 = Some(value.to_f64());
    }
    for (row, column, value) in b.iter() {
        entries.entry((row, column)).or_default().1 = Some(value.to_f64());
    }
    let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let times = |factor: f64, value: Option<f64>| match value {
        Some(value) if factor != 0.0 => factor * value,
        _ => 0.0,
    };
    let entry = |((row, column), (a, b)): ((usize, usize), (Option<f64>, Option<f64>))| {
        let kept = match operation {
            Elementwise::Sum => true,
            Elementwise::Product | Elementwise::Mask => a.is_some() && b.is_some(),
            Elementwise::MaskOut => b.is_none(),
        };
        let (x, y) = (times(alpha, a), times(beta, b));
        let (value, magnitude) = match operation {
            Elementwise::Sum => (x + y, x.abs() + y.abs()),
            Elementwise::Product => (x * y, (x * y).abs()),
            Elementwise::Mask | Elementwise::MaskOut => (x, x.abs()),
        };
        kept.then_some((row, column, value, 3.0 * epsilon * magnitude))
    };
    entries.into_iter().filter_map(entry).collect()
}

/// Compares a result with that of the oracle.
fn compare<V: Value, O: Offset>(
    found: &Csr<V, O>,
    expected: &[(usize, usize, f64, f64)],
) -> Result<(), String> {
    if found.nnz() != expected.len() {
        return Err(format!("{} nonzeros, not {}", found.nnz(), expected.len()));
    }
    found.check_canonical().map_err(|error| error.to_string())?;
    for ((row, column, value), &(expected_row, expected_column, expected, bound)) in
        found.iter().zip(expected)
    {
        if (row, column) != (expected_row, expected_column) {
            return Err(format!("({row}, {column}) instead of ({expected_row}, {expected_column})"));
        }
        if abs_diff_ne!(value.to_f64(), expected, epsilon = bound) {
            return Err(format!("({row}, {column}) is {value}, not {expected} within {bound:.1e}"));
        }
    }
    Ok(())
}

/// The bits of a matrix's arrays.
pub(crate) fn bits<V: Value, O: Offset>(matrix: &Csr<V, O>) -> (Vec<u64>, Vec<u32>, Vec<u64>) {
    let offsets = matrix.row_offsets().iter().map(|offset| offset.to_u64()).collect();
    let values = matrix.values().iter().map(|value| value.to_f64().to_bits()).collect();
    (offsets, matrix.column_indices().to_vec(), values)
}

pub(crate) fn upload<V: Value, O: Offset>(device: &Device, matrix: &Csr<V, O>) -> DeviceCsr<V, O> {
    device.upload(matrix).expect("upload")
}

/// Runs an operation directly, again, planned, and as a count, and checks all of them.
pub(crate) fn check<V: Value, O: Offset>(
    device: &Device,
    operation: Elementwise,
    a: &Csr<V, O>,
    b: &Csr<V, O>,
) {
    let (alpha, beta) = (1.75, -0.3);
    let (exact_alpha, exact_beta) = (V::from_f64(alpha), V::from_f64(beta));
    let expected = oracle(operation, (exact_alpha.to_f64(), a), (exact_beta.to_f64(), b));
    let (device_a, device_b) = (upload(device, a), upload(device, b));
    let run = || device_a.elementwise(operation, exact_alpha, &device_b, exact_beta).expect("result");
    let c = run().download().expect("download");
    if let Err(difference) = compare(&c, &expected) {
        panic!("{device}, {operation} of {a:?} and {b:?}: {difference}");
    }
    // Now the operands are known to be canonical: small ones use another method.
    let again = run().download().expect("download");
    assert!(bits(&again) == bits(&c), "{device}, {operation} of {a:?} and {b:?}, again");
    // Now the operands are known to be canonical: small ones use another method.
    let again = run().download().expect("download");
    assert!(bits(&again) == bits(&c), "{device}, {operation} of {a:?} and {b:?}, again");
    let count = device_a.count_elementwise(operation, &device_b).expect("count");
    assert_eq!(count, expected.len() as u64, "{device}, {operation} of {a:?} and {b:?}");
    let plan = device_a.plan_elementwise(operation, &device_b).expect("plan");
    assert_eq!(plan.info().unwrap().nnz, expected.len());
    let planned = plan.run(exact_alpha, exact_beta).expect("run").download().expect("download");
    assert!(bits(&planned) == bits(&c), "{device}, {operation} of {a:?} and {b:?}, planned");
}

pub(crate) fn check_all<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>, b: &Csr<V, O>) {
    for operation in Elementwise::ALL {
        check(device, operation, a, b);
    }
}

#[test]
fn odd_shapes_of_sums() {
    let shapes: [(usize, &[usize], &[usize]); 12] = [
        (0, &[], &[]),
        (5, &[], &[]),
        (0, &[0; 7], &[0; 7]),
        (5, &[0; 300], &[0; 300]),
        (1, &[1], &[1]),
        (1, &[1], &[0]),
        (1, &[0], &[1]),
        (9, &[0, 3, 0, 0, 9, 1, 0], &[0, 0, 2, 0, 9, 0, 9]),
        (3000, &[3000], &[1500]),
        (1, &[1; 600], &[1; 600]),
        (700, &[1, 700, 0, 2, 650], &[699, 0, 0, 700, 1]),
        (4, &[0, 0, 0, 0, 4], &[4, 0, 0, 0, 0]),
    ];
    for device in devices() {
        for (cols, a, b) in shapes {
            check_all::<f64, u32>(&device.device, &matrix(cols, a, 1), &matrix(cols, b, 2));
            check_all::<f32, u64>(&device.device, &matrix(cols, a, 1), &matrix(cols, b, 2));
        }
    }
}

/// Paths around the length of one tile, in one row, in rows of one nonzero, and without nonzeros.
#[test]
fn lengths_at_a_tiles_edge() {
    let tile = tile_len::<WalkPath<u32>>();
    assert_eq!(tile, tile_len::<WalkPath<u64>>());
    for device in devices() {
        for items in [tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile, 2 * tile + 1] {
            // One row: nonzeros of A and B, and the end.
            for of_a in [0, 1, items / 2, items - 2, items - 1] {
                let (a, b) = (matrix(items + 5, &[of_a], 1), matrix(items + 5, &[items - 1 - of_a], 2));
                check::<f64, u32>(&device.device, Elementwise::Sum, &a, &b);
                check::<f64, u32>(&device.device, Elementwise::Mask, &a, &b);
            }
            let (of_a, of_b) = (vec![1; items / 3], vec![1; items / 3]);
            check_all::<f32, u32>(&device.device, &matrix(2, &of_a, 1), &matrix(2, &of_b, 2));
            let empty = vec![0; items];
            check_all::<f32, u64>(&device.device, &matrix(2, &empty, 1), &matrix(2, &empty, 2));
            let mut almost_empty = empty.clone();
            almost_empty[items - 1] = 2;
            check_all::<f32, u32>(&device.device, &matrix(2, &empty, 1), &matrix(2, &almost_empty, 2));
        }
    }
}

/// Equal columns on both sides of every kind of cut. With an extra nonzero before them, pairs begin at odd positions.
#[test]
fn pairs_are_cut_by_tiles_and_threads() {
    let tile = tile_len::<WalkPath<u32>>();
    for device in devices() {
        for before in [0, 1] {
            let columns: Vec<u32> = (1..=tile as u32 + 3).collect();
            let a: Vec<u32> = (1 - before..1).chain(columns.iter().copied()).collect();
            let of = |columns: Vec<u32>, factor: f64| {
                let values = columns.iter().map(|&column| factor * f64::from(column + 1)).collect();
                Csr::try_new(1, tile + 9, vec![0_u32, columns.len() as u32], columns, values).expect("valid")
            };
            check_all(&device.device, &of(a.clone(), 0.7), &of(columns.clone(), 1.3));
            check_all(&device.device, &of(columns.clone(), 0.7), &of(a, 1.3));
        }
    }
}

#[test]
fn a_factor_of_zero_keeps_the_pattern_and_hides_values() {
    for device in devices() {
        let device = device.device;
        let nan = f64::NAN;
        let a: Csr<f64> = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 1, 2.0), (1, 2, 3.0)]).expect("valid");
        let b: Csr<f64> = Csr::from_triplets(2, 3, [(0, 1, nan), (1, 0, nan)]).expect("valid");
        let (device_a, device_b) = (upload(&device, &a), upload(&device, &b));
        let c = device_a.spadd(2.0, &device_b, 0.0).expect("sum").download().expect("download");
        assert_eq!(c.row_offsets(), [0, 2, 4], "{device}");
        assert_eq!(c.column_indices(), [0, 1, 0, 2]);
        assert_eq!(c.values(), [2.0, 4.0, 0.0, 6.0]);
        let c = device_b.spadd(0.0, &device_a, 0.0).expect("sum").download().expect("download");
        assert_eq!(c.values(), [0.0; 4]);
        let c = device_a.spadd(1.0, &device_b, 1.0).expect("sum").download().expect("download");
        assert!(c.values()[1].is_nan() && c.values()[2].is_nan());
        assert_eq!((c.values()[0], c.values()[3]), (1.0, 3.0));
        // Computed zeros are stored.
        let zero = device_a.spadd(1.0, &device_a, -1.0).expect("sum").download().expect("download");
        assert_eq!((zero.nnz(), zero.values()), (3, &[0.0; 3][..]));
    }
}

#[test]
fn values_may_change_and_the_pattern_stays() {
    for device in devices() {
        let device = device.device;
        let lengths: Vec<usize> = (0..800).map(|row| row * 7 % 11).collect();
        let mut a: Csr<f64> = matrix(50, &lengths, 1);
        let b: Csr<f64> = matrix(50, &lengths, 2);
        let (device_a, device_b) = (upload(&device, &a), upload(&device, &b));
        let plan = device_a.plan_spadd(&device_b).expect("plan");
        let before = plan.run(1.0, 1.0).expect("run");
        for value in a.values_mut() {
            *value = 3.0 - *value;
        }
        device_a.set_values(a.values()).expect("as many");
        let after = plan.run(1.0, 1.0).expect("run");
        let fresh = upload(&device, &a).spadd(1.0, &device_b, 1.0).expect("sum");
        let bits = |matrix: &DeviceCsr<f64>| bits(&matrix.download().expect("download"));
        assert!(bits(&after) == bits(&fresh), "{device}");
        assert!(bits(&after) != bits(&before), "earlier results keep their values");
        // Results can be operands.
        let twice = after.spadd(1.0, &before, 1.0).expect("sum").download().expect("download");
        assert_eq!(twice.nnz(), plan.info().unwrap().nnz);
    }
}

#[test]
fn a_matrix_and_its_transpose() {
    for device in devices() {
        let lengths: Vec<usize> = (0..300).map(|row| if row == 17 { 300 } else { row * 13 % 9 }).collect();
        let a: Csr<f32> = matrix(300, &lengths, 3);
        let on_device = upload(&device.device, &a);
        let turned = on_device.transpose().expect("memory");
        let c = on_device.spadd(1.5, &turned, -2.0).expect("sum").download().expect("download");
        compare(&c, &oracle(Elementwise::Sum, (1.5, &a), (-2.0, &a.transpose().expect("memory"))))
            .expect("equal");
    }
}

#[test]
fn every_device_gives_the_same_bits() {
    let lengths: Vec<usize> = (0..2000).map(|row| row * 31 % 17).collect();
    let (a, b): (Csr<f32>, Csr<f32>) = (matrix(400, &lengths, 5), matrix(400, &lengths, 6));
    let sum = |device: &Device| {
        let c = upload(device, &a).spadd(0.1, &upload(device, &b), 0.7).expect("sum");
        bits(&c.download().expect("download"))
    };
    let expected = sum(&Device::cpu());
    for device in kernel_devices() {
        assert!(sum(&device.device) == expected, "{}", device.device);
        assert!(sum(&device.device) == expected, "{} again", device.device);
    }
}

#[test]
fn rows_out_of_order_are_named() {
    let tile = tile_len::<WalkPath<u32>>();
    let rows = tile;
    let lengths = vec![3; rows];
    let good: Csr<f64> = matrix(10, &lengths, 1);
    for device in devices() {
        let device = device.device;
        for (row, columns, previous, column) in [
            (0, [4, 3, 9], 4, 3),
            (7, [1, 1, 2], 1, 1),
            (rows - 1, [0, 9, 8], 9, 8),
            (rows / 2, [5, 6, 6], 6, 6),
        ] {
            let mut bad_columns = good.column_indices().to_vec();
            bad_columns[3 * row..3 * row + 3].copy_from_slice(&columns);
            let bad =
                Csr::try_new(rows, 10, good.row_offsets().to_vec(), bad_columns, good.values().to_vec());
            let bad = upload(&device, &bad.expect("valid, but not canonical"));
            let good = upload(&device, &good);
            let is_right = |result: Result<DeviceCsr<f64>, OpError>, expected: &str| match result {
                Err(OpError::NotCanonical { operand, row: found, previous: p, column: c }) => {
                    (operand, found, p, c) == (expected, row, previous, column)
                }
                other => panic!("{device}: {other:?}"),
            };
            assert!(is_right(bad.spadd(1.0, &good, 1.0), "A"));
            assert!(is_right(good.spadd(1.0, &bad, 1.0), "B"));
            assert!(is_right(good.mask(&bad), "B"), "a failed check is repeated");
            assert!(
                good.plan_spadd(&bad).is_err() && good.count_elementwise(Elementwise::Sum, &bad).is_err()
            );
        }
        // A single row with descending columns, over several tiles.
        let columns: Vec<u32> = (0..3 * tile as u32).rev().collect();
        let values = vec![1.0; columns.len()];
        let falling = Csr::try_new(1, columns.len(), vec![0_u32, columns.len() as u32], columns, values);
        let falling = upload(&device, &falling.expect("valid"));
        let error = falling.spadd(1.0, &falling, 1.0).expect_err("not canonical").to_string();
        let last = 3 * tile - 1;
        let begin = format!("A is not canonical: in row 0, column {} comes after column {last};", last - 1);
        assert!(error.starts_with(&begin), "{error}");
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let a: Csr<f64> = matrix(5, &[1, 2, 3], 1);
    let wider: Csr<f64> = matrix(6, &[1, 2, 3], 1);
    let longer: Csr<f64> = matrix(5, &[1, 2, 3, 0], 1);
    for device in devices() {
        let device = device.device;
        for other in [&wider, &longer] {
            let result = upload(&device, &a).spadd(1.0, &upload(&device, other), 1.0);
            assert!(
                matches!(result, Err(OpError::Shape { needed_rows: 3, needed_cols: 5, .. })),
                "{result:?}"
            );
        }
        let wider = upload(&device, &wider);
        let result = wider.spadd(1.0, &wider.transpose().expect("memory"), 1.0);
        assert!(matches!(result, Err(OpError::Shape { .. })), "{result:?}");
    }
    for device in kernel_devices() {
        let result = upload(&device.device, &a).spadd(1.0, &upload(&Device::cpu(), &a), 1.0);
        assert!(matches!(result, Err(OpError::Device(_))), "{result:?}");
    }
}

/// Exactly as many entries as one launch adds, and more.
#[test]
fn sums_around_the_size_of_one_launch() {
    for device in kernel_devices() {
        for last in [15, 16, 17] {
            let mut lengths = vec![16; 8191];
            lengths.push(last);
            let (a, b) = (matrix::<f32, u32>(300, &lengths, 1), matrix::<f32, u32>(300, &lengths, 2));
            assert_eq!(a.nnz() + b.nnz(), (1 << 18) + 2 * last - 32);
            check::<f32, u32>(&device.device, Elementwise::Sum, &a, &b);
        }
    }
}

#[test]
fn large_matrices() {
    for device in devices().iter().filter(|device| device.fast) {
        let device = &device.device;
        let lengths: Vec<usize> =
            (0..200_000).map(|row| if row % 40_000 == 7 { 150_000 } else { row * 13 % 11 }).collect();
        let (a, b) = (matrix::<f64, u32>(200_000, &lengths, 1), matrix::<f64, u32>(200_000, &lengths, 2));
        check_all(device, &a, &b);
        let mut rows = vec![0; 3_000_000];
        rows[2_999_999] = 2;
        check::<f32, u64>(device, Elementwise::Sum, &matrix(9, &rows, 1), &matrix(9, &vec![0; 3_000_000], 2));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn any_structure(
        (a, b) in (row_lengths(4000, 60), row_lengths(4000, 60)),
        cols in prop_oneof![1..12_usize, 300..9000_usize],
        seed in any::<u64>(),
    ) {
        let rows = a.len().max(b.len());
        let fit = |lengths: &[usize]| -> Vec<usize> {
            (0..rows).map(|row| lengths.get(row).map_or(0, |&len| len.min(cols))).collect()
        };
        let (a, b) = (fit(&a), fit(&b));
        for device in devices() {
            check_all::<f64, u32>(&device.device, &matrix(cols, &a, seed), &matrix(cols, &b, seed ^ 1));
            // Equal row lengths give many pairs.
            check_all::<f32, u64>(&device.device, &matrix(cols, &a, seed), &matrix(cols, &a, seed ^ 2));
        }
    }
}
