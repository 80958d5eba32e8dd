use evenpath::factorization::{FactorizationOptions, Ilu0Plan};
use evenpath::triangular::{Diagonal, Triangle, TriangularOptions};
use evenpath::{Csr, Device, Offset, Value};
use evenpath_tests::{DeviceUnderTest, devices, vector};
use proptest::prelude::*;

use super::matrices::{dense, epsilon, shapes, with_entries};

/// Checks the definition: where A has entries, LU is A (Saad, 2003, proposition 10.4), with the diagonal shifted. An entry of LU has as many
/// terms as columns up to both its row and column, each rounded once or twice.
fn check<V: Value, O: Offset>(a: &Csr<V, O>, shift: f64, lu: &Csr<V, O>) -> Result<(), String> {
    let n = a.nrows();
    assert_eq!((a.row_offsets(), a.column_indices()), (lu.row_offsets(), lu.column_indices()));
    let ((a, has), (factors, _)) = (dense(a), dense(lu));
    for row in 0..n {
        for column in (0..n).filter(|&column| has[row][column]) {
            let lower = |k: usize| if k == row { 1.0 } else { factors[row][k] };
            let terms: Vec<f64> = (0..=row.min(column))
                .map(|k| lower(k) * factors[k][column])
                .filter(|&term| term != 0.0)
                .collect();
            let expected = if row == column { a[row][column] * (1.0 + shift) } else { a[row][column] };
            let magnitude = expected.abs() + terms.iter().map(|term| term.abs()).sum::<f64>();
            let bound = (terms.len() + 5) as f64 * epsilon::<V>() * magnitude;
            let difference = (terms.iter().sum::<f64>() - expected).abs();
            if difference.is_nan() || difference > bound {
                return Err(format!("({row}, {column}): LU differs by {difference:e}, beyond {bound:e}"));
            }
        }
    }
    Ok(())
}

fn factorize<V: Value, O: Offset>(device: &Device, a: &Csr<V, O>, shift: f64) -> Csr<V, O> {
    let matrix = device.upload(a).expect("upload");
    let plan =
        Ilu0Plan::new_with(&matrix, FactorizationOptions::default().with_shift(shift)).expect("a plan");
    plan.factorize(&matrix).expect("factors").download().expect("download")
}

/// Factorizes on every device, checks the factors, and compares bits.
fn factorize_on_all<V: Value, O: Offset>(name: &str, a: &Csr<V, O>, shift: f64) {
    let mut expected = None;
    for DeviceUnderTest { device, .. } in devices() {
        let lu = factorize(&device, a, shift);
        check(a, shift, &lu).unwrap_or_else(|error| panic!("{name}, {device}: {error}"));
        assert!(expected.get_or_insert_with(|| lu.clone()) == &lu, "{name}, {device}: other bits");
    }
}

#[test]
fn shapes_of_all_kinds() {
    for (name, a) in shapes::<f64, u32>(false) {
        factorize_on_all(name, &a, 0.0);
    }
    for (name, a) in shapes::<f32, u64>(false) {
        factorize_on_all(name, &a, 0.25);
    }
    factorize_on_all("f32", &shapes::<f32, u32>(false).pop().expect("a shape").1, 0.0);
    factorize_on_all("u64", &shapes::<f64, u64>(true).pop().expect("a shape").1, 0.0);
}

/// Without fill to leave out, LU is A, so that two solves solve with A.
#[test]
fn solves_follow_a_complete_factorization() {
    let a = shapes::<f64, u32>(false).into_iter().find(|(name, _)| *name == "dense").expect("a shape").1;
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = device.upload(&a).expect("upload");
        let lu = Ilu0Plan::new(&matrix).expect("a plan").factorize(&matrix).expect("factors");
        let lower = TriangularOptions::default().with_diagonal(Diagonal::Unit);
        let upper = TriangularOptions::default().with_triangle(Triangle::Upper);
        let expected: Vec<f64> = vector(40);
        let mut b = vec![0.0; 40];
        a.spmv(1.0, &expected, 0.0, &mut b).expect("a product");
        let mut x = device.upload(&b).expect("upload");
        for options in [lower, upper] {
            lu.plan_triangular_solve(options)
                .expect("a plan")
                .solve_in_place(1.0, &mut x)
                .expect("a solution");
        }
        let x = x.download().expect("download");
        assert!(x.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-12), "{x:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_pattern(n in 1..40_usize, entries in prop::collection::vec((0..40_usize, 0..40_usize), 0..200)) {
        let entries = entries.into_iter().map(|(row, column)| (row % n, column % n));
        factorize_on_all("any", &with_entries::<f64, u32>(n, entries, false), 0.0);
    }
}
