//! Operations that combine elements.

use evenpath_kernels::{sets, spadd};

use crate::Value;
use crate::element::Element;
use crate::names::named;

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
    pub(crate) fn pair<V: Value>(self, a: V, b: V) -> V {
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
pub(crate) fn scaled<V: Value>(factor: V, value: V) -> V {
    if factor == V::ZERO { factor * V::ZERO } else { factor * value }
}
