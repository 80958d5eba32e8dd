use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::device::DeviceKind;

/// Methods of SpMV. Each has a name, which [`Display`](fmt::Display) writes and [`FromStr`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SpmvMethod {
    /// `auto`: whatever the plan takes to be fastest.
    #[default]
    Auto,
    /// `merge-path`: 2D merge path, equal shares of row ends and nonzeros, whatever the shape (Merrill, Garland, SC 2016).
    MergePath,
    /// `row-parallel`, on the CPU: every thread takes whole rows, of equal shares of row ends and nonzeros.
    RowParallel,
    /// `row-tiles`: every warp takes equally many consecutive rows, with their products in shared memory.
    RowTiles,
    /// `binned`: row tiles, with the rows that are much longer than most cut into pieces, each a warp's work.
    Binned,
    /// `windows`: row tiles, with the elements of x that a block of rows uses in shared memory too.
    Windows,
}

const NAMES: &[(SpmvMethod, &str)] = &[
    (SpmvMethod::Auto, "auto"),
    (SpmvMethod::MergePath, "merge-path"),
    (SpmvMethod::RowParallel, "row-parallel"),
    (SpmvMethod::RowTiles, "row-tiles"),
    (SpmvMethod::Binned, "binned"),
    (SpmvMethod::Windows, "windows"),
];

/// A text that names no method of SpMV.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no method of SpMV is called `{name}`; there are {known}")]
pub struct ParseSpmvMethodError {
    name: String,
    known: String,
}

impl SpmvMethod {
    /// Every method, `auto` first.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|&(method, _)| method)
    }

    /// Whether devices of a kind have the method.
    pub fn runs_on(self, kind: DeviceKind) -> bool {
        match self {
            Self::Auto | Self::MergePath => true,
            Self::RowParallel => kind == DeviceKind::Cpu,
            _ => kind != DeviceKind::Cpu,
        }
    }

    /// The names of the methods for which `is_wanted` holds, with commas between.
    pub(super) fn names(is_wanted: impl Fn(Self) -> bool) -> String {
        let wanted: Vec<&str> =
            NAMES.iter().filter(|&&(method, _)| is_wanted(method)).map(|&(_, name)| name).collect();
        wanted.join(", ")
    }
}

impl fmt::Display for SpmvMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(method, _)| method == self) {
            Some((_, name)) => f.pad(name),
            None => unreachable!("every method has a name"),
        }
    }
}

impl FromStr for SpmvMethod {
    type Err = ParseSpmvMethodError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(&(method, _)) = NAMES.iter().find(|&&(_, name)| name == text) {
            return Ok(method);
        }
        Err(ParseSpmvMethodError { name: text.into(), known: Self::names(|_| true) })
    }
}
