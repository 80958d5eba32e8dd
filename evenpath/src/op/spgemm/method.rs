use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Ways to multiply sparse matrices. Each has a name, which [`Display`](fmt::Display) writes and [`FromStr`] reads.
///
/// They differ on GPUs, real and simulated; on the CPU all are the same. Results have the same pattern with each, and
/// values that differ by rounding.
///
/// ```
/// use evenpath::{Csr, Device, SpgemmMethod, SpgemmOptions};
///
/// let a: Csr<f64> = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 3.0)])?;
/// let a = Device::best()?.upload(&a)?;
/// for method in SpgemmMethod::all() {
///     let square = a.multiply_with(&a, SpgemmOptions::new().method(method))?.download()?;
///     assert_eq!(square.to_dense()?, [6.0, 0.0, 0.0, 6.0]);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SpgemmMethod {
    /// `auto`: what suits the matrices.
    #[default]
    Auto,
    /// `row-wise`: each row of C by itself, in shared memory, by a method that suits its size; the products of an entry are
    /// added in the order of A's entries. Takes a few words a row of memory beside the result, and, where rows have more
    /// entries than shared memory holds, 2 bytes a product if there is room.
    RowWise,
    /// `two-level-sort`: all products are expanded and sorted, first within tiles and then all together (Dalton, Baxter,
    /// Merrill, Olson, Garland, "Optimizing sparse matrix operations on GPUs using merge path", IPDPS 2015, section
    /// III.D). Its time goes with the products, whatever the rows; it takes memory for all of them, or works in parts.
    TwoLevelSort,
}

const NAMES: &[(SpgemmMethod, &str)] = &[
    (SpgemmMethod::Auto, "auto"),
    (SpgemmMethod::RowWise, "row-wise"),
    (SpgemmMethod::TwoLevelSort, "two-level-sort"),
];

/// A text that names no method of multiplying sparse matrices.
///
/// ```
/// println!("{}", "by magic".parse::<evenpath::SpgemmMethod>().unwrap_err()); // says which there are
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no method of multiplying sparse matrices is called `{name}`; there are {known}")]
pub struct ParseSpgemmMethodError {
    name: String,
    known: String,
}

impl SpgemmMethod {
    /// Every method, the automatic choice first.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|&(method, _)| method)
    }
}

impl fmt::Display for SpgemmMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(method, _)| method == self) {
            Some((_, name)) => f.pad(name),
            None => unreachable!("every method has a name"),
        }
    }
}

impl FromStr for SpgemmMethod {
    type Err = ParseSpgemmMethodError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(&(method, _)) = NAMES.iter().find(|&&(_, name)| name == text) {
            return Ok(method);
        }
        let known: Vec<&str> = NAMES.iter().map(|&(_, name)| name).collect();
        Err(ParseSpgemmMethodError { name: text.into(), known: known.join(", ") })
    }
}
