//! Ratios of further figures of a measurement of HiSparse.

use super::Row;

/// A ratio of figures of a measurement.
pub(crate) struct Ratio {
    pub(crate) name: &'static str,
    /// Figures that are added.
    pub(crate) above: &'static [&'static str],
    pub(crate) below: &'static str,
}

const fn ratio(name: &'static str, above: &'static [&'static str], below: &'static str) -> Ratio {
    Ratio { name, above, below }
}

const ADD: &str = "add ms";
const ADD_TRANSPOSED: &str = "add_transposed ms";
const TRANSPOSED_BY_CUSPARSE: &str = "add_transposed ms, cusparse";

/// Sums by other libraries and in CSR, over those of trees.
pub(crate) const SUMS: [Ratio; 7] = [
    ratio("A + A: cuSPARSE over HiSparse", &["add ms, cusparse"], ADD),
    ratio("A + A: cuSPARSE over HiSparse by queues", &["add ms, cusparse"], "add ms, queues"),
    ratio("A + A: own CSR over HiSparse", &["add ms, csr"], ADD),
    ratio("A + Aᵀ: cuSPARSE, given Aᵀ, over HiSparse", &[TRANSPOSED_BY_CUSPARSE], ADD_TRANSPOSED),
    ratio(
        "A + Aᵀ: cuSPARSE, given Aᵀ, over HiSparse by queues",
        &[TRANSPOSED_BY_CUSPARSE],
        "add_transposed ms, queues",
    ),
    ratio(
        "A + Aᵀ: cuSPARSE with its transpose over HiSparse",
        &[TRANSPOSED_BY_CUSPARSE, "add_transposed ms, cusparse's transpose"],
        ADD_TRANSPOSED,
    ),
    ratio("A + Aᵀ: own CSR, given Aᵀ, over HiSparse", &["add_transposed ms, csr"], ADD_TRANSPOSED),
];

/// Bytes and conversion.
pub(crate) const OTHERS: [Ratio; 4] = [
    ratio("bytes, HiSparse over CSR", &["hisparse bytes"], "csr bytes"),
    ratio("bytes, HiSparse over COO", &["hisparse bytes"], "coo bytes"),
    ratio("conversion over an SpMV from CSR", &["conversion ms"], "spmv ms, csr"),
    ratio("conversion by queues over the default", &["conversion ms, queues"], "conversion ms"),
];

impl Ratio {
    /// Its value for a row.
    pub(crate) fn of(&self, row: &Row) -> Option<f64> {
        let figure = |name: &str| row.figures()?.more.get(name).copied();
        let above: Option<f64> = self.above.iter().map(|name| figure(name)).sum();
        Some(above? / figure(self.below)?).filter(|value| value.is_finite())
    }
}
