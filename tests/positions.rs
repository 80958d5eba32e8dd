//! Elements gathered from positions and added to them, on every device.

// Sums of small integers are exact.
#![allow(clippy::float_cmp)]

use evenpath::error::{DeviceError, OpError};
use evenpath::vector::Positions;
use evenpath::{Device, Value};
use evenpath_tests::{DeviceUnderTest, devices};

fn check<V: Value>(device: &Device, len: usize, positions: &[u32]) {
    let number = |at: usize| V::from_f64((at * 7 % 11) as f64);
    let values: Vec<V> = (0..len).map(number).collect();
    let addends: Vec<V> = (0..positions.len()).map(|at| number(at + 3)).collect();
    let on_device = Positions::new(device, positions, len).unwrap();
    assert_eq!((on_device.count(), on_device.vector_len()), (positions.len(), len));

    let mut x = device.upload(&values).unwrap();
    let mut gathered = device.upload(&vec![V::from_f64(f64::NAN); positions.len()]).unwrap();
    on_device.gather(&x, &mut gathered).unwrap();
    let expected: Vec<V> = positions.iter().map(|&at| values[at as usize]).collect();
    assert_eq!(gathered.download().unwrap(), expected, "{device}");

    on_device.add(&device.upload(&addends).unwrap(), &mut x).unwrap();
    let mut expected = values;
    for (&at, &addend) in positions.iter().zip(&addends) {
        expected[at as usize] += addend;
    }
    assert_eq!(x.download().unwrap(), expected, "{device}");
}

#[test]
fn any_number_of_positions() {
    for DeviceUnderTest { device, .. } in devices() {
        for len in [1, 255, 256, 257, 3000] {
            let backwards: Vec<u32> = (0..len).rev().step_by(3).collect();
            check::<f64>(&device, len as usize, &backwards);
            check::<f32>(&device, len as usize, &backwards);
        }
        check::<f64>(&device, 5, &[]);
        check::<f64>(&device, 0, &[]);
    }
}

#[test]
fn repeated_positions_are_gathered_but_not_added_to() {
    for DeviceUnderTest { device, .. } in devices() {
        let positions = Positions::new(&device, &[2, 0, 2, 0], 3).unwrap();
        let mut x = device.upload(&[1.0, 2.0, 3.0]).unwrap();
        let mut gathered = device.zeros(4).unwrap();
        positions.gather(&x, &mut gathered).unwrap();
        assert_eq!(gathered.download().unwrap(), [3.0, 1.0, 3.0, 1.0]);
        let refused = positions.add(&gathered, &mut x);
        assert!(matches!(refused, Err(OpError::RepeatedPosition { position: 0 })));
        assert_eq!(x.download().unwrap(), [1.0, 2.0, 3.0]);
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    for DeviceUnderTest { device, .. } in devices() {
        let outside = Positions::new(&device, &[1, 3], 3).unwrap_err();
        assert!(
            matches!(outside, OpError::Device(DeviceError::OutOfBounds { index: 3, len: 3 })),
            "{outside}"
        );
        let positions = Positions::new(&device, &[1, 0], 3).unwrap();
        let (mut two, mut three) =
            (device.upload(&[5.0, 6.0]).unwrap(), device.upload(&[1.0, 2.0, 3.0]).unwrap());
        let source = device.upload(&[7.0; 2]).unwrap();
        let length = |operand, result: Result<(), OpError>| {
            assert!(
                matches!(&result, Err(OpError::Length { operand: found, .. }) if *found == operand),
                "{result:?}"
            );
        };
        length("source", positions.gather(&source, &mut two));
        length("addends", positions.add(&device.upload(&[1.0; 3]).unwrap(), &mut three));
        length("target", positions.add(&source, &mut two));
        assert_eq!(
            (two.download().unwrap(), three.download().unwrap()),
            (vec![5.0, 6.0], vec![1.0, 2.0, 3.0])
        );
    }
}
