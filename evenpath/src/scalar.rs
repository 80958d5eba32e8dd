//! Scalar types of matrices: values and row offsets.

use std::fmt::Display;
use std::iter::Sum;
use std::ops::Neg;

#[doc(inline)]
pub use evenpath_simt::half::{bf16, f16};

use crate::entry::Entry;

/// Requirements of this crate and its kernels on scalars. They cannot be named outside the crate, so the
/// public traits are sealed.
mod sealed {
    use evenpath_simt::WidenTo;

    /// Type in memory, converted to `C` for arithmetic.
    pub trait KernelStored<C>: evenpath_simt::Stored<Compute = C> + WidenTo<C> {}
    impl<S: evenpath_simt::Stored> KernelStored<S::Compute> for S {}

    /// Type of arithmetic, or type that is only stored.
    pub trait Kind: Sized {
        /// Calls the form of an operation for this type.
        fn by_kind<F: ForKind<Self>>(operation: F) -> F::Output
        where
            Self: super::Storage;
    }

    /// Operation on any type, in two forms: for types of arithmetic, and for 16-bit types.
    pub trait ForKind<S: super::Storage> {
        /// Result of both.
        type Output;

        /// The operation for a type of arithmetic.
        fn value(self) -> Self::Output
        where
            S: super::Value;

        /// The operation for a 16-bit type.
        fn half(self) -> Self::Output;
    }

    /// Values of a matrix, with vectors of `T`.
    pub trait WithVectors<T: super::Storage>: super::Storage + WidenTo<T::Computed> {
        /// Calls the form of an operation for these types.
        fn by_vectors<F: ForVectors<Self>>(operation: F) -> F::Output<T>;
    }

    /// Operation on a matrix of `S` and vectors, in a form for each relation of their types.
    pub trait ForVectors<S: super::Storage> {
        /// Result, for vectors of `T`.
        type Output<T: super::Storage>;

        /// The operation with vectors of the type of the values.
        fn same(self) -> Self::Output<S>;

        /// The operation with 16-bit values and vectors of the type that computes with them.
        fn half(self) -> Self::Output<f32>
        where
            S: super::Storage<Computed = f32>;

        /// The operation with vectors of `f64` and narrower values.
        fn double(self) -> Self::Output<f64>
        where
            S: WidenTo<f64>;
    }

    /// Type of arithmetic in kernels.
    pub trait KernelValue:
        Decimal
        + evenpath_kernels::elementary::Elementary
        + evenpath_kernels::graph::Distance
        + evenpath_kernels::norm::NormScales
        + evenpath_kernels::spmv::AtomicFloat
    {
    }
    impl KernelValue for f32 {}
    impl KernelValue for f64 {}

    /// Type of row offsets in kernels.
    pub trait KernelOffset: evenpath_kernels::Offset + evenpath_kernels::Key {}
    impl KernelOffset for u32 {}
    impl KernelOffset for u64 {}

    /// Text form of a value, for this crate's readers and writers.
    pub trait Decimal: Sized {
        /// Parses the number at the start of `text`, and returns its length too. Rounds to nearest; beyond
        /// the range it is infinite. `inf`, `infinity` and `nan` in any case are numbers too.
        fn parse_prefix(text: &[u8]) -> Option<(Self, usize)>;
        /// Appends the shortest text that [`parse_prefix`](Self::parse_prefix) converts back to the same
        /// value.
        fn push_shortest(self, text: &mut Vec<u8>);
    }
}

pub(crate) use sealed::{Decimal, ForKind, ForVectors};

/// An element of a matrix or a dense operand: [`struct@f16`], [`struct@bf16`], `f32` or `f64`. Sealed.
///
/// The 16-bit types are storage: what is computed from them is computed in `f32`. They halve the memory, and the time of a product
/// that is bound by it on a GPU; on the CPU, conversions make a product take longer than in `f32`. A matrix of them is multiplied by
/// [`DeviceCsr::plan_spmv`](crate::DeviceCsr::plan_spmv) and [`plan_spmm`](crate::DeviceCsr::plan_spmm), and with operands of `f32`
/// by [`plan_spmv_mixed`](crate::DeviceCsr::plan_spmv_mixed) and [`plan_spmm_mixed`](crate::DeviceCsr::plan_spmm_mixed).
///
/// ```
/// use evenpath::{Csr, Storage, f16};
///
/// fn value_bytes<T: Storage>(a: &Csr<T>) -> usize {
///     size_of_val(a.values())
/// }
/// let a: Csr<f32> = Csr::from_triplets(1, 2, [(0, 0, 1.0), (0, 1, 0.5)])?;
/// assert_eq!((value_bytes(&a), value_bytes(&a.into_values::<f16>())), (8, 4));
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
pub trait Storage:
    sealed::KernelStored<<Self as Storage>::Computed> + sealed::Kind + Entry + PartialOrd
{
    /// Type of arithmetic: `f32`, or `f64` for `f64`.
    type Computed: Value;

    /// Converts to `f64`; exact.
    fn to_f64(self) -> f64;
    /// Rounds to the nearest value of this type, ties to even; infinite if `value` is out of range.
    fn from_f64(value: f64) -> Self;
}

/// Type of arithmetic on a storage type: `f32`, or `f64` for `f64`.
///
/// ```
/// use evenpath::{Compute, f16};
///
/// let alpha: Compute<f16> = 0.5; // an f32
/// ```
pub type Compute<S> = <S as Storage>::Computed;

/// A type of a matrix's values that can multiply vectors of `T`. Sealed.
///
/// | values | vectors | products and sums |
/// |---|---|---|
/// | any type | the same | [`Compute`] of it |
/// | [`struct@f16`], [`struct@bf16`] | `f32` | `f32` |
/// | `f32` | `f64` | `f64` |
///
/// Values are converted exactly. A copy of a matrix in `f32` takes two thirds of the memory of one in `f64`, and a solver in `f64` that
/// multiplies by it loses nothing but the digits of the values.
///
/// ```
/// use evenpath::error::OpError;
/// use evenpath::{DeviceCsr, DeviceVec, Multiplies, Value};
///
/// /// The residual b − Ax, in the type of the vectors.
/// fn residual<S: Value + Multiplies<V>, V: Value>(
///     a: &DeviceCsr<S>,
///     x: &DeviceVec<V>,
///     b: DeviceVec<V>,
/// ) -> Result<DeviceVec<V>, OpError> {
///     let mut residual = b;
///     a.spmv_mixed(-V::ONE, x, V::ONE, &mut residual)?;
///     Ok(residual)
/// }
/// # let device = evenpath::Device::cpu();
/// # let a = device.upload(&evenpath::Csr::from_triplets(1, 1, [(0, 0, 0.5_f32)]).unwrap()).unwrap();
/// # let (x, b) = (device.upload(&[2.0_f64]).unwrap(), device.upload(&[4.0]).unwrap());
/// # assert_eq!(residual(&a, &x, b)?.download()?, [3.0]);
/// # Ok::<(), OpError>(())
/// ```
pub trait Multiplies<T: Storage>: sealed::WithVectors<T> {}

impl<S: sealed::WithVectors<T>, T: Storage> Multiplies<T> for S {}

impl<S: Storage> sealed::WithVectors<S> for S {
    fn by_vectors<F: ForVectors<S>>(operation: F) -> F::Output<S> {
        operation.same()
    }
}

impl sealed::WithVectors<f32> for f16 {
    fn by_vectors<F: ForVectors<Self>>(operation: F) -> F::Output<f32> {
        operation.half()
    }
}

impl sealed::WithVectors<f32> for bf16 {
    fn by_vectors<F: ForVectors<Self>>(operation: F) -> F::Output<f32> {
        operation.half()
    }
}

impl sealed::WithVectors<f64> for f32 {
    fn by_vectors<F: ForVectors<Self>>(operation: F) -> F::Output<f64> {
        operation.double()
    }
}

/// A type of arithmetic: `f32` or `f64`. Sealed.
///
/// ```
/// use evenpath::{Csr, Value};
///
/// fn identity<V: Value>(rows: usize) -> Csr<V> {
///     Csr::from_triplets(rows, rows, (0..rows).map(|row| (row, row, V::ONE))).expect("inside")
/// }
/// assert_eq!((&identity::<f32>(2) * &[5.0, 6.0])?, [5.0, 6.0]);
/// # Ok::<(), evenpath::error::OpError>(())
/// ```
pub trait Value:
    Storage<Computed = Self>
    + sealed::KernelValue
    + crate::element::Element
    + crate::keys::PairValue
    + crate::keys::SortKey
    + Neg<Output = Self>
    + Sum
{
    /// 1.
    const ONE: Self;

    /// Rounds to the nearest value of this type.
    fn from_u64(value: u64) -> Self;
    /// `self * a + b`, rounded once. Slow on a CPU without an instruction for it.
    #[must_use]
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The absolute value.
    #[must_use]
    fn abs(self) -> Self;
    /// Returns whether the value is neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

macro_rules! value {
    ($type:ident) => {
        impl Storage for $type {
            type Computed = Self;

            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            fn from_f64(value: f64) -> Self {
                value as Self
            }
        }

        impl sealed::Kind for $type {
            fn by_kind<F: ForKind<Self>>(operation: F) -> F::Output {
                operation.value()
            }
        }

        impl Value for $type {
            const ONE: Self = 1.0;

            fn from_u64(value: u64) -> Self {
                value as Self
            }

            fn mul_add(self, a: Self, b: Self) -> Self {
                self.mul_add(a, b)
            }

            fn abs(self) -> Self {
                self.abs()
            }

            fn is_finite(self) -> bool {
                self.is_finite()
            }
        }
    };
}

macro_rules! half {
    ($type:ident) => {
        impl Storage for $type {
            type Computed = f32;

            fn to_f64(self) -> f64 {
                $type::to_f64(self)
            }

            fn from_f64(value: f64) -> Self {
                $type::from_f32(round_to_odd(value))
            }
        }

        impl sealed::Kind for $type {
            fn by_kind<F: ForKind<Self>>(operation: F) -> F::Output {
                operation.half()
            }
        }
    };
}

half!(f16);
half!(bf16);

/// Rounds `value` to an `f32` that is odd in its last place unless it is exact. Rounding the result again, to
/// at most 22 bits, is the same as rounding `value` directly: ties are neither created nor lost (Boldo,
/// Melquiond, "When double rounding is odd", 2005).
#[allow(clippy::float_cmp)] // tests if it is exact
fn round_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    if !nearest.is_finite() || f64::from(nearest) == value {
        return nearest;
    }
    let is_beyond = f64::from(nearest).abs() > value.abs();
    f32::from_bits((nearest.to_bits() - u32::from(is_beyond)) | 1)
}

macro_rules! decimal {
    ($type:ident) => {
        impl Decimal for $type {
            #[inline]
            fn parse_prefix(text: &[u8]) -> Option<(Self, usize)> {
                fast_float2::parse_partial(text).ok()
            }

            fn push_shortest(self, text: &mut Vec<u8>) {
                if self.is_nan() {
                    text.extend_from_slice(b"nan");
                } else if self.is_infinite() {
                    text.extend_from_slice(if self > 0.0 { b"inf" } else { b"-inf" });
                } else {
                    text.extend_from_slice(ryu::Buffer::new().format_finite(self).as_bytes());
                }
            }
        }
    };
}

decimal!(f32);
decimal!(f64);
value!(f32);
value!(f64);

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks values around every tie between neighboring halves, with more digits than `f32` has.
    #[test]
    fn halves_are_the_nearest() {
        fn check<S: Storage>(below: S, above: S) {
            let (low, high) = (below.to_f64(), above.to_f64());
            let tie = f64::midpoint(low, high);
            let little = (high - low) * 2.0_f64.powi(-40);
            assert_eq!(S::from_f64(low), below);
            assert_eq!(S::from_f64(tie - little), below, "{tie} less a little");
            assert_eq!(S::from_f64(tie + little), above, "{tie} and a little");
            let even = if below.to_bits().is_multiple_of(2) { below } else { above };
            assert_eq!(S::from_f64(tie), even, "{tie}");
            assert_eq!(S::from_f64(-tie).to_f64().to_bits(), (-even.to_f64()).to_bits());
        }
        for bits in (0..0x7bff).step_by(7) {
            check(f16::from_bits(bits), f16::from_bits(bits + 1));
        }
        for bits in (0..0x7f7f).step_by(11) {
            check(bf16::from_bits(bits), bf16::from_bits(bits + 1));
        }
        assert_eq!(f16::from_f64(65_519.999), f16::MAX);
        assert_eq!(<f16 as Storage>::from_f64(65_520.0), f16::INFINITY);
        assert_eq!(<bf16 as Storage>::from_f64(1e300), bf16::INFINITY);
        assert!(<f16 as Storage>::from_f64(f64::NAN).is_nan());
    }
}
