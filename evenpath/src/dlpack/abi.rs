//! The structs of `dlpack.h`, by the names that they have there.

use std::ffi::c_void;

/// The version of DLPack whose structs these are.
pub(super) const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 0 };
/// The flag of memory that is not to be written.
pub const FLAG_READ_ONLY: u64 = 1;

/// Host memory.
pub(super) const CPU: i32 = 1;
/// A GPU's memory.
pub(super) const CUDA: i32 = 2;
/// Host memory that is page-locked.
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

/// Where memory is.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DLDevice {
    /// The kind of device: 1 is the CPU, 2 an NVIDIA GPU.
    pub device_type: i32,
    /// Its number among those of the kind.
    pub device_id: i32,
}

/// What elements are.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DLDataType {
    /// The kind of number: 0 signed and 1 unsigned integers, 2 floating-point numbers, 4 `bfloat16`.
    pub code: u8,
    /// Bits of a number.
    pub bits: u8,
    /// Numbers of an element.
    pub lanes: u16,
}

/// Memory and its shape.
#[repr(C)]
#[derive(Debug)]
pub struct DLTensor {
    /// The memory.
    pub data: *mut c_void,
    /// Where it is.
    pub device: DLDevice,
    /// Dimensions.
    pub ndim: i32,
    /// What the elements are.
    pub dtype: DLDataType,
    /// The length of each dimension.
    pub shape: *mut i64,
    /// Elements from one to the next in each dimension; null if they lie side by side.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// A tensor and its end, before DLPack 1.0.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// Its maker's.
    pub manager_ctx: *mut c_void,
    /// Gives it back.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// A tensor and its end.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// The version of DLPack that its maker knows.
    pub version: DLPackVersion,
    /// Its maker's.
    pub manager_ctx: *mut c_void,
    /// Gives it back.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
    /// [`FLAG_READ_ONLY`] and others.
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

/// The numbers of a tensor's dimensions.
///
/// # Safety
///
/// There are as many as `count` says, while the slice is used.
pub(super) unsafe fn slice<'a>(first: *const i64, count: i32) -> &'a [i64] {
    match usize::try_from(count) {
        // SAFETY: the caller's.
        Ok(count) if count > 0 && !first.is_null() => unsafe { std::slice::from_raw_parts(first, count) },
        _ => &[],
    }
}
