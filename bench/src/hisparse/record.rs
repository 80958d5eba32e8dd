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
    /// Milliseconds that the device takes to convert it from CSR.
    pub conversion_ms: f64,
    /// Products with it and with its transpose (Figure 7.2).
    pub products: Vec<Product>,
    /// Sums with itself and with its transpose (Figure 7.3).
    pub sums: Vec<Sum>,
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
    /// `frozen`: from the leaves, listed once; `copied`: by a copy in rows; `queue`; `spmm, 8`: with 8 columns, frozen.
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

/// A + A, or A + Aᵀ.
#[derive(Debug, Clone, Serialize)]
pub struct Sum {
    /// `add` or `add_transposed`.
    pub op: &'static str,
    /// Median milliseconds with trees, the transpose being state.
    pub ms: f64,
    /// Median milliseconds in CSR, the transpose being there.
    pub csr_ms: f64,
    /// Median milliseconds of `csrgeam2`, the transpose being there.
    pub cusparse_ms: Option<f64>,
    /// Median milliseconds of `csr2csc`, which makes the transpose.
    pub cusparse_transpose_ms: Option<f64>,
    /// How the sum of trees is wrong, if it is.
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
        self.products.iter().all(is_right) && self.sums.iter().all(|sum| sum.difference.is_none())
    }

    /// A sum, by its name.
    pub fn sum(&self, op: &str) -> Option<&Sum> {
        self.sums.iter().find(|sum| sum.op == op)
    }

    /// Conversion from CSR in times of SpMV in CSR.
    pub fn conversion_spmvs(&self) -> Option<f64> {
        Some(self.conversion_ms / self.product("spmv")?.csr_ms()?)
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
    /// Geometric means of cuSPARSE's time over that of a schedule, or over that of a sum.
    pub cusparse_over: Vec<(String, f64)>,
    /// Geometric mean of the queue scheduler's time over the frozen schedule's.
    pub queue_over_frozen: Option<f64>,
    /// Geometric mean of the conversion's time over that of SpMV in CSR.
    pub conversion_spmvs: Option<f64>,
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
                for schedule in ["frozen", "copied", "queue"] {
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
        let mut cusparse_over = ratios(Product::cusparse_ms);
        let sum_over = |op: &str, transpose: bool| {
            geometric_mean(of_group.iter().filter_map(|record| {
                let sum = record.sum(op)?;
                let making = if transpose { sum.cusparse_transpose_ms? } else { 0.0 };
                Some((sum.cusparse_ms? + making) / sum.ms)
            }))
        };
        let sums = [
            ("add", sum_over("add", false)),
            ("add_transposed", sum_over("add_transposed", false)),
            ("add_transposed, csr2csc counted", sum_over("add_transposed", true)),
        ];
        cusparse_over.extend(sums.into_iter().filter_map(|(name, mean)| Some((name.to_owned(), mean?))));
        let queue_over_frozen = |record: &&Record| {
            let product = record.product("spmv")?;
            Some(product.way("queue")?.ms / product.way("frozen")?.ms)
        };
        let over_csr: f64 = of_group.iter().map(|record| record.bytes.over_csr()).sum();
        Self {
            value,
            node,
            matrices: of_group.len(),
            mean_bytes_over_csr: over_csr / of_group.len() as f64,
            csr_over: ratios(Product::csr_ms),
            cusparse_over,
            queue_over_frozen: geometric_mean(of_group.iter().filter_map(queue_over_frozen)),
            conversion_spmvs: geometric_mean(of_group.iter().filter_map(|record| record.conversion_spmvs())),
        }
    }
}
