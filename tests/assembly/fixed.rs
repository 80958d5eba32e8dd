//! Fixed unknowns.

use evenpath::assembly::{AssemblyOptions, AssemblyPlan};
use evenpath::error::OpError;
use evenpath::{Device, Value};
use evenpath_tests::{device_of_each_kind, devices};

use super::oracle::{Pattern, check};

/// b − A·g in free rows, term by term, and g in the others.
fn corrected<V: Value>(pattern: &Pattern, values: &[V], fixed: &[u32], given: &[V], rhs: &[V]) -> Vec<V> {
    let mut rhs = rhs.to_vec();
    for ((&row, &column), &value) in pattern.rows.iter().zip(&pattern.columns).zip(values) {
        if !fixed.contains(&row) && fixed.contains(&column) {
            rhs[row as usize] = rhs[row as usize] - value * given[column as usize];
        }
    }
    for &unknown in fixed {
        rhs[unknown as usize] = given[unknown as usize];
    }
    rhs
}

fn check_fixed<V: Value>(device: &Device, pattern: &Pattern, fixed: &[u32]) {
    let (unknowns, len) = (pattern.shape.0, pattern.rows.len());
    let name = format!("{unknowns} unknowns, {len} triplets, {fixed:?} fixed, on {device}");
    let plan: AssemblyPlan = pattern.plan(device, Some(fixed));
    for seed in [1, 2] {
        let values = pattern.values::<V>(seed);
        let uploaded = device.upload(&values).expect("memory");
        let matrix = plan.assemble(&uploaded).expect(&name).download().expect("a download");
        check(&name, &matrix, pattern.shape, &pattern.sums(&values, fixed));

        // Unknowns that are not fixed are not read.
        let given = |at: usize| if fixed.contains(&(at as u32)) { 0.1 * (at + 1) as f64 } else { f64::NAN };
        let given: Vec<V> = (0..unknowns).map(|at| V::from_f64(given(at))).collect();
        let rhs: Vec<V> = (0..unknowns).map(|at| V::from_f64(1.0 / (at + 3) as f64)).collect();
        let expected = corrected(pattern, &values, fixed, &given, &rhs);
        let (given, mut rhs) = (device.upload(&given).expect("memory"), device.upload(&rhs).expect("memory"));
        plan.correct_rhs(&uploaded, &given, &mut rhs).expect(&name);
        assert!(rhs.download().expect("a download") == expected, "{name}");
    }
}

#[test]
fn rows_and_columns_of_fixed_unknowns_have_only_a_diagonal() {
    for device in devices() {
        let device = device.device;
        let pattern = Pattern::random((40, 40), 600, 1);
        // Of row 20 a quarter of the triplets are; 33 is there twice.
        for fixed in [&[][..], &[20], &[39, 0], &[33, 5, 33, 20, 7], &(0..40).collect::<Vec<_>>()] {
            check_fixed::<f64>(&device, &pattern, fixed);
        }
        check_fixed::<f32>(&device, &pattern, &[33, 5, 33, 20, 7]);
        check_fixed::<f64>(&device, &Pattern::random((5, 5), 0, 1), &[4, 2]);
        check_fixed::<f64>(&device, &Pattern::random((1, 1), 3, 1), &[0]);
        check_fixed::<f64>(&device, &Pattern::random((900, 900), 700, 2), &(0..300).collect::<Vec<_>>());
    }
}

#[test]
fn without_fixed_unknowns_the_right_hand_side_stays() {
    for device in device_of_each_kind() {
        let pattern = Pattern::random((4, 6), 30, 1);
        let plan: AssemblyPlan = pattern.plan(&device, None);
        let values = device.upload(&pattern.values::<f64>(1)).expect("memory");
        let (unknowns, mut rhs) =
            (device.upload(&[f64::NAN; 4]).expect("memory"), device.upload(&[1.0; 4]).expect("memory"));
        plan.correct_rhs(&values, &unknowns, &mut rhs).expect("nothing to do");
        assert_eq!(rhs.download().expect("a download"), [1.0; 4], "{device}");
    }
}

#[test]
fn invalid_unknowns_and_vectors_are_refused() {
    for device in devices() {
        let device = device.device;
        let (rows, columns) =
            (device.upload(&[0_u32, 1]).expect("memory"), device.upload(&[1_u32, 0]).expect("memory"));
        let plan = |cols: usize, fixed: &[u32]| {
            let fixed = device.upload(fixed).expect("memory");
            let options = AssemblyOptions::default().with_fixed(&fixed);
            AssemblyPlan::<u32>::new_with(3, cols, &rows, &columns, options)
        };
        let error = plan(3, &[0, 3, 1, 7]).expect_err("there is no unknown 3");
        let expected = "fixed unknown 3 at position 1 is out of range: there are 3 unknowns";
        assert_eq!(error.to_string(), expected, "{device}");
        let error = plan(4, &[0]).expect_err("not square");
        assert!(matches!(error, OpError::Shape { cols: 4, needed_cols: 3, .. }), "{device}: {error}");

        let plan = plan(3, &[0]).expect("a plan");
        let values = device.upload(&[1.0, 2.0]).expect("memory");
        let (short, mut rhs) =
            (device.zeros::<f64>(2).expect("memory"), device.upload(&[5.0; 3]).expect("memory"));
        let given = device.zeros(3).expect("memory");
        let refused = [
            plan.correct_rhs(&values, &short, &mut rhs),
            plan.correct_rhs(&given, &given, &mut rhs),
            plan.correct_rhs(&values, &given, &mut rhs.slice_mut(..2).expect("a part")),
        ];
        for result in refused {
            let error = result.expect_err("a length differs");
            assert!(matches!(error, OpError::Length { .. }), "{device}: {error}");
        }
        assert_eq!(rhs.download().expect("a download"), [5.0; 3], "{device}");
    }
}
