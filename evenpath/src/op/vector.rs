//! Dense vectors, element by element.

use evenpath_kernels::vector::{AddAt, Gather, GatherIndices, Iota, Scale};

use super::ell::blocks;
use super::instance;
use crate::device::{Device, DeviceError, DeviceVec};
use crate::{Value, cpu};

/// y = `beta`·y, zero where `beta` is, whatever y held. There are fewer than 2³² elements, as of every matrix's vectors.
pub(super) fn scale<V: Value>(beta: V, y: &mut DeviceVec<V>) -> Result<(), DeviceError> {
    if beta == V::ZERO {
        return y.set_zero();
    }
    if beta == V::ONE {
        return Ok(());
    }
    if let Some(y) = y.host_slice_mut() {
        cpu::scale(beta, y);
        return Ok(());
    }
    let device = y.device().clone();
    let info = instance::<Scale<V>>();
    let kernel = Scale { y: y.as_global_mut(), len: y.len() as u32, beta };
    // SAFETY: the view is of y, of this device, and buffers are freed in the stream's order.
    unsafe { device.launch(kernel, info, blocks(y.len(), info.block_size), 0) }
}

/// Adds to the elements of y at the first of `positions`, of which the one element of `count` says how many, the
/// `addends`. Not on the CPU.
///
/// # Safety
///
/// So many positions are below y's length and distinct; `count` is not above the lengths of `positions` and `addends`,
/// and all are on one device.
pub(super) unsafe fn add_at<V: Value>(
    positions: &DeviceVec<u32>,
    addends: &DeviceVec<V>,
    count: &DeviceVec<u64>,
    y: &mut DeviceVec<V>,
) -> Result<(), DeviceError> {
    let device = y.device().clone();
    let info = instance::<AddAt<V>>();
    // There are no more distinct positions than elements.
    let most = positions.len().min(y.len());
    let kernel = AddAt {
        positions: positions.as_global(),
        addends: addends.as_global(),
        count: count.as_global(),
        y: y.as_global_mut(),
    };
    // SAFETY: the caller's; buffers are freed in the stream's order.
    unsafe { device.launch(kernel, info, blocks(most, info.block_size), 0) }
}

/// The elements of `source` at the given positions, of which there are fewer than 2³². Not on the CPU.
///
/// # Safety
///
/// The positions are below the source's length, and both are on one device.
pub(super) unsafe fn gather<V: Value>(
    source: &DeviceVec<V>,
    positions: &DeviceVec<u32>,
) -> Result<DeviceVec<V>, DeviceError> {
    let device = source.device();
    let (info, len) = (instance::<Gather<V>>(), positions.len());
    let mut result = device.uninitialised(len)?;
    let kernel = Gather {
        source: source.as_global(),
        positions: positions.as_global(),
        y: result.as_global_mut(),
        len: len as u32,
        alpha: V::ONE,
        beta: V::ZERO,
    };
    // SAFETY: the caller's; the result has `len` elements, and buffers are freed in the stream's order.
    unsafe { device.launch(kernel, info, blocks(len, info.block_size), 0) }?;
    Ok(result)
}

/// [`gather`] of indices.
///
/// # Safety
///
/// As for [`gather`].
pub(super) unsafe fn gather_indices(
    source: &DeviceVec<u32>,
    positions: &DeviceVec<u32>,
) -> Result<DeviceVec<u32>, DeviceError> {
    let device = source.device();
    let (info, len) = (instance::<GatherIndices>(), positions.len());
    let mut result = device.uninitialised(len)?;
    let kernel = GatherIndices {
        source: source.as_global(),
        positions: positions.as_global(),
        result: result.as_global_mut(),
        len: len as u32,
    };
    // SAFETY: the caller's; the result has `len` elements, and buffers are freed in the stream's order.
    unsafe { device.launch(kernel, info, blocks(len, info.block_size), 0) }?;
    Ok(result)
}

/// 0, 1, 2, … `len` − 1. Not on the CPU.
pub(super) fn iota(device: &Device, len: u32) -> Result<DeviceVec<u32>, DeviceError> {
    let info = instance::<Iota>();
    let mut vector = device.uninitialised(len as usize)?;
    let kernel = Iota { vector: vector.as_global_mut(), len };
    // SAFETY: the vector has `len` elements, and buffers are freed in the stream's order.
    unsafe { device.launch(kernel, info, len.div_ceil(info.block_size), 0) }?;
    Ok(vector)
}
