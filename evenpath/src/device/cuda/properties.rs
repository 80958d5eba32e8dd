//! GPUs and their properties, as reported by the driver.

use cust::CudaApiVersion;
use cust::device::{Device as Gpu, DeviceAttribute};
use cust::sys::{self, CUdevice_attribute, CUresult};

use super::driver::{CallError, check, check_raw};
use super::failure::ContextFailure;
use crate::device::error::{DeviceError, Version};
use crate::device::properties::DeviceProperties;

/// Finds a GPU by its number.
pub(super) fn find(ordinal: u32) -> Result<Gpu, ContextFailure> {
    let no_such_gpu = |count| ContextFailure::Error(DeviceError::NoSuchGpu { ordinal, count });
    match check("cuInit", cust::init(cust::CudaFlags::empty())) {
        Err(error) if error.code == CUresult::CUDA_ERROR_NO_DEVICE as i32 => {
            return Err(no_such_gpu(0));
        }
        other => other?,
    }
    let count = check("cuDeviceGetCount", Gpu::num_devices())?;
    if ordinal >= count {
        return Err(no_such_gpu(count));
    }
    Ok(check("cuDeviceGet", Gpu::get_device(ordinal))?)
}

/// Returns the properties of a GPU.
pub(super) fn describe(gpu: Gpu) -> Result<DeviceProperties, CallError> {
    let attribute =
        |attribute| check("cuDeviceGetAttribute", gpu.get_attribute(attribute)).map(i32::cast_unsigned);
    let driver = check("cuDriverGetVersion", CudaApiVersion::get())?;
    Ok(DeviceProperties {
        name: check("cuDeviceGetName", gpu.name())?,
        multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
        compute_capability: Some((
            attribute(DeviceAttribute::ComputeCapabilityMajor)?,
            attribute(DeviceAttribute::ComputeCapabilityMinor)?,
        )),
        memory_bytes: Some(check("cuDeviceTotalMem", gpu.total_memory())? as u64),
        l2_bytes: Some(u64::from(attribute(DeviceAttribute::L2CacheSize)?)),
        max_shared_bytes: Some(max_shared_bytes(gpu)?),
        driver: Some(Version {
            major: driver.major().cast_unsigned(),
            minor: driver.minor().cast_unsigned(),
        }),
    })
}

/// Maximum shared memory of a block on request, in bytes.
fn max_shared_bytes(gpu: Gpu) -> Result<u32, CallError> {
    attribute(gpu.as_raw(), CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
}

/// Maximum shared memory of a multiprocessor of the current context's GPU, in bytes.
pub(super) fn multiprocessor_shared_bytes() -> Result<u32, CallError> {
    let mut gpu = 0;
    // SAFETY: `gpu` is live for the call.
    check_raw("cuCtxGetDevice", unsafe { sys::cuCtxGetDevice(&raw mut gpu) })?;
    attribute(gpu, CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)
}

/// Returns an attribute that `cust` lacks.
fn attribute(gpu: sys::CUdevice, attribute: CUdevice_attribute) -> Result<u32, CallError> {
    let mut value = 0;
    // SAFETY: `value` is live for the call.
    let result = unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, gpu) };
    check_raw("cuDeviceGetAttribute", result)?;
    Ok(value.cast_unsigned())
}

/// Free and total bytes of the current context's GPU.
pub(super) fn memory_info() -> Result<(u64, u64), CallError> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both are live for the call.
    check_raw("cuMemGetInfo", unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) })?;
    Ok((free as u64, total as u64))
}
