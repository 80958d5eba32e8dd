//! Published matrices, described by their published figures.
//!
//! [`Kind::Like`](super::Kind::Like) generates a stand-in with the same size, moments and longest row. Its columns are
//! drawn according to the structure, unless that is known exactly.

use std::fmt;
use std::str::FromStr;

use super::ParseKindError;

/// A published matrix that a stand-in can be generated for.
///
/// ```
/// use evenpath::generate::Published;
///
/// let protein = Published::all().find(|matrix| matrix.name() == "protein").expect("one of all");
/// assert_eq!((protein.shape(), protein.nonzeros()), ((36_417, 36_417), 4_344_765));
/// assert_eq!(protein.longest(), 204); // nonzeros of the longest row
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published(&'static PublishedMatrix);

/// Known figures of a matrix.
#[derive(Debug, PartialEq)]
struct PublishedMatrix {
    name: &'static str,
    rows: usize,
    cols: usize,
    nonzeros: usize,
    /// Standard deviation of the row length.
    deviation: f64,
    /// Nonzeros of the longest row; if unpublished, a value that agrees with the moments.
    longest: usize,
    structure: Structure,
}

impl Eq for PublishedMatrix {}

/// Positions of the nonzeros of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Structure {
    /// Everywhere.
    Full,
    /// States (i, j), i + j <= 1024, each coupled to itself, (i ± 1, j) and (i, j - 1); known exactly.
    Epidemic,
    /// The same states, each coupled to itself and its six neighbors in a triangulation; known exactly.
    Triangulation,
    /// Sites of a periodic 8⁴ lattice, each with 4 spins of 3 colors; known exactly up to the order of spins.
    Chromodynamics,
    /// Dense blocks with this many unknowns per node, within this many nodes.
    Blocks { block: usize, reach: usize },
    /// Distinct columns within this distance.
    Band { reach: usize },
    /// Distinct columns anywhere; rows other than the long ones have a geometric distribution of lengths.
    Scattered,
    /// Like `Scattered`, but three of four within this distance if there is room.
    Local { reach: usize },
}

impl Structure {
    /// The number of consecutive rows with the same pattern.
    pub(super) fn block(self) -> usize {
        match self {
            Self::Blocks { block, .. } => block,
            _ => 1,
        }
    }
}

macro_rules! published {
    ($($name:literal: $rows:literal x $cols:literal, $nonzeros:literal, $deviation:literal, $longest:literal,
       $structure:expr;)*) => {
        &[$(PublishedMatrix {
            name: $name, rows: $rows, cols: $cols, nonzeros: $nonzeros, deviation: $deviation, longest: $longest,
            structure: $structure,
        },)*]
    };
}

use Structure::{Band, Blocks, Chromodynamics, Epidemic, Full, Local, Scattered, Triangulation};

/// Table II of Dalton, Olson, Baxter, Merrill, Garland, "Optimizing sparse matrix operations on GPUs using merge path"
/// (IPDPS 2015); it does not give the longest rows.
const TABLE_2: &[PublishedMatrix] = published! {
    "dense2": 2000 x 2000, 4_000_000, 0.0, 2000, Full;
    "protein": 36_417 x 36_417, 4_344_765, 31.86, 204, Blocks { block: 3, reach: 600 };
    "spheres": 83_334 x 83_334, 6_010_480, 19.08, 90, Blocks { block: 3, reach: 500 };
    "cantilever": 62_451 x 62_451, 4_007_383, 14.06, 78, Blocks { block: 3, reach: 150 };
    "wind-tunnel": 217_918 x 217_918, 11_634_424, 4.74, 180, Blocks { block: 6, reach: 250 };
    "harbor": 46_835 x 46_835, 2_374_001, 27.78, 145, Blocks { block: 5, reach: 300 };
    "qcd": 49_152 x 49_152, 1_916_928, 0.0, 39, Chromodynamics;
    "ship": 140_874 x 140_874, 7_813_404, 11.07, 102, Blocks { block: 6, reach: 300 };
    "economics": 206_500 x 206_500, 1_273_389, 4.44, 44, Band { reach: 1500 };
    "epidemiology": 525_825 x 525_825, 2_100_225, 0.08, 4, Epidemic;
    "accelerator": 121_192 x 121_192, 2_624_331, 13.79, 81, Band { reach: 5000 };
    "circuit": 170_998 x 170_998, 958_936, 4.39, 353, Local { reach: 500 };
    "webbase": 1_000_005 x 1_000_005, 3_105_536, 25.35, 4700, Local { reach: 5000 };
    "lp": 4284 x 1_092_610, 11_279_748, 4209.26, 56_182, Scattered;
};

/// Figure 7.1 of the thesis on HiSparse, without the matrices of Table II. It prints rounded sizes; the missing digits
/// are chosen such that sizes and means agree.
const FIGURE_7: &[PublishedMatrix] = published! {
    "asia-osm": 11_950_757 x 11_950_757, 25_423_206, 0.5, 9, Band { reach: 500 };
    "asic-320k": 321_821 x 321_821, 2_635_364, 503.0, 203_800, Local { reach: 500 };
    "ldoor": 952_203 x 952_203, 46_522_475, 11.9, 77, Blocks { block: 7, reach: 300 };
    "mip1": 66_463 x 66_463, 10_352_819, 350.7, 66_395, Band { reach: 2000 };
    "bone010": 986_703 x 986_703, 71_666_325, 15.8, 81, Blocks { block: 3, reach: 500 };
    "cage12": 130_228 x 130_228, 2_032_536, 4.7, 33, Band { reach: 5000 };
    "parabolic-fem": 525_825 x 525_825, 3_674_625, 0.15, 7, Triangulation;
    "poisson3da": 13_514 x 13_514, 352_762, 13.8, 110, Scattered;
    "circuit5m": 5_558_326 x 5_558_326, 59_524_291, 1356.6, 1_290_501, Local { reach: 500 };
    "cont11-l": 1_468_599 x 1_961_394, 5_382_999, 0.9, 5, Band { reach: 1000 };
    "rajat31": 4_690_002 x 4_690_002, 20_316_253, 1.1, 1252, Band { reach: 1000 };
    "fullchip": 2_987_012 x 2_987_012, 26_621_990, 1806.8, 2_312_481, Local { reach: 500 };
    "rucci1": 1_977_885 x 109_900, 7_791_168, 0.3, 4, Scattered;
    "sme3dc": 42_930 x 42_930, 3_148_656, 37.0, 405, Band { reach: 15_000 };
    "in-2004": 1_382_908 x 1_382_908, 16_917_053, 37.2, 7753, Local { reach: 1000 };
    "kkt-power": 2_063_494 x 2_063_494, 14_612_663, 7.4, 96, Band { reach: 20_000 };
    "special": 7_000_000 x 7_000_000, 52_300_000, 125.3, 6300, Scattered;
};

impl Published {
    /// The second matrix of Table II.
    pub(super) const PROTEIN: Self = Self(&TABLE_2[1]);

    /// All matrices, in the order of the tables.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE_2.iter().chain(FIGURE_7).map(Self)
    }

    /// Table II.
    #[cfg(feature = "lab")]
    pub(crate) fn table2() -> impl Iterator<Item = Self> {
        TABLE_2.iter().map(Self)
    }

    /// The name.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Rows and columns.
    pub fn shape(self) -> (usize, usize) {
        (self.0.rows, self.0.cols)
    }

    /// Number of nonzeros, as published.
    pub fn nonzeros(self) -> usize {
        self.0.nonzeros
    }

    /// Standard deviation of the row length, as published.
    pub fn deviation(self) -> f64 {
        self.0.deviation
    }

    /// Nonzeros of the longest row; Table II of IPDPS 2015 does not give it, so for its matrices a value that agrees with the
    /// moments.
    pub fn longest(self) -> usize {
        self.0.longest
    }

    pub(super) fn structure(self) -> Structure {
        self.0.structure
    }
}

impl fmt::Display for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Published {
    type Err = ParseKindError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::all().find(|matrix| matrix.name() == text).ok_or_else(|| {
            let known: Vec<_> = Self::all().map(Self::name).collect();
            ParseKindError::Matrix { name: text.into(), known: known.join(", ") }
        })
    }
}
