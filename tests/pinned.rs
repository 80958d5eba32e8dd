//! Page-locked host memory and asynchronous copies.

// Sums and products of small integers are exact.
#![allow(clippy::float_cmp)]

use evenpath::device::{DeviceKind, PinnedVec, SimulatedOptions, Stream};
use evenpath::error::{DeviceError, OpError};
use evenpath::generate::{Kind, generate};
use evenpath::spmv::SpmvOptions;
use evenpath::{Csr, Device, DeviceVec, vector};
use evenpath_lab::Diagnostics;
use evenpath_tests::devices;

const LEN: usize = 3_000;

fn numbers(seed: usize) -> Vec<f64> {
    (0..LEN).map(|at| ((at * 7 + seed) % 11) as f64 - 5.0).collect()
}

fn pinned(device: &Device, values: &[f64]) -> PinnedVec<f64> {
    let mut vector = device.pinned(values.len()).expect("memory");
    vector.as_mut_slice().expect("no copy").copy_from_slice(values);
    vector
}

#[test]
fn copies_there_and_back() {
    for device in devices() {
        let device = device.device;
        let mut host = pinned(&device, &numbers(1));
        let mut x = device.zeros(LEN).expect("memory");
        x.copy_from_pinned(&host, 0).expect("as long");
        assert_eq!(x.download().unwrap(), numbers(1));
        x.slice_mut(..2).unwrap().copy_from_pinned(&host, 5).expect("inside");
        x.slice(..3).unwrap().copy_to_pinned(&mut host, LEN - 3).expect("inside");
        let expected = [numbers(1)[5], numbers(1)[6], numbers(1)[2]];
        assert_eq!(host.as_slice().unwrap()[LEN - 3..], expected, "{device}");
        assert_eq!(host.as_slice().unwrap()[..LEN - 3], numbers(1)[..LEN - 3], "{device}");
        assert_eq!((host.len(), host.is_empty(), host.device().name()), (LEN, false, device.name()));
    }
}

#[test]
fn the_host_waits_only_for_its_own_reads_and_writes() {
    // Other devices do not count waits.
    for device in devices().into_iter().filter(|device| device.device.kind() == DeviceKind::Simulated) {
        let device = device.device;
        let (mut host, mut x) = (pinned(&device, &numbers(1)), device.zeros(LEN).expect("memory"));
        let before = device.waits();
        x.copy_from_pinned(&host, 0).expect("as long");
        vector::axpby(1.0, &device.zeros(LEN).expect("memory"), 2.0, &mut x).expect("as long");
        assert_eq!(host.as_slice().unwrap()[1], numbers(1)[1]);
        assert_eq!(device.waits(), before, "reading beside a copy from it");
        x.copy_to_pinned(&mut host, 0).expect("as long");
        assert_eq!(device.waits(), before, "a copy is begun");
        assert_eq!(host.as_slice().unwrap()[1], 2.0 * numbers(1)[1]);
        assert_eq!(device.waits(), before + 1, "reading after a copy to it");
        assert_eq!(host.as_slice().unwrap()[2], 2.0 * numbers(1)[2]);
        assert_eq!(device.waits(), before + 1, "once");
        host.as_mut_slice().unwrap()[0] = 7.0;
        assert_eq!(device.waits(), before + 2, "writing after a copy from it");
    }
}

/// Multiplies ten vectors, on `streams` in turn.
fn pipeline(device: &Device, streams: &[Stream]) -> Result<Vec<Vec<f64>>, OpError> {
    let a: Csr<f64> = generate(Kind::Uniform { rows: LEN }, 3).expect("valid");
    let plan = device.upload(&a)?.plan_spmv(SpmvOptions::default())?;
    let mut hosts: Vec<_> = (0..10).map(|seed| pinned(device, &numbers(seed))).collect();
    let mut vectors: Vec<(DeviceVec<f64>, DeviceVec<f64>)> = Vec::new();
    for _ in streams {
        vectors.push((device.zeros(LEN)?, device.zeros(LEN)?));
    }
    for (at, host) in hosts.iter_mut().enumerate() {
        let (x, y) = &mut vectors[at % streams.len()];
        streams[at % streams.len()].scope(|| {
            x.copy_from_pinned(host, 0)?;
            plan.run(1.0, x, 0.5, y)?;
            Ok::<_, OpError>(y.copy_to_pinned(host, 0)?)
        })?;
    }
    hosts.iter().map(|host| Ok(host.as_slice()?.to_vec())).collect()
}

#[test]
fn streams_upload_multiply_and_download() {
    for device in devices() {
        let device = device.device;
        let streams: Vec<_> = (0..3).map(|_| device.stream().expect("a stream")).collect();
        let results = pipeline(&device, &streams).expect("the device works");
        // A vector is reused by the same stream; without streams, the order is the same.
        let a: Csr<f64> = generate(Kind::Uniform { rows: LEN }, 3).expect("valid");
        let mut previous = vec![vec![0.0; LEN]; 3];
        for (at, result) in results.iter().enumerate() {
            let mut y = previous[at % 3].clone();
            a.spmv(1.0, &numbers(at), 0.5, &mut y).expect("its lengths");
            for (own, expected) in result.iter().zip(&y) {
                assert!((own - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{at} on {device}");
            }
            previous[at % 3].clone_from(result);
        }
    }
}

#[test]
fn the_later_of_two_copies_to_one_place_wins() {
    for device in devices() {
        let device = device.device;
        let mut host = pinned(&device, &numbers(0));
        let (x, y) = (device.upload(&numbers(1)).unwrap(), device.upload(&numbers(2)).unwrap());
        x.copy_to_pinned(&mut host, 0).unwrap();
        y.copy_to_pinned(&mut host, 0).unwrap();
        x.slice(..5).unwrap().copy_to_pinned(&mut host, 3).unwrap();
        let mut expected = numbers(2);
        expected[3..8].copy_from_slice(&numbers(1)[..5]);
        assert_eq!(host.as_slice().unwrap(), expected, "{device}");
    }
}

#[test]
fn dropping_waits_for_copies() {
    // Other devices do not count waits.
    for device in devices().into_iter().filter(|device| device.device.kind() == DeviceKind::Simulated) {
        let device = device.device;
        let (mut host, mut x) = (pinned(&device, &numbers(1)), device.zeros(LEN).expect("memory"));
        x.copy_from_pinned(&host, 0).unwrap();
        x.copy_to_pinned(&mut host, 0).unwrap();
        let before = device.waits();
        drop(host);
        assert_eq!(device.waits(), before + 2, "one copy to it and one from it");
    }
}

#[test]
fn one_vector_by_two_streams() {
    for device in devices() {
        let device = device.device;
        let (one, other) = (device.stream().unwrap(), device.stream().unwrap());
        let mut host = pinned(&device, &numbers(1));
        let (x, mut y) = (device.upload(&numbers(2)).unwrap(), device.zeros(LEN).unwrap());
        // One stream copies to host memory, the other copies from it, without a wait of the host.
        one.scope(|| x.copy_to_pinned(&mut host, 0)).unwrap();
        other.scope(|| y.copy_from_pinned(&host, 0)).unwrap();
        assert_eq!(y.download().unwrap(), numbers(2), "{device}");
        assert_eq!(host.as_slice().unwrap(), numbers(2), "{device}");
    }
}

#[test]
fn wrong_copies_are_refused() {
    for device in devices() {
        let device = device.device;
        let mut host = pinned(&device, &[1.0, 2.0]);
        let mut x = device.zeros::<f64>(2).expect("memory");
        let error = x.copy_from_pinned(&host, 1).expect_err("too short");
        assert!(matches!(error, DeviceError::RangeOutOfBounds { start: 1, end: 3, len: 2 }), "{error}");
        assert!(x.copy_to_pinned(&mut host, usize::MAX).is_err());
        let other = Device::simulated(SimulatedOptions::default());
        let foreign = other.zeros::<f64>(2).expect("memory");
        let error = foreign.copy_to_pinned(&mut host, 0).expect_err("another device");
        assert!(matches!(error, DeviceError::DifferentDevices { .. }), "{error}");
        assert_eq!(host.as_slice().unwrap(), [1.0, 2.0]);
        assert_eq!(x.download().unwrap(), [0.0, 0.0]);
        assert!(device.pinned::<f64>(usize::MAX / 8).is_err());
        let mut state = (x, host);
        let run = |(x, host): &mut (DeviceVec<f64>, PinnedVec<f64>)| x.copy_from_pinned(host, 0);
        let refused = device.capture(&mut state, |state| run(state)).and_then(|mut graph| graph.launch());
        assert!(matches!(refused, Err(DeviceError::Capture { .. })), "{refused:?}");
    }
}

#[test]
fn empty_and_dropped() {
    for device in devices() {
        let device = device.device;
        let mut empty = device.pinned::<u32>(0).expect("nothing");
        let mut none = device.zeros::<u32>(0).expect("nothing");
        none.copy_from_pinned(&empty, 0).expect("nothing");
        none.copy_to_pinned(&mut empty, 0).expect("nothing");
        assert!(empty.is_empty() && empty.as_slice().unwrap().is_empty());
        let x = device.upload(&numbers(1)).unwrap();
        let mut host = device.pinned(LEN).unwrap();
        x.copy_to_pinned(&mut host, 0).unwrap();
        drop(x); // the copy still has the memory
        assert_eq!(host.as_slice().unwrap(), numbers(1), "{device}");
        let x = device.upload(&numbers(2)).unwrap();
        x.copy_to_pinned(&mut host, 0).unwrap();
        drop(host); // waits
        assert_eq!(x.download().unwrap(), numbers(2));
    }
}

#[test]
fn failures_leave_both_unchanged() {
    let device = Device::simulated(SimulatedOptions::default());
    let (mut host, mut x) = (pinned(&device, &[1.0, 2.0]), device.upload(&[5.0, 6.0]).unwrap());
    device.inject_failure(Some(0));
    assert!(matches!(x.copy_from_pinned(&host, 0), Err(DeviceError::Injected { .. })));
    device.inject_failure(Some(0));
    assert!(matches!(x.copy_to_pinned(&mut host, 0), Err(DeviceError::Injected { .. })));
    assert_eq!((host.as_slice().unwrap(), x.download().unwrap()), ([1.0, 2.0].as_slice(), vec![5.0, 6.0]));
}
