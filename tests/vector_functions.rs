//! Functions of elements, and reductions to one number.

#![allow(clippy::float_cmp)]

use evenpath::error::OpError;
use evenpath::vector::{self, Map};
use evenpath::{Device, Value};
use evenpath_tests::{DeviceUnderTest, devices};

/// Numbers over the whole range, with all special ones.
fn range<V: Value>() -> Vec<V> {
    let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0, -1.0, 5e-324, 1e-45, 2.0, 0.5];
    let limits = [f64::MAX, f64::MIN, f64::MIN_POSITIVE, f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE)];
    let edges =
        [709.78, 709.79, -708.5, -745.0, -745.2, 88.72, 88.73, -87.5, -103.0, -104.0, 0.999_999_999_9];
    let small = (0..2000).map(|at| f64::from(at - 1000) * 0.097);
    let large = (-1074..1024).map(|exponent| 1.37 * 2.0_f64.powi(exponent));
    special.into_iter().chain(limits).chain(edges).chain(small).chain(large).map(V::from_f64).collect()
}

/// Returns whether a number is within an error of units in the last place of another.
fn is_close<V: Value>(found: V, expected: f64, units: f64) -> bool {
    let (digits, least): (i32, f64) =
        if V::NAME == "f32" { (-23, f64::from(f32::from_bits(1))) } else { (-52, 5e-324) };
    let rounded = V::from_f64(expected).to_f64();
    if !rounded.is_finite() {
        return rounded.is_nan() && found.to_f64().is_nan() || rounded == found.to_f64();
    }
    (found.to_f64() - expected).abs() <= units * (expected.abs() * 2.0_f64.powi(digits)).max(least)
}

/// A function, computed by the standard library.
type Function = fn(f64) -> f64;

fn check_maps<V: Value>(device: &Device, first: &mut Vec<Vec<u64>>) {
    let of = V::from_f64;
    let maps: [(Map<V>, f64, Function); 22] = [
        (Map::Abs, 0.0, f64::abs),
        (Map::Reciprocal, 0.5, |x| 1.0 / x),
        (Map::Sqrt, 0.5, f64::sqrt),
        (Map::Exp, 2.0, f64::exp),
        (Map::Log, 2.0, f64::ln),
        (Map::Sign, 0.0, |x| if x == 0.0 { x } else { x.signum() }),
        (Map::Clamp { low: of(-2.0), high: of(3.0) }, 0.0, |x| x.clamp(-2.0, 3.0)),
        (Map::Add(of(0.25)), 0.5, |x| x + 0.25),
        (Map::Scale(of(3.0)), 0.5, |x| x * 3.0),
        (Map::Square, 0.5, |x| x * x),
        (Map::Power(of(0.0)), 0.0, |x| x.powf(0.0)),
        (Map::Power(of(1.0)), 0.0, |x| x),
        (Map::Power(of(2.0)), 0.5, |x| x * x),
        (Map::Power(of(-1.0)), 0.5, |x| 1.0 / x),
        (Map::Power(of(3.0)), 1.0, |x| x.powf(3.0)),
        (Map::Power(of(-7.0)), 1.0, |x| x.powf(-7.0)),
        (Map::Power(of(2.5)), 1.0, |x| x.powf(2.5)),
        (Map::Power(of(-0.125)), 1.0, |x| x.powf(-0.125)),
        (Map::Power(of(33.0)), 1.0, |x| x.powf(33.0)),
        (Map::Power(of(f64::INFINITY)), 0.0, |x| x.powf(f64::INFINITY)),
        (Map::Power(of(f64::NEG_INFINITY)), 0.0, |x| x.powf(f64::NEG_INFINITY)),
        (Map::Power(of(f64::NAN)), 0.0, |x| x.powf(f64::NAN)),
    ];
    let numbers = range::<V>();
    for (number, (map, units, expected)) in maps.into_iter().enumerate() {
        let mut padded = vec![of(7.0)];
        padded.extend(&numbers);
        let mut y = device.upload(&padded).unwrap();
        vector::map(map, &mut y.slice_mut(1..).unwrap()).unwrap();
        let found = y.download().unwrap();
        assert_eq!(found[0], of(7.0));
        for (&x, &found) in numbers.iter().zip(&found[1..]) {
            let expected = expected(x.to_f64());
            assert!(is_close(found, expected, units), "{map:?} of {x} on {device}: {found}, not {expected}");
            assert!(
                expected != 0.0
                    || V::from_f64(expected).to_f64().is_sign_negative() == found.to_f64().is_sign_negative(),
                "{map:?} of {x}"
            );
        }
        // All devices agree, except for the bits of NaN.
        let number_bits =
            |&value: &V| if value.to_f64().is_nan() { u64::MAX } else { value.to_f64().to_bits() };
        let bits: Vec<u64> = found.iter().map(number_bits).collect();
        if let Some(first) = first.get(number) {
            assert!(*first == bits, "{map:?} on {device}");
        } else {
            first.push(bits);
        }
    }
    let mut y = device.upload(&[of(1.0), of(f64::NAN)]).unwrap();
    vector::map(Map::Clamp { low: of(5.0), high: of(3.0) }, &mut y).unwrap();
    assert_eq!(y.get(0).unwrap(), of(3.0));
    vector::fill(of(-0.5), &mut y.slice_mut(1..).unwrap()).unwrap();
    assert_eq!(y.download().unwrap(), [of(3.0), of(-0.5)]);
    vector::fill(of(1.0), &mut y.slice_mut(2..).unwrap()).unwrap();
}

#[test]
fn functions_of_numbers_over_the_whole_range() {
    let (mut single, mut double) = (Vec::new(), Vec::new());
    for DeviceUnderTest { device, .. } in devices() {
        check_maps::<f32>(&device, &mut single);
        check_maps::<f64>(&device, &mut double);
    }
}

/// Numbers from 0 in the order of the floating-point numbers, for their distance in units of the last place.
fn rank(value: f64) -> i64 {
    let bits = value.abs().to_bits() as i64;
    if value < 0.0 { -bits } else { bits }
}

#[test]
fn powers_are_accurate() {
    let near_one = (1..50).flat_map(|bits| [1.0 + 2.0_f64.powi(-bits), 1.0 - 2.0_f64.powi(-bits - 1)]);
    let scattered =
        (1..200).map(|at| (f64::from(at) * 0.618_033_988_749).fract() * 2.0_f64.powi(at % 41 - 20));
    let few_bits = (1..40).map(f64::from);
    let bases: Vec<f64> = near_one.chain(scattered).chain(few_bits).collect();
    let exponents = [
        0.5,
        -0.5,
        1.0 / 3.0,
        1.5,
        -2.5,
        3.0,
        4.0,
        -3.0,
        7.0,
        10.0,
        -10.25,
        100.5,
        -1000.0,
        1e5,
        -1e5,
        12_345_678.9,
        1e10,
        -3e12,
        1e15 + 0.5,
        2.0_f64.powi(53),
        1e18,
        -1e18,
        1e300,
    ];
    for DeviceUnderTest { device, .. } in devices() {
        for exponent in exponents {
            let mut y = device.upload(&bases).unwrap();
            vector::map(Map::Power(exponent), &mut y).unwrap();
            for (&x, found) in bases.iter().zip(y.download().unwrap()) {
                // Both errors together are below a unit and a half.
                let expected = x.powf(exponent);
                assert!(
                    (rank(found) - rank(expected)).abs() <= 1,
                    "{x}^{exponent} on {device}: {found}, not {expected}"
                );
            }
        }
        // Powers of integers that are representable.
        let integers: Vec<f64> = (-9..=9).map(f64::from).collect();
        for exponent in 1..=16 {
            let mut y = device.upload(&integers).unwrap();
            vector::map(Map::Power(f64::from(exponent)), &mut y).unwrap();
            for (&x, found) in integers.iter().zip(y.download().unwrap()) {
                let exact = (x as i64).pow(exponent as u32);
                assert!(
                    exact.unsigned_abs() >= 1 << 53 || found == exact as f64,
                    "{x}^{exponent} on {device}: {found}"
                );
            }
        }
        let a =
            device.upload(&evenpath::Csr::from_triplets(1, 2, [(0, 0, 4.0), (0, 1, 9.0)]).unwrap()).unwrap();
        a.map_values(Map::Power(1.5)).unwrap();
        assert_eq!(a.values().download().unwrap(), [8.0, 27.0]);
    }
}

fn check_reductions<V: Value>(device: &Device, len: usize) {
    // Small integers, whose sums are exact; the extremes occur several times.
    let number = |at: usize| ((at * 7 + 3) % 23) as f64 - 11.0;
    let mut numbers: Vec<V> = (0..=len).map(|at| V::from_f64(number(at))).collect();
    if len > 5 {
        numbers[1 + len / 2] = V::from_f64(f64::NAN);
    }
    let all = device.upload(&numbers).unwrap();
    let x = all.slice(1..).unwrap();
    let plain: Vec<f64> = numbers[1..].iter().map(|value| value.to_f64()).collect();
    let known = || plain.iter().copied().filter(|value| !value.is_nan());
    let least = known().fold(f64::INFINITY, f64::min);
    let greatest = known().fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(vector::min(&x).unwrap().to_f64(), least, "{len} on {device}");
    assert_eq!(vector::max(&x).unwrap().to_f64(), greatest, "{len} on {device}");
    assert_eq!(
        vector::argmin(&x).unwrap(),
        plain.iter().position(|&value| value == least),
        "{len} on {device}"
    );
    assert_eq!(
        vector::argmax(&x).unwrap(),
        plain.iter().position(|&value| value == greatest),
        "{len} on {device}"
    );
    let is_nan = |value: V| value.to_f64().is_nan();
    assert_eq!(is_nan(vector::norm_max(&x).unwrap()), len > 5, "{len} on {device}");
    assert_eq!(is_nan(vector::sum(&x).unwrap()), len > 5, "{len} on {device}");

    let numbers: Vec<V> = (0..=len).map(|at| V::from_f64(number(at))).collect();
    let all = device.upload(&numbers).unwrap();
    let x = all.slice(1..).unwrap();
    let of = |term: fn(f64) -> f64| numbers[1..].iter().map(move |value| term(value.to_f64()));
    assert_eq!(vector::sum(&x).unwrap().to_f64(), of(|x| x).sum::<f64>(), "{len} on {device}");
    assert_eq!(vector::norm1(&x).unwrap().to_f64(), of(f64::abs).sum::<f64>(), "{len} on {device}");
    assert_eq!(vector::norm_max(&x).unwrap().to_f64(), of(f64::abs).fold(0.0, f64::max), "{len} on {device}");

    let mut results = device.upload(&[V::from_f64(9.0); 3]).unwrap();
    vector::norm1_into(&x, &mut results.slice_mut(1..2).unwrap()).unwrap();
    let results = results.download().unwrap();
    assert_eq!((results[0].to_f64(), results[2].to_f64()), (9.0, 9.0));
    assert_eq!(results[1], vector::norm1(&x).unwrap());
}

#[test]
fn reductions_of_every_length() {
    for DeviceUnderTest { device, .. } in devices() {
        for len in [0, 1, 2, 255, 257, 1024, 1025, 5000, 1024 * 1024 + 3] {
            check_reductions::<f64>(&device, len);
            check_reductions::<f32>(&device, len.min(5000));
        }
    }
}

#[test]
fn extremes_of_special_numbers() {
    for DeviceUnderTest { device, .. } in devices() {
        let x = |values: &[f64]| device.upload(values).unwrap();
        let nan = x(&[f64::NAN, -f64::NAN]);
        assert_eq!((vector::min(&nan).unwrap(), vector::argmin(&nan).unwrap()), (f64::INFINITY, None));
        assert_eq!((vector::max(&nan).unwrap(), vector::argmax(&nan).unwrap()), (f64::NEG_INFINITY, None));
        assert!(vector::norm_max(&nan).unwrap().is_nan());
        let zeros = x(&[0.0, -0.0, 0.0]);
        assert_eq!((vector::argmin(&zeros).unwrap(), vector::argmax(&zeros).unwrap()), (Some(1), Some(0)));
        assert_eq!(vector::min(&zeros).unwrap().to_bits(), (-0.0_f64).to_bits());
        assert_eq!(vector::norm_max(&zeros).unwrap().to_bits(), 0);
        let infinite = x(&[f64::INFINITY, f64::INFINITY]);
        assert_eq!(
            (vector::min(&infinite).unwrap(), vector::argmin(&infinite).unwrap()),
            (f64::INFINITY, Some(0))
        );
        let infinite = x(&[f64::NEG_INFINITY, 5e-324]);
        assert_eq!(vector::norm_max(&infinite).unwrap(), f64::INFINITY);
        assert_eq!((vector::max(&infinite).unwrap(), vector::argmax(&infinite).unwrap()), (5e-324, Some(1)));
    }
}

#[test]
fn results_that_do_not_fit_are_refused() {
    for DeviceUnderTest { device, .. } in devices() {
        let (x, mut two) = (device.zeros::<f64>(5).unwrap(), device.upload(&[1.0; 2]).unwrap());
        let mut indices = device.zeros::<u64>(2).unwrap();
        for refused in [
            vector::sum_into(&x, &mut two),
            vector::norm1_into(&x, &mut two),
            vector::norm_max_into(&x, &mut two),
            vector::min_into(&x, &mut two),
            vector::max_into(&x, &mut two),
            vector::argmin_into(&x, &mut indices),
            vector::argmax_into(&x, &mut indices),
        ] {
            assert!(matches!(refused, Err(OpError::Length { operand: "result", len: 2, needed: 1 })));
        }
        assert_eq!(two.download().unwrap(), [1.0; 2]);
    }
}
