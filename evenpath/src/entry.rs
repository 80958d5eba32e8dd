//! Values of sparse matrices.

use std::fmt::Display;

use evenpath_simt::half::{bf16, f16};
use evenpath_simt::num_complex::Complex;

mod sealed {
    /// Sealed part of [`Entry`](super::Entry).
    pub trait KernelElement: evenpath_simt::Element {}
}

/// A value of a sparse matrix: a [`Storage`](crate::Storage) type, or `u32`, `i32`, `u64` or `i64`. Sealed.
///
/// Any matrix can be built, uploaded, downloaded and changed. Products of matrices of integers are those in a
/// [semiring](crate::semiring); everything else takes [`Storage`](crate::Storage) types, or those of arithmetic
/// ([`Scalar`](crate::Scalar), [`Value`](crate::Value)).
///
/// ```
/// use evenpath::{Csr, Entry};
///
/// fn longest_row<T: Entry>(a: &Csr<T>) -> usize {
///     a.iter_rows().map(|row| row.len()).max().unwrap_or(0)
/// }
/// let a: Csr<i64> = Csr::try_new(1, 2, vec![0_u32, 2], vec![0, 1], vec![-1, 5])?;
/// assert_eq!(longest_row(&a), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Entry: sealed::KernelElement + bytemuck::Pod + Default + Display {
    /// Name of the type in Rust, or in the crates `half` and `num_complex`.
    const NAME: &'static str;
}

macro_rules! entries {
    ($($type:ty: $name:literal),*) => {$(
        impl sealed::KernelElement for $type {}
        impl Entry for $type {
            const NAME: &'static str = $name;
        }
    )*};
}

entries!(f16: "f16", bf16: "bf16", f32: "f32", f64: "f64", u32: "u32", i32: "i32", u64: "u64", i64: "i64");
entries!(Complex<f32>: "Complex<f32>", Complex<f64>: "Complex<f64>");
