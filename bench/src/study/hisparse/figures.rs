//! The figures of a case, as files of results have them.

use evenpath::hisparse::{LevelStatistics, NodeKind};
use serde::{Deserialize, Serialize};

use crate::operations::hisparse::{Product, Record, Sum};

/// The figures of a matrix in a type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Figures {
    pub(super) nonzeros: usize,
    pub(super) inner: Nodes,
    pub(super) leaves: Nodes,
    pub(super) hisparse_bytes: u64,
    pub(super) csr_bytes: u64,
    pub(super) coo_bytes: u64,
    /// With the matrix, and with its transpose.
    pub(super) products: [ProductTimes; 2],
    /// A + A and A + Aᵀ, if the matrix has them.
    pub(super) sums: [Option<SumTimes>; 2],
    /// Whether all results are right.
    pub(super) is_right: bool,
}

/// Nodes of a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Nodes {
    pub(super) all: u64,
    pub(super) dense: u64,
    pub(super) entries: u64,
}

/// Milliseconds of products.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ProductTimes {
    pub(super) queue: Option<f64>,
    pub(super) frozen: Option<f64>,
    pub(super) copied: Option<f64>,
    pub(super) csr: Option<f64>,
    pub(super) cusparse: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mkl: Option<f64>,
}

/// Milliseconds of sums.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct SumTimes {
    pub(super) tree: f64,
    pub(super) csr: f64,
    pub(super) cusparse: Option<f64>,
    /// Of `csr2csc`.
    pub(super) cusparse_transpose: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mkl: Option<f64>,
    /// Of MKL's transpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mkl_transpose: Option<f64>,
}

impl Figures {
    pub(super) fn new(levels: &[LevelStatistics], record: &Record) -> Self {
        let (inner, leaves) = levels.split_at(levels.len().saturating_sub(1));
        let bytes = record.bytes;
        Self {
            nonzeros: record.nnz,
            inner: Nodes::count(inner),
            leaves: Nodes::count(leaves),
            hisparse_bytes: bytes.hisparse_bytes,
            csr_bytes: bytes.csr_bytes,
            coo_bytes: bytes.coo_bytes,
            products: ["spmv", "spmv_transposed"]
                .map(|op| record.product(op).map(ProductTimes::of).unwrap_or_default()),
            sums: ["add", "add_transposed"].map(|op| record.sum(op).map(SumTimes::of)),
            is_right: record.is_right(),
        }
    }
}

impl Nodes {
    fn count(levels: &[LevelStatistics]) -> Self {
        let mut nodes = Self::default();
        for level in levels {
            for kind in NodeKind::ALL {
                let of_kind = level.kind(kind);
                nodes.all += of_kind.nodes;
                nodes.entries += of_kind.entries;
                if kind == NodeKind::Dense {
                    nodes.dense += of_kind.nodes;
                }
            }
        }
        nodes
    }
}

impl ProductTimes {
    fn of(product: &Product) -> Self {
        let way = |schedule| Some(product.way(schedule)?.ms);
        Self {
            queue: way("queue"),
            frozen: way("frozen"),
            copied: way("copied"),
            csr: product.csr_ms(),
            cusparse: product.cusparse_ms(),
            mkl: product.mkl_ms(),
        }
    }
}

impl SumTimes {
    fn of(sum: &Sum) -> Self {
        Self {
            tree: sum.ms,
            csr: sum.csr_ms,
            cusparse: sum.cusparse_ms,
            cusparse_transpose: sum.cusparse_transpose_ms,
            mkl: sum.mkl_ms,
            mkl_transpose: sum.mkl_transpose_ms,
        }
    }
}
