//! Structs of `dlpack.h`, with their original names.

use std::ffi::c_void;

/// Version of DLPack that defines these structs.
pub(super) const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 0 };
/// Flag of read-only memory.
pub const FLAG_READ_ONLY: u64 = 1;

/// Host memory.
pub(super) const CPU: i32 = 1;
/// A GPU's memory.
pub(super) const CUDA: i32 = 2;
/// Page-locked host memory.
pub(super) const CUDA_HOST: i32 = 3;

/// A version of DLPack.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DLPackVersion {
    /// Changes with the layout of the structs.
    pub major: u32,
    /// Changes with the meaning of values in them.
    pub minor: u32,
}

/// Location of memory.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DLDevice {
    /// Kind of device: 1 is the CPU, 2 an NVIDIA GPU.
    pub device_type: i32,
    /// Number of the device among those of its kind.
    pub device_id: i32,
}

/// Type of elements.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DLDataType {
    /// Kind of number: 0 signed and 1 unsigned integers, 2 floating-point numbers, 4 `bfloat16`.
    pub code: u8,
    /// Number of bits of a number.
    pub bits: u8,
    /// Number of numbers in an element.
    pub lanes: u16,
}

/// Memory and its shape.
#[repr(C)]
#[derive(Debug)]
pub struct DLTensor {
    /// The memory.
    pub data: *mut c_void,
    /// The device that has the memory.
    pub device: DLDevice,
    /// Number of dimensions.
    pub ndim: i32,
    /// The element type.
    pub dtype: DLDataType,
    /// Length of each dimension.
    pub shape: *mut i64,
    /// Stride in elements of each dimension; null if the elements are contiguous.
    pub strides: *mut i64,
    /// Offset in bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// A tensor with its deleter, before DLPack 1.0.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// Data of the producer.
    pub manager_ctx: *mut c_void,
    /// Frees the tensor.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// A tensor with its deleter.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// Version of DLPack that the producer uses.
    pub version: DLPackVersion,
    /// Data of the producer.
    pub manager_ctx: *mut c_void,
    /// Frees the tensor.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
    /// [`FLAG_READ_ONLY`] and others.
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

/// Lengths or strides of a tensor's dimensions.
///
/// # Safety
///
/// There are `count` numbers, valid while the slice is used.
pub(super) unsafe fn slice<'a>(first: *const i64, count: i32) -> &'a [i64] {
    match usize::try_from(count) {
        // SAFETY: guaranteed by the caller.
        Ok(count) if count > 0 && !first.is_null() => unsafe { std::slice::from_raw_parts(first, count) },
        _ => &[],
    }
}
