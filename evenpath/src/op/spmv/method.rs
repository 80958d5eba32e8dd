use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Methods of SpMV. Each has a name, which [`Display`](fmt::Display) writes and [`FromStr`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SpmvMethod {
    /// `auto`: whatever the plan takes to be fastest.
    #[default]
    Auto,
    /// `merge-path`: 2D merge path, equal shares of row ends and nonzeros, whatever the shape (Merrill, Garland, SC 2016).
    MergePath,
    /// `row-tiles`: every warp takes equally many consecutive rows, with their products in shared memory.
    RowTiles,
    /// `windows`: row tiles, with the elements of x that a block of rows uses in shared memory too.
    Windows,
}

const NAMES: &[(SpmvMethod, &str)] = &[
    (SpmvMethod::Auto, "auto"),
    (SpmvMethod::MergePath, "merge-path"),
    (SpmvMethod::RowTiles, "row-tiles"),
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
        let known: Vec<&str> = NAMES.iter().map(|&(_, name)| name).collect();
        Err(ParseSpmvMethodError { name: text.into(), known: known.join(", ") })
    }
}
