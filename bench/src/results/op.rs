//! The measured operations.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An operation.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, clap::ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Op {
    /// y = Ax.
    Spmv,
    /// y = Aᵀx.
    SpmvTransposed,
    /// C = AB, B dense.
    Spmm,
    /// AB at the nonzeros of C, A and B dense.
    Sddmm,
    /// C = 1.5 A - 0.5 B of sparse matrices.
    Spadd,
    /// `C = AA`, or `AAᵀ` if A is not square.
    Spgemm,
    /// HiSparse: products, sums and conversion.
    Hisparse,
    /// L ∘ (LL), L the entries below the diagonal of a graph's matrix.
    Masked,
    /// Algorithms on graphs.
    Graphs,
    /// Assembly of a matrix of finite elements.
    Assembly,
    /// Incomplete factorizations, and solves with their factors.
    Triangular,
}

impl Op {
    /// All operations.
    pub(crate) const ALL: [Self; 11] = [
        Self::Spmv,
        Self::SpmvTransposed,
        Self::Spmm,
        Self::Sddmm,
        Self::Spadd,
        Self::Spgemm,
        Self::Hisparse,
        Self::Masked,
        Self::Graphs,
        Self::Assembly,
        Self::Triangular,
    ];

    /// The operations that the suite measures unless others are named: those that take any matrix.
    pub(crate) const OF_SUITE: [Self; 7] = [
        Self::Spmv,
        Self::SpmvTransposed,
        Self::Spmm,
        Self::Sddmm,
        Self::Spadd,
        Self::Spgemm,
        Self::Hisparse,
    ];

    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Spmv => "spmv",
            Self::SpmvTransposed => "spmv-transposed",
            Self::Spmm => "spmm",
            Self::Sddmm => "sddmm",
            Self::Spadd => "spadd",
            Self::Spgemm => "spgemm",
            Self::Hisparse => "hisparse",
            Self::Masked => "masked",
            Self::Graphs => "graphs",
            Self::Assembly => "assembly",
            Self::Triangular => "triangular",
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_command_line_and_of_the_files() {
        for op in Op::ALL {
            let value = <Op as clap::ValueEnum>::to_possible_value(&op).unwrap();
            assert_eq!((value.get_name(), serde_json::to_value(op).unwrap()), (op.name(), op.name().into()));
        }
    }
}
