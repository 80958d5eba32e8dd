//! Value types of dense operands.

use crate::{Compute, Storage, bf16, f16};

/// Values of dense matrices that multiply a sparse matrix of values `S`: `S` itself, and `f32` for the 16-bit types. Sealed.
///
/// ```
/// use evenpath::spmm::SpmmOptions;
/// use evenpath::{Csr, Device, DeviceDense, Layout, bf16};
///
/// // A in bf16, B and C in f32.
/// let a: Csr<bf16> = Csr::<f32>::from_triplets(1, 2, [(0, 0, 1.0), (0, 1, 0.5)])?.into_values();
/// let device = Device::best()?;
/// let b = DeviceDense::try_new(device.upload(&[2.0_f32, 4.0])?, 2, 1, Layout::RowMajor)?;
/// let mut c = device.zeros_dense::<f32>(1, 1, Layout::RowMajor)?;
/// device.upload(&a)?.plan_spmm(SpmmOptions::default().with_columns(1))?.run(1.0, &b, 0.0, &mut c)?;
/// assert_eq!(c.as_vec().download()?, [4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SpmmOperand<S: Storage>: Storage<Computed = Compute<S>> {}

impl<V: crate::Value> SpmmOperand<V> for V {}

impl SpmmOperand<f16> for f16 {}

impl SpmmOperand<f16> for f32 {}

impl SpmmOperand<bf16> for bf16 {}

impl SpmmOperand<bf16> for f32 {}
