//! The summary of rows: one for each operation, case, type and method of evenpath.

use std::collections::BTreeSet;
use std::fmt;

use crate::operations::hisparse::{BY_ROW, FROZEN};
use crate::operations::triangular::RUNS;
use crate::results::{Comparison, Contender, Figures, Key, OTHERS, Op, Row, SUMS, Size};
use crate::statistics::{correlation, geometric_mean};

/// The number of nonzeros from which a matrix is large, so that work dominates over launch overhead.
const LARGE: usize = 1_000_000;

/// The correct results of a method, each with its row. Those of SpMV are apart by the size of the matrix.
pub(crate) struct Summary<'r> {
    key: &'r Key,
    method: &'r str,
    size: Option<Size>,
    rows: Vec<(&'r Row, &'r Figures, &'r Contender, f64)>,
}

impl<'r> Summary<'r> {
    /// The summaries of all rows, in order of appearance.
    pub(crate) fn all(rows: &'r [Row]) -> Vec<Self> {
        let mut summaries: Vec<Self> = Vec::new();
        for row in rows {
            let Some(figures) = row.figures() else { continue };
            let size = (row.key.op == Op::Spmv).then(|| Size::of(row));
            for own in &figures.ours {
                let Some(ms) = own.right_ms() else { continue };
                let found = (row, figures, own, ms);
                let is_it = |known: &&mut Self| {
                    let kind = |key: &'r Key| (key.op, key.variant.as_str(), key.value.as_str());
                    (kind(known.key), known.method, known.size) == (kind(&row.key), &own.name, size)
                };
                match summaries.iter_mut().find(is_it) {
                    Some(known) => known.rows.push(found),
                    None => {
                        summaries.push(Self { key: &row.key, method: &own.name, size, rows: vec![found] });
                    }
                }
            }
        }
        summaries
    }

    /// Rows with a library's time over the method's: of its fastest algorithm or, for CSR alone, of those.
    fn beside(&self, library: &str, is_csr: bool) -> Comparison<'r> {
        let ratio = |&(row, figures, _, ms): &(&'r Row, &'r Figures, &'r Contender, f64)| {
            let peer =
                if is_csr { figures.csr_ms(library) } else { figures.best_peer(library).map(|best| best.1) };
            Some((peer? / ms, row))
        };
        Comparison::of(self.rows.iter().filter_map(ratio))
    }

    /// Rows with a library's time over the method's, for a setup and [`RUNS`] runs.
    fn with_setup(&self, library: &str) -> Comparison<'r> {
        let ratio = |&(row, figures, own, _): &(&'r Row, &'r Figures, &'r Contender, f64)| {
            Some((figures.least_total_ms(library, RUNS)? / own.total_ms(RUNS)?, row))
        };
        Comparison::of(self.rows.iter().filter_map(ratio))
    }

    /// The largest of some figures, with its matrix.
    fn most(&self, of: impl Fn(&'r Figures, &'r Contender, f64) -> Option<f64>) -> Option<(f64, &'r str)> {
        let found = self
            .rows
            .iter()
            .filter_map(|(row, figures, own, ms)| Some((of(figures, own, *ms)?, row.key.matrix.as_str())));
        found.max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Key { op, variant, value, .. } = self.key;
        let separator = if variant.is_empty() { "" } else { ", " };
        let size = self.size.map_or_else(String::new, |size| format!(", {}", size.name()));
        write!(f, "{op}{separator}{variant} {value}, {}{size}: {} matrices", self.method, self.rows.len())?;
        let of_work: Vec<_> =
            self.rows.iter().map(|(_, figures, _, ms)| (figures.work as f64, *ms)).collect();
        if let Some(found) = correlation(&of_work).filter(|_| of_work.len() > 2) {
            write!(f, "; correlation of time with work {found:.4}")?;
        }
        if let Some((runs, matrix)) = self.most(|_, own, ms| Some(own.setup_ms? / ms)) {
            write!(f, "; longest setup {runs:.1} runs ({matrix})")?;
        }
        if let Some((share, matrix)) = self.most(|_, own, ms| Some(own.values_ms? / ms)) {
            write!(f, "; with a known pattern at most {share:.3} of the time ({matrix})")?;
        }
        let libraries: BTreeSet<_> =
            self.rows.iter().flat_map(|(_, figures, ..)| figures.libraries()).collect();
        for library in libraries {
            let has_other = |peer: &Contender| peer.library == library && peer.format.is_some();
            let has_other = self.rows.iter().any(|(_, figures, ..)| figures.peers.iter().any(has_other));
            for is_csr in if has_other { &[false, true][..] } else { &[false] } {
                let all = self.beside(&library, *is_csr);
                let (large, small) =
                    (all.of_nonzeros(|nnz| nnz >= LARGE), all.of_nonzeros(|nnz| nnz < LARGE));
                let format = if *is_csr { " by CSR" } else { "" };
                write!(f, "\n  {library}{format} on {}: geometric mean {}", all.compared(), all.mean())?;
                if large.compared() > 0 {
                    write!(f, "; lowest with a million nonzeros or more {}", large.lowest())?;
                }
                write!(f, "; slower on {} of {} smaller", small.slower(), small.compared())?;
            }
            if *op == Op::Triangular {
                let (all, total) = (self.beside(&library, false), self.with_setup(&library));
                let [share, of_total] =
                    [&all, &total].map(|of| format!("{} of {}", of.faster(), of.compared()));
                write!(
                    f,
                    "; faster on {share}; with a setup for {RUNS} runs {}, faster on {of_total}",
                    total.mean()
                )?;
            }
            let memory = self.most(|figures, own, _| {
                Some(
                    own.bytes? as f64
                        / figures.best_peer(&library)?.0.bytes.filter(|bytes| *bytes > 0)? as f64,
                )
            });
            if let Some((ratio, matrix)) = memory {
                write!(f, "; at most {ratio:.3} of its memory ({matrix})")?;
            }
        }
        let is_of_tree = *op == Op::Hisparse && [FROZEN, BY_ROW].contains(&self.method);
        for ratio in SUMS.iter().chain(&OTHERS).filter(|_| is_of_tree) {
            let values: Vec<f64> = self.rows.iter().filter_map(|(row, ..)| ratio.of(row)).collect();
            if let Some(mean) = geometric_mean(values.iter().copied()) {
                write!(f, "\n  {} on {}: geometric mean {mean:.3}", ratio.name, values.len())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::measure::Times;
    use crate::results::Shape;

    fn ran(library: &str, version: &str, ms: f64) -> Contender {
        let contender = Contender::ran(library, "one", &Times::of_runs(vec![ms]), Ok(()));
        contender.of_version(Some(version).filter(|version| !version.is_empty()))
    }

    fn row(matrix: &str, nnz: usize, own: f64, peers: Vec<Contender>) -> Row {
        let (variant, suite, value) = (String::new(), "-".into(), "f64".into());
        let key = Key { op: Op::Spmm, variant, suite, matrix: matrix.into(), value };
        let own = Contender {
            name: "auto".into(),
            setup_ms: Some(2.0 * own),
            values_ms: Some(own / 2.0),
            bytes: Some(10),
            ..ran("evenpath", "", own)
        };
        let figures = Figures::new((nnz as u64, 2, 3), vec![own], peers, BTreeMap::new());
        Row::measured(key, Some(Shape { rows: 1, cols: 1, nnz }), figures)
    }

    #[test]
    fn ratios_are_to_the_fastest_right_algorithm() {
        let wrong = Contender { error: Some("wrong".into()), ..ran("cusparse", "", 0.1) };
        let peer = |ms| Contender { bytes: Some(40), ..ran("cusparse", "", ms) };
        let rows = [
            row("a", 2_000_000, 1.0, vec![peer(4.0), wrong]),
            row("b", 4_000_000, 2.0, vec![peer(2.0)]),
            row("c", 10, 2.0, vec![peer(1.0)]),
        ];
        let [summary] = &Summary::all(&rows)[..] else { panic!("one method, one type") };
        // 4, 1 and 1/2; and (2, 4, 0) with (1, 2, 2), by hand: covariance 0.
        let expected = "spmm f64, auto: 3 matrices; correlation of time with work 0.0000; longest setup 2.0 runs (c); with a \
                        known pattern at most 0.500 of the time (c)\n  cusparse on 3: geometric mean 1.260; lowest with a \
                        million nonzeros or more 1.00 (b); slower on 1 of 1 smaller; at most 0.250 of its memory (c)";
        let text = summary.to_string().replace("-0.0000", "0.0000");
        assert_eq!(text, expected);
    }

    #[test]
    fn small_matrices_of_spmv_are_apart() {
        let peer = |ms| vec![ran("cusparse", "", ms)];
        let mut rows = [
            row("a", 2_000_000, 1.0, peer(4.0)),
            row("b", 10, 1.0, peer(0.5)),
            row("c", 2_000_000, 1.0, peer(9.0)),
        ];
        for row in &mut rows {
            row.key.op = Op::Spmv;
        }
        let [large, small] = &Summary::all(&rows)[..] else { panic!("two sizes") };
        let (large, small) = (large.to_string(), small.to_string());
        assert!(large.starts_with("spmv f64, auto, 4 MB and more: 2 matrices;"), "{large}");
        assert!(large.contains("cusparse on 2: geometric mean 6.000"), "{large}");
        assert!(small.starts_with("spmv f64, auto, under 4 MB: 1 matrices;"), "{small}");
        assert!(small.contains("cusparse on 1: geometric mean 0.500"), "{small}");
    }

    #[test]
    fn solves_are_compared_with_their_setup() {
        // 20 + 10 ms beside 2 + 10 ms; the faster run of the peer has the longer setup.
        let slow = Contender { setup_ms: Some(100.0), ..ran("cusparse", "", 0.5) };
        let peer = Contender { setup_ms: Some(20.0), name: "other".into(), ..ran("cusparse", "", 1.0) };
        let mut rows = [row("a", 1, 1.0, vec![slow, peer])];
        rows[0].key.op = Op::Triangular;
        let text = Summary::all(&rows)[0].to_string();
        assert!(
            text.contains("; faster on 0 of 1; with a setup for 10 runs 2.500, faster on 1 of 1"),
            "{text}"
        );
    }

    #[test]
    fn versions_and_algorithms_for_csr_are_compared_alone_too() {
        let coo = Contender { format: Some("coo".into()), ..ran("cusparse", "12.9.4", 1.0) };
        let rows =
            [row("a", 1, 1.0, vec![ran("cusparse", "12.6.3", 4.0), ran("cusparse", "12.9.4", 2.0), coo])];
        let text = Summary::all(&rows)[0].to_string();
        for line in [
            "  cusparse on 1: geometric mean 1.000;",
            "  cusparse by CSR on 1: geometric mean 2.000;",
            "  cusparse 12.6.3 on 1: geometric mean 4.000;",
            "  cusparse 12.9.4 on 1: geometric mean 1.000;",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
    }
}
