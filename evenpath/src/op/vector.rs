//! Vectors, element by element, on devices with kernels.

use evenpath_kernels::vector::{AddAt, Gather, Iota, Scale};
use evenpath_simt::Element;
use evenpath_simt::kernel::KernelInfo;

use super::{OpError, instance, tile_count};
use crate::Value;
use crate::device::{Device, DeviceError, DeviceVec};

/// Blocks for a thread an element.
fn blocks(info: &KernelInfo, len: usize) -> Result<u32, OpError> {
    tile_count("a vector", info, len)
}

/// `vector` = `factor`·`vector`; with a factor of zero it becomes zero, whatever it held.
pub(super) fn scale<V: Value>(vector: &mut DeviceVec<V>, factor: V) -> Result<(), OpError> {
    if factor == V::ZERO {
        return Ok(vector.set_zero()?);
    }
    if factor == V::ONE {
        return Ok(());
    }
    let device = vector.device().clone();
    let (info, len) = (instance::<Scale<V>>(), vector.len());
    let kernel = Scale { vector: vector.as_global_mut(), len: len as u64, factor };
    // SAFETY: the vector has `len` elements, and buffers are freed in the stream's order.
    Ok(unsafe { device.launch(kernel, info, blocks(info, len)?, 0) }?)
}

/// Adds to each of the first elements of `places`, of which the one element of `count` says how many, its addend.
///
/// # Safety
///
/// So many places are below the vector's length and distinct; `count` is not above the lengths of `places` and
/// `addends`, and all are on one device.
pub(super) unsafe fn add_at<V: Value>(
    vector: &mut DeviceVec<V>,
    places: &DeviceVec<u32>,
    addends: &DeviceVec<V>,
    count: &DeviceVec<u64>,
) -> Result<(), OpError> {
    let device = vector.device().clone();
    let info = instance::<AddAt<V>>();
    // There are no more distinct places than elements.
    let most = places.len().min(vector.len());
    let kernel = AddAt {
        vector: vector.as_global_mut(),
        places: places.as_global(),
        addends: addends.as_global(),
        count: count.as_global(),
    };
    // SAFETY: the caller's; buffers are freed in the stream's order.
    Ok(unsafe { device.launch(kernel, info, blocks(info, most)?, 0) }?)
}

/// The elements of `source` at the given places.
///
/// # Safety
///
/// The places are below the source's length, and both are on one device.
pub(super) unsafe fn gather<T: Element + bytemuck::Pod>(
    source: &DeviceVec<T>,
    places: &DeviceVec<u32>,
) -> Result<DeviceVec<T>, OpError> {
    let device = source.device();
    let (info, len) = (instance::<Gather<T>>(), places.len());
    let mut result = device.uninitialised(len)?;
    let kernel = Gather {
        source: source.as_global(),
        places: places.as_global(),
        result: result.as_global_mut(),
        len: len as u64,
    };
    // SAFETY: the caller's; the result has `len` elements, and buffers are freed in the stream's order.
    unsafe { device.launch(kernel, info, blocks(info, len)?, 0) }?;
    Ok(result)
}

/// 0, 1, 2, … `len` − 1, which are below 2³².
pub(super) fn iota(device: &Device, len: u32) -> Result<DeviceVec<u32>, DeviceError> {
    let info = instance::<Iota>();
    let mut vector = device.uninitialised(len as usize)?;
    let kernel = Iota { vector: vector.as_global_mut(), len: u64::from(len) };
    // SAFETY: the vector has `len` elements.
    unsafe { device.launch(kernel, info, len.div_ceil(info.block_size), 0) }?;
    Ok(vector)
}
