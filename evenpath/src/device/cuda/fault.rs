//! Faults of GPUs, recorded for the process.
//!
//! A kernel's fault ends more than its context: the driver then returns the fault's error in every other
//! context of the process on that GPU, and for every new context, even after all others are destroyed. Only a
//! new process can use the GPU again. The driver documents this for the errors that [`CallError::ends_gpu`]
//! lists, and it was observed with an illegal address on an H200 with driver 580.
//!
//! The kernel may thus be another device object's than the one that sees the fault first. The launch logs of
//! all device objects of a GPU are read together, once, and the result is kept until the process ends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;

use super::driver::{CallError, describe};
use super::failure::ContextFailure;
use super::launch_log::LaunchLog;
use crate::device::DeviceError;

/// A recorded fault. The first call that fails because of it returns the fault, later ones the loss of the
/// device.
#[derive(Debug, Default)]
pub(super) struct RecordedFault {
    cause: OnceLock<FaultDetails>,
    is_told: AtomicBool,
}

/// Details of a fault.
#[derive(Debug, Clone, Default)]
struct FaultDetails {
    device: String,
    kernels: Vec<&'static str>,
    reason: String,
}

impl RecordedFault {
    /// Records an error on `device`, caused by any of `kernels`; the first record stays.
    pub(super) fn record(&self, device: &str, error: CallError, kernels: impl FnOnce() -> Vec<&'static str>) {
        self.cause.get_or_init(|| FaultDetails {
            device: device.to_owned(),
            kernels: kernels(),
            reason: describe(error.code),
        });
    }

    pub(super) fn is_recorded(&self) -> bool {
        self.cause.get().is_some()
    }

    /// Returns the error of a call on a device object that the recorded fault ended.
    pub(super) fn tell(&self, device: &str) -> DeviceError {
        let (device, FaultDetails { kernels, reason, .. }) = (device.to_owned(), self.cause());
        if self.is_told.swap(true, Relaxed) {
            DeviceError::DeviceLost { device, kernels, reason }
        } else {
            DeviceError::KernelFault { device, kernels, reason }
        }
    }

    fn cause(&self) -> FaultDetails {
        self.cause.get().cloned().unwrap_or_default()
    }
}

/// State that all device objects of one GPU share.
#[derive(Debug, Default)]
pub(super) struct GpuRecord {
    /// Logs of the live device objects, in order of creation.
    logs: Mutex<Vec<Weak<Mutex<LaunchLog>>>>,
    fault: RecordedFault,
}

impl GpuRecord {
    /// Returns the process's record of a GPU.
    pub(super) fn of(ordinal: u32) -> Arc<Self> {
        static RECORDS: Mutex<BTreeMap<u32, Arc<GpuRecord>>> = Mutex::new(BTreeMap::new());
        Arc::clone(RECORDS.lock().entry(ordinal).or_default())
    }

    /// Returns the launch log of a new device object.
    pub(super) fn new_log(&self) -> Arc<Mutex<LaunchLog>> {
        let log = Arc::default();
        let mut logs = self.logs.lock();
        logs.retain(|log| log.strong_count() > 0);
        logs.push(Arc::downgrade(&log));
        log
    }

    /// Returns the fault that ended the use of the GPU, if recorded.
    pub(super) fn fault(&self) -> &RecordedFault {
        &self.fault
    }

    /// Records an error that ends the use of the GPU. The caller holds no launch log.
    pub(super) fn record(&self, device: &str, error: CallError) {
        self.fault.record(device, error, || self.kernels());
    }

    /// Returns an error unless a new device object may be created.
    pub(super) fn check(&self) -> Result<(), DeviceError> {
        if !self.fault.is_recorded() {
            return Ok(());
        }
        let FaultDetails { device, kernels, reason } = self.fault.cause();
        Err(DeviceError::GpuLost { device, kernels, reason })
    }

    /// Returns the error of a failed creation of a device object.
    pub(super) fn refusal(&self, device: &str, failure: ContextFailure) -> DeviceError {
        if let ContextFailure::Call(error) | ContextFailure::Fatal(error) = &failure
            && error.ends_gpu()
        {
            self.record(device, *error);
        }
        self.check().err().unwrap_or_else(|| failure.into_error(device))
    }

    /// Names the kernels of all live device objects that are not known to have completed, each once.
    fn kernels(&self) -> Vec<&'static str> {
        let mut kernels = Vec::new();
        for log in self.logs.lock().iter().filter_map(Weak::upgrade) {
            for kernel in log.lock().kernels() {
                if !kernels.contains(&kernel) {
                    kernels.push(kernel);
                }
            }
        }
        kernels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ILLEGAL_ADDRESS: CallError = CallError { call: "cuStreamSynchronize", code: 700 };

    #[test]
    fn kernels_of_all_live_device_objects_are_named_once() {
        let gpu = GpuRecord::default();
        let [first, second, dropped] = [gpu.new_log(), gpu.new_log(), gpu.new_log()];
        dropped.lock().launched("gone", 0);
        drop(dropped);
        second.lock().launched("sort", 0);
        second.lock().launched("scan", 0);
        first.lock().launched("scan", 0);
        assert!(gpu.check().is_ok());
        gpu.record("cuda:0", ILLEGAL_ADDRESS);
        first.lock().launched("later", 0);
        gpu.record("cuda:0", ILLEGAL_ADDRESS);
        match gpu.check().unwrap_err() {
            DeviceError::GpuLost { device, kernels, reason } => {
                assert_eq!((device.as_str(), kernels), ("cuda:0", vec!["scan", "sort"]));
                assert!(reason.contains("700") || reason.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{reason}");
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_fault_is_reported_once_and_then_as_a_loss() {
        let gpu = GpuRecord::default();
        gpu.record("cuda:0", ILLEGAL_ADDRESS);
        assert!(
            matches!(gpu.fault().tell("one"), DeviceError::KernelFault { device, .. } if device == "one")
        );
        assert!(matches!(gpu.fault().tell("two"), DeviceError::DeviceLost { device, .. } if device == "two"));
    }

    #[test]
    fn only_errors_that_last_refuse_later_device_objects() {
        let gpu = GpuRecord::default();
        let refusal = |code| gpu.refusal("cuda:0", CallError { call: "cuCtxCreate", code }.into());
        assert!(matches!(refusal(2), DeviceError::Driver { code: 2, .. }));
        assert!(gpu.check().is_ok());
        let error = refusal(700);
        assert!(matches!(&error, DeviceError::GpuLost { kernels, .. } if kernels.is_empty()), "{error}");
        assert!(error.to_string().contains("another library"), "{error}");
        assert!(gpu.check().is_err());
        assert!(matches!(refusal(2), DeviceError::GpuLost { .. }));
    }

    #[test]
    fn a_gpu_has_one_record() {
        assert!(Arc::ptr_eq(&GpuRecord::of(70_000), &GpuRecord::of(70_000)));
        assert!(!Arc::ptr_eq(&GpuRecord::of(70_000), &GpuRecord::of(70_001)));
    }
}
