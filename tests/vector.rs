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

    let mut dz = device.upload(&vec![V::from_f64(f64::NAN); len]).unwrap();
    vector::multiply_elements(&dx, &dy, &mut dz).unwrap();
    all(dz.download().unwrap(), &|at| wide(at).0 * wide(at).1);

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

#[test]
fn what_does_not_fit_is_refused() {
    for DeviceUnderTest { device, .. } in devices() {
        let (two, mut three) = (device.zeros::<f64>(2).unwrap(), device.upload(&[1.0; 3]).unwrap());
        assert!(matches!(
            vector::axpby(1.0, &two, 1.0, &mut three),
            Err(OpError::Length { operand: "y", len: 3, needed: 2 })
        ));
        assert!(matches!(vector::dot(&two, &three), Err(OpError::Length { .. })));
        assert!(matches!(vector::multiply_elements(&two, &two, &mut three), Err(OpError::Length { .. })));
        let others = devices().into_iter().map(|other| other.device);
        let other = others.into_iter().find(|other| !other.is_same(&device)).unwrap();
        let elsewhere = other.zeros::<f64>(3).unwrap();
        assert!(matches!(vector::axpby(1.0, &elsewhere, 1.0, &mut three), Err(OpError::Device(_))));
        assert_eq!(three.download().unwrap(), [1.0; 3]);
    }
}
