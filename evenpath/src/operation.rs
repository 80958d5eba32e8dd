//! Operations that combine elements.

use evenpath_kernels::map::{Mapping, code};
use evenpath_kernels::{sets, spadd};

use crate::element::Element;
use crate::names::named;
use crate::{Scalar, Value};

/// Operator of a scan or a reduction.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::scan::{self, ScanOptions};
/// use evenpath::Device;
///
/// let values = Device::cpu().upload(&[3_u32, 1, 4])?;
/// assert_eq!(scan::values(&values, ScanOptions::inclusive(Operator::Max))?.download()?, [3, 3, 4]);
/// assert_eq!(scan::values(&values, ScanOptions::exclusive(Operator::Sum))?.download()?, [0, 3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// The sum; integers wrap around.
    Sum,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
}

named! {
    Operator, "operator":
    Sum = "sum",
    Min = "min",
    Max = "max",
}

impl Operator {
    /// Name of the kernels' variant.
    pub(crate) fn variant(self) -> &'static str {
        match self {
            Self::Sum => "Sum",
            Self::Min | Self::Max => "Min",
        }
    }

    /// The identity: zero, or the maximum or minimum of the type.
    pub fn identity<T: Element>(self) -> T {
        match self {
            Self::Sum => T::ZERO,
            Self::Min => T::GREATEST,
            Self::Max => T::LEAST,
        }
    }

    /// The `flip` parameter of the kernels.
    pub(crate) fn flip(self) -> u32 {
        u32::from(self == Self::Max)
    }
}

/// An operation on two sets.
///
/// ```
/// use evenpath::sets::{self, SetOperation};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let (a, b) = (device.upload(&[1_u32, 2, 2])?, device.upload(&[2_u32, 3])?);
/// let of = |operation| Ok::<_, evenpath::error::OpError>(sets::keys(&a, &b, operation)?.download()?);
/// assert_eq!(of(SetOperation::Union)?, [1, 2, 2, 3]);
/// assert_eq!(of(SetOperation::Intersection)?, [2]);
/// assert_eq!(of(SetOperation::Difference)?, [1, 2]);
/// assert_eq!(of(SetOperation::SymmetricDifference)?, [1, 2, 3]);
/// # Ok::<(), evenpath::error::OpError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SetOperation {
    /// Elements in A or in B.
    Union,
    /// Elements in A and in B.
    Intersection,
    /// Elements in A but not in B.
    Difference,
    /// Elements in exactly one of A and B.
    SymmetricDifference,
}

named! {
    SetOperation, "set operation":
    Union = "union",
    Intersection = "intersection",
    Difference = "difference",
    SymmetricDifference = "symmetric difference",
}

impl SetOperation {
    /// Maximum number of elements in the result, for inputs of these lengths.
    pub fn largest_result(self, a_len: usize, b_len: usize) -> usize {
        match self {
            Self::Union | Self::SymmetricDifference => a_len.saturating_add(b_len),
            Self::Intersection => a_len.min(b_len),
            Self::Difference => a_len,
        }
    }

    /// Returns whether elements of A without a match in B are in the result.
    pub fn keeps_a(self) -> bool {
        self.code() & sets::keep::A_ONLY != 0
    }

    /// Returns whether matches are in the result.
    pub fn keeps_matches(self) -> bool {
        self.code() & sets::keep::MATCHES != 0
    }

    /// Returns whether elements of B without a match in A are in the result.
    pub fn keeps_b(self) -> bool {
        self.code() & sets::keep::B_ONLY != 0
    }

    pub(crate) fn code(self) -> u32 {
        match self {
            Self::Union => sets::keep::A_ONLY | sets::keep::MATCHES | sets::keep::B_ONLY,
            Self::Intersection => sets::keep::MATCHES,
            Self::Difference => sets::keep::A_ONLY,
            Self::SymmetricDifference => sets::keep::A_ONLY | sets::keep::B_ONLY,
        }
    }
}

/// Element-wise operation on two matrices A and B of the same shape.
///
/// ```
/// use evenpath::spadd::Elementwise;
/// use evenpath::{Csr, Device};
///
/// let device = Device::best()?;
/// let a = Csr::from_triplets(1, 3, [(0, 0, 1.0), (0, 1, 2.0)])?;
/// let b = Csr::from_triplets(1, 3, [(0, 1, 10.0), (0, 2, 5.0)])?;
/// let (a, b) = (device.upload(&a)?, device.upload(&b)?);
/// let of = |operation| Ok::<_, evenpath::error::OpError>(a.elementwise(operation, 1.0, &b, 1.0)?.download()?.to_dense()?);
/// assert_eq!(of(Elementwise::Sum)?, [1.0, 12.0, 5.0]);
/// assert_eq!(of(Elementwise::Product)?, [0.0, 20.0, 0.0]);
/// assert_eq!(of(Elementwise::Mask)?, [0.0, 2.0, 0.0]);
/// assert_eq!(of(Elementwise::MaskOut)?, [1.0, 0.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Elementwise {
    /// αA + βB, with an entry wherever A or B has one.
    Sum,
    /// αA ∘ βB, the elementwise product, with an entry wherever both have one.
    Product,
    /// αA where B has an entry: A under the mask B.
    Mask,
    /// αA where B has no entry.
    MaskOut,
}

named! {
    Elementwise, "element-wise operation":
    Sum = "sum",
    Product = "product",
    Mask = "mask",
    MaskOut = "mask out",
}

impl Elementwise {
    /// Returns whether entries of A alone are in the result.
    pub(crate) fn keeps_a(self) -> bool {
        matches!(self, Self::Sum | Self::MaskOut)
    }

    /// Returns whether entries of both matrices are in the result.
    pub(crate) fn keeps_pairs(self) -> bool {
        self != Self::MaskOut
    }

    /// Returns whether entries of B alone are in the result.
    pub(crate) fn keeps_b(self) -> bool {
        self == Self::Sum
    }

    /// Value of an entry of both matrices, from αa and βb.
    pub(crate) fn pair<V: Scalar>(self, a: V, b: V) -> V {
        match self {
            Self::Sum => a + b,
            Self::Product => a * b,
            Self::Mask | Self::MaskOut => a,
        }
    }

    /// Bits of the kernels' parameter.
    pub(crate) fn code(self) -> u32 {
        match self {
            Self::Sum => spadd::keep::A_ONLY | spadd::keep::B,
            Self::Product => spadd::keep::PAIRS | spadd::keep::MULTIPLY,
            Self::Mask => spadd::keep::PAIRS | spadd::keep::FIRST,
            Self::MaskOut => spadd::keep::A_ONLY,
        }
    }
}

/// `factor`·`value`; zero if the factor is zero, even if the value is NaN or infinite.
pub(crate) fn scaled<V: Scalar>(factor: V, value: V) -> V {
    if factor == V::ZERO { factor * V::ZERO } else { factor * value }
}

/// A function of one number, applied to every element of a vector or every value of a matrix.
///
/// Results are the same to the last bit on every device, except for the bits of a NaN. NaN stays NaN, unless the function says otherwise.
///
/// ```
/// use evenpath::vector::{self, Map};
/// use evenpath::Device;
///
/// let mut y = Device::best()?.upload(&[-2.0, 0.25, 9.0])?;
/// vector::map(Map::Clamp { low: 0.0, high: 4.0 }, &mut y)?;
/// assert_eq!(y.download()?, [0.0, 0.25, 4.0]);
/// vector::map(Map::Sqrt, &mut y)?;
/// assert_eq!(y.download()?, [0.0, 0.5, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Map<V> {
    /// The absolute value.
    Abs,
    /// 1/x: infinite for zero.
    Reciprocal,
    /// x².
    Square,
    /// √x, rounded once: NaN for negative numbers.
    Sqrt,
    /// eˣ, with an error below one unit in the last place.
    Exp,
    /// ln x, with an error below one unit in the last place: −∞ for zero, NaN for negative numbers.
    Log,
    /// 1 for positive numbers, −1 for negative ones, and x itself for zeros.
    Sign,
    /// `low` where x is less, and `high` where that is more; `high` everywhere if `low` exceeds it.
    Clamp {
        /// Minimum.
        low: V,
        /// Maximum.
        high: V,
    },
    /// The sum of x and a number.
    Add(V),
    /// The product of x and a number: NaN if one is zero and the other infinite.
    Scale(V),
    /// x to a power, like `pow` of C, with an error below one unit in the last place, and exact where it can be: 1 if the exponent is zero
    /// or x is 1, even if the other is NaN; NaN for negative numbers and exponents that are not integers.
    Power(V),
}

impl<V: Value> Map<V> {
    /// The function as a kernel argument, and for the CPU.
    pub(crate) fn mapping(self) -> Mapping<V> {
        let (code, first, second) = match self {
            Self::Abs => (code::ABS, V::ZERO, V::ZERO),
            Self::Reciprocal => (code::RECIPROCAL, V::ZERO, V::ZERO),
            Self::Square => (code::SQUARE, V::ZERO, V::ZERO),
            Self::Sqrt => (code::SQRT, V::ZERO, V::ZERO),
            Self::Exp => (code::EXP, V::ZERO, V::ZERO),
            Self::Log => (code::LOG, V::ZERO, V::ZERO),
            Self::Sign => (code::SIGN, V::ZERO, V::ZERO),
            Self::Clamp { low, high } => (code::CLAMP, low, high),
            Self::Add(addend) => (code::ADD, addend, V::ZERO),
            Self::Scale(factor) => (code::SCALE, factor, V::ZERO),
            Self::Power(exponent) => (code::POWER, exponent, V::ZERO),
        };
        Mapping { code, first, second }
    }
}

/// Reduction of the stored values of each row or column of a matrix.
///
/// Entries that are not stored do not count as zeros: the minimum of a row of positive values is positive, even
/// if the row has other columns. Duplicates count one by one. Sums are rounded in a fixed order, which may
/// differ between the CPU and GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The sum; zero without entries.
    Sum,
    /// The sum of absolute values, the 1-norm; zero without entries.
    AbsSum,
    /// The Euclidean norm, whose squares neither overflow nor underflow; zero without entries.
    Norm2,
    /// The minimum of the entries that are not NaN; ∞ without any.
    Min,
    /// The maximum of the entries that are not NaN; −∞ without any.
    Max,
    /// The maximum of the absolute values that are not NaN; zero without any.
    AbsMax,
    /// The number of entries.
    Count,
}

named! {
    Reduction, "reduction":
    Sum = "sum",
    AbsSum = "sum of absolute values",
    Norm2 = "Euclidean norm",
    Min = "minimum",
    Max = "maximum",
    AbsMax = "maximum of absolute values",
    Count = "number of entries",
}
