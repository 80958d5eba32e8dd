//! Figures 7.1, 3.2, 7.2 and 7.3, and the means of Tables 7.1 and 7.2.

use super::STUDY;
use super::figures::{Figures, Nodes, ProductTimes, SumTimes};
use crate::statistics::mean_and_deviation;
use crate::study::published::{HISPARSE_MEANS, HISPARSE_OVER_COO, HISPARSE_OVER_CSR};
use crate::study::{Cell, Table, quotient};

/// The tables of a type.
pub(super) struct Tables {
    value: &'static str,
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
    pub(super) fn new(value: &'static str) -> Self {
        Self {
            value,
            nodes: Table::new(
                STUDY,
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
                STUDY,
                &format!("Bytes per nonzero, {value}"),
                "Figure 3.2; the thesis gives the average savings in single precision.",
                &["matrix", "HiSparse", "CSR", "COO", "over CSR", "over COO"],
            ),
            products: Table::new(
                STUDY,
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
                STUDY,
                &format!("Sums, milliseconds, {value}"),
                "Figure 7.3; the thesis has only a plot.",
                &["matrix", "A + A", "CSR", "cuSPARSE", "A + Aᵀ", "CSR", "cuSPARSE", "csr2csc"],
            ),
            ratios: Vec::new(),
            times: Default::default(),
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
            let ProductTimes { queue, frozen, copied, csr, cusparse } = times;
            means.extend(queue.map(|ms| (ms, cusparse)));
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
        self.times[2].extend(own.map(|sum| (sum.tree, sum.cusparse)));
        if let Some(SumTimes { tree, cusparse, cusparse_transpose, .. }) = transposed {
            let converted = cusparse.zip(cusparse_transpose).map(|(sum, making)| sum + making);
            self.times[3].push((tree, cusparse));
            self.times[4].push((tree, converted));
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
        let means = self.means();
        vec![self.nodes, self.bytes, self.products, self.sums, means]
    }

    /// Whether the thesis has figures of the type, and not only plots.
    fn is_published(&self) -> bool {
        self.value == "f32"
    }

    fn means(&self) -> Table {
        let mut means = Table::new(
            STUDY,
            &format!("Means over the matrices, milliseconds, {}", self.value),
            "Tables 7.1 and 7.2, GTX 1080, single precision. Evenpath's products use the queue scheduler, as in the thesis.",
            &[
                "",
                "matrices",
                "HiSparse",
                "standard deviation",
                "cuSPARSE",
                "standard deviation",
                "ratio",
                "published HiSparse",
                "standard deviation",
                "published cuSPARSE",
                "standard deviation",
                "ratio",
            ],
        );
        for (published, times) in HISPARSE_MEANS.iter().zip(&self.times) {
            let own: Vec<f64> = times.iter().map(|time| time.0).collect();
            let peers: Option<Vec<f64>> = times.iter().map(|time| time.1).collect();
            let (own, own_deviation) = mean_and_deviation(&own).unzip();
            let (peer, peer_deviation) = peers.and_then(|peers| mean_and_deviation(&peers)).unzip();
            let [(hisparse, deviation), (cusparse, peers)] = [published.hisparse, published.cusparse];
            let published_cells = [hisparse, deviation, cusparse, peers, cusparse / hisparse]
                .map(|figure| Cell::from(self.is_published().then_some(figure)));
            let cells = [
                published.name.into(),
                times.len().into(),
                own.into(),
                own_deviation.into(),
                peer.into(),
                peer_deviation.into(),
                quotient(peer, own).into(),
            ];
            means.row(cells.into_iter().chain(published_cells));
        }
        means
            .note("cuSPARSE has a mean only if it has a time for every matrix; A + Aᵀ takes square matrices");
        means.note("the deviation is that of all matrices, not of a sample");
        means
    }
}
