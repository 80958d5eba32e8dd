//! Complex vectors, and products with leading columns of dense matrices of them, on every device.

use evenpath::error::OpError;
use evenpath::{Complex, Device, DeviceDense, Layout, RealStorage, Scalar, vector};
use evenpath_tests::{ComplexValue, complex, complex_vector, devices, exact};

type C64 = Complex<f64>;

const I: C64 = C64::new(0.0, 1.0);

/// Numbers whose parts are small integers, so that products and sums are exact in any order.
fn number(at: usize, seed: usize) -> C64 {
    let part = |factor: usize| ((at * factor + seed * 3) % 11) as f64 - 5.0;
    C64::new(part(7), part(4))
}

fn numbers<V: Scalar>(len: usize, seed: usize) -> Vec<V> {
    (0..len).map(|at| number(at, seed)).map(|number| complex(number.re, number.im)).collect()
}

fn all<V: Scalar>(device: &Device, found: &[V], len: usize, expected: impl Fn(usize) -> C64) {
    assert_eq!(found.len(), len, "{device}");
    for (at, &found) in found.iter().enumerate() {
        assert_eq!(exact(found), expected(at), "element {at} of {len} on {device}");
    }
}

fn check_products<V: Scalar>(device: &Device, len: usize) {
    // The second elements on, which may not be aligned to 16 bytes.
    let (x, y) = (numbers::<V>(len + 1, 1), numbers::<V>(len + 1, 2));
    let (x, y) = (device.upload(&x).unwrap(), device.upload(&y).unwrap());
    let (x, y) = (x.slice(1..).unwrap(), y.slice(1..).unwrap());
    let pairs = || (1..=len).map(|at| (number(at, 1), number(at, 2)));
    let unconjugated: C64 = pairs().map(|(x, y)| x * y).sum();
    let conjugated: C64 = pairs().map(|(x, y)| x.conj() * y).sum();
    assert_eq!(exact(vector::dot(&x, &y).unwrap()), unconjugated, "{len} on {device}");
    assert_eq!(exact(vector::dot_conjugated(&x, &y).unwrap()), conjugated, "{len} on {device}");

    let mut result = device.upload(&[complex::<V>(f64::NAN, 1.0); 3]).unwrap();
    vector::dot_into(&x, &y, &mut result.slice_mut(1..2).unwrap()).unwrap();
    vector::dot_conjugated_into(&x, &y, &mut result.slice_mut(2..).unwrap()).unwrap();
    let found = result.download().unwrap();
    assert_eq!([exact(found[1]), exact(found[2])], [unconjugated, conjugated], "{len} on {device}");
    assert!(exact(found[0]).re.is_nan(), "{len} on {device}");

    let square: f64 = pairs().map(|(x, _)| x.norm_sqr()).sum();
    let norm = vector::norm2(&x).unwrap();
    assert_eq!(norm, V::Real::from_f64(square.sqrt()), "{len} on {device}");
    let mut norm_on_device = device.zeros(1).unwrap();
    vector::norm2_into(&x, &mut norm_on_device).unwrap();
    assert_eq!(norm_on_device.get(0).unwrap(), norm, "{len} on {device}");
}

fn check_elements<V: Scalar>(device: &Device, len: usize) {
    let (x, mut y) = (numbers::<V>(len, 1), device.upload(&numbers::<V>(len, 2)).unwrap());
    let x = device.upload(&x).unwrap();
    let mut z = device.upload(&vec![complex::<V>(f64::NAN, f64::NAN); len]).unwrap();
    vector::multiply_elements(&x, &y, &mut z).unwrap();
    all(device, &z.download().unwrap(), len, |at| number(at, 1) * number(at, 2));
    vector::conjugate(&mut y).unwrap();
    all(device, &y.download().unwrap(), len, |at| number(at, 2).conj());
    let parts = x.as_parts().download().unwrap();
    assert_eq!(parts.len(), 2 * len, "{device}");
    for (at, pair) in parts.chunks(2).enumerate() {
        assert_eq!(C64::new(pair[0].to_f64(), pair[1].to_f64()), number(at, 1), "part {at} on {device}");
    }
    let (two, one) = (V::Real::from_f64(2.0), V::Real::from_f64(1.0));
    vector::axpby(two, &x.as_parts(), one, &mut y.as_parts_mut()).unwrap();
    all(device, &y.download().unwrap(), len, |at| 2.0 * number(at, 1) + number(at, 2).conj());
}

#[test]
fn vectors_of_every_length() {
    for under_test in devices() {
        let device = &under_test.device;
        // Around the tile of a block, and beyond one tile per block of the largest grid.
        for len in [0, 1, 2, 255, 511, 512, 513, 3000, 1024 * 512 + 3] {
            check_products::<C64>(device, len);
            check_elements::<C64>(device, len.min(3000));
            check_products::<Complex<f32>>(device, len.min(3000));
            check_elements::<Complex<f32>>(device, len.min(3000));
        }
    }
}

/// Sums that are rounded: within their bound, and with the same bits in every run and form.
#[test]
fn rounded_sums_are_repeatable() {
    fn check<V: ComplexValue>(device: &Device, len: usize) {
        let (x, y) = (complex_vector::<V>(len, 1), complex_vector::<V>(len, 2));
        let (dx, dy) = (device.upload(&x).unwrap(), device.upload(&y).unwrap());
        let found = exact(vector::dot_conjugated(&dx, &dy).unwrap());
        let expected: C64 = x.iter().zip(&y).map(|(&x, &y)| exact(x).conj() * exact(y)).sum();
        let bound = 4.0 * len as f64 * V::EPSILON * len as f64;
        assert!((found - expected).norm() <= bound, "{len} on {device}: {found}, not {expected}");
        let mut result = device.zeros(1).unwrap();
        for _ in 0..2 {
            vector::dot_conjugated_into(&dx, &dy, &mut result).unwrap();
            assert_eq!(exact(result.get(0).unwrap()), found, "{len} on {device}");
        }
    }
    for under_test in devices() {
        for len in [1, 3000, 70_000] {
            check::<C64>(&under_test.device, len);
            check::<Complex<f32>>(&under_test.device, len);
        }
    }
}

#[test]
fn real_vectors_have_one_inner_product() {
    for under_test in devices() {
        let device = &under_test.device;
        let x: Vec<f64> = (0..3000).map(|at| f64::from(at * 7).sin()).collect();
        let mut x = device.upload(&x).unwrap();
        let (dot, conjugated) = (vector::dot(&x, &x).unwrap(), vector::dot_conjugated(&x, &x).unwrap());
        assert_eq!(dot.to_bits(), conjugated.to_bits(), "{device}");
        assert_eq!(dot.to_bits(), vector::dot(&x.as_parts(), &x.as_parts()).unwrap().to_bits(), "{device}");
        let before = x.download().unwrap();
        vector::conjugate(&mut x).unwrap();
        assert_eq!(x.download().unwrap(), before, "{device}");
    }
}

#[test]
fn norms_of_complex_vectors_are_in_range() {
    for under_test in devices() {
        let device = &under_test.device;
        for unit in [1e-300, 1e300] {
            let x =
                device.upload(&[3.0 * unit * I, C64::new(0.0, 0.0), 4.0 * unit + 12.0 * unit * I]).unwrap();
            let found = vector::norm2(&x).unwrap();
            assert!((found / (13.0 * unit) - 1.0).abs() < 1e-15, "{device}: {found}");
        }
        let x = device.upload(&[I, f64::INFINITY * I]).unwrap();
        assert!(!vector::norm2(&x).unwrap().is_finite(), "{device}");
    }
}

#[test]
fn vectors_that_do_not_fit_are_refused() {
    for under_test in devices() {
        let device = &under_test.device;
        let (two, mut three) = (device.upload(&[I; 2]).unwrap(), device.upload(&[I; 3]).unwrap());
        assert!(matches!(vector::dot_conjugated(&two, &three), Err(OpError::Length { .. })));
        let refused = vector::dot_conjugated_into(&two, &two, &mut three);
        assert!(matches!(refused, Err(OpError::Length { operand: "result", .. })), "{refused:?}");
        let mut norms = device.zeros::<f64>(2).unwrap();
        let refused = vector::norm2_into(&two, &mut norms);
        assert!(matches!(refused, Err(OpError::Length { operand: "result", .. })), "{refused:?}");
        let mut z = device.zeros(3).unwrap();
        assert!(vector::multiply_elements(&two, &two, &mut z).is_err());
        let elsewhere = Device::cpu().upload(&[I; 2]).unwrap();
        if device.kind() != elsewhere.device().kind() {
            assert!(vector::dot_conjugated(&two, &elsewhere).is_err(), "{device}");
        }
        assert_eq!(three.download().unwrap(), [I; 3]);
    }
}

/// A matrix with a gap of one element in each line.
fn matrix<V: Scalar>(device: &Device, (rows, cols): (usize, usize), layout: Layout) -> DeviceDense<V> {
    let is_row_major = layout == Layout::RowMajor;
    let (line, lines) = if is_row_major { (cols, rows) } else { (rows, cols) };
    let mut values = vec![complex::<V>(f64::NAN, f64::NAN); (line + 1) * lines];
    for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
        let at = if is_row_major { row * (line + 1) + col } else { col * (line + 1) + row };
        let element = number(row, col);
        values[at] = complex(element.re, element.im);
    }
    let memory = device.upload(&values).unwrap();
    DeviceDense::try_with_leading_dimension(memory, rows, cols, layout, line + 1).unwrap()
}

fn check_basis<V: Scalar>(device: &Device, (rows, cols): (usize, usize), used: usize) {
    for layout in [Layout::RowMajor, Layout::ColumnMajor] {
        let basis = matrix::<V>(device, (rows, cols), layout);
        let x = device.upload(&numbers::<V>(rows + 1, 40)).unwrap();
        let x = x.slice(1..).unwrap();
        let mut dots = device.upload(&vec![complex::<V>(f64::NAN, 0.0); used]).unwrap();
        let dot = |col: usize, of: fn(C64) -> C64| -> C64 {
            (0..rows).map(|row| of(number(row, col)) * number(row + 1, 40)).sum()
        };
        basis.dots_into(&x, &mut dots).unwrap();
        all(device, &dots.download().unwrap(), used, |col| dot(col, |element| element));
        basis.dots_conjugated_into(&x, &mut dots).unwrap();
        all(device, &dots.download().unwrap(), used, |col| dot(col, Scalar::conj));

        let coefficients = device.upload(&numbers::<V>(used, 50)).unwrap();
        let mut y = device.upload(&numbers::<V>(rows + 1, 60)).unwrap();
        basis.add_columns(complex::<V>(0.0, -2.0), &coefficients, &mut y.slice_mut(1..).unwrap()).unwrap();
        all(device, &y.download().unwrap(), rows + 1, |at| {
            let sum: C64 = match at {
                0 => C64::new(0.0, 0.0),
                _ => (0..used).map(|col| number(at - 1, col) * number(col, 50)).sum(),
            };
            number(at, 60) - 2.0 * I * sum
        });
    }
}

#[test]
fn leading_columns_of_every_shape() {
    for under_test in devices() {
        let large = if under_test.fast { 300_001 } else { 1_100 };
        for shape in [(0, 3), (1, 1), (31, 2), (33, 5), (257, 9), (large, 6)] {
            for used in [0, 1, shape.1] {
                check_basis::<C64>(&under_test.device, shape, used);
                check_basis::<Complex<f32>>(&under_test.device, (shape.0.min(1_100), shape.1), used);
            }
        }
    }
}
