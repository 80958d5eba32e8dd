//! One measurement.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Contender, Op};

/// An operation on a matrix with one value type: its work, all times, and whether results are correct.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// The case measured.
    #[serde(flatten)]
    pub(crate) key: Key,
    /// The size of the matrix; `None` if it could not be read.
    pub(crate) shape: Option<Shape>,
    /// The parameters that were drawn for the matrix, if its structure is random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) structure: Option<String>,
    /// The outcome.
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

/// The identity of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Key {
    pub(crate) op: Op,
    /// The case of the operation, such as `32 columns`; empty if there is only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) variant: String,
    pub(crate) suite: String,
    pub(crate) matrix: String,
    /// The type of the values.
    pub(crate) value: String,
}

/// The size of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) nnz: usize,
}

/// The outcome of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Outcome {
    /// Success.
    Measured(Box<Figures>),
    /// Failure.
    Failed { failed: String },
}

/// Figures of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// True if all results of evenpath are correct; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verified: Option<bool>,
    /// The measure that time should be proportional to: nonzeros, nonzeros of A and B, nonzeros times
    /// columns of B, or products.
    pub(crate) work: u64,
    /// Floating-point operations.
    pub(crate) operations: u64,
    /// Bytes of all operands and results, each counted once.
    pub(crate) bytes: u64,
    /// The name of evenpath's fastest way with a correct result.
    pub(crate) method: Option<String>,
    /// Its milliseconds.
    pub(crate) ms: Option<f64>,
    /// The best time of each library, divided by `ms`; and that of each version if a library was measured in several.
    pub(crate) ratio: BTreeMap<String, f64>,
    /// Evenpath's ways.
    pub(crate) ours: Vec<Contender>,
    /// The libraries' algorithms.
    pub(crate) peers: Vec<Contender>,
    /// Further figures of the operation, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) more: BTreeMap<String, f64>,
}

/// The fastest contender with a correct result.
fn best<'c>(contenders: impl IntoIterator<Item = &'c Contender>) -> Option<(&'c Contender, f64)> {
    let right = contenders.into_iter().filter_map(|one| Some((one, one.right_ms()?)));
    right.min_by(|a, b| a.1.total_cmp(&b.1))
}

impl Figures {
    /// Computes the figures from all contenders.
    pub(crate) fn new(
        (work, operations, bytes): (u64, u64, u64),
        ours: Vec<Contender>,
        peers: Vec<Contender>,
        more: BTreeMap<String, f64>,
    ) -> Self {
        let is_there = ours.iter().any(|own| own.ms.is_some());
        let mut figures = Self {
            verified: is_there.then(|| !ours.iter().any(Contender::is_wrong)),
            work,
            operations,
            bytes,
            method: None,
            ms: None,
            ratio: BTreeMap::new(),
            ours,
            peers,
            more,
        };
        if let Some((own, ms)) = best(&figures.ours) {
            let method = own.method().to_owned();
            figures.count(method, ms);
        }
        figures
    }

    /// The same figures with the time of one contender of evenpath, whether it is the fastest or not.
    pub(crate) fn by(&self, name: &str) -> Self {
        let mut figures = Self { method: None, ms: None, ratio: BTreeMap::new(), ..self.clone() };
        if let Some((own, ms)) = self.own(name).and_then(|own| Some((own, own.right_ms()?))) {
            figures.count(own.method().to_owned(), ms);
        }
        figures
    }

    /// Counts this method and its milliseconds as evenpath's.
    fn count(&mut self, method: String, ms: f64) {
        (self.method, self.ms) = (Some(method), Some(ms));
        for library in self.libraries() {
            if let Some((_, peer_ms)) = self.best_peer(&library) {
                self.ratio.insert(library, peer_ms / ms);
            }
        }
    }

    /// The names of the libraries among the peers, and of each version of one that was measured in several.
    pub(crate) fn libraries(&self) -> Vec<String> {
        let mut libraries = BTreeSet::new();
        for peer in &self.peers {
            libraries.insert(peer.library.clone());
            let is_other = |other: &Contender| other.library == peer.library && other.version != peer.version;
            if peer.version.is_some() && self.peers.iter().any(is_other) {
                libraries.insert(peer.full_name());
            }
        }
        libraries.into_iter().collect()
    }

    /// The fastest algorithm with a correct result of a library, or of a version of it.
    pub(crate) fn best_peer(&self, library: &str) -> Option<(&Contender, f64)> {
        best(self.peers.iter().filter(|peer| peer.is_of(library)))
    }

    /// The least milliseconds of the setup and this many runs of a library's algorithms with a correct result.
    pub(crate) fn least_total_ms(&self, library: &str, runs: u32) -> Option<f64> {
        let totals =
            self.peers.iter().filter(|peer| peer.is_of(library)).filter_map(|peer| peer.total_ms(runs));
        totals.min_by(f64::total_cmp)
    }

    /// Evenpath's contender whose time counts: the fastest with a correct result, unless [`Figures::by`] chose another.
    pub(crate) fn counted(&self) -> Option<&Contender> {
        self.ours.iter().find(|own| own.right_ms().is_some_and(|ms| Some(ms) == self.ms))
    }

    /// Evenpath's contender with this name.
    pub(crate) fn own(&self, name: &str) -> Option<&Contender> {
        self.ours.iter().find(|own| own.name == name)
    }

    /// The milliseconds of a library's fastest algorithm for CSR.
    pub(crate) fn csr_ms(&self, library: &str) -> Option<f64> {
        best(self.peers.iter().filter(|peer| peer.library == library && peer.format.is_none()))
            .map(|(_, ms)| ms)
    }

    /// Runs until the setup of a contender is recovered, against the fastest peer without one. `None` without such a peer, or if
    /// it is not slower.
    pub(crate) fn break_even(&self, own: &Contender) -> Option<u64> {
        let unprepared = self.peers.iter().filter(|peer| peer.setup_ms.is_none_or(|ms| ms == 0.0));
        let (gain, setup) = (best(unprepared)?.1 - own.ms?, own.setup_ms?);
        (gain > 0.0).then(|| (setup / gain).ceil() as u64)
    }

    /// The distinct errors of the algorithms of a library, or of a version of it.
    pub(crate) fn refusals(&self, library: &str) -> Vec<&str> {
        let mut reasons: Vec<&str> = Vec::new();
        for peer in self.peers.iter().filter(|peer| peer.is_of(library)) {
            reasons.extend(peer.error.as_deref().filter(|reason| !reasons.contains(reason)));
        }
        reasons
    }
}

impl Row {
    /// A row without figures.
    pub(crate) fn failed(key: Key, shape: Option<Shape>, reason: impl Into<String>) -> Self {
        Self { key, shape, structure: None, outcome: Outcome::Failed { failed: reason.into() } }
    }

    /// A row with figures.
    pub(crate) fn measured(key: Key, shape: Option<Shape>, figures: Figures) -> Self {
        Self { key, shape, structure: None, outcome: Outcome::Measured(Box::new(figures)) }
    }

    /// Adds the parameters of a random structure.
    #[must_use]
    pub(crate) fn of_structure(self, structure: Option<String>) -> Self {
        Self { structure, ..self }
    }

    /// Bytes of x and of y, for operations on vectors.
    pub(crate) fn vector_bytes(&self) -> u64 {
        let size = match self.key.value.as_str() {
            "c64" => 16,
            "f64" | "c32" => 8,
            _ => 4,
        };
        self.shape.map_or(0, |shape| ((shape.rows + shape.cols) * size) as u64)
    }

    /// Bytes of the matrix in CSR with row offsets of 32 bits; `None` without its size.
    pub(crate) fn csr_bytes(&self) -> Option<u64> {
        let size: u64 = match self.key.value.as_str() {
            "c64" => 16,
            "f64" | "c32" => 8,
            "f16" | "bf16" => 2,
            _ => 4,
        };
        self.shape.map(|shape| 4 * (shape.rows as u64 + 1) + shape.nnz as u64 * (4 + size))
    }

    /// The figures, if there are any.
    pub(crate) fn figures(&self) -> Option<&Figures> {
        match &self.outcome {
            Outcome::Measured(figures) => Some(figures),
            Outcome::Failed { .. } => None,
        }
    }

    /// The contenders of evenpath.
    pub(crate) fn ours(&self) -> &[Contender] {
        self.figures().map_or(&[], |figures| &figures.ours)
    }

    /// Milliseconds of evenpath's contender with this name, if it ran with a correct result.
    pub(crate) fn own_ms(&self, name: &str) -> Option<f64> {
        self.figures()?.own(name)?.right_ms()
    }

    /// A further figure.
    pub(crate) fn more(&self, name: &str) -> Option<f64> {
        self.figures()?.more.get(name).copied()
    }

    /// The number of nonzeros.
    pub(crate) fn nonzeros(&self) -> usize {
        self.shape.map_or(0, |shape| shape.nnz)
    }

    /// The reason why evenpath has no time; `None` if it has one.
    pub(crate) fn failure(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Failed { failed } => Some(failed.clone()),
            Outcome::Measured(figures) if figures.ms.is_some() => None,
            Outcome::Measured(figures) => {
                let reasons = figures
                    .ours
                    .iter()
                    .filter_map(|own| Some(format!("{}: {}", own.name, own.error.as_ref()?)));
                Some(reasons.collect::<Vec<_>>().join("; "))
            }
        }
    }

    /// Returns whether a result of evenpath is wrong.
    pub(crate) fn is_wrong(&self) -> bool {
        self.figures().is_some_and(|figures| figures.verified == Some(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Times;

    fn ran(library: &str, name: &str, ms: f64, wrong: Option<&str>) -> Contender {
        let checked = wrong.map_or(Ok(()), |text| Err(text.into()));
        Contender::ran(library, name, &Times::of_runs(vec![ms]), checked)
    }

    fn figures(ours: Vec<Contender>, peers: Vec<Contender>) -> Figures {
        Figures::new((1, 2, 3), ours, peers, BTreeMap::new())
    }

    fn key() -> Key {
        let (suite, matrix) = ("folder".into(), "cage11".into());
        Key { op: Op::Spmm, variant: "32 columns".into(), suite, matrix, value: "f64".into() }
    }

    #[test]
    fn the_fastest_right_ones_are_compared() {
        let ours = vec![ran("evenpath", "slow", 3.0, None), ran("evenpath", "fast", 2.0, None)];
        let peers = vec![
            ran("cusparse", "wrong", 0.5, Some("y[0]")),
            ran("cusparse", "right", 5.0, None),
            Contender::refused("mkl", "all", &"no"),
            Contender::refused("mkl", "other", &"no"),
        ];
        let figures = figures(ours, peers);
        assert_eq!(
            (figures.method.as_deref(), figures.ms, figures.verified),
            (Some("fast"), Some(2.0), Some(true))
        );
        assert_eq!(figures.ratio, BTreeMap::from([("cusparse".to_owned(), 2.5)]));
        assert_eq!(figures.refusals("mkl"), ["no"]);
    }

    #[test]
    fn versions_are_compared_together_and_alone() {
        let peer =
            |version, name, ms, difference| ran("cusparse", name, ms, difference).of_version(Some(version));
        let refused = Contender::refused("cusparse", "SpGEAM", &"no memory").of_version(Some("12.8.1"));
        let peers = vec![
            peer("12.6.3", "CSR_ALG1", 5.0, None),
            peer("12.9.4", "CSR_ALG1", 4.0, None),
            peer("12.9.4", "SPMV_OP", 1.0, Some("y[0]")),
            refused,
            ran("sprs", "csr", 8.0, None),
        ];
        let figures = figures(vec![ran("evenpath", "auto", 2.0, None)], peers);
        let ratios: Vec<_> = figures.ratio.iter().map(|(name, ratio)| (name.as_str(), *ratio)).collect();
        let expected = [("cusparse", 2.0), ("cusparse 12.6.3", 2.5), ("cusparse 12.9.4", 2.0), ("sprs", 4.0)];
        assert_eq!(ratios, expected);
        assert_eq!(figures.refusals("cusparse 12.8.1"), ["no memory"]);
        let fastest = figures.best_peer("cusparse").map(|(peer, _)| peer.full_name());
        assert_eq!(fastest.as_deref(), Some("cusparse 12.9.4"));
    }

    #[test]
    fn another_way_than_the_fastest_can_count() {
        let wide = Times::of_runs(vec![2.0, 4.0, 7.0]);
        let auto =
            Contender { chosen: Some("slow".into()), ..Contender::ran("evenpath", "auto", &wide, Ok(())) };
        let wrong = ran("evenpath", "wrong", 1.0, Some("y[0]"));
        let ours = vec![ran("evenpath", "fast", 2.0, None), auto, wrong];
        let figures = figures(ours, vec![ran("cusparse", "CSR_ALG1", 3.0, None)]);
        assert_eq!(figures.counted().map(|own| own.name.as_str()), Some("fast"));
        let by = figures.by("auto");
        assert_eq!((by.method.as_deref(), by.ms, by.ratio["cusparse"]), (Some("slow"), Some(4.0), 0.75));
        assert!(by.counted().is_some_and(|own| own.name == "auto" && own.is_wide()));
        for name in ["wrong", "absent"] {
            let by = figures.by(name);
            assert_eq!((by.method.as_deref(), by.ms, by.ratio.len()), (None, None, 0));
            assert!(by.counted().is_none() && by.ours == figures.ours);
        }
    }

    #[test]
    fn a_plan_pays_for_itself_after_the_runs_that_win_its_time_back() {
        let peers = |ms| {
            let prepared = Contender { setup_ms: Some(1.0), ..ran("cusparse", "prepared", 0.1, None) };
            vec![ran("cusparse", "plain", ms, None), prepared]
        };
        let runs = |setup_ms, peer_ms| {
            let own = Contender { setup_ms: Some(setup_ms), ..ran("evenpath", "auto", 0.75, None) };
            figures(vec![own.clone()], peers(peer_ms)).break_even(&own)
        };
        assert_eq!([runs(1.0, 1.0), runs(1.1, 1.0), runs(0.0, 1.0)], [4, 5, 0].map(Some));
        assert_eq!(runs(1.0, 0.75), None);
    }

    #[test]
    fn a_wrong_result_is_no_time() {
        let ours = vec![ran("evenpath", "auto", 1.0, Some("y[0] is 1"))];
        let row = Row::measured(key(), None, figures(ours, vec![]));
        assert!(row.is_wrong());
        assert_eq!(row.failure().as_deref(), Some("auto: wrong: y[0] is 1"));
    }

    #[test]
    fn without_a_result_nothing_is_verified() {
        let refused = || Contender::refused("evenpath", "auto", &"out of memory");
        let peers = vec![ran("cusparse", "right", 5.0, None)];
        let figures = figures(vec![refused(), refused()], peers);
        assert_eq!((figures.verified, figures.ms), (None, None));
        let row = Row::measured(key(), None, figures);
        assert!(!row.is_wrong() && row.failure().is_some());
        assert!(!serde_json::to_string(&row).unwrap().contains("verified"));
        let some = self::figures(vec![refused(), ran("evenpath", "slow", 3.0, None)], vec![]);
        assert_eq!(some.verified, Some(true));
    }

    #[test]
    fn lines_round_trip() {
        let shape = Some(Shape { rows: 1, cols: 2, nnz: 3 });
        let times = Times::of_runs(vec![0.1, 0.125, 0.2]);
        let ours = vec![
            Contender { bytes: Some(1), ..Contender::ran("evenpath", "auto", &times, Ok(())) },
            Contender { timing: None, ..ran("evenpath", "as in older files", 0.125, None) },
            ran("evenpath", "of a version", 0.125, None).of_version(Some("0.2.0")),
        ];
        assert!(ours[0].is_wide() && !ours[1].is_wide());
        let measured =
            Row::measured(key(), shape, figures(ours, vec![])).of_structure(Some("block=1".into()));
        let refused = figures(vec![Contender::refused("evenpath", "auto", &"out of memory")], vec![]);
        let refused = Row::measured(key(), shape, refused);
        for row in [measured, refused, Row::failed(key(), None, "out of memory")] {
            let line = serde_json::to_string(&row).unwrap();
            assert_eq!(serde_json::from_str::<Row>(&line).unwrap(), row, "{line}");
        }
    }
}
