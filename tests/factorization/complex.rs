//! Factorizations of complex and of Hermitian matrices.

use evenpath::error::OpError;
use evenpath::factorization::{Ic0Plan, Ilu0Plan};
use evenpath::{Complex, Csr, Offset};
use evenpath_tests::{ComplexValue, DeviceUnderTest, complex, devices, exact};

use super::matrices::shapes;

/// A matrix of the same pattern, Hermitian if the real one is symmetric. Its diagonal dominates as it did.
fn complex_of<V: ComplexValue, O: Offset>(a: &Csr<f64, O>) -> Csr<V, O> {
    let values = a.iter().map(|(row, column, value)| {
        let sign = if row < column { 0.6 } else { -0.6 };
        if row == column { complex(value, 0.0) } else { complex(0.8 * value, sign * value) }
    });
    let (offsets, columns) = (a.row_offsets().to_vec(), a.column_indices().to_vec());
    Csr::try_new(a.nrows(), a.ncols(), offsets, columns, values.collect()).expect("the same pattern")
}

fn dense<V: ComplexValue, O: Offset>(a: &Csr<V, O>) -> Vec<Vec<Option<Complex<f64>>>> {
    let mut rows = vec![vec![None; a.ncols()]; a.nrows()];
    a.iter().for_each(|(row, column, value)| rows[row][column] = Some(exact(value)));
    rows
}

/// Checks that a sum of products is an entry, within some roundings for each term.
fn check_entry<V: ComplexValue>(
    expected: Complex<f64>,
    terms: impl Iterator<Item = Complex<f64>>,
) -> Result<(), String> {
    let (mut sum, mut magnitude, mut count) = (-expected, expected.norm(), 8.0);
    for term in terms {
        (sum, magnitude, count) = (sum + term, magnitude + term.norm(), count + 1.0);
    }
    // Not `>`, because NaN must fail.
    let is_close = sum.norm() <= 6.0 * count * V::EPSILON * magnitude;
    if is_close { Ok(()) } else { Err(format!("{expected} differs by {sum}")) }
}

fn check_lu<V: ComplexValue, O: Offset>(a: &Csr<V, O>, lu: &Csr<V, O>) -> Result<(), String> {
    let (a, lu) = (dense(a), dense(lu));
    for row in 0..a.len() {
        for (column, &entry) in a[row].iter().enumerate() {
            let Some(expected) = entry else { continue };
            let lower = |k: usize| if k == row { Some(1.0.into()) } else { lu[row][k] };
            let terms = (0..=row.min(column)).filter_map(|k| Some(lower(k)? * lu[k][column]?));
            check_entry::<V>(expected, terms).map_err(|error| format!("({row}, {column}): {error}"))?;
        }
    }
    Ok(())
}

fn check_cholesky<V: ComplexValue, O: Offset>(a: &Csr<V, O>, l: &Csr<V, O>) -> Result<(), String> {
    let (a, l) = (dense(a), dense(l));
    for row in 0..a.len() {
        for column in 0..=row {
            let Some(expected) = a[row][column] else { continue };
            let terms = (0..=column).filter_map(|k| Some(l[row][k]? * l[column][k]?.conj()));
            check_entry::<V>(expected, terms).map_err(|error| format!("({row}, {column}): {error}"))?;
        }
        let pivot = l[row][row].ok_or("a diagonal that is missing")?;
        if pivot.im != 0.0 || pivot.re <= 0.0 {
            return Err(format!("({row}, {row}) is {pivot}"));
        }
    }
    Ok(())
}

/// Factorizes on every device, checks the factors, and compares bits.
fn factorize_on_all<V: ComplexValue, O: Offset>(real: &Csr<f64, O>, name: &str) {
    let a = complex_of::<V, O>(real);
    let mut expected = None;
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = device.upload(&a).expect("upload");
        let lu = Ilu0Plan::new(&matrix).expect("a plan").factorize(&matrix).expect("factors");
        let l = Ic0Plan::new(&matrix).expect("a plan").factorize(&matrix).expect("a factor");
        let found = (lu.download().expect("download"), l.download().expect("download"));
        check_lu(&a, &found.0).unwrap_or_else(|error| panic!("LU of {name}, {device}: {error}"));
        check_cholesky(&a, &found.1).unwrap_or_else(|error| panic!("L of {name}, {device}: {error}"));
        assert!(expected.get_or_insert_with(|| found.clone()) == &found, "{name}, {device}: other bits");
    }
}

#[test]
fn shapes_of_all_kinds() {
    for (name, a) in shapes::<f64, u32>(true) {
        factorize_on_all::<Complex<f64>, u32>(&a, name);
    }
    for (name, a) in shapes::<f64, u64>(true) {
        if ["a grid", "scattered"].contains(&name) {
            factorize_on_all::<Complex<f32>, u64>(&a, name);
        }
    }
}

/// Imaginary parts of the diagonal, and entries above it, do not count for L·Lᴴ.
#[test]
fn the_lower_triangle_alone_counts() {
    let a = complex_of::<Complex<f64>, u32>(&shapes(true).pop().expect("a shape").1);
    let mut other = a.clone();
    let is_lower: Vec<_> = a.iter().map(|(row, column, _)| (row > column, row == column)).collect();
    for (value, (is_lower, is_diagonal)) in other.values_mut().iter_mut().zip(is_lower) {
        if is_diagonal {
            value.im = 5.0;
        } else if !is_lower {
            *value = Complex::new(f64::NAN, 1.0);
        }
    }
    for DeviceUnderTest { device, .. } in devices() {
        let (a, other) = (device.upload(&a).expect("upload"), device.upload(&other).expect("upload"));
        let factor = |a| Ic0Plan::new(a).expect("a plan").factorize(a).expect("a factor");
        let (l, found) = (factor(&a), factor(&other));
        assert_eq!(found.download().expect("download"), l.download().expect("download"), "{device}");
    }
}

#[test]
fn imaginary_pivots_break_cholesky_down() {
    let i = Complex::new(0.0, 1.0);
    let a = Csr::from_triplets(2, 2, [(0, 0, 4.0 + 0.0 * i), (1, 1, i)]).expect("inside");
    for DeviceUnderTest { device, .. } in devices() {
        let a = device.upload(&a).expect("upload");
        let error = Ic0Plan::new(&a).expect("a plan").factorize(&a).expect_err("not positive");
        assert!(matches!(error, OpError::Breakdown { row: 1 }), "{error}");
        Ilu0Plan::new(&a).expect("a plan").factorize(&a).expect("factors");
    }
}
