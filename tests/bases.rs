//! Products with leading columns of dense matrices, and vectors in another precision, on every device.

// Sums of small integers are exact.
#![allow(clippy::float_cmp)]

use evenpath::error::OpError;
use evenpath::{Csr, Device, DeviceDense, DeviceVec, Layout, Value, vector};
use evenpath_tests::devices;

const LAYOUTS: [Layout; 2] = [Layout::RowMajor, Layout::ColumnMajor];

fn number(at: usize, seed: usize) -> f64 {
    ((at * 7 + seed * 3) % 11) as f64 - 5.0
}

/// A matrix of small integers with a gap of one element in each line.
fn matrix<V: Value>(device: &Device, (rows, cols): (usize, usize), layout: Layout) -> DeviceDense<V> {
    let (line, lines) = if layout == Layout::RowMajor { (cols, rows) } else { (rows, cols) };
    let mut values = vec![V::from_f64(f64::NAN); (line + 1) * lines];
    for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
        let at = if layout == Layout::RowMajor { row * (line + 1) + col } else { col * (line + 1) + row };
        values[at] = V::from_f64(number(row, col));
    }
    let memory = device.upload(&values).unwrap();
    DeviceDense::try_with_leading_dimension(memory, rows, cols, layout, line + 1).unwrap()
}

/// A vector that is not aligned, of small integers.
fn misaligned<V: Value>(device: &Device, len: usize, seed: usize) -> DeviceVec<V> {
    device.upload(&(0..=len).map(|at| V::from_f64(number(at, seed))).collect::<Vec<V>>()).unwrap()
}

fn check<V: Value>(device: &Device, (rows, cols): (usize, usize), used: usize) {
    for layout in LAYOUTS {
        let basis = matrix::<V>(device, (rows, cols), layout);
        let x = misaligned::<V>(device, rows, 40);
        let mut dots = device.upload(&vec![V::from_f64(f64::NAN); used]).unwrap();
        basis.dots_into(&x.slice(1..).unwrap(), &mut dots).unwrap();
        for (col, found) in dots.download().unwrap().into_iter().enumerate() {
            let expected: f64 = (0..rows).map(|row| number(row, col) * number(row + 1, 40)).sum();
            assert_eq!(found.to_f64(), expected, "column {col} of {rows} x {cols}, {layout}, on {device}");
        }

        let coefficients: Vec<V> = (0..used).map(|col| V::from_f64(number(col, 50))).collect();
        let coefficients = device.upload(&coefficients).unwrap();
        let mut y = misaligned::<V>(device, rows, 60);
        basis.add_columns(V::from_f64(-2.0), &coefficients, &mut y.slice_mut(1..).unwrap()).unwrap();
        let alpha = device.upload(&[V::from_f64(-2.0)]).unwrap();
        let mut again = misaligned::<V>(device, rows, 60);
        basis.add_columns(&alpha, &coefficients, &mut again.slice_mut(1..).unwrap()).unwrap();
        let (y, again) = (y.download().unwrap(), again.download().unwrap());
        assert_eq!(y, again);
        assert_eq!(y[0].to_f64(), number(0, 60));
        for row in 0..rows {
            let sum: f64 = (0..used).map(|col| number(row, col) * number(col, 50)).sum();
            let expected = number(row + 1, 60) - 2.0 * sum;
            assert_eq!(y[row + 1].to_f64(), expected, "row {row} of {rows} x {cols}, {layout}, on {device}");
        }
    }
}

#[test]
fn leading_columns_of_every_shape() {
    for under_test in devices() {
        let device = &under_test.device;
        let large = if under_test.fast { 300_001 } else { 2_100 };
        for shape in [(0, 3), (1, 1), (31, 2), (33, 5), (257, 9), (large, 6)] {
            for used in [0, 1, shape.1] {
                check::<f64>(device, shape, used);
                check::<f32>(device, shape, used);
            }
        }
    }
}

#[test]
fn vectors_that_do_not_fit_a_basis_are_refused() {
    for under_test in devices() {
        let device = &under_test.device;
        let basis = matrix::<f64>(device, (5, 3), Layout::ColumnMajor);
        let (x, long) = (device.zeros(5).unwrap(), device.zeros(4).unwrap());
        let (mut h, mut y) = (device.zeros(4).unwrap(), device.upload(&[1.0; 5]).unwrap());
        let error = basis.dots_into(&x, &mut h).unwrap_err();
        assert!(matches!(error, OpError::Length { operand: "result", len: 4, needed: 3 }), "{error}");
        let error = basis.dots_into(&long, &mut h.slice_mut(..2).unwrap()).unwrap_err();
        assert!(matches!(error, OpError::Length { operand: "x", len: 4, needed: 5 }), "{error}");
        let error = basis.add_columns(1.0, &long, &mut y).unwrap_err();
        assert!(matches!(error, OpError::Length { operand: "coefficients", len: 4, needed: 3 }), "{error}");
        assert_eq!(y.download().unwrap(), [1.0; 5]);
    }
}

#[test]
fn other_precisions_round_to_nearest() {
    for under_test in devices() {
        let device = &under_test.device;
        let exact =
            [0.0, -0.0, 1.5, f64::from(f32::MAX), f64::INFINITY, f64::from(f32::MIN_POSITIVE), 1e-310];
        let wide: Vec<f64> =
            exact.into_iter().chain([0.1, -1.0 / 3.0, 1e300, f64::NAN, 1e-44, 16_777_217.0]).collect();
        let (x, mut narrow) = (device.upload(&wide).unwrap(), device.zeros(wide.len()).unwrap());
        vector::narrow(&x, &mut narrow).unwrap();
        let found = narrow.download().unwrap();
        for (&wide, &found) in wide.iter().zip(&found) {
            assert!(
                found.to_bits() == (wide as f32).to_bits() || wide.is_nan() && found.is_nan(),
                "{wide}: {found}"
            );
        }
        let mut back = device.zeros(wide.len()).unwrap();
        vector::widen(&narrow, &mut back).unwrap();
        for (&narrow, &found) in found.iter().zip(&back.download().unwrap()) {
            let expected = f64::from(narrow);
            assert!(
                found.to_bits() == expected.to_bits() || narrow.is_nan() && found.is_nan(),
                "{narrow}: {found}"
            );
        }
        let pattern =
            Csr::from_triplets(1, wide.len(), wide.iter().enumerate().map(|(col, &value)| (0, col, value)));
        let a = device.upload(&pattern.unwrap()).unwrap();
        let single = a.narrow().unwrap();
        a.set_values(&vec![0.0; wide.len()]).unwrap();
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<u32>>();
        assert_eq!(bits(single.values().download().unwrap()), bits(narrow.download().unwrap()));
        assert_eq!(
            bits(single.widen().unwrap().narrow().unwrap().values().download().unwrap()),
            bits(found.clone())
        );
        assert!(vector::narrow(&x, &mut device.zeros(1).unwrap()).is_err());
        assert!(vector::widen(&narrow, &mut device.zeros(1).unwrap()).is_err());
    }
}
