//! Measurements of the same cases by other libraries, compared with evenpath's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use thiserror::Error;

use super::case::{Case, Figures, Measurement};
use crate::columns::{Cell, decimal};

/// The fastest measurement of each case by another library, or by another evenpath.
#[derive(Debug, Clone, Default)]
pub(crate) struct Peers {
    fastest: HashMap<Case, Peer>,
}

/// A time that is compared, by its fields in files, the end of its operation's name among means, and the headings of both.
pub(crate) struct Time {
    field: &'static str,
    ratio: &'static str,
    end: &'static str,
    headings: [&'static str; 2],
}

/// Milliseconds of an operation on a device's memory; clock cycles of a block that has the device to itself, and of one of many.
pub(crate) const TIMES: [Time; 3] = [
    Time { field: "ms", ratio: "ratio", end: "", headings: ["peer ms", "ratio"] },
    Time {
        field: "cycles_alone",
        ratio: "ratio_alone",
        end: " alone",
        headings: ["peer alone", "ratio alone"],
    },
    Time { field: "cycles_full", ratio: "ratio_full", end: " full", headings: ["peer full", "ratio full"] },
];

/// A peer's measurement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Peer {
    pub(crate) name: String,
    /// The [`TIMES`] that it has.
    pub(crate) times: [Option<f64>; 3],
}

/// A measurement beside that of a peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Comparison<'p> {
    pub(crate) peer: &'p Peer,
    /// The peer's times over evenpath's: above 1, evenpath is faster.
    pub(crate) ratios: [Option<f64>; 3],
}

/// Errors in reading a peer's measurements.
#[derive(Debug, Error)]
pub(crate) enum PeersError {
    /// The file cannot be read.
    #[error("{}: {source}", .path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// A line is not a JSON object.
    #[error("{}:{line}: {source}", .path.display())]
    Line {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        source: serde_json::Error,
    },
    /// The file has no measurements.
    #[error("{}: no measurements of primitives", .path.display())]
    Empty { path: PathBuf },
}

impl Peer {
    /// The peer of a line of output, unless it has no times.
    fn new(line: &serde_json::Map<String, serde_json::Value>) -> Option<Self> {
        let times = TIMES.each_ref().map(|time| line.get(time.field).and_then(serde_json::Value::as_f64));
        let peer = Self { name: line.get("peer")?.as_str()?.into(), times };
        peer.decisive().is_some().then_some(peer)
    }

    /// The time by which peers are compared.
    fn decisive(&self) -> Option<f64> {
        self.times[0].or(self.times[2])
    }
}

impl Comparison<'_> {
    /// The fields of the peer and of the ratios.
    pub(crate) fn fields(&self) -> serde_json::Map<String, serde_json::Value> {
        let times = TIMES.iter().zip(self.peer.times).filter_map(|(time, value)| Some((time.field, value?)));
        let ratios = TIMES.iter().zip(self.ratios).filter_map(|(time, value)| Some((time.ratio, value?)));
        let numbers = times.chain(ratios).map(|(field, value)| (field.to_owned(), value.into()));
        std::iter::once(("peer".to_owned(), self.peer.name.as_str().into())).chain(numbers).collect()
    }

    /// The cells of the peer: its name, each time and each ratio.
    pub(crate) fn cells(figures: &Figures, found: Option<Self>) -> Vec<Cell> {
        let name = found.map_or_else(String::new, |found| found.peer.name.clone());
        let mut cells = vec![(" peer", -9, format!(" {name}"))];
        for (at, time) in TIMES.iter().enumerate().filter(|(at, _)| figures.times()[*at].is_some()) {
            let [of_peer, ratio] = time.headings;
            let text = |value: Option<f64>, decimals| {
                value.map_or_else(String::new, |value| decimal(value, decimals))
            };
            cells.push((of_peer, 10, text(found.and_then(|found| found.peer.times[at]), 4)));
            cells.push((ratio, 11, text(found.and_then(|found| found.ratios[at]), 3)));
        }
        cells
    }
}

impl Peers {
    /// Reads measurements from files with one JSON object per line. Other objects are skipped.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, a line is not a JSON object, or a file has no measurements.
    pub(crate) fn read(paths: &[PathBuf]) -> Result<Self, PeersError> {
        let mut peers = Self::default();
        for path in paths {
            let text = std::fs::read_to_string(path)
                .map_err(|source| PeersError::Read { path: path.clone(), source })?;
            peers.add(path, &text)?;
        }
        Ok(peers)
    }

    fn add(&mut self, path: &Path, text: &str) -> Result<(), PeersError> {
        let mut is_empty = true;
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line)
                .map_err(|source| PeersError::Line { path: path.into(), line: index + 1, source })?;
            let peer = Peer::new(&object);
            if let Some((case, peer)) = serde_json::from_value::<Case>(object.into()).ok().zip(peer) {
                is_empty = false;
                let fastest = self.fastest.entry(case).or_insert_with(|| peer.clone());
                if peer.decisive() < fastest.decisive() {
                    *fastest = peer;
                }
            }
        }
        if is_empty { Err(PeersError::Empty { path: path.into() }) } else { Ok(()) }
    }

    /// Returns whether there are no measurements.
    pub(crate) fn is_empty(&self) -> bool {
        self.fastest.is_empty()
    }

    /// The fastest peer for the case of a measurement, and the ratios.
    pub(crate) fn compare(&self, measurement: &Measurement) -> Option<Comparison<'_>> {
        let (peer, own) = (self.fastest.get(&measurement.case)?, measurement.figures.times());
        let ratio = |at: usize| Some(peer.times[at]? / own[at]?);
        Some(Comparison { peer, ratios: [ratio(0), ratio(1), ratio(2)] })
    }
}

/// The geometric means of ratios, by operation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Means {
    /// The means, in order of the first ratio of each.
    means: Vec<Mean>,
}

/// The ratios of an operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Mean {
    pub(crate) op: String,
    /// The geometric mean of the ratios.
    #[serde(rename = "geometric_mean_ratio")]
    pub(crate) ratio: f64,
    /// The lowest ratio.
    pub(crate) lowest: f64,
    /// The number of ratios.
    pub(crate) cases: usize,
}

impl Means {
    /// Adds the ratios of an operation.
    pub(crate) fn add(&mut self, op: &str, ratios: [Option<f64>; 3]) {
        for (Time { end, .. }, ratio) in TIMES.iter().zip(ratios) {
            if let Some(ratio) = ratio {
                self.add_ratio(format!("{op}{end}"), ratio);
            }
        }
    }

    fn add_ratio(&mut self, op: String, ratio: f64) {
        let position = self.means.iter().position(|mean| mean.op == op).unwrap_or_else(|| {
            self.means.push(Mean { op, ratio: 1.0, lowest: f64::INFINITY, cases: 0 });
            self.means.len() - 1
        });
        let Mean { ratio: mean, lowest, cases, .. } = &mut self.means[position];
        let count = *cases as f64;
        *mean = ((mean.ln() * count + ratio.ln()) / (count + 1.0)).exp();
        *lowest = lowest.min(ratio);
        *cases += 1;
    }

    /// All means.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Mean> {
        self.means.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"device":"a GPU","runtime":13000}
{"peer":"slow","op":"merge","key":"u32","value":"-","n":1024,"ms":3.0,"gkeys_s":1.0,"gb_s":1.0}
{"peer":"fast","op":"merge","key":"u32","value":"-","n":1024,"ms":2.0,"gkeys_s":1.0,"gb_s":1.0}

{"peer":"other","op":"merge","key":"u64","value":"-","n":1024,"ms":1.0,"gkeys_s":1.0,"gb_s":1.0}
{"peer":"cub","op":"cta_radix_sort_keys","bits":12,"threads":128,"items":11,"cycles_alone":300,"cycles_full":900}
"#;

    fn peers() -> Peers {
        let mut peers = Peers::default();
        peers.add(Path::new("peers"), TEXT).unwrap();
        peers
    }

    fn merge(key: &str, n: u64, ms: f64) -> Measurement {
        let case = Case::Sequence { op: "merge".into(), key: key.into(), value: "-".into(), n };
        let figures = Figures::Sequence { ms, gkeys_s: 1.0, gb_s: 1.0, copy_share: 0.5, temporary_bytes: 0 };
        Measurement::new(case, figures, None)
    }

    #[test]
    fn the_fastest_peer_of_the_same_case_is_compared_with() {
        let peers = peers();
        let found = peers.compare(&merge("u32", 1024, 0.5)).unwrap();
        assert_eq!((found.peer.name.as_str(), found.ratios), ("fast", [Some(4.0), None, None]));
        assert!(peers.compare(&merge("u32", 2048, 0.5)).is_none());
        assert!(peers.compare(&merge("f32", 1024, 0.5)).is_none());
    }

    #[test]
    fn tiles_are_compared_by_bits() {
        let figures = Figures::Tile { threads: 128, items: 11, cycles_alone: 100, cycles_full: 600 };
        let tile = |bits| {
            Measurement::new(
                Case::Tile { op: "cta_radix_sort_keys".into(), bits },
                figures.clone(),
                Some(Ok(())),
            )
        };
        let peers = peers();
        let found = peers.compare(&tile(12)).unwrap();
        assert_eq!((found.peer.name.as_str(), found.ratios), ("cub", [None, Some(3.0), Some(1.5)]));
        assert!(peers.compare(&tile(16)).is_none());
    }

    #[test]
    fn a_measurement_is_a_peer_too() {
        let measurement = merge("f64", 64, 0.25);
        let mut peers = Peers::default();
        peers.add(Path::new("before"), &serde_json::to_string(&measurement).unwrap()).unwrap();
        let found = peers.compare(&measurement).unwrap();
        assert_eq!((found.peer.name.as_str(), found.ratios), ("evenpath", [Some(1.0), None, None]));
    }

    #[test]
    fn files_that_are_none_are_named() {
        let mut peers = Peers::default();
        let error = peers.add(Path::new("a.jsonl"), "{\"op\":\"x\"}\n[1]\n").unwrap_err();
        assert!(error.to_string().starts_with("a.jsonl:2: "), "{error}");
        let error = peers.add(Path::new("a.jsonl"), "{\"op\":\"x\"}\n").unwrap_err();
        assert_eq!(error.to_string(), "a.jsonl: no measurements of primitives");
        let error = Peers::read(&["no/such/file".into()]).unwrap_err();
        assert!(error.to_string().starts_with("no/such/file: "), "{error}");
    }

    #[test]
    fn means_are_geometric_and_by_operation() {
        let mut means = Means::default();
        for ratio in [1.0, 4.0, 0.5] {
            means.add("merge", [Some(ratio), None, None]);
        }
        means.add("sort", [None, Some(2.0), Some(3.0)]);
        let means: Vec<_> = means.iter().map(|mean| (mean.op.as_str(), mean.cases, mean.lowest)).collect();
        assert_eq!(means, [("merge", 3, 0.5), ("sort alone", 1, 2.0), ("sort full", 1, 3.0)]);
    }
}
