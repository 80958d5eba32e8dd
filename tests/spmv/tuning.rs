//! Tuned plans of SpMV, and plans that may copy.

use evenpath::device::{DeviceKind, SimulatedOptions};
use evenpath::error::{DeviceError, OpError};
use evenpath::generate::{Kind, generate};
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, Device, Offset, Value};
use evenpath_tests::{check_spmv_with, devices, lose, vector, with_row_lengths};

/// Tunes a plan, and checks its report, its size and its products.
fn check<V: Value, O: Offset>(device: &Device, host: &Csr<V, O>, options: SpmvOptions) {
    let a = device.upload(host).expect("upload");
    let before = device.memory().expect("a device").in_use;
    let mut plan = a.plan_spmv(options).expect("a plan");
    let chosen = plan.info().expect("figures").method;
    let tuning = plan.tune().expect("a faster plan");
    let info = plan.info().expect("figures");
    let held = device.memory().expect("a device").in_use - before;
    if device.kind() != DeviceKind::Cpu {
        assert_eq!(held, info.workspace_bytes, "{device}: {info}");
    }

    let methods: Vec<_> = tuning.timings.iter().map(|timing| timing.method).collect();
    let mut each = methods.clone();
    each.sort_by_key(|method| method.name());
    each.dedup();
    assert_eq!(each.len(), methods.len(), "{device}: {methods:?}");
    assert!(
        tuning.before == chosen && methods.contains(&chosen) && methods.contains(&info.method),
        "{tuning:?}"
    );
    assert!(methods.contains(&SpmvMethod::MergePath), "every matrix can be multiplied by it: {tuning:?}");
    let may_copy = options.may_copy && device.kind() != DeviceKind::Cpu;
    for method in [SpmvMethod::NarrowColumns, SpmvMethod::SlicedEll] {
        assert_eq!(methods.contains(&method), may_copy && method.copies(), "{device}: {tuning:?}");
    }
    assert!(tuning.timings.is_sorted_by_key(|timing| timing.ms), "{tuning:?}");
    assert_eq!(tuning.pays_after().is_none(), info.method == chosen, "{tuning:?}, {info}");

    let x = device.upload(&vector::<V>(a.ncols())).expect("upload");
    let mut y = device.zeros(a.nrows()).expect("memory");
    plan.run(V::ONE, &x, V::ZERO, &mut y).expect("a product");
    let expected = check_spmv_with(device, host, info.options(), 1.0, 0.0);
    assert!(y.download().expect("download") == expected, "{device}: {info}");
    // It can be tuned again.
    assert_eq!(plan.tune().expect("a plan").before, info.method);
}

#[test]
fn matrices_of_all_kinds() {
    for device in devices() {
        let device = &device.device;
        for options in [SpmvOptions::default(), SpmvOptions::default().with_may_copy(true)] {
            check::<f64, u32>(device, &with_row_lengths(90, &[5; 300]), options);
            check::<f32, u64>(device, &with_row_lengths(500, &[3, 0, 400, 1, 0, 7].repeat(20)), options);
            check::<f32, u32>(device, &Csr::from_triplets(40, 30, []).expect("a matrix"), options);
            check::<f64, u32>(device, &Csr::from_triplets(0, 0, []).expect("a matrix"), options);
        }
    }
}

/// A requested method stays a contender, with its lanes and threads.
#[test]
fn requested_methods_stay_contenders() {
    for device in devices() {
        let a: Csr<f64> = with_row_lengths(90, &[9, 30, 2].repeat(40));
        for options in [
            SpmvOptions::default().with_method(SpmvMethod::Vector { lanes: Some(16) }),
            SpmvOptions::default().with_method(SpmvMethod::CsrAdaptive { block_size: Some(256) }),
            SpmvOptions::default().with_method(SpmvMethod::MergePath),
        ] {
            if options.method.runs_on(device.device.kind()) {
                check(&device.device, &a, options);
            }
        }
    }
}

#[test]
fn the_choice_copies_if_allowed() {
    // One multiprocessor cannot run all rows at once.
    let device = Device::simulated(SimulatedOptions::default().with_multiprocessors(1));
    let a: Csr<f32> = generate(Kind::Stencil5 { side: 60 }, 1).expect("a matrix");
    let a = device.upload(&a).expect("upload");
    let method = |options| a.plan_spmv(options).expect("a plan").info().expect("figures").method;
    let may_copy = SpmvOptions::default().with_may_copy(true);
    assert_ne!(method(SpmvOptions::default()), SpmvMethod::NarrowColumns);
    assert_eq!(method(may_copy), SpmvMethod::NarrowColumns);
    // The requested method is used.
    assert_eq!(method(may_copy.with_method(SpmvMethod::Flat)), SpmvMethod::Flat);
}

#[test]
fn tuning_may_fail() {
    let device = Device::simulated(SimulatedOptions::default());
    let a = device.upload(&with_row_lengths::<f64, u32>(90, &[5; 300])).expect("upload");
    let mut plan = a.plan_spmv(SpmvOptions::default()).expect("a plan");
    let captured = a.plan_spmv(SpmvOptions::default()).expect("a plan");
    let refused = device.capture(captured, |plan| plan.tune().map(drop));
    assert!(matches!(refused, Err(OpError::Device(DeviceError::Capture { .. }))));
    // Too little memory for the vectors; then, for any method except that of the plan.
    let in_use = device.memory().expect("a device").in_use;
    device.set_memory_limit(Some(in_use + 8 * 300));
    assert!(matches!(plan.tune(), Err(OpError::Device(DeviceError::MemoryLimit { .. }))));
    device.set_memory_limit(Some(in_use + 8 * 390));
    let tuning = plan.tune().expect("methods without a workspace");
    assert!(tuning.timings.iter().all(|timing| timing.workspace_bytes == 0), "{tuning:?}");
    device.set_memory_limit(None);
    let chosen = plan.info().expect("figures").method;
    lose(&device);
    assert!(plan.tune().is_err() && plan.info().expect("figures").method == chosen);
}
