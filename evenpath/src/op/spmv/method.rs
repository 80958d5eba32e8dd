use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::device::DeviceKind;

/// Methods of SpMV, which sum in different orders: with the same one, GPUs agree to the last bit. Each has a name, which [`Display`](fmt::Display) writes and [`FromStr`] reads.
///
/// ```
/// use evenpath::{Csr, Device, SpmvMethod, SpmvOptions};
///
/// let a: Csr<f64> = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 3.0)])?;
/// let device = Device::best()?;
/// let a = device.upload(&a)?;
/// for method in SpmvMethod::all().filter(|method| method.runs_on(device.kind())) {
///     let (x, mut y) = (device.upload_slice(&[1.0, 1.0])?, device.zeros(2)?);
///     a.plan_spmv(SpmvOptions::with_method(method))?.run(1.0, &x, 0.0, &mut y)?;
///     assert_eq!(y.to_vec()?, [2.0, 3.0], "{method}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SpmvMethod {
    /// `auto`: whatever the plan takes to be fastest.
    #[default]
    Auto,
    /// `scalar`: a thread a row (Bell, Garland, SC 2009).
    Scalar,
    /// `vector`: 2, 4, 8, 16 or 32 lanes of a warp a row, by the mean row length (Bell, Garland, SC 2009; Dalton et al.,
    /// IPDPS 2015, section III-A).
    Vector,
    /// `warp`: a warp a row (Bell, Garland, SC 2009).
    Warp,
    /// `block`: a block a row, for few and long rows.
    Block,
    /// `flat`: equal shares of the nonzeros; partition, reduction, update (Dalton et al., IPDPS 2015, section III-A).
    /// The plan looks for empty rows and waits for the answer: where there are some, it keeps a copy of the row offsets
    /// without them.
    Flat,
    /// `merge-path`: 2D merge path, equal shares of row ends and nonzeros, whatever the shape (Merrill, Garland, SC 2016).
    MergePath,
    /// `csr-adaptive`: row blocks that fit into shared memory together, and long rows alone (Greathouse, Daga, SC 2014).
    /// The plan makes the row blocks on the host, to which it copies the row offsets, once.
    CsrAdaptive,
    /// `light`: rows handed out from a counter to vectors of 2, 4, 8, 16 or 32 lanes (Liu, Schmidt, ASAP 2015).
    Light,
    /// `row-parallel`, on the CPU: every thread takes whole rows, of equal shares of row ends and nonzeros.
    RowParallel,
    /// `row-blocks`: as `csr-adaptive`, with row blocks that the device makes; the host does where a row is longer than
    /// half a row block.
    RowBlocks,
    /// `row-tiles`: every warp takes equally many consecutive rows, with their products in shared memory.
    RowTiles,
    /// `binned`: row tiles, with the rows that are much longer than most cut into pieces, each a warp's work.
    Binned,
    /// `windows`: row tiles, with the elements of x that a block of rows uses in shared memory too.
    Windows,
    /// `narrow-columns`: as `row-tiles` (f32) or `row-blocks` (f64), with columns of 16 bits, relative to up to 32 segments
    /// of 2048 columns that some rows have. The plan keeps these, 2 bytes a nonzero, beside the matrix, whose own columns are
    /// read for rows that need more segments; rows whose neighbours look alike, as in a grid, read the same codes. `auto` does not take it, for that memory.
    NarrowColumns,
}

const NAMES: &[(SpmvMethod, &str)] = &[
    (SpmvMethod::Auto, "auto"),
    (SpmvMethod::Scalar, "scalar"),
    (SpmvMethod::Vector, "vector"),
    (SpmvMethod::Warp, "warp"),
    (SpmvMethod::Block, "block"),
    (SpmvMethod::Flat, "flat"),
    (SpmvMethod::MergePath, "merge-path"),
    (SpmvMethod::CsrAdaptive, "csr-adaptive"),
    (SpmvMethod::Light, "light"),
    (SpmvMethod::RowParallel, "row-parallel"),
    (SpmvMethod::RowBlocks, "row-blocks"),
    (SpmvMethod::RowTiles, "row-tiles"),
    (SpmvMethod::Binned, "binned"),
    (SpmvMethod::Windows, "windows"),
    (SpmvMethod::NarrowColumns, "narrow-columns"),
];

/// A text that names no method of SpMV.
///
/// ```
/// println!("{}", "by magic".parse::<evenpath::SpmvMethod>().unwrap_err()); // says which there are
/// ```
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

    /// Whether the lanes a row can be asked for ([`SpmvOptions::lanes`](super::SpmvOptions::lanes)).
    pub fn takes_lanes(self) -> bool {
        matches!(self, Self::Vector | Self::Light)
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
