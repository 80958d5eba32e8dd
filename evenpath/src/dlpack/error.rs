//! Why a tensor was not made or taken.

use super::abi::{self, DLDataType, DLDevice};
use crate::device::DeviceError;
use crate::matrix::MatrixError;

/// Why a tensor was not made or taken.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DlpackError {
    /// The tensor is of a version of DLPack that is not known here.
    #[error("a tensor of DLPack {major}.{minor}, where 1.x is known")]
    Version {
        /// The version.
        major: u32,
        /// The version.
        minor: u32,
    },
    /// The tensor has elements of another type.
    #[error("the tensor has elements of type {}, not {}", name(*.found), name(*.expected))]
    DataType {
        /// The type that was asked for.
        expected: DLDataType,
        /// The type that it has.
        found: DLDataType,
    },
    /// The tensor's memory is not the device's.
    #[error("the tensor is on {}, not on {device}", place(*.found))]
    Device {
        /// The device that was asked for.
        device: String,
        /// Where the tensor is.
        found: DLDevice,
    },
    /// The device's memory cannot be used by others.
    #[error(
        "others cannot use memory of {device}: only that of the CPU, and of a GPU in its primary context"
    )]
    NotShared {
        /// The device.
        device: String,
    },
    /// The tensor has another number of dimensions.
    #[error("the tensor has {found} dimensions, not {expected}")]
    Dimensions {
        /// The number that was asked for.
        expected: usize,
        /// The number that it has.
        found: usize,
    },
    /// Lengths or strides are negative, or elements do not lie as needed.
    #[error("a tensor of shape {shape:?} with strides {strides:?} is not {needed}")]
    Strides {
        /// The lengths of the dimensions.
        shape: Vec<i64>,
        /// The strides.
        strides: Vec<i64>,
        /// What was asked for.
        needed: &'static str,
    },
    /// Memory that is read only cannot be handed over in a form that does not say so.
    #[error("the tensor's memory is read only")]
    ReadOnly,
    /// The device failed, or has no memory.
    #[error(transparent)]
    DeviceError(#[from] DeviceError),
    /// The matrix was refused.
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
