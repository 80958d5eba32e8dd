//! Elements of scans and reductions.

use bytemuck::Pod;

mod sealed {
    /// Sealed part of [`Element`].
    pub trait KernelElement: evenpath_kernels::block::operator::Number {}
}

/// An element of a scan or a reduction: `u32`, `i32`, `u64`, `f32` or `f64`. Sealed.
///
/// ```
/// use evenpath::operator::{Element, Operator};
///
/// fn identities<T: Element>() -> [T; 3] {
///     [Operator::Sum, Operator::Min, Operator::Max].map(Operator::identity)
/// }
/// assert_eq!(identities::<u32>(), [0, u32::MAX, 0]);
/// assert_eq!(identities::<f64>(), [0.0, f64::INFINITY, f64::NEG_INFINITY]);
/// ```
pub trait Element: sealed::KernelElement + Pod {}

macro_rules! elements {
    ($($type:ident)*) => {$(
        impl sealed::KernelElement for $type {}
        impl Element for $type {}
    )*};
}
elements!(u32 i32 u64 f32 f64);
