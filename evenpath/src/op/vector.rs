//! Dense vectors: what iterative methods take beside products with matrices.
//!
//! ```
//! use evenpath::{Device, vector};
//!
//! let device = Device::best()?;
//! let x = device.upload(&[1.0, 2.0, 3.0])?;
//! let mut y = device.upload(&[1.0, 1.0, 1.0])?;
//! vector::axpby(2.0, &x, -1.0, &mut y)?;
//! assert_eq!(y.download()?, [1.0, 3.0, 5.0]);
//! assert_eq!(vector::dot(&x, &y)?, 22.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use evenpath_kernels::update::Update;
use evenpath_kernels::vector::{AddAt, Axpby, Dot, Gather, GatherIndices, Iota, MultiplyElements, Scale};

use super::operands::check_vector;
use super::{OpError, instance};
use crate::device::{Device, DeviceError, DeviceVec};
use crate::{Value, cpu};

/// y = `alpha`·`x` + `beta`·y. Where `beta` is zero, y is overwritten whatever it held. Ordered on the device's stream; the
/// call does not wait for it.
///
/// # Errors
///
/// If the vectors differ in length or are on two devices; then nothing is written. If the device was lost.
pub fn axpby<V: Value>(alpha: V, x: &DeviceVec<V>, beta: V, y: &mut DeviceVec<V>) -> Result<(), OpError> {
    check_vector(x.device(), ("y", y), x.len())?;
    if let (Some(x), Some(y)) = (x.host_slice(), y.host_slice_mut()) {
        cpu::axpby(alpha, x, beta, y);
        return Ok(());
    }
    let launch = x.device().kernel().threads(x.len())?;
    let kernel = Axpby { x: x.as_global(), update: update(alpha, beta, y), len: x.len() as u64 };
    // SAFETY: the views are of vectors of `len` elements on this device; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(())
}

/// z = x ∘ y, the product of each two elements. Ordered on the device's stream; the call does not wait for it.
///
/// # Errors
///
/// If the vectors differ in length or are on several devices; then nothing is written. If the device was lost.
pub fn multiply_elements<V: Value>(
    x: &DeviceVec<V>,
    y: &DeviceVec<V>,
    z: &mut DeviceVec<V>,
) -> Result<(), OpError> {
    check_vector(x.device(), ("y", y), x.len())?;
    check_vector(x.device(), ("z", z), x.len())?;
    if let (Some(x), Some(y), Some(z)) = (x.host_slice(), y.host_slice(), z.host_slice_mut()) {
        cpu::multiply_elements(x, y, z);
        return Ok(());
    }
    let launch = x.device().kernel().threads(x.len())?;
    let kernel =
        MultiplyElements { x: x.as_global(), y: y.as_global(), z: z.as_global_mut(), len: x.len() as u64 };
    // SAFETY: the views are of vectors of `len` elements on this device; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(())
}

/// Blocks of an inner product, at most: the same on every GPU, because which elements a block adds up decides how the sum
/// is rounded.
const DOT_BLOCKS: usize = 1024;

/// xᵀy, the inner product; zero of empty vectors. Waits for the device. Bitwise the same from run to run.
///
/// # Errors
///
/// If the vectors differ in length or are on two devices, or the device was lost.
pub fn dot<V: Value>(x: &DeviceVec<V>, y: &DeviceVec<V>) -> Result<V, OpError> {
    check_vector(x.device(), ("y", y), x.len())?;
    x.device().refuse_in_graph("`vector::dot` gives its result to the host")?;
    if let (Some(x), Some(y)) = (x.host_slice(), y.host_slice()) {
        return Ok(cpu::dot(x, y));
    }
    let (device, len) = (x.device(), x.len());
    let blocks = len.div_ceil(instance::<Dot<V>>().tile_items()).min(DOT_BLOCKS);
    let launch = device.kernel().blocks(blocks)?;
    let mut sums = device.uninitialized(blocks)?;
    let kernel = Dot { x: x.as_global(), y: y.as_global(), sums: sums.as_global_mut(), len: len as u64 };
    // SAFETY: the views are of vectors of `len` elements and of one sum per block, on this device; buffers are freed in
    // the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(sums.download()?.into_iter().fold(V::ZERO, |sum, part| sum + part))
}

/// y = α·(…) + βy as kernels take it.
pub(super) fn update<V: Value>(alpha: V, beta: V, y: &mut DeviceVec<V>) -> Update<V> {
    Update { y: y.as_global_mut(), alpha, beta }
}

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
    let launch = y.device().kernel().threads(y.len())?;
    let kernel = Scale { y: y.as_global_mut(), len: y.len() as u32, beta };
    // SAFETY: the view is of y, of this device, and buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }
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
    // There are no more distinct positions than elements.
    let launch = y.device().kernel().threads(positions.len().min(y.len()))?;
    let kernel = AddAt {
        positions: positions.as_global(),
        addends: addends.as_global(),
        count: count.as_global(),
        y: y.as_global_mut(),
    };
    // SAFETY: the caller's; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }
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
    let len = positions.len();
    let launch = device.kernel().threads(len)?;
    let mut result = device.uninitialized(len)?;
    let kernel = Gather {
        source: source.as_global(),
        positions: positions.as_global(),
        update: update(V::ONE, V::ZERO, &mut result),
        len: len as u32,
    };
    // SAFETY: the caller's; the result has `len` elements, and buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
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
    let len = positions.len();
    let launch = device.kernel().threads(len)?;
    let mut result = device.uninitialized(len)?;
    let kernel = GatherIndices {
        source: source.as_global(),
        positions: positions.as_global(),
        result: result.as_global_mut(),
        len: len as u32,
    };
    // SAFETY: the caller's; the result has `len` elements, and buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(result)
}

/// 0, 1, 2, … `len` − 1. Not on the CPU.
pub(super) fn iota(device: &Device, len: u32) -> Result<DeviceVec<u32>, DeviceError> {
    let launch = device.kernel().threads(len as usize)?;
    let mut vector = device.uninitialized(len as usize)?;
    let kernel = Iota { vector: vector.as_global_mut(), len };
    // SAFETY: the vector has `len` elements, and buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(vector)
}
