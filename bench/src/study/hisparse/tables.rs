use std::error::Error;

use evenpath::hisparse::{HiSparseOptions, LevelStatistics, NodeKind};
use evenpath::{Csr, HiSparse};

use super::published::{HISPARSE_MEANS, HISPARSE_OVER_COO, HISPARSE_OVER_CSR};
use super::{Bench, Cell, Report, Study, Table, quotient};
use crate::hisparse::{Case, Record, measure};
use crate::suite::{Source, Suite};

const STUDY: Study = Study::Hisparse;

pub(super) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    let mut tables = Tables::new();
    let kinds = Suite::Figure7.sources(None)?.into_iter().filter_map(|source| match source {
        Source::Generated(kind) => Some(kind),
        Source::File(_) => None,
    });
    let mut notes = Vec::new();
    bench.each_matrix(kinds, &mut notes, |name, matrix| {
        tables.measure(bench, name, &matrix.into_values::<f32>())
    })?;
    for mut table in tables.finish() {
        table.notes.extend(notes.iter().cloned());
        report(table)?;
    }
    Ok(())
}

/// Figures 7.1, 3.2, 7.2 and 7.3, and the means of Tables 7.1 and 7.2.
struct Tables {
    nodes: Table,
    bytes: Table,
    products: Table,
    sums: Table,
    /// The ratios of its bytes to those of CSR and COO.
    ratios: Vec<(f64, f64)>,
    /// Milliseconds with HiSparse and by cuSPARSE, for each of the published means.
    times: [Vec<(f64, Option<f64>)>; 5],
}

impl Tables {
    fn new() -> Self {
        Self {
            nodes: Table::new(
                STUDY,
                "Nodes of the trees, 128 x 128",
                "Figure 7.1 has the original matrices; these are stand-ins.",
                &[
                    "matrix",
                    "nonzeros",
                    "inner nodes",
                    "of them dense",
                    "children per node",
                    "leaves",
                    "of them dense",
                    "nonzeros per leaf",
                ],
            ),
            bytes: Table::new(
                STUDY,
                "Bytes per nonzero, f32",
                "Figure 3.2; the thesis gives the average savings.",
                &["matrix", "HiSparse", "CSR", "COO", "over CSR", "over COO"],
            ),
            products: Table::new(
                STUDY,
                "SpMV, milliseconds, f32",
                "Figure 7.2 (a) and (b); the thesis has only a plot. The queue is the thesis's scheduler.",
                &[
                    "matrix",
                    "queue",
                    "frozen",
                    "copied",
                    "CSR",
                    "cuSPARSE CSR",
                    "transposed: queue",
                    "frozen",
                    "copied",
                    "CSR",
                    "cuSPARSE CSR",
                ],
            ),
            sums: Table::new(
                STUDY,
                "Sums, milliseconds, f32",
                "Figure 7.3; the thesis has only a plot.",
                &["matrix", "A + A", "CSR", "cuSPARSE", "A + Aᵀ", "CSR", "cuSPARSE", "csr2csc"],
            ),
            ratios: Vec::new(),
            times: Default::default(),
        }
    }

    fn measure(&mut self, bench: &Bench<'_>, name: &str, matrix: &Csr<f32>) -> Result<(), Box<dyn Error>> {
        let tree: HiSparse<f32, 128> = matrix.to_hisparse(HiSparseOptions::default())?;
        let levels = tree.statistics().levels;
        drop(tree);
        let (inner, leaves) = levels.split_at(levels.len().saturating_sub(1));
        let [inner, leaves] = [inner, leaves].map(nodes);
        self.nodes.row([Cell::from(name), matrix.nnz().into()].into_iter().chain(inner).chain(leaves));
        let case = Case {
            device: bench.device,
            copy_gbps: bench.copy_gbps,
            peers: bench.peers,
            repetitions: bench.repetitions,
            suite: "figure7",
            matrix: name,
            generated: true,
        };
        let record = measure::<f32, 128>(&case, matrix)?;
        if !record.is_right() {
            self.products.wrong.push(name.into());
        }
        self.bytes(&record);
        self.products(&record);
        self.sums(&record);
        Ok(())
    }

    fn bytes(&mut self, record: &Record) {
        let bytes = record.bytes;
        let of = |bytes: u64| bytes as f64 / record.nnz.max(1) as f64;
        let over_coo = bytes.hisparse_bytes as f64 / bytes.coo_bytes as f64;
        self.ratios.push((bytes.over_csr(), over_coo));
        self.bytes.row([
            record.matrix.as_str().into(),
            of(bytes.hisparse_bytes).into(),
            of(bytes.csr_bytes).into(),
            of(bytes.coo_bytes).into(),
            bytes.over_csr().into(),
            over_coo.into(),
        ]);
    }

    fn products(&mut self, record: &Record) {
        let mut cells = vec![Cell::from(record.matrix.as_str())];
        for (index, op) in ["spmv", "spmv_transposed"].into_iter().enumerate() {
            let product = record.product(op);
            let way = |schedule: &str| product.and_then(|product| Some(product.way(schedule)?.ms));
            let ways = ["queue", "frozen", "copied"].map(way);
            let peer = product.and_then(crate::hisparse::Product::cusparse_ms);
            let csr = product.and_then(crate::hisparse::Product::csr_ms);
            self.times[index].extend(ways[0].map(|ms| (ms, peer)));
            cells.extend(ways.into_iter().chain([csr, peer]).map(Cell::from));
        }
        self.products.row(cells);
    }

    fn sums(&mut self, record: &Record) {
        let [own, transposed] = ["add", "add_transposed"].map(|op| record.sum(op));
        let mut cells = vec![Cell::from(record.matrix.as_str())];
        for sum in [own, transposed] {
            cells.extend([
                sum.map(|sum| sum.ms).into(),
                sum.map(|sum| sum.csr_ms).into(),
                sum.and_then(|sum| sum.cusparse_ms).into(),
            ]);
        }
        cells.push(transposed.and_then(|sum| sum.cusparse_transpose_ms).into());
        self.sums.row(cells);
        self.times[2].extend(own.map(|sum| (sum.ms, sum.cusparse_ms)));
        if let Some(sum) = transposed {
            let converted = sum.cusparse_ms.zip(sum.cusparse_transpose_ms).map(|(sum, making)| sum + making);
            self.times[3].push((sum.ms, sum.cusparse_ms));
            self.times[4].push((sum.ms, converted));
        }
    }

    fn finish(mut self) -> Vec<Table> {
        let count = self.ratios.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| self.ratios.iter().map(of).sum::<f64>() / count;
        let means = [mean(|ratio| ratio.0), mean(|ratio| ratio.1)];
        let empty = || [Cell::None, Cell::None, Cell::None];
        self.bytes.row([Cell::from("mean")].into_iter().chain(empty()).chain(means.map(Cell::from)));
        let published = [HISPARSE_OVER_CSR, HISPARSE_OVER_COO].map(Cell::from);
        self.bytes.row([Cell::from("published mean, about")].into_iter().chain(empty()).chain(published));
        let mut means = Table::new(
            STUDY,
            "Means over the matrices, milliseconds, f32",
            "Tables 7.1 and 7.2, GTX 1080. Evenpath's products use the queue scheduler, as in the thesis.",
            &[
                "",
                "matrices",
                "HiSparse",
                "cuSPARSE",
                "ratio",
                "published HiSparse",
                "published cuSPARSE",
                "ratio",
            ],
        );
        for ((name, hisparse, cusparse), times) in HISPARSE_MEANS.into_iter().zip(&self.times) {
            let count = times.len() as f64;
            let own = (!times.is_empty()).then(|| times.iter().map(|time| time.0).sum::<f64>() / count);
            let peers: Option<Vec<f64>> = times.iter().map(|time| time.1).collect();
            let peer = peers.filter(|peers| !peers.is_empty()).map(|peers| peers.iter().sum::<f64>() / count);
            means.row([
                name.into(),
                times.len().into(),
                own.into(),
                peer.into(),
                quotient(peer, own).into(),
                hisparse.into(),
                cusparse.into(),
                (cusparse / hisparse).into(),
            ]);
        }
        means.note("cuSPARSE has a mean only if it has a time for every matrix");
        vec![self.nodes, self.bytes, self.products, self.sums, means]
    }
}

/// The number of nodes in levels, of dense ones, and entries per node.
fn nodes(levels: &[LevelStatistics]) -> [Cell; 3] {
    let (mut all, mut dense, mut entries) = (0, 0, 0);
    for level in levels {
        for kind in NodeKind::ALL {
            let of_kind = level.kind(kind);
            all += of_kind.nodes;
            entries += of_kind.entries;
            if kind == NodeKind::Dense {
                dense += of_kind.nodes;
            }
        }
    }
    [all.into(), dense.into(), (entries as f64 / all as f64).into()]
}
