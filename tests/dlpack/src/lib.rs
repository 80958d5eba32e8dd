//! Products with the matrix of a 5-point stencil, for `check.py`: operands and results are DLPack tensors.
//!
//! The calls take ownership of their arguments, also if they fail: then they return null, and [`message`]
//! returns the reason.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::ptr::NonNull;

use evenpath::dlpack::{DLManagedTensor, DLManagedTensorVersioned, Tensor};
use evenpath::spmm::SpmmOptions;
use evenpath::spmv::SpmvOptions;
use evenpath::{Csr, Device, Result};

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Message of the last call of this thread that returned null.
#[unsafe(no_mangle)]
pub extern "C" fn message() -> *const c_char {
    MESSAGE.with_borrow(|message| message.as_ptr())
}

/// Opens the CPU, or the GPU of a number in its primary context; null on failure.
#[unsafe(no_mangle)]
pub extern "C" fn open_device(is_gpu: c_int, ordinal: u32) -> *mut Device {
    let device = if is_gpu == 0 { Ok(Device::cpu()) } else { Device::cuda_primary(ordinal) };
    answer(device.map(|device| Box::into_raw(Box::new(device))).map_err(Into::into))
}

/// Closes a device.
///
/// # Safety
///
/// It was opened by [`open_device`], and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close_device(device: *mut Device) {
    // SAFETY: guaranteed by the caller.
    drop(unsafe { Box::from_raw(device) });
}

/// Computes y = Ax for a vector of `side`² doubles.
///
/// # Safety
///
/// The device is open, and the tensor is valid and owned by the caller, who gives it away.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn multiply_vector(
    device: *const Device,
    side: usize,
    x: *mut DLManagedTensor,
) -> *mut DLManagedTensor {
    // SAFETY: guaranteed by the caller.
    let (device, x) = unsafe { (&*device, Tensor::from_raw_unversioned(NonNull::new_unchecked(x))) };
    let product = || -> Result<_> {
        let x = x.into_vec::<f64>(device)?;
        let mut y = device.zeros(side * side)?;
        device.upload(&matrix(side)?)?.plan_spmv(SpmvOptions::default())?.run(1.0, &x, 0.0, &mut y)?;
        Ok(Tensor::from_vec(y)?.into_raw_unversioned()?.as_ptr())
    };
    answer(product())
}

/// Computes C = AB for a matrix of `side`² rows of floats in either layout. The tensors are of DLPack 1.0.
///
/// # Safety
///
/// The same as for [`multiply_vector`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn multiply_matrix(
    device: *const Device,
    side: usize,
    b: *mut DLManagedTensorVersioned,
) -> *mut DLManagedTensorVersioned {
    // SAFETY: guaranteed by the caller.
    let (device, b) = unsafe { (&*device, Tensor::from_raw(NonNull::new_unchecked(b))) };
    let product = || -> Result<_> {
        let b = b?.into_dense::<f32>(device)?;
        let mut c = device.zeros_dense::<f32>(side * side, b.ncols(), b.layout())?;
        let options = SpmmOptions::default().with_columns(b.ncols()).with_layout(b.layout());
        let a: Csr<f32> = matrix(side)?.into_values();
        device.upload(&a)?.plan_spmm(options)?.run(1.0, &b, 0.0, &mut c)?;
        Ok(Tensor::from_dense(c)?.into_raw().as_ptr())
    };
    answer(product())
}

/// 4 for each point of a square grid, −1 for each neighbor.
fn matrix(side: usize) -> Result<Csr<f64>> {
    let mut entries = Vec::new();
    for (row, col) in (0..side).flat_map(|row| (0..side).map(move |col| (row, col))) {
        let point = row * side + col;
        entries.push((point, point, 4.0));
        let right = (col + 1 < side).then_some(point + 1);
        let below = (row + 1 < side).then_some(point + side);
        for neighbor in right.into_iter().chain(below) {
            entries.extend([(point, neighbor, -1.0), (neighbor, point, -1.0)]);
        }
    }
    Ok(Csr::from_triplets(side * side, side * side, entries)?)
}

/// Returns the pointer, or null and sets the message.
fn answer<T>(result: Result<*mut T>) -> *mut T {
    result.unwrap_or_else(|error| {
        MESSAGE.set(CString::new(error.to_string()).unwrap_or_default());
        std::ptr::null_mut()
    })
}
