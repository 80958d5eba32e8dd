//! Measurements of the same cases by other libraries, compared with evenpath's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::case::{Case, Figures, Measurement};

/// The fastest measurement of each case by another library, or by another evenpath.
#[derive(Debug, Clone, Default)]
pub(crate) struct Peers {
    fastest: HashMap<Case, Peer>,
}

/// A peer's measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Peer {
    /// Its name.
    #[serde(rename = "peer")]
    pub(crate) name: String,
    /// Its times.
    #[serde(flatten)]
    pub(crate) times: Times,
}

/// The times of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Times {
    /// An operation on a device's memory.
    Sequence {
        /// Milliseconds.
        ms: f64,
    },
    /// An operation of a block on its tile.
    Tile {
        /// Clock cycles of a block that has the device to itself.
        cycles_alone: f64,
        /// Clock cycles of one of many blocks.
        cycles_full: f64,
    },
}

/// The peer's time over evenpath's: above 1, evenpath is faster.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Ratio {
    /// The ratio of milliseconds.
    Sequence {
        /// The ratio.
        ratio: f64,
    },
    /// The ratios of clock cycles.
    Tile {
        /// For a block that has the device to itself.
        ratio_alone: f64,
        /// For one of many blocks.
        ratio_full: f64,
    },
}

/// Why a peer's measurements cannot be used.
#[derive(Debug, Error)]
pub(crate) enum PeersError {
    /// The file cannot be read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A line is not a JSON object.
    #[error("{}:{line}: {source}", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Its fault.
        source: serde_json::Error,
    },
    /// The file has no measurements.
    #[error("{}: no measurements of primitives", .path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// A line of a peer's output that is a measurement.
#[derive(Deserialize)]
struct PeerLine {
    #[serde(flatten)]
    case: Case,
    #[serde(flatten)]
    peer: Peer,
}

impl Times {
    /// The time by which peers are compared.
    fn decisive(self) -> f64 {
        let (Self::Sequence { ms: time } | Self::Tile { cycles_full: time, .. }) = self;
        time
    }

    fn over(self, figures: &Figures) -> Option<Ratio> {
        match (self, figures) {
            (Self::Sequence { ms: peer }, Figures::Sequence { ms, .. }) => {
                Some(Ratio::Sequence { ratio: peer / ms })
            }
            (
                Self::Tile { cycles_alone: peer_alone, cycles_full: peer_full },
                &Figures::Tile { cycles_alone, cycles_full, .. },
            ) => Some(Ratio::Tile {
                ratio_alone: peer_alone / f64::from(cycles_alone),
                ratio_full: peer_full / f64::from(cycles_full),
            }),
            _ => None,
        }
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
            if let Ok(PeerLine { case, peer }) = serde_json::from_value(object.into()) {
                is_empty = false;
                let fastest = self.fastest.entry(case).or_insert_with(|| peer.clone());
                if peer.times.decisive() < fastest.times.decisive() {
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

    /// The fastest peer for the case of a measurement, and the ratio.
    pub(crate) fn compare(&self, measurement: &Measurement) -> Option<(&Peer, Ratio)> {
        let peer = self.fastest.get(&measurement.case)?;
        Some((peer, peer.times.over(&measurement.figures)?))
    }
}

/// The geometric means of ratios, by operation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Means {
    /// In order of the first ratio of each.
    means: Vec<Mean>,
}

/// The ratios of an operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Mean {
    /// The operation.
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
    /// Adds a ratio.
    pub(crate) fn add(&mut self, op: &str, ratio: Ratio) {
        match ratio {
            Ratio::Sequence { ratio } => self.add_ratio(op.into(), ratio),
            Ratio::Tile { ratio_alone, ratio_full } => {
                self.add_ratio(format!("{op} alone"), ratio_alone);
                self.add_ratio(format!("{op} full"), ratio_full);
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
        let (peer, ratio) = peers.compare(&merge("u32", 1024, 0.5)).unwrap();
        assert_eq!((peer.name.as_str(), ratio), ("fast", Ratio::Sequence { ratio: 4.0 }));
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
        let (peer, ratio) = peers.compare(&tile(12)).unwrap();
        assert_eq!((peer.name.as_str(), ratio), ("cub", Ratio::Tile { ratio_alone: 3.0, ratio_full: 1.5 }));
        assert!(peers.compare(&tile(16)).is_none());
    }

    #[test]
    fn a_measurement_is_a_peer_too() {
        let measurement = merge("f64", 64, 0.25);
        let mut peers = Peers::default();
        peers.add(Path::new("before"), &serde_json::to_string(&measurement).unwrap()).unwrap();
        let (peer, ratio) = peers.compare(&measurement).unwrap();
        assert_eq!((peer.name.as_str(), ratio), ("evenpath", Ratio::Sequence { ratio: 1.0 }));
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
            means.add("merge", Ratio::Sequence { ratio });
        }
        means.add("sort", Ratio::Tile { ratio_alone: 2.0, ratio_full: 3.0 });
        let means: Vec<_> = means.iter().map(|mean| (mean.op.as_str(), mean.cases, mean.lowest)).collect();
        assert_eq!(means, [("merge", 3, 0.5), ("sort alone", 1, 2.0), ("sort full", 1, 3.0)]);
    }
}
