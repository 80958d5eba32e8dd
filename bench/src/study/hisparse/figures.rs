//! The figures of a case, as files of results have them.

use evenpath::hisparse::{LevelStatistics, NodeKind};
use serde::{Deserialize, Serialize};

use crate::results;

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
    /// True if all results are right.
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
    pub(super) fn new(levels: &[LevelStatistics], measured: &results::Figures) -> Self {
        let (inner, leaves) = levels.split_at(levels.len().saturating_sub(1));
        let figure = |name: String| measured.more.get(&name).copied();
        let bytes = |format: &str| figure(format!("{format} bytes")).unwrap_or_default() as u64;
        Self {
            nonzeros: measured.work as usize,
            inner: Nodes::count(inner),
            leaves: Nodes::count(leaves),
            hisparse_bytes: bytes("hisparse"),
            csr_bytes: bytes("csr"),
            coo_bytes: bytes("coo"),
            products: ["spmv", "spmv_transposed"].map(|op| {
                let ms = |way: &str| figure(format!("{op} ms, {way}"));
                ProductTimes {
                    queue: ms("queue"),
                    frozen: ms("frozen"),
                    copied: ms("copied"),
                    csr: ms("csr"),
                    cusparse: ms("cusparse csr"),
                    mkl: ms("mkl"),
                }
            }),
            sums: ["add", "add_transposed"].map(|op| {
                let ms = |way: &str| figure(format!("{op} ms, {way}"));
                Some(SumTimes {
                    tree: figure(format!("{op} ms"))?,
                    csr: ms("csr")?,
                    cusparse: ms("cusparse"),
                    cusparse_transpose: ms("cusparse's transpose"),
                    mkl: ms("mkl"),
                    mkl_transpose: ms("mkl's transpose"),
                })
            }),
            is_right: measured.verified == Some(true),
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
