//! Request for a run.

use std::path::PathBuf;
use std::time::Duration;

use crate::operations::Case;
use crate::suite::Source;

/// The type of the values of a matrix. `C32` is complex numbers whose parts are `f32`, `C64` those of `f64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[allow(missing_docs)]
pub(crate) enum ValueName {
    F64,
    F32,
    F16,
    Bf16,
    C32,
    C64,
}

impl ValueName {
    /// Its name on the command line and in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::C32 => "c32",
            Self::C64 => "c64",
        }
    }
}

/// Cases to measure over matrices and types, and where their rows go.
pub(crate) struct Request {
    /// The matrices, each with the name of its suite.
    pub(crate) sources: Vec<(&'static str, Source)>,
    /// The cases of each matrix.
    pub(crate) cases: Vec<Case>,
    /// The types of the values.
    pub(crate) values: Vec<ValueName>,
    /// A file that rows are appended to. Cases that it has are not measured again.
    pub(crate) out: Option<PathBuf>,
    /// The time after which no new case is started.
    pub(crate) limit: Option<Duration>,
    /// True if failed cases of the file are measured again.
    pub(crate) retry_failed: bool,
    /// True if rows are printed as JSON, not as text.
    pub(crate) json: bool,
}
