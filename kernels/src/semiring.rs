//! The semirings that kernels are compiled for.

use evenpath_simt::semiring::{MaxPlus, MaxTimes, MinFirst, MinPlus, OrAnd, PlusPair, PlusTimes};
use evenpath_simt::In;

/// Elements with sum and product of numbers; of integers, which wrap around.
pub type InPlusTimes<V> = In<PlusTimes, V>;
/// Elements with minimum and sum.
pub type InMinPlus<V> = In<MinPlus, V>;
/// Elements with maximum and sum.
pub type InMaxPlus<V> = In<MaxPlus, V>;
/// Elements with maximum and product.
pub type InMaxTimes<V> = In<MaxTimes, V>;
/// Elements with disjunction and conjunction.
pub type InOrAnd<V> = In<OrAnd, V>;
/// Elements with sum and the number of pairs.
pub type InPlusPair<V> = In<PlusPair, V>;
/// Elements with minimum and first factor.
pub type InMinFirst<V> = In<MinFirst, V>;
