//! Element types of scans, reductions and sorts.

use bytemuck::Pod;
use evenpath_kernels::block::radix_rank::{KeyOrder, Passes, RadixKey};

mod sealed {
    use evenpath_kernels::block::radix_rank::{KeyOrder, RadixKey};

    /// Sealed part of [`Element`].
    pub trait KernelElement: evenpath_kernels::block::operator::Number {}

    /// Conversion of keys to unsigned integers of the same order.
    pub trait KernelKey: evenpath_simt::Element {
        /// Unsigned integer of the key's size.
        type Bits: RadixKey + bytemuck::Pod + Ord;
        /// The order of the keys, ascending.
        const ORDER: KeyOrder<Self::Bits>;
    }

    /// Representation of values in kernels.
    pub trait KernelValue: evenpath_simt::Element {
        /// Unsigned integer of the value's size.
        type Bits: evenpath_simt::Element + bytemuck::Pod;
    }
}

pub(crate) use sealed::{KernelKey as Key, KernelValue as MovedValue};

/// Elements that can be scanned: `u32`, `i32`, `u64`, `f32`, `f64`. Sealed.
pub trait Element: sealed::KernelElement + Pod {}

macro_rules! elements {
    ($($type:ident)*) => {$(
        impl sealed::KernelElement for $type {}
        impl Element for $type {}
    )*};
}
elements!(u32 i32 u64 f32 f64);

/// A sort key: `u32`, `u64`, `i32`, `i64`, `f32`, `f64`. Sealed.
///
/// Floats sort like [`f32::total_cmp`]: −0.0 before +0.0, NaNs with the sign bit set before all numbers and
/// those without it after.
///
/// ```
/// use evenpath::sort::{SortOptions, sort};
/// use evenpath::Device;
///
/// let keys = Device::cpu().upload(&[2.5_f32, -1.0, 0.0])?;
/// assert_eq!(sort(&keys, SortOptions::default())?.download()?, [-1.0, 0.0, 2.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SortKey: sealed::KernelKey + Pod {}

/// A value that moves with its sort key: a number of 32 or 64 bits. Sealed.
pub trait SortValue: sealed::KernelValue + Pod {}

macro_rules! sortable {
    ($($type:ident as $bits:ident: $flip_negative:expr, $flip:expr;)*) => {$(
        impl sealed::KernelKey for $type {
            type Bits = $bits;
            const ORDER: KeyOrder<$bits> = KeyOrder { flip_negative: $flip_negative, flip: $flip };
        }
        impl SortKey for $type {}
        impl sealed::KernelValue for $type {
            type Bits = $bits;
        }
        impl SortValue for $type {}
    )*};
}
sortable! {
    u32 as u32: 0, 0;
    u64 as u64: 0, 0;
    i32 as u32: 0, 1 << 31;
    i64 as u64: 0, 1 << 63;
    // A larger magnitude is a smaller number where the sign bit is set.
    f32 as u32: u32::MAX >> 1, 1 << 31;
    f64 as u64: u64::MAX >> 1, 1 << 63;
}

/// Comparison of keys by the bits `begin..end` of the unsigned integers that `order` converts them to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Comparison<B: RadixKey> {
    pub(crate) order: KeyOrder<B>,
    pub(crate) begin: u32,
    pub(crate) end: u32,
}

impl<B: RadixKey> Comparison<B> {
    /// Passes of a radix sort by these bits.
    pub(crate) fn passes(self) -> Passes {
        Passes::new(self.begin, self.end)
    }
}
