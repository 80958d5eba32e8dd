//! The list of methods.

use super::adaptive::{CsrAdaptiveMethod, RowBlocksMethod};
use super::binned::BinnedMethod;
use super::cpu::RowParallelMethod;
use super::flat::FlatMethod;
use super::hot::HotColumnsMethod;
use super::light::LightMethod;
use super::merge::MergePathMethod;
use super::narrow::NarrowColumnsMethod;
use super::row_tiles::RowTilesMethod;
use super::rows::{BlockMethod, LanesMethod};
use super::sliced::SlicedEllMethod;
use super::windows::WindowsMethod;
use crate::op::spmv::method::SpmvMethod;
use crate::op::spmv::strategy::Strategy;
use crate::{Offset, Value};

/// All methods. The choice asks them in this order: of two rules, and of two equal estimates, the first is taken.
pub(in crate::op::spmv) fn all<V: Value, O: Offset>() -> [&'static dyn Strategy<V, O>; 16] {
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
        &RowParallelMethod,
    ]
}

/// A method by its name; `None` for the automatic choice.
pub(in crate::op::spmv) fn find<V: Value, O: Offset>(
    method: SpmvMethod,
) -> Option<&'static dyn Strategy<V, O>> {
    all().into_iter().find(|strategy| strategy.method() == method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_listed_once() {
        let listed = all::<f64, u64>().map(Strategy::method);
        for method in SpmvMethod::ALL {
            let count = listed.iter().filter(|one| **one == method).count();
            assert_eq!(count, usize::from(method != SpmvMethod::Auto), "{method}");
        }
        assert_eq!(listed.len() + 1, SpmvMethod::ALL.len());
    }
}
