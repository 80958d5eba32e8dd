//! Row offsets.

use std::fmt::Display;

/// Requirements of this crate and its kernels. They cannot be named outside the crate, so the public trait is sealed.
mod sealed {
    /// Type of row offsets in kernels.
    pub trait KernelOffset: evenpath_kernels::Offset + evenpath_kernels::Key {}
    impl KernelOffset for u32 {}
    impl KernelOffset for u64 {}
}

/// A row offset, which counts nonzeros: `u32`, or `u64` for 2³² nonzeros or more. Sealed.
///
/// Column indices are always `u32`.
///
/// ```
/// use evenpath::{Csr, Offset};
///
/// fn bytes<O: Offset>(a: &Csr<f64, O>) -> usize {
///     a.row_offsets().len() * size_of::<O>() + a.nnz() * 12
/// }
/// let a = Csr::from_triplets(1, 1, [(0, 0, 1.0)])?;
/// assert_eq!((bytes(&a), bytes(&a.try_into_offsets::<u64>()?)), (20, 28));
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
pub trait Offset: sealed::KernelOffset + bytemuck::Pod + Default + Display {
    /// Name of the type in Rust.
    const NAME: &'static str;
    /// Converts to `u64`; exact.
    fn to_u64(self) -> u64;
    /// Converts an index, if it is in range.
    fn try_from_usize(index: usize) -> Option<Self>;
}

macro_rules! offset {
    ($type:ident) => {
        impl Offset for $type {
            const NAME: &'static str = stringify!($type);
            fn to_u64(self) -> u64 {
                u64::from(self)
            }

            fn try_from_usize(index: usize) -> Option<Self> {
                index.try_into().ok()
            }
        }
    };
}

offset!(u32);
offset!(u64);
