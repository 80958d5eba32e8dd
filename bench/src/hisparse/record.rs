//! What is measured of one matrix, and what many come to.

use evenpath::{Csr, HiSparse, Value};
use serde::Serialize;

use crate::spmv;
use crate::statistics::geometric_mean;

/// Everything of one matrix.
#[derive(Debug, Clone, Serialize)]
pub struct Record {
    /// `hisparse`.
    pub op: &'static str,
    /// The suite.
    pub suite: String,
    /// The matrix.
    pub matrix: String,
    /// The type of the values.
    pub value: &'static str,
    /// Rows of a node.
    pub node: usize,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Nonzeros.
    pub nnz: usize,
    /// What it takes (Figure 3.2).
    #[serde(flatten)]
    pub bytes: Bytes,
    /// Products with it and with its transpose (Figure 7.2).
    pub products: Vec<Product>,
}

/// Bytes of a matrix in formats.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bytes {
    /// Of the pool.
    pub hisparse_bytes: u64,
    /// Values, column indices, row offsets.
    pub csr_bytes: u64,
    /// Values, row and column indices.
    pub coo_bytes: u64,
}

/// Products with a matrix, or with its transpose.
#[derive(Debug, Clone, Serialize)]
pub struct Product {
    /// `spmv` or `spmv_transposed`.
    pub op: &'static str,
    /// Those with the tree.
    pub ways: Vec<Way>,
    /// Those in CSR, and the peers'.
    pub csr: spmv::Record,
}

/// A way to multiply with a tree.
#[derive(Debug, Clone, Serialize)]
pub struct Way {
    /// `frozen` or `queue`.
    pub schedule: &'static str,
    /// Median milliseconds.
    pub ms: f64,
    /// The shortest.
    pub shortest_ms: f64,
    /// Bytes of pool and vectors a second, as a share of the rate at which the device copies.
    pub copy_share: f64,
    /// Bytes of device memory beside the operands.
    pub workspace_bytes: u64,
    /// How the result is wrong, if it is.
    pub difference: Option<String>,
}

impl Bytes {
    /// Of one matrix.
    pub fn new<V: Value, const D: usize>(csr: &Csr<V>, tree: &HiSparse<V, D>) -> Self {
        let (entry, index) = ((size_of::<V>() + size_of::<u32>()) as u64, size_of::<u32>() as u64);
        let nonzeros = csr.nnz() as u64;
        Self {
            hisparse_bytes: tree.pool().len() as u64,
            csr_bytes: nonzeros * entry + (csr.rows() as u64 + 1) * index,
            coo_bytes: nonzeros * (entry + index),
        }
    }

    /// HiSparse's bytes divided by CSR's.
    pub fn over_csr(&self) -> f64 {
        self.hisparse_bytes as f64 / self.csr_bytes as f64
    }
}

impl Product {
    /// A way, by its name.
    pub fn way(&self, schedule: &str) -> Option<&Way> {
        self.ways.iter().find(|way| way.schedule == schedule)
    }

    /// Milliseconds in CSR: of the fastest of evenpath's.
    pub fn csr_ms(&self) -> Option<f64> {
        let figures = self.csr.methods.iter().filter_map(|method| method.outcome.figures());
        figures.map(|figures| figures.measured.ms).min_by(f64::total_cmp)
    }

    /// Milliseconds of cuSPARSE's fastest, from CSR.
    pub fn cusparse_ms(&self) -> Option<f64> {
        let is_csr = |peer: &spmv::PeerRecord| peer.library == "cusparse" && peer.format == "csr";
        self.csr.best_peer(|peer, _| is_csr(peer)).map(|(_, figures)| figures.ms)
    }
}

impl Record {
    /// A product, by its name.
    pub fn product(&self, op: &str) -> Option<&Product> {
        self.products.iter().find(|product| product.op == op)
    }

    /// Whether every result is right.
    pub fn is_right(&self) -> bool {
        let is_right = |product: &Product| {
            product.csr.is_right() && product.ways.iter().all(|way| way.difference.is_none())
        };
        self.products.iter().all(is_right)
    }
}

/// Many matrices, in one type and with nodes of one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The type of the values.
    pub value: &'static str,
    /// Rows of a node.
    pub node: usize,
    /// Matrices.
    pub matrices: usize,
    /// Mean of HiSparse's bytes over CSR's.
    pub mean_bytes_over_csr: f64,
    /// Geometric means of CSR's time over that of a schedule, each with the product's name and the schedule's.
    pub csr_over: Vec<(String, f64)>,
    /// Geometric means of cuSPARSE's time over that of a schedule.
    pub cusparse_over: Vec<(String, f64)>,
}

impl Summary {
    /// Those of every type and size of node among the records, in the order in which they come.
    pub fn all(records: &[Record]) -> Vec<Self> {
        let mut groups: Vec<(&'static str, usize)> = Vec::new();
        for record in records {
            if !groups.contains(&(record.value, record.node)) {
                groups.push((record.value, record.node));
            }
        }
        groups.into_iter().map(|group| Self::of(group, records)).collect()
    }

    fn of((value, node): (&'static str, usize), records: &[Record]) -> Self {
        let of_group: Vec<&Record> =
            records.iter().filter(|record| (record.value, record.node) == (value, node)).collect();
        let ratios = |other: fn(&Product) -> Option<f64>| {
            let mut means = Vec::new();
            for op in ["spmv", "spmv_transposed"] {
                for schedule in ["frozen", "queue"] {
                    let ratio = |record: &&Record| {
                        let product = record.product(op)?;
                        Some(other(product)? / product.way(schedule)?.ms)
                    };
                    let mean = geometric_mean(of_group.iter().filter_map(ratio));
                    means.extend(mean.map(|mean| (format!("{op} {schedule}"), mean)));
                }
            }
            means
        };
        let over_csr: f64 = of_group.iter().map(|record| record.bytes.over_csr()).sum();
        Self {
            value,
            node,
            matrices: of_group.len(),
            mean_bytes_over_csr: over_csr / of_group.len() as f64,
            csr_over: ratios(Product::csr_ms),
            cusparse_over: ratios(Product::cusparse_ms),
        }
    }
}
