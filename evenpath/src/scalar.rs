//! Types of values: what they can do.

use std::iter::Sum;
use std::ops::{Div, Neg, Sub};

#[doc(inline)]
pub use evenpath_simt::half::{bf16, f16};
#[doc(inline)]
pub use evenpath_simt::num_complex::Complex;

use crate::entry::Entry;

/// Requirements of this crate and its kernels on scalars. They cannot be named outside the crate, so the
/// public traits are sealed.
mod sealed {
    use evenpath_kernels::absolute::Absolute;
    use evenpath_kernels::triangular::Coefficient;
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

    /// Operation on any type, in three forms: for real and for complex types of arithmetic, and for 16-bit types.
    pub trait ForKind<S: super::Storage> {
        /// Result of all.
        type Output;

        /// The operation for a real type of arithmetic.
        fn value(self) -> Self::Output
        where
            S: super::Value;

        /// The operation for a complex type.
        fn complex(self) -> Self::Output
        where
            S: super::Scalar;

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

    /// Type of arithmetic in kernels, real or complex, with absolute values of type `R`.
    pub trait KernelScalar<R>: Absolute<Magnitude = R> + Coefficient<Part = R> {}
    impl<V: Absolute + Coefficient<Part = V::Magnitude>> KernelScalar<V::Magnitude> for V {}

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

pub(crate) use sealed::{Decimal, ForKind, ForVectors, Kind};

/// An element of a matrix or a dense operand: [`struct@f16`], [`struct@bf16`], `f32`, `f64`, or [`Complex`] of `f32` or `f64`.
/// Sealed.
///
/// | | stored and computed | stored, computed in `f32` |
/// |---|---|---|
/// | [`RealStorage`] | [`Value`]: `f32`, `f64` | [`struct@f16`], [`struct@bf16`] |
/// | complex | `Complex<f32>`, `Complex<f64>` | |
///
/// [`Scalar`] are those of the first column.
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
pub trait Storage: sealed::KernelStored<<Self as Storage>::Computed> + sealed::Kind + Entry {
    /// Type of arithmetic: `f32` for types of 16 bits, the type itself for others.
    type Computed: Scalar;
}

/// A real element of a matrix or a dense operand: [`struct@f16`], [`struct@bf16`], `f32` or `f64`. Sealed.
///
/// ```
/// use evenpath::{RealStorage, f16};
///
/// fn least<T: RealStorage>(values: &[T]) -> f64 {
///     values.iter().fold(f64::INFINITY, |least, value| least.min(value.to_f64()))
/// }
/// assert_eq!(least(&[f16::from_f64(0.5), f16::ONE]), 0.5);
/// ```
pub trait RealStorage: Storage + PartialOrd {
    /// Converts to `f64`; exact.
    fn to_f64(self) -> f64;
    /// Rounds to the nearest value of this type, ties to even; infinite if `value` is out of range.
    fn from_f64(value: f64) -> Self;
}

/// Type of arithmetic on a storage type: `f32` for types of 16 bits, the type itself for others.
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

/// A type of arithmetic, real or complex: `f32`, `f64`, or [`Complex`] of either. Sealed.
///
/// ```
/// use evenpath::{Complex, Csr, Scalar};
///
/// fn identity<V: Scalar>(rows: usize) -> Csr<V> {
///     Csr::from_triplets(rows, rows, (0..rows).map(|row| (row, row, V::ONE))).expect("inside")
/// }
/// let i = Complex::new(0.0, 1.0);
/// assert_eq!((&identity::<Complex<f64>>(2) * &[i, i.conj()])?, [i, -i]);
/// # Ok::<(), evenpath::error::OpError>(())
/// ```
pub trait Scalar:
    Storage<Computed = Self>
    + evenpath_simt::Arithmetic
    + sealed::KernelScalar<<Self as Scalar>::Real>
    + Neg<Output = Self>
    + Sub<Output = Self>
    + Div<Output = Self>
    + Sum
{
    /// Type of the real and the imaginary part; a real type itself.
    type Real: Value;

    /// 1.
    const ONE: Self;
    /// True for complex types.
    const IS_COMPLEX: bool;

    /// Returns the number with these parts. A real type drops the imaginary part.
    fn from_parts(re: Self::Real, im: Self::Real) -> Self;
    /// Returns the real and the imaginary part; the latter is 0 for a real type.
    fn parts(self) -> (Self::Real, Self::Real);
    /// The complex conjugate; a real number itself.
    #[must_use]
    fn conj(self) -> Self;
    /// `self * a + b`: rounded once for a real type, and for a complex one each part twice. Slow on a CPU without an
    /// instruction for it.
    #[must_use]
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Returns whether the number, or each part of it, is neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

/// A real type of arithmetic: `f32` or `f64`. Sealed.
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
    Scalar<Real = Self>
    + RealStorage
    + sealed::KernelValue
    + crate::element::Element
    + crate::keys::PairValue
    + crate::keys::SortKey
{
    /// Rounds to the nearest value of this type.
    fn from_u64(value: u64) -> Self;
    /// The absolute value.
    #[must_use]
    fn abs(self) -> Self;
}
