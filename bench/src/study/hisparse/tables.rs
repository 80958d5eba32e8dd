//! Figures 7.1, 3.2, 7.2 and 7.3, and the means of Tables 7.1 and 7.2.

use super::beside_mkl::BesideMkl;
use super::figures::{Figures, Nodes, ProductTimes, SumTimes};
use crate::statistics::mean_and_deviation;
use crate::study::figures::quotient;
use crate::study::name::Study;
use crate::study::published::{HISPARSE_MEANS, HISPARSE_OVER_COO, HISPARSE_OVER_CSR, HisparseMean};
use crate::study::table::{Cell, Table};

/// The tables of a type.
pub(super) struct Tables {
    value: &'static str,
    nodes: Table,
    bytes: Table,
    products: Table,
    sums: Table,
    /// The ratios of its bytes to those of CSR and COO.
    ratios: Vec<(f64, f64)>,
    /// For each of the published means.
    times: [Vec<Times>; 5],
    beside_mkl: BesideMkl,
}

/// Milliseconds with HiSparse and by other libraries.
#[derive(Clone, Copy)]
struct Times {
    tree: f64,
    cusparse: Option<f64>,
    mkl: Option<f64>,
}

impl Tables {
    pub(super) fn new(value: &'static str) -> Self {
        Self {
            value,
            nodes: Table::new(
                Study::Hisparse,
                &format!("Nodes of the trees, 128 x 128, {value}"),
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
                Study::Hisparse,
                &format!("Bytes per nonzero, {value}"),
                "Figure 3.2; the thesis gives the average savings in single precision.",
                &["matrix", "HiSparse", "CSR", "COO", "over CSR", "over COO"],
            ),
            products: Table::new(
                Study::Hisparse,
                &format!("SpMV, milliseconds, {value}"),
                "Figure 7.2; the thesis has only a plot. The queue is the thesis's scheduler.",
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
                Study::Hisparse,
                &format!("Sums, milliseconds, {value}"),
                "Figure 7.3; the thesis has only a plot.",
                &["matrix", "A + A", "CSR", "cuSPARSE", "A + Aᵀ", "CSR", "cuSPARSE", "csr2csc"],
            ),
            ratios: Vec::new(),
            times: Default::default(),
            beside_mkl: BesideMkl::new(value),
        }
    }

    /// Adds the rows of a matrix.
    pub(super) fn add(&mut self, name: &str, figures: &Figures) {
        if !figures.is_right {
            self.products.wrong.push(name.into());
        }
        let nodes = [figures.inner, figures.leaves].into_iter().flat_map(|Nodes { all, dense, entries }| {
            [all.into(), dense.into(), (entries as f64 / all as f64).into()]
        });
        self.nodes.row([Cell::from(name), figures.nonzeros.into()].into_iter().chain(nodes));
        self.add_bytes(name, figures);
        self.add_products(name, figures);
        self.add_sums(name, figures);
        self.beside_mkl.add(name, figures);
    }

    fn add_bytes(&mut self, name: &str, figures: &Figures) {
        let all = [figures.hisparse_bytes, figures.csr_bytes, figures.coo_bytes].map(|bytes| bytes as f64);
        let ratios = (all[0] / all[1], all[0] / all[2]);
        let each = all.map(|bytes| Cell::from(bytes / figures.nonzeros.max(1) as f64));
        self.ratios.push(ratios);
        self.bytes.row([name.into()].into_iter().chain(each).chain([ratios.0.into(), ratios.1.into()]));
    }

    fn add_products(&mut self, name: &str, figures: &Figures) {
        let mut cells = vec![Cell::from(name)];
        for (times, means) in figures.products.into_iter().zip(&mut self.times) {
            let ProductTimes { queue, frozen, copied, csr, cusparse, mkl } = times;
            means.extend(queue.map(|tree| Times { tree, cusparse, mkl }));
            cells.extend([queue, frozen, copied, csr, cusparse].map(Cell::from));
        }
        self.products.row(cells);
    }

    fn add_sums(&mut self, name: &str, figures: &Figures) {
        let [own, transposed] = figures.sums;
        let mut cells = vec![Cell::from(name)];
        for sum in [own, transposed] {
            cells.extend([
                sum.map(|sum| sum.tree).into(),
                sum.map(|sum| sum.csr).into(),
                sum.and_then(|sum| sum.cusparse).into(),
            ]);
        }
        cells.push(transposed.and_then(|sum| sum.cusparse_transpose).into());
        self.sums.row(cells);
        let times = |sum: SumTimes| Times { tree: sum.tree, cusparse: sum.cusparse, mkl: sum.mkl };
        self.times[2].extend(own.map(times));
        if let Some(sum) = transposed {
            let with = |ms: Option<f64>, transpose: Option<f64>| Some(ms? + transpose?);
            self.times[3].push(times(sum));
            self.times[4].push(Times {
                tree: sum.tree,
                cusparse: with(sum.cusparse, sum.cusparse_transpose),
                mkl: with(sum.mkl, sum.mkl_transpose),
            });
        }
    }

    pub(super) fn finish(mut self) -> Vec<Table> {
        let count = self.ratios.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| self.ratios.iter().map(of).sum::<f64>() / count;
        let means = [mean(|ratio| ratio.0), mean(|ratio| ratio.1)];
        let empty = || [Cell::None, Cell::None, Cell::None];
        self.bytes.row([Cell::from("mean")].into_iter().chain(empty()).chain(means.map(Cell::from)));
        if self.is_published() {
            let published = [HISPARSE_OVER_CSR, HISPARSE_OVER_COO].map(Cell::from);
            self.bytes.row([Cell::from("published mean, about")].into_iter().chain(empty()).chain(published));
        }
        let means = self.means("cuSPARSE", |times| times.cusparse, |published| published.cusparse);
        let of_mkl = self.means("MKL", |times| times.mkl, |published| published.mkl);
        let mut tables = vec![self.nodes, self.bytes, self.products, self.sums, means];
        if let Some(beside_mkl) = self.beside_mkl.finish() {
            tables.extend([beside_mkl, of_mkl]);
        }
        tables
    }

    /// Returns whether the thesis has figures of the type, and not only plots.
    fn is_published(&self) -> bool {
        self.value == "f32"
    }

    /// The means beside those of a library.
    fn means(
        &self,
        library: &str,
        measured: fn(&Times) -> Option<f64>,
        published: fn(&HisparseMean) -> (f64, f64),
    ) -> Table {
        let title = if library == "cuSPARSE" { String::new() } else { format!(" beside {library}") };
        let mut means = Table::new(
            Study::Hisparse,
            &format!("Means over the matrices{title}, milliseconds, {}", self.value),
            "Tables 7.1 and 7.2, GTX 1080, single precision. Evenpath's products use the queue scheduler, as in the thesis.",
            &[
                "",
                "matrices",
                "HiSparse",
                "standard deviation",
                library,
                "standard deviation",
                "ratio",
                "published HiSparse",
                "standard deviation",
                &format!("published {library}"),
                "standard deviation",
                "ratio",
            ],
        );
        for (mean, times) in HISPARSE_MEANS.iter().zip(&self.times) {
            let own: Vec<f64> = times.iter().map(|times| times.tree).collect();
            let peers: Option<Vec<f64>> = times.iter().map(measured).collect();
            let (own, own_deviation) = mean_and_deviation(&own).unzip();
            let (peer, peer_deviation) = peers.and_then(|peers| mean_and_deviation(&peers)).unzip();
            let [(hisparse, deviation), (of_peer, deviation_of_peer)] = [mean.hisparse, published(mean)];
            let published_cells = [hisparse, deviation, of_peer, deviation_of_peer, of_peer / hisparse]
                .map(|figure| Cell::from(self.is_published().then_some(figure)));
            let cells = [
                mean.name.into(),
                times.len().into(),
                own.into(),
                own_deviation.into(),
                peer.into(),
                peer_deviation.into(),
                quotient(peer, own).into(),
            ];
            means.row(cells.into_iter().chain(published_cells));
        }
        means.note(format!(
            "{library} has a mean only if it has a time for every matrix; A + Aᵀ takes square matrices"
        ));
        means.note("the deviation is that of all matrices, not of a sample");
        means
    }
}
