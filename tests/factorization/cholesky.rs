use evenpath::factorization::{FactorizationOptions, Ic0Plan};
use evenpath::{Csr, Device, Offset, Value};
use evenpath_tests::{DeviceUnderTest, devices};
use proptest::prelude::*;

use super::matrices::{dense, epsilon, shapes, with_entries};

/// Checks the definition: where the lower triangle of A has entries, L·Lᵀ is A, with the diagonal shifted.
fn check<V: Value, O: Offset>(a: &Csr<V, O>, shift: f64, l: &Csr<V, O>) -> Result<(), String> {
    let n = a.nrows();
    let ((a, mut has), (l, has_l)) = (dense(a), dense(l));
    has.iter_mut().enumerate().for_each(|(row, has)| has[row + 1..].fill(false));
    assert_eq!(has, has_l);
    for row in 0..n {
        for column in (0..=row).filter(|&column| has[row][column]) {
            let terms: Vec<f64> =
                (0..=column).map(|k| l[row][k] * l[column][k]).filter(|&term| term != 0.0).collect();
            let expected = if row == column { a[row][column] * (1.0 + shift) } else { a[row][column] };
            let magnitude = expected.abs() + terms.iter().map(|term| term.abs()).sum::<f64>();
            let bound = (terms.len() + 5) as f64 * epsilon::<V>() * magnitude;
            let difference = (terms.iter().sum::<f64>() - expected).abs();
            if difference.is_nan() || difference > bound {
                return Err(format!("({row}, {column}): L·Lᵀ differs by {difference:e}, beyond {bound:e}"));
            }
        }
    }
    Ok(())
}

fn factorize<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>, shift: f64) -> Csr<V, O> {
    let matrix = device.upload(a).expect("upload");
    let plan = Ic0Plan::new_with(&matrix, FactorizationOptions::default().with_shift(shift)).expect("a plan");
    plan.factorize(&matrix).expect("a factor").download().expect("download")
}

/// Factorizes on every device, checks the factor, and compares bits.
fn factorize_on_all<V: Value, O: Offset>(name: &str, a: &Csr<V, O>, shift: f64) {
    let mut expected = None;
    for DeviceUnderTest { device, .. } in devices() {
        let l = factorize(&device, a, shift);
        check(a, shift, &l).unwrap_or_else(|error| panic!("{name}, {device}: {error}"));
        assert!(expected.get_or_insert_with(|| l.clone()) == &l, "{name}, {device}: other bits");
    }
}

#[test]
fn shapes_of_all_kinds() {
    for (name, a) in shapes::<f64, u32>(true) {
        factorize_on_all(name, &a, 0.0);
    }
    for (name, a) in shapes::<f32, u64>(true) {
        factorize_on_all(name, &a, 0.25);
    }
    factorize_on_all("f32", &shapes::<f32, u32>(true).pop().expect("a shape").1, 0.0);
    factorize_on_all("u64", &shapes::<f64, u64>(true).pop().expect("a shape").1, 0.0);
}

/// Entries above the diagonal are ignored, whatever they are.
#[test]
fn the_upper_triangle_is_ignored() {
    let a = shapes::<f64, u32>(true).pop().expect("a shape").1;
    let triplets =
        a.iter().map(|(row, column, value)| (row, column, if row < column { f64::NAN } else { value }));
    let other: Csr<f64> = Csr::from_triplets(a.nrows(), a.ncols(), triplets).expect("inside");
    let lower = a.tril(0);
    for DeviceUnderTest { device, .. } in devices() {
        let expected = factorize(&device, &a, 0.0);
        assert_eq!(factorize(&device, &other, 0.0), expected, "{device}");
        assert_eq!(factorize(&device, &lower, 0.0), expected, "{device}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_pattern(n in 1..40_usize, entries in prop::collection::vec((0..40_usize, 0..40_usize), 0..200)) {
        let entries = entries.into_iter().map(|(row, column)| (row % n, column % n));
        factorize_on_all("any", &with_entries::<f64, u32>(n, entries, true), 0.0);
    }
}
