//! The methods of SpMV, a file each: abilities, part in the choice, analysis and launches. This file lists them.

mod adaptive;
mod binned;
mod block_size;
mod cpu;
mod cut_rows;
mod flat;
mod hot;
mod lanes;
mod light;
mod merge;
mod narrow;
mod one_column;
mod row_blocks;
mod row_tiles;
mod rows;
mod sliced;
mod windows;

use std::marker::PhantomData;

use self::adaptive::{CsrAdaptiveMethod, RowBlocksMethod};
use self::binned::BinnedMethod;
use self::cpu::RowParallelMethod;
use self::flat::FlatMethod;
use self::hot::HotColumnsMethod;
use self::light::LightMethod;
use self::merge::MergePathMethod;
use self::narrow::NarrowColumnsMethod;
use self::one_column::OneColumnMethod;
use self::row_tiles::RowTilesMethod;
use self::rows::{BlockMethod, LanesMethod};
use self::sliced::SlicedEllMethod;
use self::windows::WindowsMethod;
use super::method::SpmvMethod;
use super::strategy::Strategy;
use crate::scalar::ForKind;
use crate::{Offset, Scalar, Value};

pub(super) use self::cpu::{automatic as automatic_on_cpu, wide as wide_on_cpu};
#[cfg(feature = "lab")]
pub(super) use self::light::build_by_rows as light_by_rows;
pub(super) use self::merge::build_wide as wide_merge_path;
pub(super) use self::one_column::build as one_column;
#[cfg(feature = "lab")]
pub(super) use self::rows::build_in_blocks as lanes_in_blocks;

/// A list of methods.
pub(super) type Methods<V, O> = Vec<&'static dyn Strategy<V, O>>;

/// The methods of a type of values. The choice asks them in this order: of two rules, and of two equal estimates, the first is
/// taken.
pub(super) fn all<V: Scalar, O: Offset>() -> Methods<V, O> {
    V::by_kind(All(PhantomData))
}

/// [`all`] by the kind of the values.
struct All<V, O>(PhantomData<(V, O)>);

impl<V: Scalar, O: Offset> ForKind<V> for All<V, O> {
    type Output = Methods<V, O>;

    fn value(self) -> Methods<V, O>
    where
        V: Value,
    {
        of_real().to_vec()
    }

    fn complex(self) -> Methods<V, O> {
        of_complex().to_vec()
    }

    fn half(self) -> Methods<V, O> {
        unreachable!("types of 16 bits are no type of arithmetic")
    }
}

/// The methods of real values.
fn of_real<V: Value, O: Offset>() -> [&'static dyn Strategy<V, O>; 17] {
    [
        &SlicedEllMethod,
        &HotColumnsMethod,
        &NarrowColumnsMethod,
        &WindowsMethod,
        &LanesMethod::Vector,
        &LanesMethod::Warp,
        &LanesMethod::Scalar,
        &RowBlocksMethod,
        &RowTilesMethod,
        &FlatMethod,
        &MergePathMethod,
        &BlockMethod,
        &BinnedMethod,
        &CsrAdaptiveMethod,
        &LightMethod,
        &OneColumnMethod,
        &RowParallelMethod,
    ]
}

/// The methods of complex values.
fn of_complex<V: Scalar, O: Offset>() -> [&'static dyn Strategy<V, O>; 12] {
    [
        &SlicedEllMethod,
        &LanesMethod::Vector,
        &LanesMethod::Warp,
        &LanesMethod::Scalar,
        &RowBlocksMethod,
        &RowTilesMethod,
        &FlatMethod,
        &MergePathMethod,
        &BlockMethod,
        &BinnedMethod,
        &CsrAdaptiveMethod,
        &RowParallelMethod,
    ]
}

/// A method, whatever its parameters; `None` for the automatic choice, and if values of the type do not have it.
pub(super) fn find<V: Scalar, O: Offset>(method: SpmvMethod) -> Option<&'static dyn Strategy<V, O>> {
    all().into_iter().find(|strategy| strategy.method() == method.without_parameters())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Complex;

    #[test]
    fn every_method_is_listed_once() {
        let listed = of_real::<f64, u64>().map(Strategy::method);
        for method in SpmvMethod::ALL {
            let count = listed.iter().filter(|one| **one == method).count();
            assert_eq!(count, usize::from(method != SpmvMethod::Auto), "{method}");
        }
        assert_eq!(listed.len() + 1, SpmvMethod::ALL.len());
    }

    /// The order decides between equal estimates.
    #[test]
    fn complex_values_have_some_of_them_in_the_same_order() {
        let real = of_real::<f64, u64>().map(Strategy::method);
        let complex = of_complex::<Complex<f64>, u64>().map(Strategy::method);
        let in_both: Vec<_> = real.into_iter().filter(|method| complex.contains(method)).collect();
        assert_eq!(in_both, complex);
    }
}
