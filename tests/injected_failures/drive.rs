//! Runs an operation with failures, little memory, and on a lost device.

use evenpath::Device;
use evenpath::device::SimulatedOptions;
use evenpath::error::{DeviceError, OpError};
use evenpath_lab::Diagnostics;
use evenpath_tests::lose;

/// The result of an operation, as numbers.
pub(super) type Numbers = Result<Vec<f64>, OpError>;

fn device() -> Device {
    // One thread, so that the order of calls is fixed.
    Device::simulated(SimulatedOptions::default().with_memory_bytes(256 << 20).with_threads(1))
}

fn is_injected(error: &OpError) -> bool {
    matches!(error, OpError::Device(DeviceError::Injected { .. }))
}

/// Runs `run` on the result of `prepare`, with each of its device calls failing in turn. `held` returns the
/// contents of the caller's objects: unchanged if the operation fails, and as in other runs if it succeeds.
pub(super) fn drive<S>(
    name: &str,
    prepare: impl Fn(&Device) -> S,
    held: impl Fn(&S) -> Vec<f64>,
    run: impl Fn(&mut S) -> Numbers,
) {
    drive_in(name, false, prepare, held, run);
}

/// Like [`drive`]. An operation that writes the caller's objects `in_steps` may have written some of them when it fails.
pub(super) fn drive_in<S>(
    name: &str,
    in_steps: bool,
    prepare: impl Fn(&Device) -> S,
    held: impl Fn(&S) -> Vec<f64>,
    run: impl Fn(&mut S) -> Numbers,
) {
    let mut state = prepare(&device());
    let result = run(&mut state).unwrap_or_else(|error| panic!("{name}: {error}"));
    let expected = (result, held(&state));
    for calls in 0.. {
        let device = device();
        let mut state = prepare(&device);
        let (before, in_use) = (held(&state), device.memory().unwrap().in_use);
        device.inject_failure(Some(calls));
        let mut result = run(&mut state);
        let is_over = device.injected_failure().is_some();
        device.inject_failure(None);
        if let Err(error) = &result {
            assert!(is_injected(error) && !is_over, "{name}, call {calls}: {error}");
            assert_eq!(device.memory().unwrap().in_use, in_use, "{name}: call {calls} leaks");
            assert!(in_steps || held(&state) == before, "{name}: call {calls} leaves something else");
            result = run(&mut state);
        }
        let result = result.unwrap_or_else(|error| panic!("{name}, after call {calls} failed: {error}"));
        assert!((result, held(&state)) == expected, "{name}, call {calls} failed: the result differs");
        if is_over {
            assert!(calls > 0, "{name} makes no device calls");
            break;
        }
    }
    check_memory_limits(name, in_steps, &prepare, &held, &run, &expected);
    check_lost(name, &prepare, &run);
}

/// With less memory than it needs, the operation either succeeds or fails with an error that names the sizes, leaving
/// everything unchanged.
fn check_memory_limits<S>(
    name: &str,
    in_steps: bool,
    prepare: &impl Fn(&Device) -> S,
    held: &impl Fn(&S) -> Vec<f64>,
    run: &impl Fn(&mut S) -> Numbers,
    expected: &(Vec<f64>, Vec<f64>),
) {
    const STEPS: u64 = 5;
    let device = device();
    let mut state = prepare(&device);
    let in_use = device.memory().unwrap().in_use;
    device.reset_peak_memory();
    run(&mut state).unwrap_or_else(|error| panic!("{name}: {error}"));
    let needed = device.memory().unwrap().peak - in_use;
    for step in (0..STEPS).filter(|_| needed > 0) {
        let mut state = prepare(&device);
        let (before, in_use) = (held(&state), device.memory().unwrap().in_use);
        let limit = in_use + needed * step / STEPS;
        device.set_memory_limit(Some(limit));
        let mut result = run(&mut state);
        device.set_memory_limit(None);
        if let Err(error) = &result {
            assert!(is_about_memory(error, limit), "{name}, {limit} bytes: {error}");
            assert_eq!(device.memory().unwrap().in_use, in_use, "{name}: {limit} bytes leak");
            assert!(in_steps || held(&state) == before, "{name}: {limit} bytes leave something else");
            result = run(&mut state);
        }
        let result = result.unwrap_or_else(|error| panic!("{name}, after {limit} bytes: {error}"));
        assert!(
            (&result, &held(&state)) == (&expected.0, &expected.1),
            "{name}, {limit} bytes: the result differs"
        );
    }
}

/// Returns whether the error names the memory limit and the requested size.
fn is_about_memory(error: &OpError, bytes: u64) -> bool {
    match error {
        OpError::Device(DeviceError::MemoryLimit { requested, in_use, limit, .. }) => {
            *limit == bytes && in_use + requested > bytes
        }
        OpError::ProductMemory { needed, limit, .. } => needed > limit && *limit <= bytes,
        _ => false,
    }
}

/// On a lost device the operation reports that, and its operands can be dropped.
fn check_lost<S>(name: &str, prepare: &impl Fn(&Device) -> S, run: &impl Fn(&mut S) -> Numbers) {
    let device = device();
    let mut state = prepare(&device);
    let kernel = lose(&device);
    match run(&mut state) {
        Err(OpError::Device(error @ DeviceError::DeviceLost { .. })) => {
            let text = error.to_string();
            assert!(text.contains(&device.to_string()) && text.contains(kernel), "{name}: {text}");
        }
        Err(error) => panic!("{name} on a lost device: {error}"),
        Ok(_) => panic!("{name} runs on a lost device"),
    }
    drop(state);
    assert_eq!(device.memory().unwrap().in_use, 0, "{name} keeps memory of a lost device");
}
