//! Cases, and what is measured of them.

use serde::{Deserialize, Serialize};

/// A case. Measurements with equal cases are compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Case {
    /// An operation on a device's memory.
    Sequence {
        op: String,
        /// The type of the keys, or of the elements if there are no keys.
        key: String,
        /// The type of the values; `-` if there are none.
        value: String,
        /// The number of elements.
        n: u64,
    },
    /// An operation of a block on its tile.
    Tile {
        op: String,
        /// The bits of the keys.
        bits: u32,
    },
}

impl Case {
    /// The operation.
    pub(crate) fn op(&self) -> &str {
        let (Self::Sequence { op, .. } | Self::Tile { op, .. }) = self;
        op
    }
}

/// The figures of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Figures {
    /// For an operation on a device's memory.
    Sequence {
        /// Median time of one run.
        ms: f64,
        /// 10⁹ elements per second.
        gkeys_s: f64,
        /// 10⁹ bytes of inputs and results per second, each counted once.
        gb_s: f64,
        /// The same as a fraction of the device's copy rate.
        copy_share: f64,
        /// Bytes of temporary GPU memory, besides inputs and results.
        temporary_bytes: u64,
    },
    /// For an operation of a block on its tile, excluding loads and stores.
    Tile {
        /// Threads per block.
        threads: u32,
        /// Elements per thread.
        items: u32,
        /// Clock cycles of a block that has the device to itself.
        cycles_alone: u32,
        /// Median clock cycles per block, with eight blocks per multiprocessor.
        cycles_full: u32,
    },
}

impl Figures {
    /// The times that can be compared, in the order of [`TIMES`](super::peers::TIMES).
    pub(crate) fn times(&self) -> [Option<f64>; 3] {
        match *self {
            Self::Sequence { ms, .. } => [Some(ms), None, None],
            Self::Tile { cycles_alone, cycles_full, .. } => {
                [None, Some(f64::from(cycles_alone)), Some(f64::from(cycles_full))]
            }
        }
    }
}

/// A case and its figures.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Measurement {
    /// The library: evenpath.
    pub(crate) peer: &'static str,
    /// The case measured.
    #[serde(flatten)]
    pub(crate) case: Case,
    /// The figures.
    #[serde(flatten)]
    pub(crate) figures: Figures,
    /// True if the result was correct; `None` if there is none to check.
    pub(crate) verified: Option<bool>,
    /// Difference of the result from the correct one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) difference: Option<String>,
}

impl Measurement {
    pub(super) fn new(case: Case, figures: Figures, checked: Option<Result<(), String>>) -> Self {
        let verified = checked.as_ref().map(Result::is_ok);
        let difference = checked.and_then(Result::err);
        Self { peer: "evenpath", case, figures, verified, difference }
    }
}

/// One outcome of [`measure`].
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// A measurement.
    Measured(Measurement),
    /// A case that could not be measured, and why.
    LeftOut(String),
}
