//! Failures of calls in a context, and their consequences.

use super::driver::{CallError, describe};
use crate::device::DeviceError;

/// A failed call in a context.
pub(super) enum ContextFailure {
    Call(CallError),
    /// A failure after which the context must not be used, whatever its code.
    Fatal(CallError),
    Error(DeviceError),
}

impl From<CallError> for ContextFailure {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<DeviceError> for ContextFailure {
    fn from(error: DeviceError) -> Self {
        Self::Error(error)
    }
}

impl CallError {
    /// Returns whether the context returns this error for every later call: faults of kernels and of
    /// hardware.
    pub(super) fn ends_context(self) -> bool {
        // 214 ECC, 220 NVLink, 709 context destroyed, 710 assert, 999 unknown.
        self.ends_gpu() || matches!(self.code, 214 | 220 | 709 | 710 | 999)
    }

    /// Returns whether the process can no longer use the GPU: for these errors the driver documents that "the
    /// process must be terminated and relaunched".
    pub(super) fn ends_gpu(self) -> bool {
        // 226 contained, 700 illegal address, 702 timeout, 714 to 719 stack, instruction, alignment, address space,
        // program counter, launch failure, 721 tensor memory, 810 MPS client terminated, 911 external device.
        matches!(self.code, 226 | 700 | 702 | 714..=719 | 721 | 810 | 911)
    }

    fn into_error(self, device: &str) -> DeviceError {
        let Self { call, code } = self;
        DeviceError::Driver { device: device.to_owned(), call, code, message: describe(code) }
    }
}

impl ContextFailure {
    /// Converts the error of a call outside any context.
    pub(super) fn into_error(self, device: &str) -> DeviceError {
        match self {
            Self::Call(error) | Self::Fatal(error) => error.into_error(device),
            Self::Error(error) => error,
        }
    }
}
