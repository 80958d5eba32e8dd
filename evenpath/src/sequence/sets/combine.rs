//! Values of matches.

use evenpath_kernels::key::Combine as KernelCombine;

use crate::keys::PairValue;
use crate::names::named;

/// The value of a match in unions and intersections of pairs. The other operations keep no matches.
///
/// ```
/// use evenpath::key::Pairs;
/// use evenpath::sets::{self, Combine, SetOperation};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let (keys, values) = (device.upload(&[1_u32, 3])?, device.upload(&[0.5_f32, 2.0])?);
/// let own = Pairs::new(&keys, &values);
/// let (_, first) = sets::pairs(own, own, SetOperation::Union, Combine::First)?;
/// let (_, sums) = sets::pairs(own, own, SetOperation::Union, Combine::Sum)?;
/// assert_eq!((first.download()?, sums.download()?), (vec![0.5, 2.0], vec![1.0, 4.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Combine {
    /// A's value, as in `std::set_union`.
    #[default]
    First,
    /// A's value plus B's; integers wrap around.
    Sum,
}

named! {
    Combine, "way to combine values":
    First = "first",
    Sum = "sum",
}

impl Combine {
    /// The parameter of the kernels.
    pub(super) fn of<V: PairValue>(self) -> KernelCombine {
        match self {
            Self::First => KernelCombine::First,
            Self::Sum => V::ADD,
        }
    }

    /// The value of a match.
    pub(super) fn apply<V: PairValue>(self, a: V, b: V) -> V {
        match self {
            Self::First => a,
            Self::Sum => a.add(b),
        }
    }
}
