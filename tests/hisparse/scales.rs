//! Scales of HiSparse matrices that are out of range, and scales of zero: every operation gives the same as
//! for a matrix whose values were multiplied.

#![allow(clippy::float_cmp)] // powers of two make every result exact

use std::fmt::Debug;

use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::{Csr, Device, DeviceCsr, HiSparse, Layout, Value};
use evenpath_tests::devices;

const SIDE: usize = 150;

/// A matrix of two levels, with small whole numbers times a factor.
fn tree<V: Value>(factor: V) -> HiSparse<V, 64> {
    let place = |at: usize| (at * 7 % SIDE, at * 13 % SIDE, V::from_f64((at % 5) as f64) * factor);
    let entries = (0..300).map(place).chain([(2, 2, factor)]);
    Csr::<V>::from_triplets(SIDE, SIDE, entries).unwrap().to_hisparse(hisparse::Options::default()).unwrap()
}

fn sorted<V: Value>(a: &HiSparse<V, 64>) -> Vec<(usize, usize, f64)> {
    let mut entries: Vec<_> = a.iter().map(|(row, col, value)| (row, col, value.to_f64())).collect();
    entries.sort_by_key(|entry| (entry.0, entry.1));
    entries
}

/// The results of all operations with a matrix, each with its name.
fn results<V: Value>(a: &DeviceHiSparse<V, 64>) -> Vec<(&'static str, Box<dyn Debug>)> {
    let device = a.device();
    let (queued, host) = (hisparse::QueuedOptions::default(), a.download().unwrap());
    let other = device.upload(&tree::<V>(V::ONE)).unwrap();
    let mut results: Vec<(&'static str, Box<dyn Debug>)> = Vec::new();
    let mut add = |name, result: Box<dyn Debug>| results.push((name, result));
    add("entries", Box::new(sorted(&host)));
    add("an entry", Box::new(host.get(2, 2)));
    add("CSR on the host", Box::new(host.to_csr().unwrap()));
    let csr: DeviceCsr<V> = a.to_csr().unwrap();
    add("CSR", Box::new(csr.download().unwrap()));
    add("COO", Box::new(a.to_coo().unwrap().download().unwrap()));
    add("diagonal", Box::new(a.diagonal(queued).unwrap().download().unwrap()));
    add("norm", Box::new(a.frobenius_norm(queued).unwrap()));
    add("block", Box::new(a.block(10..90, 3..140, queued).unwrap().download().unwrap()));
    add("sum on the host", Box::new(sorted(&host.spadd(&host.transpose()).unwrap())));
    for method in [hisparse::SpaddMethod::Levels, hisparse::SpaddMethod::Queues] {
        let options = hisparse::SpaddOptions::default().with_method(method);
        add("sum", Box::new(sorted(&a.spadd(&other, options).unwrap().download().unwrap())));
        add("sum, right", Box::new(sorted(&other.spadd(a, options).unwrap().download().unwrap())));
    }
    add("product on the host", Box::new(sorted(&host.spgemm(&tree(V::ONE)).unwrap())));
    for method in [hisparse::SpgemmMethod::Leaves, hisparse::SpgemmMethod::Rows] {
        let options = hisparse::SpgemmOptions::default().with_method(method);
        add("product", Box::new(sorted(&a.spgemm(&other, options).unwrap().download().unwrap())));
        add("product, right", Box::new(sorted(&other.spgemm(a, options).unwrap().download().unwrap())));
    }
    let x: Vec<V> = (0..SIDE).map(|at| V::from_f64((at % 3) as f64)).collect();
    let mut y = vec![V::ONE; SIDE];
    host.spmv(V::from_f64(2.0), &x, V::ZERO, &mut y).unwrap();
    add("SpMV on the host", Box::new(y));
    let (x, mut y) = (device.upload(&x).unwrap(), device.zeros(SIDE).unwrap());
    a.plan_spmv_queued(queued).unwrap().run(V::ONE, &x, V::ZERO, &mut y).unwrap();
    add("SpMV by queues", Box::new(y.download().unwrap()));
    let (b, mut c) =
        (device.zeros_dense(SIDE, 3, Layout::RowMajor), device.zeros_dense(SIDE, 3, Layout::RowMajor));
    let (mut b, c) = (b.unwrap(), c.as_mut().unwrap());
    b.as_mut_slice().copy_from_slice(&[V::ONE; SIDE * 3]).unwrap();
    for method in [hisparse::SpmvMethod::Leaves, hisparse::SpmvMethod::Copied] {
        let plan = a.plan_spmv(hisparse::SpmvOptions::default().with_method(method)).unwrap();
        plan.run(V::ONE, &x, V::ZERO, &mut y).unwrap();
        add("SpMV", Box::new(y.download().unwrap()));
        let plan = a.plan_spmm(hisparse::SpmmOptions::default().with_method(method)).unwrap();
        plan.run(V::ONE, &b, V::ZERO, c).unwrap();
        add("SpMM", Box::new(c.download().unwrap()));
    }
    results
}

fn check<V: Value>(device: &Device, scaled: &HiSparse<V, 64>, plain: &HiSparse<V, 64>) {
    let (scaled, plain) = (device.upload(scaled).unwrap(), device.upload(plain).unwrap());
    for (scaled, plain) in [(&scaled, &plain), (&scaled.transpose(), &plain.transpose())] {
        for ((name, found), (_, expected)) in results(scaled).iter().zip(&results(plain)) {
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{name} of {scaled:?}");
        }
    }
}

/// 2^`exponent`.
fn power<V: Value>(exponent: i32) -> V {
    V::from_f64(2.0_f64.powi(exponent))
}

#[test]
fn scales_may_be_out_of_range() {
    for device in devices() {
        let device = &device.device;
        for (stored, factors, result) in
            [(900, [-600, -600], -300), (-900, [600, 700], 400), (10, [-30, 40], 20)]
        {
            let scaled = tree::<f64>(power(stored)).scaled(power(factors[0])).scaled(power(factors[1]));
            check(device, &scaled, &tree(power(result)));
        }
        for (stored, factors, result) in [(100, [-90, -90], -80), (-100, [90, 60], 50)] {
            let scaled = tree::<f32>(power(stored)).scaled(power(factors[0])).scaled(power(factors[1]));
            check(device, &scaled, &tree(power(result)));
        }
    }
    let back = tree::<f64>(1.0).scaled(1e-300).scaled(1e-300).scaled(1e300).scaled(1e300);
    assert!((back.scale() - 1.0).abs() < 1e-15);
    assert_eq!(tree::<f64>(1.0).scaled(1e-300).scaled(1e-300).scale(), 0.0);
    assert_eq!(tree::<f32>(1.0).scaled(1e30).scaled(-1e30).scale(), f32::NEG_INFINITY);
}

/// A plan's α times the scale may be out of range, too.
#[test]
fn scales_and_alpha() {
    for device in devices() {
        let a = device.device.upload(&tree::<f64>(power(900)).scaled(power(-600))).unwrap();
        let (x, mut y) = (device.device.upload(&[1.0; SIDE]).unwrap(), device.device.zeros(SIDE).unwrap());
        let one = device.device.upload(&tree::<f64>(power(-300))).unwrap();
        for method in [hisparse::SpmvMethod::Leaves, hisparse::SpmvMethod::Copied] {
            let options = hisparse::SpmvOptions::default().with_method(method);
            one.plan_spmv(options).unwrap().run(1.0, &x, 0.0, &mut y).unwrap();
            let expected = y.download().unwrap();
            a.plan_spmv(options).unwrap().run(power::<f64>(-600), &x, 0.0, &mut y).unwrap();
            assert_eq!(y.download().unwrap(), expected, "{method}");
        }
    }
}

/// If the scale is zero, stored values do not matter.
#[test]
fn times_zero_every_entry_is_zero() {
    for device in devices() {
        for stored in [f64::NAN, f64::INFINITY, -1.0] {
            let zero = tree(stored).scaled(0.0);
            check(&device.device, &zero, &tree(0.0).scaled(1.0));
            let bits = zero.iter().map(|(_, _, value)| value.to_bits());
            assert!(bits.into_iter().all(|bits| bits == 0));
        }
    }
}
