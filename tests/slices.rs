//! Parts of vectors as operands: results equal those of whole vectors, and elements around a part are
//! unchanged.

use evenpath::error::{DeviceError, OpError};
use evenpath::key::Pairs;
use evenpath::operator::Operator;
use evenpath::scan::{self, ScanOptions};
use evenpath::sets::{self, Combine, SetOperation};
use evenpath::sort::{self, SortOptions};
use evenpath::vector::{self, Positions};
use evenpath::{Device, DeviceSlice, DeviceVec, merge, reduce};
use evenpath_tests::devices;

/// More than the largest tile of any kernel, so that whole tiles are loaded and stored.
const LEN: usize = 15_000;
/// Number of elements after each part.
const TAIL: usize = 3;

type Made<T> = Result<DeviceVec<T>, OpError>;

/// A vector with `values` starting at index `shift`, between ones.
fn within<T: bytemuck::Pod>(device: &Device, shift: usize, values: &[T], around: T) -> DeviceVec<T> {
    let mut all = vec![around; shift + values.len() + TAIL];
    all[shift..shift + values.len()].copy_from_slice(values);
    device.upload(&all).expect("memory")
}

/// Checks that an operation gives the same for parts that start at any index as for whole vectors.
fn reads<T: bytemuck::Pod, R: bytemuck::Pod + PartialEq + std::fmt::Debug>(
    name: &str,
    values: &[T],
    operation: impl Fn(&DeviceSlice<T>) -> Made<R>,
) {
    for device in devices() {
        let device = device.device;
        let whole = operation(&device.upload(values).expect("memory")).expect("the device works");
        let whole = whole.download().expect("the device works");
        for shift in 1..4 {
            let around = within(&device, shift, values, values[0]);
            let part = around.slice(shift..shift + values.len()).expect("inside");
            let result = operation(&part).expect("the device works").download().expect("the device works");
            assert!(result == whole, "{name} of a part from {shift} on, on {device}");
        }
    }
}

/// Checks that an operation writes the same to parts that start at any index as to a whole vector, and
/// nothing else.
fn writes<T: bytemuck::Pod + PartialEq + std::fmt::Debug>(
    name: &str,
    len: usize,
    ones: T,
    operation: impl Fn(&Device, &mut DeviceSlice<T>) -> Result<(), OpError>,
) {
    for device in devices() {
        let device = device.device;
        let before = vec![ones; len];
        let mut whole = device.upload(&before).expect("memory");
        operation(&device, &mut whole).expect("the device works");
        let whole = whole.download().expect("the device works");
        for shift in 1..4 {
            let mut around = within(&device, shift, &before, ones);
            operation(&device, &mut around.slice_mut(shift..shift + len).expect("inside"))
                .expect("the device works");
            let around = around.download().expect("the device works");
            assert!(around[shift..shift + len] == whole, "{name} to a part from {shift} on, on {device}");
            let is_kept = |values: &[T]| values.iter().all(|&value| value == ones);
            assert!(is_kept(&around[..shift]) && is_kept(&around[shift + len..]), "{name} beside a part");
        }
    }
}

fn numbers(seed: usize) -> Vec<f64> {
    (0..LEN).map(|at| ((at * 7 + seed) % 11) as f64 - 5.0).collect()
}

fn keys(seed: usize) -> Vec<u32> {
    (0..LEN).map(|at| (at as u32).wrapping_mul(2_654_435_761).wrapping_add(seed as u32) >> 18).collect()
}

fn sorted_keys(seed: usize) -> Vec<u32> {
    let mut keys = keys(seed);
    keys.sort_unstable();
    keys
}

/// Some of the numbers from 0 to `LEN`, ascending, like row offsets.
fn offsets() -> Vec<u32> {
    let mut offsets: Vec<u32> = (0..200).map(|at| at * 75 / 2 % LEN as u32).collect();
    offsets.extend([0, LEN as u32]);
    offsets.sort_unstable();
    offsets
}

#[test]
fn vectors() {
    reads("axpby", &numbers(1), |x| {
        let mut y = x.device().zeros(x.len())?;
        vector::axpby(2.0, x, 0.0, &mut y)?;
        Ok(y)
    });
    reads("dot", &numbers(1), |x| Ok(x.device().upload(&[vector::dot(x, x)?])?));
    reads("a copy", &numbers(1), |x| {
        let mut y = x.device().uninitialized(x.len())?;
        y.copy_from(x)?;
        Ok(y)
    });
    for (name, operation) in [
        (
            "a product",
            vector::multiply_elements as fn(&DeviceSlice<f64>, &DeviceSlice<f64>, &mut DeviceSlice<f64>) -> _,
        ),
        ("a quotient", vector::divide_elements),
    ] {
        reads(name, &numbers(1), |x| {
            let mut y = x.device().zeros(x.len())?;
            operation(x, &x.device().upload(&vec![2.0; LEN])?, &mut y)?;
            Ok(y)
        });
        writes(name, LEN, 1.0, |device, y| {
            operation(&device.upload(&numbers(1))?, &device.upload(&vec![2.0; LEN])?, y)
        });
    }
    for (name, operation) in [
        (
            "a product in place",
            vector::multiply_elements_in_place as fn(&DeviceSlice<f64>, &mut DeviceSlice<f64>) -> _,
        ),
        ("a quotient in place", vector::divide_elements_in_place),
    ] {
        reads(name, &numbers(1), |x| {
            let mut y = x.device().upload(&vec![2.0; x.len()])?;
            operation(x, &mut y)?;
            Ok(y)
        });
        writes(name, LEN, 1.0, |device, y| operation(&device.upload(&vec![2.0; LEN])?, y));
    }
    reads("norm2", &numbers(1), |x| Ok(x.device().upload(&[vector::norm2(x)?])?));
    writes("dot", 1, 1.0, |device, result| {
        let x = device.upload(&numbers(1))?;
        vector::dot_into(&x, &x, result)
    });
    writes("norm2", 1, 1.0, |device, result| vector::norm2_into(&device.upload(&numbers(1))?, result));
    writes("axpby", LEN, 1.0, |device, y| vector::axpby(2.0, &device.upload(&numbers(1))?, 0.5, y));
    writes("zeros", LEN, 1.0, |_, y| Ok(y.set_zero()?));
    writes("a copy", LEN, 1.0, |device, y| Ok(y.copy_from(&device.upload(&numbers(3))?)?));
    writes("numbers of the host", LEN, 1.0, |_, y| Ok(y.copy_from_slice(&numbers(3))?));
}

#[test]
fn positions() {
    let chosen: Vec<u32> = (0..LEN as u32 / 3).map(|at| at * 3 % LEN as u32).collect();
    let count = chosen.len();
    let positions = |device: &Device| Positions::new(device, &chosen, LEN);
    reads("elements at positions", &numbers(1), |source| {
        let mut result = source.device().zeros(count)?;
        positions(source.device())?.gather(source, &mut result)?;
        Ok(result)
    });
    reads("addends at positions", &numbers(1)[..count], |addends| {
        let mut target = addends.device().zeros(LEN)?;
        positions(addends.device())?.add(addends, &mut target)?;
        Ok(target)
    });
    writes("elements at positions", count, 1.0, |device, result| {
        positions(device)?.gather(&device.upload(&numbers(1))?, result)
    });
    writes("addends at positions", LEN, 1.0, |device, target| {
        positions(device)?.add(&device.upload(&numbers(1)[..count])?, target)
    });
}

#[test]
fn scans() {
    reads("a scan", &numbers(1), |values| scan::values(values, ScanOptions::inclusive(Operator::Sum)));
    reads("a scan of bytes", &[1_u8; LEN], |flags| {
        scan::by_flags(flags, &flags.device().upload(&keys(1))?, ScanOptions::inclusive(Operator::Sum))
    });
    reads("a scan by keys", &sorted_keys(1), |keys| {
        scan::by_keys(keys, keys, ScanOptions::inclusive(Operator::Sum))
    });
    reads("a scan by offsets", &offsets(), |offsets| {
        scan::by_offsets(
            offsets,
            &offsets.device().upload(&numbers(1))?,
            ScanOptions::inclusive(Operator::Sum),
        )
    });
    for options in
        [ScanOptions::inclusive(Operator::Max), ScanOptions::exclusive(Operator::Sum).with_initial(3_u32)]
    {
        reads("a scan of integers", &keys(1), |values| scan::values(values, options));
        writes("a scan of integers", LEN, 1, |device, result| {
            scan::values_into(&device.upload(&keys(2))?, options, result)
        });
    }
    writes("a scan by keys", LEN, 1.0, |device, result| {
        let keys = device.upload(&sorted_keys(1))?;
        scan::by_keys_into(&keys, &device.upload(&numbers(2))?, ScanOptions::inclusive(Operator::Sum), result)
    });
    writes("a scan", LEN, 1.0, |device, result| {
        scan::values_into(&device.upload(&numbers(2))?, ScanOptions::exclusive(Operator::Sum), result)
    });
}

#[test]
fn reductions() {
    reads("keys of a reduction", &sorted_keys(1), |keys| Ok(reduce::by_keys(keys, keys, Operator::Sum)?.0));
    reads("sums of a reduction", &sorted_keys(1), |keys| Ok(reduce::by_keys(keys, keys, Operator::Sum)?.1));
    reads("values of a reduction by flags", &numbers(1), |values| {
        reduce::by_flags(&values.device().upload(&[1_u8; LEN])?, values, Operator::Sum)
    });
    reads("values of a reduction by keys", &numbers(1), |values| {
        Ok(reduce::by_keys(&values.device().upload(&sorted_keys(1))?, values, Operator::Max)?.1)
    });
    writes("sums by keys", LEN, 1.0, |device, sums| {
        let (keys, values) = (device.upload(&sorted_keys(1))?, device.upload(&numbers(1))?);
        let (mut own_keys, mut segments) = (device.zeros(LEN)?, device.zeros(1)?);
        reduce::by_keys_into(&keys, &values, Operator::Sum, &mut own_keys, sums, &mut segments)
    });
    writes("keys of sums", LEN, 1, |device, own_keys| {
        let (keys, values) = (device.upload(&sorted_keys(1))?, device.upload(&numbers(1))?);
        let (mut sums, mut segments) = (device.zeros(LEN)?, device.zeros(1)?);
        reduce::by_keys_into(&keys, &values, Operator::Sum, own_keys, &mut sums, &mut segments)
    });
    writes("the number of sums", 1, 1_u64, |device, segments| {
        let (keys, values) = (device.upload(&sorted_keys(1))?, device.upload(&numbers(1))?);
        let (mut own_keys, mut sums) = (device.zeros(LEN)?, device.zeros(LEN)?);
        reduce::by_keys_into(&keys, &values, Operator::Sum, &mut own_keys, &mut sums, segments)
    });
    reads("sums by flags", &[1_u8; LEN], |flags| {
        reduce::by_flags(flags, &flags.device().upload(&numbers(1))?, Operator::Sum)
    });
    reads("sums of rows", &numbers(1), |values| {
        reduce::by_offsets(&values.device().upload(&offsets())?, values, Operator::Sum)
    });
    writes("sums of rows", offsets().len() - 1, 1.0, |device, sums| {
        let (offsets, values) = (device.upload(&offsets())?, device.upload(&numbers(1))?);
        reduce::by_offsets_into(&offsets, &values, Operator::Sum, sums)
    });
    writes("sums by flags", LEN, 1.0, |device, sums| {
        let (flags, values) = (device.upload(&[1_u8; LEN])?, device.upload(&numbers(1))?);
        reduce::by_flags_into(&flags, &values, Operator::Sum, sums, &mut device.zeros(1)?)
    });
}

#[test]
fn sorts() {
    let options = SortOptions::default();
    reads("a sort", &keys(1), |keys| sort::keys(keys, options));
    reads("a sort of doubles", &numbers(1), |keys| sort::keys(keys, options));
    reads("keys of sorted pairs", &keys(1), |keys| Ok(sort::pairs(Pairs::new(keys, keys), options)?.0));
    reads("values of sorted pairs", &keys(1), |keys| {
        let values = keys.device().upload(&numbers(1))?;
        let values = within(keys.device(), 1, &values.download()?, 0.0);
        Ok(sort::pairs(Pairs::new(keys, &*values.slice(1..=LEN)?), options)?.1)
    });
    reads("a sort by offsets", &keys(1), |keys| {
        sort::keys_by_offsets(&keys.device().upload(&offsets())?, keys, options)
    });
    reads("offsets of a sort", &offsets(), |offsets| {
        sort::keys_by_offsets(offsets, &offsets.device().upload(&keys(1))?, options)
    });
    reads("values of pairs sorted by offsets", &numbers(1), |values| {
        let (offsets, keys) = (values.device().upload(&offsets())?, values.device().upload(&keys(1))?);
        Ok(sort::pairs_by_offsets(&offsets, Pairs::new(&keys, values), options)?.1)
    });
    reads("a sort in two segments", &keys(1), |keys| {
        sort::keys_by_offsets(&keys.device().upload(&[0_u32, 7, LEN as u32])?, keys, options)
    });
}

#[test]
fn merges_and_sets() {
    let other = sorted_keys(77);
    reads("a merge", &sorted_keys(1), |a| merge::keys(a, &a.device().upload(&other)?));
    writes("a merge", 2 * LEN, 1, |device, merged| {
        merge::keys_into(&device.upload(&sorted_keys(1))?, &device.upload(&other)?, merged)
    });
    reads("values of a merge", &sorted_keys(1), |a| {
        let b = a.device().upload(&other)?;
        Ok(merge::pairs(Pairs::new(a, a), Pairs::new(&b, &b))?.1)
    });
    writes("keys of a merge", 2 * LEN, 1, |device, keys| {
        let (a, b) = (device.upload(&sorted_keys(1))?, device.upload(&other)?);
        merge::pairs_into(Pairs::new(&a, &a), Pairs::new(&b, &b), keys, &mut device.zeros::<u32>(2 * LEN)?)
    });
    writes("values of a merge", 2 * LEN, 1, |device, values| {
        let (a, b) = (device.upload(&sorted_keys(1))?, device.upload(&other)?);
        merge::pairs_into(Pairs::new(&a, &a), Pairs::new(&b, &b), &mut device.zeros(2 * LEN)?, values)
    });
    for operation in SetOperation::ALL {
        reads("a set", &sorted_keys(1), |a| sets::keys(a, &a.device().upload(&other)?, operation));
        reads("values of a set", &sorted_keys(1), |a| {
            let (a, b) = (Pairs::new(a, a), a.device().upload(&other)?);
            Ok(sets::pairs(a, Pairs::new(&b, &b), operation, Combine::Sum)?.1)
        });
        writes("values of a set", 2 * LEN, 1, |device, values| {
            let (a, b) = (device.upload(&sorted_keys(1))?, device.upload(&other)?);
            let (a, b) = (Pairs::new(&a, &a), Pairs::new(&b, &b));
            let mut keys = device.zeros(2 * LEN)?;
            sets::pairs_into(a, b, operation, Combine::Sum, &mut keys, values).map(drop)
        });
        writes("a set", 2 * LEN, 1, |device, result| {
            sets::keys_into(&device.upload(&sorted_keys(1))?, &device.upload(&other)?, operation, result)
                .map(drop)
        });
    }
}

#[test]
fn ranges_and_lengths() {
    for device in devices() {
        let device = device.device;
        let mut x = device.upload(&[1_u32, 2, 3, 4]).expect("memory");
        assert_eq!(x.slice(1..3).unwrap().download().unwrap(), [2, 3]);
        assert_eq!(x.slice(..).unwrap().slice(1..=2).unwrap().slice(1..).unwrap().download().unwrap(), [3]);
        assert!(x.slice(4..).unwrap().is_empty() && x.slice(2..2).unwrap().is_empty());
        let error = x.slice(3..5).expect_err("too long");
        assert!(matches!(error, DeviceError::RangeOutOfBounds { start: 3, end: 5, len: 4 }), "{error}");
        assert_eq!(error.to_string(), "range 3..5 is out of bounds for a vector of 4 elements");
        assert!(x.slice(..=usize::MAX).is_err() && x.slice(5..).is_err() && x.split_at_mut(5).is_err());
        #[expect(clippy::reversed_empty_ranges)]
        let reversed = x.slice(3..1);
        assert!(reversed.is_err());
        let (low, mut high) = x.split_at_mut(2).unwrap();
        high.copy_from(&low).unwrap();
        assert_eq!(high.get(1).unwrap(), 2);
        assert!(high.get(2).is_err() && high.copy_from_slice(&[1]).is_err());
        high.slice_mut(1..).unwrap().set_zero().unwrap();
        drop((low, high));
        assert_eq!(x.download().unwrap(), [1, 2, 1, 0]);
        x.truncate(3);
        assert_eq!(x.slice(1..).unwrap().download().unwrap(), [2, 1]);
        assert!(x.slice(..4).is_err());
    }
}
