//! Keys and their values.

use bytemuck::Pod;
use evenpath_kernels::block::radix_rank::{KeyOrder, Passes, RadixKey};
use evenpath_kernels::key::Combine as KernelCombine;

/// Requirements of kernels on keys and values. They cannot be named outside the crate, so the public traits
/// are sealed.
mod sealed {
    use evenpath_kernels::block::radix_rank::{KeyOrder, RadixKey};
    use evenpath_kernels::key::Combine;
    use evenpath_kernels::scan::SegmentMark;

    pub trait KernelKey: evenpath_kernels::Key + SegmentMark {}
    impl KernelKey for u32 {}
    impl KernelKey for u64 {}

    /// Conversion of keys to unsigned integers of the same order.
    pub trait KernelSortKey: evenpath_simt::Word {
        /// Unsigned integer of the key's size.
        type Bits: RadixKey + bytemuck::Pod + Ord;
        /// The order of the keys, ascending.
        const ORDER: KeyOrder<Self::Bits>;
    }

    pub trait KernelValue: evenpath_simt::Word {
        /// Representation in kernels, which move bits.
        type Bits: evenpath_kernels::ValueBits + bytemuck::Pod;
        /// Addition in kernels.
        const ADD: Combine;
    }
}

/// A key of a merge, a set operation or a segment: `u32` or `u64`, in their usual order. Sealed.
///
/// A (row, column) tuple is a `u64` key: [`coordinate`] keeps the order of tuples.
///
/// ```
/// use evenpath::{Device, merge};
///
/// let device = Device::cpu();
/// let a = device.upload(&[1_u64, 5])?; // u32 is the other kind of key
/// let merged = merge::keys(&a, &device.upload(&[3_u64])?)?;
/// assert_eq!(merged.download()?, [1, 3, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Key: SortKey + sealed::KernelKey + std::fmt::Display {
    /// Name of the type in Rust.
    const NAME: &'static str;
}

impl Key for u32 {
    const NAME: &'static str = "u32";
}

impl Key for u64 {
    const NAME: &'static str = "u64";
}

/// Converts a (row, column) tuple to a key: row · 2³² + column, so that keys have the order of tuples, rows
/// first.
///
/// ```
/// assert!(evenpath::key::coordinate(1, 9) < evenpath::key::coordinate(2, 0));
/// assert_eq!(evenpath::key::row_and_column(evenpath::key::coordinate(7, 8)), (7, 8));
/// ```
pub const fn coordinate(row: u32, column: u32) -> u64 {
    (row as u64) << 32 | column as u64
}

/// Converts a [`coordinate`] back to a (row, column) tuple.
pub const fn row_and_column(key: u64) -> (u32, u32) {
    ((key >> 32) as u32, key as u32)
}

/// A sort key: `u32`, `u64`, `i32`, `i64`, `f32`, `f64`. Sealed.
///
/// Floats sort like [`f32::total_cmp`]: −0.0 before +0.0, NaNs with the sign bit set before all numbers and
/// those without it after.
///
/// ```
/// use evenpath::sort::{self, SortOptions};
/// use evenpath::Device;
///
/// let keys = Device::cpu().upload(&[2.5_f32, -1.0, 0.0])?;
/// assert_eq!(sort::keys(&keys, SortOptions::default())?.download()?, [-1.0, 0.0, 2.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SortKey: sealed::KernelSortKey + Pod {}

macro_rules! sort_keys {
    ($($type:ident as $bits:ident: $flip_negative:expr, $flip:expr;)*) => {$(
        impl sealed::KernelSortKey for $type {
            type Bits = $bits;
            const ORDER: KeyOrder<$bits> = KeyOrder { flip_negative: $flip_negative, flip: $flip };
        }
        impl SortKey for $type {}
    )*};
}
sort_keys! {
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

/// A value that moves with its key: `u32`, `i32`, `f32`, `u64`, `i64` or `f64`. Sealed.
///
/// ```
/// use evenpath::key::Pairs;
/// use evenpath::{Device, merge};
///
/// let device = Device::cpu();
/// let (keys, values) = (device.upload(&[1_u32, 5])?, device.upload(&[0.1_f64, 0.5])?);
/// let (other, more) = (device.upload(&[3_u32])?, device.upload(&[0.3_f64])?);
/// let (_, values) = merge::pairs(Pairs::new(&keys, &values), Pairs::new(&other, &more))?;
/// assert_eq!(values.download()?, [0.1, 0.3, 0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait PairValue: sealed::KernelValue + Pod {
    /// The sum; integers wrap around.
    #[must_use]
    fn add(self, other: Self) -> Self;
}

macro_rules! pair_values {
    ($($type:ident as $bits:ident: $how:ident, |$a:ident, $b:ident| $sum:expr;)*) => {$(
        impl PairValue for $type {
            fn add(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $sum
            }
        }
        impl sealed::KernelValue for $type {
            type Bits = $bits;
            const ADD: KernelCombine = KernelCombine::$how;
        }
    )*};
}
pair_values! {
    u32 as u32: AddIntegers, |a, b| a.wrapping_add(b);
    i32 as u32: AddIntegers, |a, b| a.wrapping_add(b);
    f32 as u32: AddFloats, |a, b| a + b;
    u64 as u64: AddIntegers, |a, b| a.wrapping_add(b);
    i64 as u64: AddIntegers, |a, b| a.wrapping_add(b);
    f64 as u64: AddFloats, |a, b| a + b;
}
