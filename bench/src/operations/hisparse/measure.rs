//! Everything for one matrix, as figures: the ways of y = Ax are contenders, the rest has names.

use std::collections::BTreeMap;

use evenpath::Csr;
use evenpath::hisparse::{self, DeviceHiSparse, LevelStatistics, NodeKind};

use super::conversions::conversions;
use super::extent::Extent;
use super::node_sizes::node_sizes;
use super::products::{Product, product};
use super::sums::sums;
use crate::operations::bench::{Bench, Measured};
use crate::peers::{Operation, PeerValue};
use crate::results::{Contender, Figures};

/// Measures everything for one matrix, which must be canonical.
///
/// # Errors
///
/// If there is not enough device memory for the matrix and vectors, the device was lost, or the matrix is too large for
/// the format.
pub(crate) fn measure<V: PeerValue, const D: usize>(bench: &Bench<'_>, matrix: &Csr<V>) -> Measured {
    let tree = bench.device.upload(matrix)?.to_hisparse(hisparse::Options::default())?;
    measure_tree::<V, D>(bench, matrix, &tree, Extent::Whole)
}

/// [`measure`] for a matrix whose tree is there.
///
/// # Errors
///
/// Those of [`measure`].
pub(crate) fn measure_tree<V: PeerValue, const D: usize>(
    bench: &Bench<'_>,
    matrix: &Csr<V>,
    tree: &DeviceHiSparse<V, D>,
    extent: Extent,
) -> Measured {
    let mut more = Further::default();
    more.bytes(matrix, tree.pool_bytes());
    let direct = product(bench, Operation::Direct, (matrix, tree), extent)?;
    let transposed = product(bench, Operation::Transposed, (matrix, tree), extent)?;
    more.product("spmv", &direct);
    more.product("spmv_transposed", &transposed);
    let wrong_sums = sums(bench, (matrix, tree), |name, ms| more.add(name, ms))?;
    let mut wrong_conversions = Vec::new();
    if extent == Extent::Whole {
        wrong_conversions = conversions::<V, D>(bench, matrix, |name, ms| more.add(name, ms))?;
    }
    let mut sizes = Vec::new();
    if extent == Extent::Figures {
        more.rows(matrix);
        more.nodes(&tree.download()?.statistics().levels);
        sizes = node_sizes(bench, matrix, |name, value| more.add(name, value));
    }
    let nonzeros = matrix.nnz() as u64;
    let vectors = ((matrix.nrows() + matrix.ncols()) * size_of::<V>()) as u64;
    let work = (nonzeros, 2 * nonzeros, tree.pool_bytes() + vectors);
    let mut ours = direct.ways;
    let (wrong_sizes, refused): (Vec<_>, Vec<_>) = sizes.into_iter().partition(Contender::is_wrong);
    // Wrong results of the others have no time here.
    let others =
        direct.csr.ours.into_iter().chain(transposed.ways).chain(transposed.csr.ours).chain(wrong_sizes);
    let wrong = others.filter(Contender::is_wrong).map(|wrong| Contender { ms: None, ..wrong });
    let wrong: Vec<_> = wrong.chain(wrong_sums).chain(wrong_conversions).collect();
    let is_right = wrong.is_empty() && !ours.iter().any(Contender::is_wrong);
    ours.extend(wrong.into_iter().chain(refused));
    Ok(Figures { verified: Some(is_right), ..Figures::new(work, ours, direct.csr.peers, more.figures) })
}

/// The names of figures of nodes: their number, that of dense ones, and the entries of all and of dense ones.
#[derive(Clone, Copy)]
pub(crate) struct Nodes {
    pub(crate) all: &'static str,
    pub(crate) dense: &'static str,
    pub(crate) entries: &'static str,
    pub(crate) dense_entries: &'static str,
}

/// Inner nodes and leaves.
pub(crate) const NODES: [Nodes; 2] = [
    Nodes {
        all: "inner nodes",
        dense: "dense inner nodes",
        entries: "children",
        dense_entries: "children of dense inner nodes",
    },
    Nodes {
        all: "leaves",
        dense: "dense leaves",
        entries: "entries of leaves",
        dense_entries: "entries of dense leaves",
    },
];

/// Further figures, by name.
#[derive(Default)]
struct Further {
    figures: BTreeMap<String, f64>,
}

impl Further {
    fn add(&mut self, name: String, value: Option<f64>) {
        self.figures.extend(value.map(|value| (name, value)));
    }

    /// Bytes by format: the pool of HiSparse; values, column indices and row offsets; values and both indices.
    fn bytes<V: PeerValue>(&mut self, csr: &Csr<V>, pool_bytes: u64) {
        let (entry, index) = ((size_of::<V>() + size_of::<u32>()) as u64, size_of::<u32>() as u64);
        let nonzeros = csr.nnz() as u64;
        let formats = [
            ("hisparse", pool_bytes),
            ("csr", nonzeros * entry + (csr.nrows() as u64 + 1) * index),
            ("coo", nonzeros * (entry + index)),
        ];
        for (format, bytes) in formats {
            self.add(format!("{format} bytes"), Some(bytes as f64));
        }
    }

    /// Moments of the row lengths.
    fn rows<V: PeerValue>(&mut self, matrix: &Csr<V>) {
        let statistics = matrix.statistics();
        self.add("deviation of row lengths".into(), Some(statistics.row_length_std_dev));
        self.add("longest row".into(), Some(statistics.row_length_max as f64));
    }

    /// Nodes of the tree, which its copy on the host counts.
    fn nodes(&mut self, levels: &[LevelStatistics]) {
        let (inner, leaves) = levels.split_at(levels.len().saturating_sub(1));
        for (names, levels) in NODES.into_iter().zip([inner, leaves]) {
            let sum = |of: &dyn Fn(&LevelStatistics) -> u64| levels.iter().map(of).sum::<u64>() as f64;
            self.add(names.all.into(), Some(sum(&|level| level.all().nodes)));
            self.add(names.dense.into(), Some(sum(&|level| level.kind(NodeKind::Dense).nodes)));
            self.add(names.entries.into(), Some(sum(&|level| level.all().entries)));
            self.add(names.dense_entries.into(), Some(sum(&|level| level.kind(NodeKind::Dense).entries)));
        }
    }

    /// Milliseconds of a product: in every way, in CSR, and by other libraries in CSR.
    fn product(&mut self, op: &str, Product { ways, csr }: &Product) {
        for way in ways {
            self.add(format!("{op} ms, {}", way.name), way.ms);
        }
        self.add(format!("{op} ms, csr"), csr.ms);
        self.add(format!("{op} ms, cusparse csr"), csr.csr_ms("cusparse"));
        self.add(format!("{op} ms, mkl"), csr.csr_ms("mkl"));
    }
}
