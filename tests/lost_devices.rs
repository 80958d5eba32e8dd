//! Lost devices, and devices that run out of memory: existing plans and buffers, other devices, and other threads.
//! `injected_failures` tests the operations themselves.

use evenpath::device::SimulatedOptions;
use evenpath::error::{DeviceError, OpError};
use evenpath::hisparse;
use evenpath::spadd::Elementwise;
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::spmm::SpmmOptions;
use evenpath::spmv::{SpmvMethod, SpmvOptions, SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::{Csr, Device, DeviceDense, DeviceVec, Layout};
use evenpath_tests::{lose, with_row_lengths};

fn device(memory_bytes: u64) -> Device {
    Device::simulated(SimulatedOptions::default().with_memory_bytes(memory_bytes))
}

fn matrix() -> Csr<f64> {
    let mut matrix = with_row_lengths(200, &[&[3; 150][..], &[0; 49], &[190]].concat());
    matrix.canonicalize();
    matrix
}

fn ones(device: &Device) -> DeviceVec<f64> {
    device.upload(&[1.0; 200]).expect("memory")
}

fn is_lost(result: Result<(), impl Into<OpError>>) -> bool {
    matches!(result.map_err(Into::into), Err(OpError::Device(DeviceError::DeviceLost { .. })))
}

#[test]
fn work_in_flight_of_a_lost_device_fails() {
    let device = device(64 << 20);
    let (stream, mut host) = (device.stream().expect("a stream"), device.pinned::<f64>(200).expect("memory"));
    let (x, mut y) = (ones(&device), ones(&device));
    let run = |(x, y): &mut (DeviceVec<f64>, DeviceVec<f64>)| evenpath::vector::axpby(1.0, x, 1.0, y);
    let mut graph = device.capture((ones(&device), ones(&device)), run).expect("a graph");
    graph.launch().expect("the device works");
    stream.scope(|| x.copy_to_pinned(&mut host, 0)).expect("the device works");
    lose(&device);
    assert!(is_lost(graph.launch()));
    assert!(is_lost(stream.scope(|| y.copy_from_pinned(&host, 0))));
    assert!(is_lost(stream.synchronize()) && is_lost(device.stream().map(drop)));
    assert!(is_lost(x.slice(3..).and_then(|part| part.copy_to_pinned(&mut host, 0))));
    // Work that was in progress arrives or fails, and can be dropped.
    assert!(host.as_slice().is_ok_and(|values| values == [1.0; 200]));
    drop((host, stream, graph.into_state(), x, y));
}

#[test]
fn plans_of_a_lost_device_report_it() {
    let device = device(64 << 20);
    let a = device.upload(&matrix()).expect("memory");
    let tree = a.to_hisparse::<32>(hisparse::Options::default()).expect("a tree");
    let (x, mut y) = (ones(&device), ones(&device));
    let dense = |device| DeviceDense::try_new(ones(device), 200, 1, Layout::RowMajor).expect("200 numbers");
    let (b, mut c) = (dense(&device), dense(&device));

    let spmv: Vec<_> = SpmvMethod::ALL
        .iter()
        .copied()
        .filter(|method| method.runs_on(device.kind()))
        .map(|method| a.plan_spmv(SpmvOptions::default().with_method(method)).expect("a plan"))
        .collect();
    let transposed: Vec<_> = SpmvTransposedMethod::ALL
        .iter()
        .copied()
        .map(|mode| {
            a.plan_spmv_transposed(SpmvTransposedOptions::default().with_method(mode)).expect("a plan")
        })
        .collect();
    let trees = [hisparse::SpmvMethod::Leaves, hisparse::SpmvMethod::Copied]
        .map(|mode| tree.plan_spmv(hisparse::SpmvOptions::default().with_method(mode)).expect("a plan"));
    let queues = tree.plan_spmv_queued(hisparse::QueuedOptions::default()).expect("queues");
    let spmm = a.plan_spmm(SpmmOptions::default().with_columns(1)).expect("a plan");
    let tree_spmm = tree.plan_spmm(hisparse::SpmmOptions::default()).expect("a plan");
    let sums = Elementwise::ALL.map(|operation| a.plan_elementwise(operation, &a).expect("a plan"));
    let products = [
        SpgemmMethod::RowWise,
        SpgemmMethod::TwoLevelSort,
        SpgemmMethod::Mixed,
        SpgemmMethod::ColumnSort,
        SpgemmMethod::GlobalSort,
    ]
    .map(|method| a.plan_spgemm(&a, SpgemmOptions::default().with_method(method)).expect("a plan"));
    let event = device.record().expect("an event");

    lose(&device);

    assert!(!spmv.is_empty() && spmv.iter().all(|plan| is_lost(plan.run(1.0, &x, 0.0, &mut y))));
    assert!(is_lost(a.spmv(1.0, &x, 0.0, &mut y)));
    assert!(transposed.iter().all(|plan| is_lost(plan.run(1.0, &x, 0.0, &mut y))));
    assert!(trees.iter().all(|plan| is_lost(plan.run(1.0, &x, 0.0, &mut y))));
    assert!(is_lost(queues.run(1.0, &x, 0.0, &mut y)));
    assert!(is_lost(spmm.run(1.0, &b, 0.0, &mut c)));
    assert!(is_lost(tree_spmm.run(1.0, &b, 0.0, &mut c)));
    assert!(sums.iter().all(|plan| is_lost(plan.run(1.0, 1.0).map(drop))));
    assert!(products.iter().all(|plan| is_lost(plan.run().map(drop))));
    // Their properties on the host are still available.
    assert_eq!((a.nnz(), tree.nrows(), y.len()), (640, 200, 200));
    event.elapsed_since(&event).expect("it was recorded before");
    // They are dropped in order of creation and in reverse.
    drop((spmv, transposed, queues, spmm));
    drop(a);
}

#[test]
fn buffers_of_a_lost_device_report_it() {
    let device = device(1 << 20);
    let (mut x, mut y) = (ones(&device), ones(&device));
    let mut empty = device.zeros::<f64>(0).expect("nothing");
    lose(&device);
    assert!(is_lost(x.get(0).map(drop)));
    assert!(is_lost(x.download().map(drop)));
    assert!(is_lost(x.copy_to_slice(&mut [0.0; 200])));
    assert!(is_lost(x.copy_from_slice(&[0.0; 200])));
    assert!(is_lost(x.copy_from(&y)));
    assert!(is_lost(x.set_zero()));
    assert!(is_lost(device.uninitialized::<f64>(1).map(drop)));
    assert!(is_lost(device.zeros_dense::<f64>(2, 2, Layout::RowMajor).map(drop)));
    assert!(is_lost(device.upload(&matrix()).map(drop)));
    // Errors of the caller are reported before the device is used.
    assert!(matches!(x.get(200), Err(DeviceError::OutOfBounds { index: 200, len: 200 })));
    // Operations that do not use the device still work.
    x.truncate(100);
    assert!(is_lost(x.shrink_to_fit()));
    y.truncate(0);
    empty.copy_from(&y).expect("nothing to copy");
    assert_eq!((x.len(), y.len(), empty.download().expect("nothing")), (100, 0, vec![]));
}

#[test]
fn other_devices_stay_usable() {
    let (lost, other) = (device(1 << 20), device(1 << 20));
    let on_both = [Device::cpu(), other].map(|device| {
        let a = device.upload(&matrix()).expect("memory");
        (a.plan_spmv(SpmvOptions::default()).expect("a plan"), ones(&device), ones(&device))
    });
    let lengths = [&[3.0; 150][..], &[0.0; 49], &[190.0]].concat();
    let mut a = matrix();
    a.values_mut().fill(1.0);
    lose(&lost);
    for (plan, x, mut y) in on_both {
        let device = x.device().clone();
        plan.run(1.0, &x, 0.0, &mut y).expect("its device works");
        assert!(y.copy_from(&ones(&device)).is_ok());
        let a = device.upload(&a).expect("memory");
        a.plan_spmv(SpmvOptions::default()).expect("a plan").run(1.0, &x, 0.0, &mut y).expect("as ever");
        assert_eq!(y.download().expect("memory"), lengths, "{device}");
    }
    // And a new device in place of the lost one.
    assert_eq!(ones(&device(1 << 20)).download().expect("memory"), [1.0; 200]);
}

/// A working thread gets the error from its next call.
#[test]
fn a_device_lost_by_another_thread_is_reported() {
    let device = device(1 << 20);
    let a = device.upload(&matrix()).expect("memory");
    let (plan, x) = (a.plan_spmv(SpmvOptions::default()).expect("a plan"), ones(&device));
    let (begun, begins) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let at_work = scope.spawn(|| {
            let mut y = ones(&device);
            loop {
                if let Err(error) = plan.run(1.0, &x, 0.0, &mut y) {
                    return error;
                }
                let _ = begun.send(());
            }
        });
        begins.recv().expect("the thread works");
        lose(&device);
        assert!(is_lost(Err(at_work.join().expect("no panic"))));
    });
}

#[test]
fn out_of_memory_is_named_and_the_device_stays_usable() {
    const MEMORY: u64 = 200_000;
    let device = device(MEMORY);
    let a = device.upload(&matrix()).expect("memory");
    let before = device.memory().expect("memory");
    // 38 000 nonzeros, whose columns and values take more than the whole memory.
    let wide = with_row_lengths::<f64, u32>(200, &[190; 200]);
    match device.upload(&wide).map(drop) {
        Err(DeviceError::OutOfMemory { requested, free, total, .. }) => {
            assert!(requested > free && total == MEMORY, "{requested} of {free} of {total}");
        }
        other => panic!("{other:?}"),
    }
    let after = device.memory().expect("memory");
    assert_eq!((after.in_use, after.free), (before.in_use, before.free));
    let b = device.upload(&a.download().expect("a copy")).expect("as much as before");
    assert_eq!(a.spadd(1.0, &b, 1.0).expect("a sum").nnz(), a.nnz());
}
