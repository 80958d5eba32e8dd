//! The record of one matrix, and the summary of many.

use evenpath::{Csr, Value};
use serde::Serialize;

use crate::operations::spmv;
use crate::statistics::geometric_mean;

/// All measurements of one matrix.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Record {
    /// `hisparse`.
    pub(crate) op: &'static str,
    /// The suite.
    pub(crate) suite: String,
    /// The matrix.
    pub(crate) matrix: String,
    /// The type of the values.
    pub(crate) value: &'static str,
    /// Rows and columns of a node.
    pub(crate) node: usize,
    /// Rows.
    pub(crate) rows: usize,
    /// Columns.
    pub(crate) cols: usize,
    /// Nonzeros.
    pub(crate) nnz: usize,
    /// Its bytes (Figure 3.2).
    #[serde(flatten)]
    pub(crate) bytes: Bytes,
    /// Milliseconds to convert it from CSR on the device, if measured.
    pub(crate) conversion_ms: Option<f64>,
    /// Products with it and with its transpose (Figure 7.2).
    pub(crate) products: Vec<Product>,
    /// Sums with itself and with its transpose (Figure 7.3).
    pub(crate) sums: Vec<Sum>,
}

/// Bytes of a matrix by format.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Bytes {
    /// The pool of HiSparse.
    pub(crate) hisparse_bytes: u64,
    /// CSR: values, column indices, row offsets.
    pub(crate) csr_bytes: u64,
    /// COO: values, row and column indices.
    pub(crate) coo_bytes: u64,
}

/// Products with a matrix, or with its transpose.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Product {
    /// `spmv` or `spmv_transposed`.
    pub(crate) op: &'static str,
    /// The products with the tree.
    pub(crate) ways: Vec<Way>,
    /// The products in CSR and by the peers.
    pub(crate) csr: spmv::Record,
}

/// A way to multiply with a tree.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Way {
    /// `frozen`: from the leaves, listed once; `copied`: from a CSR copy; `queue`; `spmm, 8`: with 8 columns, frozen.
    pub(crate) schedule: &'static str,
    /// Median milliseconds.
    pub(crate) ms: f64,
    /// The shortest time, in milliseconds.
    pub(crate) shortest_ms: f64,
    /// Bytes of pool and vectors per second, as a fraction of the copy rate of the device.
    pub(crate) copy_share: f64,
    /// Bytes of device memory, besides the operands.
    pub(crate) workspace_bytes: u64,
    /// How the result is wrong, if so.
    pub(crate) difference: Option<String>,
}

/// A + A, or A + Aᵀ.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Sum {
    /// `add` or `add_transposed`.
    pub(crate) op: &'static str,
    /// Median milliseconds with trees, whose transposition is a flag, level by level.
    pub(crate) ms: f64,
    /// The same by queues, if measured.
    pub(crate) queued_ms: Option<f64>,
    /// Median milliseconds in CSR, given the transpose.
    pub(crate) csr_ms: f64,
    /// Median milliseconds of cuSPARSE's fastest sum, given the transpose.
    pub(crate) cusparse_ms: Option<f64>,
    /// Median milliseconds of `csr2csc`, which computes the transpose.
    pub(crate) cusparse_transpose_ms: Option<f64>,
    /// Median milliseconds of MKL's sum on the CPU, given the transpose.
    pub(crate) mkl_ms: Option<f64>,
    /// Median milliseconds of MKL's transpose.
    pub(crate) mkl_transpose_ms: Option<f64>,
    /// How a sum of trees is wrong, if so.
    pub(crate) difference: Option<String>,
}

impl Bytes {
    /// The bytes of one matrix.
    pub(crate) fn new<V: Value>(csr: &Csr<V>, pool_bytes: u64) -> Self {
        let (entry, index) = ((size_of::<V>() + size_of::<u32>()) as u64, size_of::<u32>() as u64);
        let nonzeros = csr.nnz() as u64;
        Self {
            hisparse_bytes: pool_bytes,
            csr_bytes: nonzeros * entry + (csr.rows() as u64 + 1) * index,
            coo_bytes: nonzeros * (entry + index),
        }
    }

    /// The bytes of HiSparse divided by those of CSR.
    pub(crate) fn over_csr(&self) -> f64 {
        self.hisparse_bytes as f64 / self.csr_bytes as f64
    }
}

impl Product {
    /// The way with this name.
    pub(crate) fn way(&self, schedule: &str) -> Option<&Way> {
        self.ways.iter().find(|way| way.schedule == schedule)
    }

    /// Milliseconds of evenpath's fastest method in CSR.
    pub(crate) fn csr_ms(&self) -> Option<f64> {
        let figures = self.csr.methods.iter().filter_map(|method| method.outcome.figures());
        figures.map(|figures| figures.measured.ms).min_by(f64::total_cmp)
    }

    /// Milliseconds of cuSPARSE's fastest algorithm for CSR.
    pub(crate) fn cusparse_ms(&self) -> Option<f64> {
        let is_csr = |peer: &spmv::PeerRecord| peer.library == "cusparse" && peer.format == "csr";
        self.csr.best_peer(|peer, _| is_csr(peer)).map(|(_, figures)| figures.ms)
    }

    /// Milliseconds of MKL on the CPU.
    pub(crate) fn mkl_ms(&self) -> Option<f64> {
        self.csr.best_peer(|peer, _| peer.library == "mkl").map(|(_, figures)| figures.ms)
    }
}

impl Record {
    /// The product with this name.
    pub(crate) fn product(&self, op: &str) -> Option<&Product> {
        self.products.iter().find(|product| product.op == op)
    }

    /// Whether all results are correct.
    pub(crate) fn is_right(&self) -> bool {
        let is_right = |product: &Product| {
            product.csr.is_right() && product.ways.iter().all(|way| way.difference.is_none())
        };
        self.products.iter().all(is_right) && self.sums.iter().all(|sum| sum.difference.is_none())
    }

    /// The sum with this name.
    pub(crate) fn sum(&self, op: &str) -> Option<&Sum> {
        self.sums.iter().find(|sum| sum.op == op)
    }

    /// The time of conversion from CSR, divided by that of SpMV in CSR.
    pub(crate) fn conversion_spmvs(&self) -> Option<f64> {
        Some(self.conversion_ms? / self.product("spmv")?.csr_ms()?)
    }
}

/// The summary of many matrices with the same value type and node size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// The type of the values.
    pub(crate) value: &'static str,
    /// Rows and columns of a node.
    pub(crate) node: usize,
    /// The number of matrices.
    pub(crate) matrices: usize,
    /// The mean ratio of HiSparse's bytes to CSR's.
    pub(crate) mean_bytes_over_csr: f64,
    /// Geometric means of CSR's time over that of a schedule, with the names of product and schedule.
    pub(crate) csr_over: Vec<(String, f64)>,
    /// Geometric means of cuSPARSE's time over that of a schedule, or over that of a sum.
    pub(crate) cusparse_over: Vec<(String, f64)>,
    /// Geometric mean of the queue scheduler's time over the frozen schedule's.
    pub(crate) queue_over_frozen: Option<f64>,
    /// Geometric mean of the conversion's time over that of SpMV in CSR.
    pub(crate) conversion_spmvs: Option<f64>,
}

impl Summary {
    /// The summaries for every value type and node size among the records, in order of appearance.
    pub(crate) fn all(records: &[Record]) -> Vec<Self> {
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
