//! Inner products and Euclidean norms of vectors.

use evenpath_kernels::complex_dots::ComplexDot;
use evenpath_kernels::norm::{FinishNorm, Norm, SUMS};
use evenpath_kernels::vector::{Dot, FinishDot};
use evenpath_simt::GlobalMut;
use evenpath_simt::kernel::Kernel;

use super::fold;
use crate::device::DeviceSlice;
use crate::operand::OpError;
use crate::operand::check::check_vector;
use crate::{Scalar, Value, cpu};

/// Returns xᵀy, the inner product of two vectors of n elements; zero for empty vectors. Complex elements are not conjugated: see
/// [`dot_conjugated`] for xᴴy. Waits for the device. Results are the same to the bit in every run.
///
/// ```
/// use evenpath::{Device, vector};
///
/// let device = Device::best()?;
/// let (x, y) = (device.upload(&[1.0, 2.0, 3.0])?, device.upload(&[4.0, 5.0, 6.0])?);
/// assert_eq!(vector::dot(&x, &y)?, 32.0);
/// assert!(vector::dot(&x, &device.upload(&[1.0])?).is_err()); // of different lengths
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the vectors differ in length or are on two devices, or the device was lost.
pub fn dot<V: Scalar>(x: &DeviceSlice<V>, y: &DeviceSlice<V>) -> Result<V, OpError> {
    x.device().refuse_in_graph("`vector::dot` gives its result to the host; `vector::dot_into` does not")?;
    let mut result = x.device().uninitialized(1)?;
    dot_into(x, y, &mut result)?;
    Ok(result.get(0)?)
}

/// Like [`dot`], but writes the result to the one element of `result`, for operations that take it as a
/// [`Factor`](crate::Factor): the same to the last bit. Runs in the order of the device's stream; the call does not wait.
///
/// # Errors
///
/// If the vectors differ in length, `result` is not one element, or any of them is on another device; then
/// nothing is written. If there is too little memory for 1024 elements, or the device was lost.
pub fn dot_into<V: Scalar>(
    x: &DeviceSlice<V>,
    y: &DeviceSlice<V>,
    result: &mut DeviceSlice<V>,
) -> Result<(), OpError> {
    inner_product(false, (x, y), result)
}

/// Returns xᴴy, the inner product of the conjugate of x and y, which are vectors of n elements: `dotc` of the BLAS, and `vdot` of NumPy. For
/// real numbers, and otherwise, like [`dot`].
///
/// ```
/// use evenpath::{Complex, Device, vector};
///
/// let device = Device::best()?;
/// let x = device.upload(&[Complex::new(0.0, 1.0), Complex::new(2.0, 0.0)])?;
/// assert_eq!(vector::dot_conjugated(&x, &x)?, Complex::new(5.0, 0.0)); // ‖x‖²
/// assert_eq!(vector::dot(&x, &x)?, Complex::new(3.0, 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Those of [`dot`].
pub fn dot_conjugated<V: Scalar>(x: &DeviceSlice<V>, y: &DeviceSlice<V>) -> Result<V, OpError> {
    x.device().refuse_in_graph(
        "`vector::dot_conjugated` gives its result to the host; `vector::dot_conjugated_into` does not",
    )?;
    let mut result = x.device().uninitialized(1)?;
    dot_conjugated_into(x, y, &mut result)?;
    Ok(result.get(0)?)
}

/// Like [`dot_conjugated`], but writes the result to the one element of `result`: the same to the last bit. Runs in the order of the
/// device's stream; the call does not wait.
///
/// # Errors
///
/// Those of [`dot_into`].
pub fn dot_conjugated_into<V: Scalar>(
    x: &DeviceSlice<V>,
    y: &DeviceSlice<V>,
    result: &mut DeviceSlice<V>,
) -> Result<(), OpError> {
    inner_product(true, (x, y), result)
}

/// Writes the inner product of x, or of its conjugate, and y to one element.
fn inner_product<V: Scalar>(
    is_conjugated: bool,
    (x, y): (&DeviceSlice<V>, &DeviceSlice<V>),
    result: &mut DeviceSlice<V>,
) -> Result<(), OpError> {
    let (device, len) = (x.device(), x.len());
    check_vector(device, ("y", y), len)?;
    check_vector(device, ("result", result), 1)?;
    if let (Some(x), Some(y), Some([result])) = (x.host_slice(), y.host_slice(), result.host_slice_mut()) {
        *result = if is_conjugated { cpu::dot_conjugated(x, y) } else { cpu::dot(x, y) };
        return Ok(());
    }
    let (x, y, len) = (x.as_global(), y.as_global(), len as u64);
    if V::IS_COMPLEX {
        let is_conjugated = u32::from(is_conjugated);
        launch_dot(result, len, |sums| ComplexDot { x, y, sums, len, is_conjugated })
    } else {
        launch_dot(result, len, |sums| Dot { x, y, sums, len })
    }
}

/// Launches the kernel of a function of its partial sums, on vectors of `len` elements, and adds these.
fn launch_dot<V: Scalar, K: Kernel>(
    result: &mut DeviceSlice<V>,
    len: u64,
    kernel: impl FnOnce(GlobalMut<V>) -> K,
) -> Result<(), OpError> {
    let device = result.device().clone();
    let blocks = fold::blocks::<K>(len as usize);
    let (launch, finish_launch) = (device.kernel().blocks(blocks)?, device.kernel().blocks(1)?);
    let mut sums = device.uninitialized(blocks)?;
    let kernel = kernel(sums.as_global_mut());
    let finish = FinishDot { sums: sums.as_global(), count: blocks as u32, result: result.as_global_mut() };
    // SAFETY: the views are of vectors of `len` elements, of one sum per block, at most the number that one
    // block takes, and of one element, on this device; buffers are freed in the stream's order.
    unsafe {
        launch.launch(kernel)?;
        finish_launch.launch(finish)?;
    }
    Ok(())
}

/// Returns √(xᴴx), the Euclidean norm of a vector of any length, real or complex; zero for an empty one. Waits for the device.
/// Results are the same to the bit in every run.
///
/// The squares neither overflow nor underflow: the result is precise whenever it is in the range of its type. With
/// an infinite element it is infinite, with a NaN it is NaN.
///
/// ```
/// use evenpath::{Complex, Device, vector};
///
/// let device = Device::best()?;
/// assert_eq!(vector::norm2(&device.upload(&[3.0_f64, 4.0])?)?, 5.0);
/// assert_eq!(vector::norm2(&device.upload(&[Complex::new(3.0_f32, 4.0)])?)?, 5.0);
/// let large: f64 = vector::norm2(&device.upload(&[3e200_f64, 4e200])?)?; // the squares would overflow
/// assert!((large / 5e200 - 1.0).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the device was lost.
pub fn norm2<V: Scalar>(x: &DeviceSlice<V>) -> Result<V::Real, OpError> {
    x.device()
        .refuse_in_graph("`vector::norm2` gives its result to the host; `vector::norm2_into` does not")?;
    let mut result = x.device().uninitialized(1)?;
    norm2_into(x, &mut result)?;
    Ok(result.get(0)?)
}

/// Like [`norm2`], but writes the result to the one element of `result`: the same to the last bit. Runs in
/// the order of the device's stream; the call does not wait.
///
/// # Errors
///
/// If `result` is not one element, or on another device; then nothing is written. If there is too little
/// memory for 3072 elements, or the device was lost.
pub fn norm2_into<V: Scalar>(x: &DeviceSlice<V>, result: &mut DeviceSlice<V::Real>) -> Result<(), OpError> {
    check_vector(x.device(), ("result", result), 1)?;
    norm2_of_parts(&x.as_parts(), result)
}

/// Writes the norm of a real vector to one element.
fn norm2_of_parts<V: Value>(x: &DeviceSlice<V>, result: &mut DeviceSlice<V>) -> Result<(), OpError> {
    let (device, len) = (x.device(), x.len());
    if let (Some(x), Some([result])) = (x.host_slice(), result.host_slice_mut()) {
        *result = cpu::norm2(x);
        return Ok(());
    }
    let blocks = fold::blocks::<Norm<V>>(len);
    let (launch, finish_launch) = (device.kernel().blocks(blocks)?, device.kernel().blocks(1)?);
    let mut sums = device.uninitialized(SUMS * blocks)?;
    let kernel = Norm { x: x.as_global(), sums: sums.as_global_mut(), len: len as u64 };
    let finish = FinishNorm { sums: sums.as_global(), count: blocks as u32, result: result.as_global_mut() };
    // SAFETY: the views are of a vector of `len` elements, of three sums per block, at most the number that
    // one block takes, and of one element, on this device; buffers are freed in the stream's order.
    unsafe {
        launch.launch(kernel)?;
        finish_launch.launch(finish)?;
    }
    Ok(())
}
