//! Dense vectors: the operations of iterative methods besides products with matrices.
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

use evenpath_kernels::complex::GatherElements;
use evenpath_kernels::update::Update;
use evenpath_kernels::vector::{
    AddAt, Axpby, DivideElements, DivideInPlace, Gather, GatherIndices, Iota, MultiplyElements,
    MultiplyInPlace,
};

use evenpath_simt::kernel::Kernel;
use evenpath_simt::{Global, GlobalMut};

use super::complex;
pub use super::fold::{
    argmax, argmax_into, argmin, argmin_into, max, max_into, min, min_into, norm_max, norm_max_into, norm1,
    norm1_into, sum, sum_into,
};
pub use super::inner_product::{dot, dot_conjugated, dot_conjugated_into, dot_into, norm2, norm2_into};
pub use super::map::map;
pub use super::positions::Positions;
pub use super::precision::{narrow, widen};
use crate::device::{Device, DeviceError, DeviceKind, DeviceSlice, DeviceVec};
use crate::operand::check::check_vector;
use crate::operand::factor::factors;
use crate::operand::{Factor, OpError};
pub use crate::operation::Map;
use crate::{Scalar, Value, cpu};

/// Computes y = `alpha`·`x` + `beta`·y. `x` and `y` have n elements each. Where `beta` is zero, y is
/// overwritten whatever it held. Runs in the order of the device's stream; the call does not wait.
///
/// ```
/// use evenpath::{Device, vector};
///
/// let device = Device::best()?;
/// let (x, mut y) = (device.upload(&[1.0, 2.0])?, device.upload(&[10.0, 20.0])?);
/// vector::axpby(3.0, &x, 2.0, &mut y)?;
/// assert_eq!(y.download()?, [23.0, 46.0]);
/// vector::axpby(3.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.download()?, [3.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the vectors differ in length, a factor is not one element, or any of them is on another device; then nothing is written. If the
/// device was lost.
pub fn axpby<'f, V: Scalar>(
    alpha: impl Into<Factor<'f, V>>,
    x: &DeviceSlice<V>,
    beta: impl Into<Factor<'f, V>>,
    y: &mut DeviceSlice<V>,
) -> Result<(), OpError> {
    check_vector(x.device(), ("y", y), x.len())?;
    let (alpha, beta) = factors(x.device(), alpha, beta)?;
    if let (Some(alpha), Some(x), Some(beta), Some(y)) =
        (alpha.known(), x.host_slice(), beta.known(), y.host_slice_mut())
    {
        cpu::axpby(alpha, x, beta, y);
        return Ok(());
    }
    let launch = x.device().kernel().threads(x.len())?;
    let kernel = Axpby {
        x: x.as_global(),
        y: y.as_global_mut(),
        alpha: alpha.view(),
        beta: beta.view(),
        len: x.len() as u64,
    };
    // SAFETY: the views are of vectors of `len` elements on this device, and factors of one; buffers are freed in the
    // stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(())
}

/// Sets every element of y, of any length, to `value`, whatever it held. Runs in the order of the device's stream;
/// the call does not wait.
///
/// ```
/// use evenpath::{Device, vector};
///
/// let mut y = Device::best()?.uninitialized(3)?;
/// vector::fill(0.5, &mut y)?;
/// assert_eq!(y.download()?, [0.5; 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the device was lost.
pub fn fill<V: Scalar>(value: V, y: &mut DeviceSlice<V>) -> Result<(), OpError> {
    Ok(complex::fill(value, y)?)
}

/// Replaces every element of y, of any length, by its complex conjugate; real elements stay. Runs in the order of the device's
/// stream; the call does not wait.
///
/// ```
/// use evenpath::{Complex, Device, vector};
///
/// let mut y = Device::best()?.upload(&[Complex::new(1.0, 2.0)])?;
/// vector::conjugate(&mut y)?;
/// assert_eq!(y.download()?, [Complex::new(1.0, -2.0)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the device was lost.
pub fn conjugate<V: Scalar>(y: &mut DeviceSlice<V>) -> Result<(), OpError> {
    if V::IS_COMPLEX {
        complex::conjugate(y)?;
    }
    Ok(())
}

/// Computes z = x ∘ y, the elementwise product. `x`, `y` and `z` have n elements each. Runs in the order of
/// the device's stream; the call does not wait.
///
/// ```
/// use evenpath::{Device, vector};
///
/// let device = Device::best()?;
/// let (x, y) = (device.upload(&[1.0, 2.0, 3.0])?, device.upload(&[4.0, 5.0, 6.0])?);
/// let mut z = device.zeros(3)?;
/// vector::multiply_elements(&x, &y, &mut z)?;
/// assert_eq!(z.download()?, [4.0, 10.0, 18.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the vectors differ in length or are on several devices; then nothing is written. If the device was lost.
pub fn multiply_elements<V: Scalar>(
    x: &DeviceSlice<V>,
    y: &DeviceSlice<V>,
    z: &mut DeviceSlice<V>,
) -> Result<(), OpError> {
    elementwise((x, y, z), cpu::multiply_elements, |x, y, z, len| MultiplyElements { x, y, z, len })
}

/// Computes z = x / y, the elementwise quotient; infinite or NaN where y is zero. `x`, `y` and `z` have n
/// elements each. Runs in the order of the device's stream; the call does not wait.
///
/// # Errors
///
/// If the vectors differ in length or are on several devices; then nothing is written. If the device was lost.
pub fn divide_elements<V: Value>(
    x: &DeviceSlice<V>,
    y: &DeviceSlice<V>,
    z: &mut DeviceSlice<V>,
) -> Result<(), OpError> {
    elementwise((x, y, z), cpu::divide_elements, |x, y, z, len| DivideElements { x, y, z, len })
}

/// Computes y = x ∘ y, the elementwise product, in place. `x` and `y` have n elements each. Runs in the order of the device's stream;
/// the call does not wait.
///
/// ```
/// use evenpath::{Device, vector};
///
/// let device = Device::best()?;
/// let (x, mut y) = (device.upload(&[2.0, 4.0])?, device.upload(&[3.0, 5.0])?);
/// vector::multiply_elements_in_place(&x, &mut y)?;
/// assert_eq!(y.download()?, [6.0, 20.0]);
/// vector::divide_elements_in_place(&x, &mut y)?;
/// assert_eq!(y.download()?, [3.0, 5.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the vectors differ in length or are on several devices; then nothing is written. If the device was lost.
pub fn multiply_elements_in_place<V: Scalar>(
    x: &DeviceSlice<V>,
    y: &mut DeviceSlice<V>,
) -> Result<(), OpError> {
    in_place((x, y), |x, y| x * y, |x, y, len| MultiplyInPlace { x, y, len })
}

/// Computes y = y / x, the elementwise quotient, in place; infinite or NaN where x is zero. `x` and `y` have n elements each. Runs in
/// the order of the device's stream; the call does not wait.
///
/// # Errors
///
/// If the vectors differ in length or are on several devices; then nothing is written. If the device was lost.
pub fn divide_elements_in_place<V: Value>(x: &DeviceSlice<V>, y: &mut DeviceSlice<V>) -> Result<(), OpError> {
    in_place((x, y), |x, y| y / x, |x, y, len| DivideInPlace { x, y, len })
}

/// Replaces each element of y by a function of those of x and y: by `on_cpu` on the CPU, otherwise by the kernel that `kernel` returns, with
/// one thread per element.
fn in_place<V: Scalar, K: Kernel>(
    (x, y): (&DeviceSlice<V>, &mut DeviceSlice<V>),
    on_cpu: impl Fn(V, V) -> V + Sync,
    kernel: impl FnOnce(Global<V>, GlobalMut<V>, u64) -> K,
) -> Result<(), OpError> {
    check_vector(x.device(), ("y", y), x.len())?;
    if let (Some(x), Some(y)) = (x.host_slice(), y.host_slice_mut()) {
        cpu::update_elements(x, y, on_cpu);
        return Ok(());
    }
    let launch = x.device().kernel().threads(x.len())?;
    let kernel = kernel(x.as_global(), y.as_global_mut(), x.len() as u64);
    // SAFETY: the views are of vectors of `len` elements on this device; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(())
}

/// Computes each element of z from those of x and y: by `on_cpu` on the CPU, otherwise by the kernel that
/// `kernel` returns, with one thread per element.
fn elementwise<V: Scalar, K: Kernel>(
    (x, y, z): (&DeviceSlice<V>, &DeviceSlice<V>, &mut DeviceSlice<V>),
    on_cpu: impl FnOnce(&[V], &[V], &mut [V]),
    kernel: impl FnOnce(Global<V>, Global<V>, GlobalMut<V>, u64) -> K,
) -> Result<(), OpError> {
    check_vector(x.device(), ("y", y), x.len())?;
    check_vector(x.device(), ("z", z), x.len())?;
    if let (Some(x), Some(y), Some(z)) = (x.host_slice(), y.host_slice(), z.host_slice_mut()) {
        on_cpu(x, y, z);
        return Ok(());
    }
    let launch = x.device().kernel().threads(x.len())?;
    let kernel = kernel(x.as_global(), y.as_global(), z.as_global_mut(), x.len() as u64);
    // SAFETY: the views are of vectors of `len` elements on this device; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(())
}

/// The update y = α·(…) + βy as a kernel argument.
pub(crate) fn update<V: Scalar>(alpha: V, beta: V, y: &mut DeviceSlice<V>) -> Update<V> {
    Update { y: y.as_global_mut(), alpha, beta }
}

/// Adds the `addends` to the elements of y at the first of `positions`, whose number is the one element of
/// `count`. Not on the CPU.
///
/// # Safety
///
/// The first `count` positions are below y's length and distinct; `count` does not exceed the lengths of
/// `positions` and `addends`, and all are on one device.
pub(crate) unsafe fn add_at<V: Value>(
    positions: &DeviceSlice<u32>,
    addends: &DeviceSlice<V>,
    count: &DeviceSlice<u64>,
    y: &mut DeviceSlice<V>,
) -> Result<(), DeviceError> {
    // There are at most `y.len()` distinct positions.
    let launch = y.device().kernel().threads(positions.len().min(y.len()))?;
    let kernel = AddAt {
        positions: positions.as_global(),
        addends: addends.as_global(),
        count: count.as_global(),
        y: y.as_global_mut(),
    };
    // SAFETY: guaranteed by the caller; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }
}

/// Gathers the elements of `source` at the given positions, fewer than 2³². Not on the CPU.
///
/// # Safety
///
/// The positions are below the source's length, and both are on one device.
pub(crate) unsafe fn gather<V: Scalar>(
    source: &DeviceSlice<V>,
    positions: &DeviceSlice<u32>,
) -> Result<DeviceVec<V>, DeviceError> {
    let mut result = source.device().uninitialized(positions.len())?;
    // SAFETY: guaranteed by the caller; there is an element for each position.
    unsafe { gather_into(source, positions, &mut result) }?;
    Ok(result)
}

/// Like [`gather`], but writes to an existing vector.
///
/// # Safety
///
/// The same as for [`gather`]; the result has as many elements as there are positions, and is on their
/// device.
pub(crate) unsafe fn gather_into<V: Scalar>(
    source: &DeviceSlice<V>,
    positions: &DeviceSlice<u32>,
    result: &mut DeviceSlice<V>,
) -> Result<(), DeviceError> {
    let len = positions.len();
    if V::IS_COMPLEX {
        // The product with 1 of a number with an infinite part has a part that is no number.
        let launch = source.device().kernel().threads(len)?;
        let (source, positions) = (source.as_global(), positions.as_global());
        let kernel = GatherElements { source, positions, result: result.as_global_mut(), len: len as u64 };
        // SAFETY: guaranteed by the caller; buffers are freed in the stream's order.
        return unsafe { launch.launch(kernel) };
    }
    let launch = source.device().kernel().threads(len)?;
    let kernel = Gather {
        source: source.as_global(),
        positions: positions.as_global(),
        update: update(V::ONE, V::ZERO, result),
        len: len as u32,
    };
    // SAFETY: guaranteed by the caller; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }
}

/// Like [`gather`], for indices.
///
/// # Safety
///
/// The same as for [`gather`].
pub(crate) unsafe fn gather_indices(
    source: &DeviceSlice<u32>,
    positions: &DeviceSlice<u32>,
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
    // SAFETY: guaranteed by the caller; the result has `len` elements, and buffers are freed in the stream's
    // order.
    unsafe { launch.launch(kernel) }?;
    Ok(result)
}

/// Returns 0, 1, 2, … `len` − 1.
pub(crate) fn iota(device: &Device, len: u32) -> Result<DeviceVec<u32>, DeviceError> {
    if device.kind() == DeviceKind::Cpu {
        return device.adopt(cpu::iota(len));
    }
    let launch = device.kernel().threads(len as usize)?;
    let mut vector = device.uninitialized(len as usize)?;
    let kernel = Iota { vector: vector.as_global_mut(), len };
    // SAFETY: the vector has `len` elements, and buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(vector)
}
