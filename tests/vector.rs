//! Dense vectors on every device.

// Sums of small integers are exact.
#![allow(clippy::float_cmp)]

use evenpath::error::OpError;
use evenpath::{Device, Value, vector};
use evenpath_tests::{DeviceUnderTest, devices};

/// Small integers, whose products and sums are exact in any order.
fn numbers<V: Value>(len: usize, seed: usize) -> Vec<V> {
    (0..len).map(|at| V::from_f64(((at * 7 + seed * 3) % 11) as f64 - 5.0)).collect()
}

fn check<V: Value>(device: &Device, len: usize) {
    let (x, y) = (numbers::<V>(len, 1), numbers::<V>(len, 2));
    let wide = |at: usize| (x[at].to_f64(), y[at].to_f64());
    let all = |values: Vec<V>, expected: &dyn Fn(usize) -> f64| {
        assert_eq!(values.len(), len);
        for (at, value) in values.iter().enumerate() {
            assert_eq!(value.to_f64(), expected(at), "element {at} of {len} on {device}");
        }
    };
    let (dx, mut dy) = (device.upload(&x).unwrap(), device.upload(&y).unwrap());
    let dot: f64 = (0..len).map(|at| wide(at).0 * wide(at).1).sum();
    assert_eq!(vector::dot(&dx, &dy).unwrap().to_f64(), dot, "{len} on {device}");

    let mut result = device.upload(&[V::from_f64(f64::NAN); 3]).unwrap();
    vector::dot_into(&dx, &dy, &mut result.slice_mut(1..2).unwrap()).unwrap();
    assert_eq!(result.get(1).unwrap().to_f64(), dot, "{len} on {device}");
    // The squares have few bits, so that all sums of them are exact too.
    let norm = V::from_f64((0..len).map(|at| wide(at).0 * wide(at).0).sum::<f64>().sqrt());
    assert_eq!(vector::norm2(&dx).unwrap(), norm, "{len} on {device}");
    vector::norm2_into(&dx, &mut result.slice_mut(2..).unwrap()).unwrap();
    assert_eq!(result.get(2).unwrap(), norm, "{len} on {device}");
    assert!(result.get(0).unwrap().to_f64().is_nan(), "{len} on {device}");

    let mut dz = device.upload(&vec![V::from_f64(f64::NAN); len]).unwrap();
    vector::divide_elements(&dx, &dy, &mut dz).unwrap();
    for (at, quotient) in dz.download().unwrap().into_iter().enumerate() {
        let expected = V::from_f64(wide(at).0 / wide(at).1);
        assert!(quotient == expected || wide(at) == (0.0, 0.0) && quotient.to_f64().is_nan(), "element {at}");
    }
    vector::multiply_elements(&dx, &dy, &mut dz).unwrap();
    all(dz.download().unwrap(), &|at| wide(at).0 * wide(at).1);
    let mut in_place = device.upload(&y).unwrap();
    vector::multiply_elements_in_place(&dx, &mut in_place).unwrap();
    all(in_place.download().unwrap(), &|at| wide(at).0 * wide(at).1);
    // Products and quotients of small integers and powers of two are exact.
    let powers: Vec<V> = (0..len).map(|at| V::from_f64([0.5, -2.0, 8.0][at % 3])).collect();
    vector::divide_elements_in_place(&device.upload(&powers).unwrap(), &mut in_place).unwrap();
    all(in_place.download().unwrap(), &|at| wide(at).0 * wide(at).1 / powers[at].to_f64());

    vector::axpby(V::from_f64(2.0), &dx, V::from_f64(-3.0), &mut dy).unwrap();
    all(dy.download().unwrap(), &|at| 2.0 * wide(at).0 - 3.0 * wide(at).1);
    let mut dy = device.upload(&vec![V::from_f64(f64::NAN); len]).unwrap();
    vector::axpby(V::ONE, &dx, V::ZERO, &mut dy).unwrap();
    all(dy.download().unwrap(), &|at| wide(at).0);
}

#[test]
fn vectors_of_every_length() {
    for DeviceUnderTest { device, .. } in devices() {
        // Around the tile of a block, and beyond one tile per block of the largest grid.
        for len in [0, 1, 255, 256, 257, 1023, 1024, 1025, 5000, 1024 * 1024 + 3] {
            check::<f64>(&device, len);
            check::<f32>(&device, len.min(5000));
        }
    }
}

/// Sums that are rounded: both ways to get one give the same bits.
#[test]
fn rounded_sums_are_the_same_on_the_host_and_on_the_device() {
    for DeviceUnderTest { device, .. } in devices() {
        for len in [1_u32, 3000, 300_000] {
            let numbers = |seed| -> Vec<f64> { (0..len).map(|at| f64::from(at * 7 + seed).sin()).collect() };
            let (x, y) = (device.upload(&numbers(1)).unwrap(), device.upload(&numbers(2)).unwrap());
            let mut result = device.zeros::<f64>(1).unwrap();
            let dot = vector::dot(&x, &y).unwrap();
            for _ in 0..2 {
                vector::dot_into(&x, &y, &mut result).unwrap();
                assert_eq!(result.get(0).unwrap().to_bits(), dot.to_bits(), "{len} on {device}");
            }
            let exact: f64 = numbers(1).iter().zip(&numbers(2)).map(|(x, y)| x * y).sum();
            assert!((dot - exact).abs() <= 1e-9 * f64::from(len), "{dot} instead of {exact}");
            // Powers of two scale without rounding, so a norm within the range equals that of the unscaled
            // squares.
            let norm = vector::norm2(&x).unwrap();
            assert_eq!(norm.to_bits(), vector::dot(&x, &x).unwrap().sqrt().to_bits(), "{len} on {device}");
            vector::norm2_into(&x, &mut result).unwrap();
            assert_eq!(result.get(0).unwrap().to_bits(), norm.to_bits(), "{len} on {device}");
        }
    }
}

/// Elements whose squares are out of range, alone and among others, more than a block processes.
#[test]
fn squares_neither_overflow_nor_underflow() {
    fn check<V: Value>(device: &Device, exponents: std::ops::Range<i32>, digits: f64) {
        for exponent in exponents.step_by(7) {
            let unit = 2.0_f64.powi(exponent);
            // Small integers times a power of two: exact, and so are their squares without it.
            for len in [1, 2, 3000, if exponent % 2 == 0 { 50_000 } else { 5 }] {
                let number =
                    |at: usize| if at == len / 2 { 4.0 } else { f64::from(u8::from(at.is_multiple_of(3))) };
                let values: Vec<V> = (0..len).map(|at| V::from_f64(number(at) * unit)).collect();
                let expected = (0..len).map(|at| number(at) * number(at)).sum::<f64>().sqrt() * unit;
                let found = vector::norm2(&device.upload(&values).unwrap()).unwrap().to_f64();
                let (least, most) = if V::NAME == "f32" {
                    (f64::from(f32::from_bits(1)), f64::from(f32::MAX))
                } else {
                    (f64::from_bits(1), f64::MAX)
                };
                assert!(
                    (found - expected).abs() <= expected * digits + least
                        || expected > most && found == f64::INFINITY,
                    "2^{exponent}, {len} elements on {device}: {found} instead of {expected}"
                );
            }
        }
        // Only the large ones matter.
        let unit = 2.0_f64.powi(if V::NAME == "f32" { 100 } else { 900 });
        let mut values = vec![V::from_f64(1.0 / unit); 5000];
        (values[7], values[4000]) = (V::from_f64(3.0 * unit), V::from_f64(-4.0 * unit));
        assert_eq!(vector::norm2(&device.upload(&values).unwrap()).unwrap().to_f64(), 5.0 * unit, "{device}");
    }
    for DeviceUnderTest { device, .. } in devices() {
        check::<f64>(&device, -1074..1020, 1e-14);
        check::<f32>(&device, -149..124, 2e-6);
    }
}

#[test]
fn norms_out_of_range() {
    for DeviceUnderTest { device, .. } in devices() {
        let norm = |values: &[f64]| vector::norm2(&device.upload(values).unwrap()).unwrap();
        assert_eq!(norm(&[f64::MAX, f64::MAX]), f64::INFINITY, "the norm itself is out of range");
        assert_eq!(norm(&[f64::NEG_INFINITY]), f64::INFINITY);
        assert_eq!(norm(&[1e-300, f64::INFINITY, 1e300]), f64::INFINITY);
        for others in [1.0, 1e-300, 1e300, f64::INFINITY] {
            assert!(norm(&[others, f64::NAN]).is_nan());
        }
        assert_eq!(norm(&[-0.0, 0.0]).to_bits(), 0);
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    for DeviceUnderTest { device, .. } in devices() {
        let (two, mut three) = (device.zeros::<f64>(2).unwrap(), device.upload(&[1.0; 3]).unwrap());
        assert!(matches!(
            vector::axpby(1.0, &two, 1.0, &mut three),
            Err(OpError::Length { operand: "y", len: 3, needed: 2 })
        ));
        assert!(matches!(vector::dot(&two, &three), Err(OpError::Length { .. })));
        assert!(matches!(vector::multiply_elements(&two, &two, &mut three), Err(OpError::Length { .. })));
        assert!(matches!(vector::divide_elements(&two, &two, &mut three), Err(OpError::Length { .. })));
        for refused in [
            vector::multiply_elements_in_place(&two, &mut three),
            vector::divide_elements_in_place(&two, &mut three),
        ] {
            assert!(matches!(refused, Err(OpError::Length { operand: "y", len: 3, needed: 2 })));
        }
        for refused in [vector::dot_into(&two, &two, &mut three), vector::norm2_into(&two, &mut three)] {
            assert!(matches!(refused, Err(OpError::Length { operand: "result", len: 3, needed: 1 })));
        }
        let others = devices().into_iter().map(|other| other.device);
        let other = others.into_iter().find(|other| !other.is_same(&device)).unwrap();
        let elsewhere = other.zeros::<f64>(3).unwrap();
        assert!(matches!(vector::axpby(1.0, &elsewhere, 1.0, &mut three), Err(OpError::Device(_))));
        let mut result = three.slice_mut(..1).unwrap();
        for refused in [
            vector::dot_into(&elsewhere, &elsewhere, &mut result),
            vector::dot_into(&two, &elsewhere, &mut result),
            vector::norm2_into(&elsewhere, &mut result),
        ] {
            assert!(refused.is_err());
        }
        assert_eq!(three.download().unwrap(), [1.0; 3]);
    }
}
