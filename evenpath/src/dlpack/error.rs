//! Errors of exporting and importing tensors.

use super::abi::{self, DLDataType, DLDevice};
use crate::device::DeviceError;
use crate::matrix::MatrixError;

/// Error of exporting or importing a tensor.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DlpackError {
    /// The version of DLPack is not supported.
    #[error("the tensor is of DLPack {major}.{minor}, but only 1.x is supported")]
    Version {
        /// Major version.
        major: u32,
        /// Minor version.
        minor: u32,
    },
    /// The tensor has a different element type.
    #[error("the tensor has elements of type {}, not {}", name(*.found), name(*.expected))]
    DataType {
        /// The requested type.
        expected: DLDataType,
        /// The tensor's type.
        found: DLDataType,
    },
    /// The tensor is on a different device.
    #[error("the tensor is on {}, not on {device}", place(*.found))]
    Device {
        /// The requested device.
        device: String,
        /// The tensor's device.
        found: DLDevice,
    },
    /// Other libraries cannot use the device's memory.
    #[error(
        "other libraries cannot use memory of {device}: only that of the CPU, and of a GPU in its primary context"
    )]
    NotShared {
        /// The device.
        device: String,
    },
    /// The tensor has a different number of dimensions.
    #[error("the tensor has {found} dimensions, not {expected}")]
    Dimensions {
        /// The requested number.
        expected: usize,
        /// The tensor's number.
        found: usize,
    },
    /// Lengths or strides are negative, or the layout is not supported.
    #[error("a tensor of shape {shape:?} with strides {strides:?} is not {needed}")]
    Strides {
        /// The lengths of the dimensions.
        shape: Vec<i64>,
        /// The strides.
        strides: Vec<i64>,
        /// The requested layout.
        needed: &'static str,
    },
    /// Read-only memory cannot be exported in a form that lacks the flag for it.
    #[error("the tensor's memory is read-only")]
    ReadOnly,
    /// The device failed, or has too little memory.
    #[error(transparent)]
    DeviceError(#[from] DeviceError),
    /// The matrix is invalid.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

evenpath_simt::debug_as_message!(DlpackError);

fn name(DLDataType { code, bits, lanes }: DLDataType) -> String {
    let kind = match code {
        0 => "int",
        1 => "uint",
        2 => "float",
        4 => "bfloat",
        5 => "complex",
        6 => "bool",
        _ => return format!("code {code} with {bits} bits"),
    };
    match lanes {
        1 => format!("{kind}{bits}"),
        _ => format!("{kind}{bits}x{lanes}"),
    }
}

fn place(DLDevice { device_type, device_id }: DLDevice) -> String {
    match device_type {
        abi::CPU => "the CPU".into(),
        abi::CUDA => format!("cuda:{device_id}"),
        abi::CUDA_HOST => "page-locked host memory".into(),
        _ => format!("device {device_id} of type {device_type}"),
    }
}
