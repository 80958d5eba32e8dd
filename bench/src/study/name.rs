//! The studies.

use serde::{Deserialize, Serialize};

/// A publication whose experiments are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Study {
    /// Dalton, Olson, Baxter, Merrill, Garland, "Optimizing sparse matrix operations on GPUs using merge path", 2015.
    MergePath,
    /// Pasandide, "Sparse matrix multiplication with two algorithms on GPU": CSR-Adaptive and LightSpMV.
    CsrAdaptive,
    /// Prata, Muranho, Gomes, "Impact of row sorting on the sparse matrix-vector product on GPU".
    RowSorting,
    /// Merrill, Garland, "Merge-based parallel sparse matrix-vector multiplication", 2016.
    MergeSpmv,
    /// The thesis on `HiSparse`.
    Hisparse,
}

impl Study {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MergePath => "merge-path",
            Self::CsrAdaptive => "csr-adaptive",
            Self::RowSorting => "row-sorting",
            Self::MergeSpmv => "merge-spmv",
            Self::Hisparse => "hisparse",
        }
    }
}
