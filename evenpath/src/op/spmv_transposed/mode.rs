use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Ways to multiply with the transpose. Each has a name, which [`Display`](fmt::Display) writes and [`FromStr`] reads.
///
/// They differ on GPUs, real and simulated; on the CPU all are the same, and repeatable.
///
/// ```
/// use evenpath::{Csr, Device, TransposedMode, TransposedOptions};
///
/// let a: Csr<f64> = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 1, 3.0)])?;
/// let device = Device::best()?;
/// let a = device.upload(&a)?;
/// for mode in TransposedMode::all() {
///     let (x, mut y) = (device.upload_slice(&[1.0, 1.0])?, device.zeros(2)?);
///     a.plan_spmv_transposed(TransposedOptions::with_mode(mode))?.run(1.0, &x, 0.0, &mut y)?;
///     assert_eq!(y.to_vec()?, [0.0, 5.0], "{mode}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum TransposedMode {
    /// `ordered`: products are sorted by column and summed, in every run. Results are bitwise the same from run to run.
    /// Nothing is formed, but a run takes several times what SpMV takes, and memory.
    #[default]
    Ordered,
    /// `unordered`: products are added to y by atomic operations, as they come. The fastest way to multiply once; how
    /// sums are rounded differs from run to run.
    Unordered,
    /// `copied`: the plan holds the transpose and multiplies with it. Bitwise the same from run to run, as fast as SpMV,
    /// and right for many runs.
    Copied,
}

const NAMES: &[(TransposedMode, &str)] = &[
    (TransposedMode::Ordered, "ordered"),
    (TransposedMode::Unordered, "unordered"),
    (TransposedMode::Copied, "copied"),
];

/// A text that names no mode of SpMV with the transpose.
///
/// ```
/// println!("{}", "by magic".parse::<evenpath::TransposedMode>().unwrap_err()); // says which there are
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no mode of SpMV with the transpose is called `{name}`; there are {known}")]
pub struct ParseTransposedModeError {
    name: String,
    known: String,
}

impl TransposedMode {
    /// Every mode, the default first.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|&(mode, _)| mode)
    }
}

impl fmt::Display for TransposedMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(mode, _)| mode == self) {
            Some((_, name)) => f.pad(name),
            None => unreachable!("every mode has a name"),
        }
    }
}

impl FromStr for TransposedMode {
    type Err = ParseTransposedModeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(&(mode, _)) = NAMES.iter().find(|&&(_, name)| name == text) {
            return Ok(mode);
        }
        let known: Vec<&str> = NAMES.iter().map(|&(_, name)| name).collect();
        Err(ParseTransposedModeError { name: text.into(), known: known.join(", ") })
    }
}
