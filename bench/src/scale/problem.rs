//! Matrices that are computed row by row and never held in memory as a whole, by name.

use std::fmt;
use std::str::FromStr;

use evenpath_distributed::generate::{Rmat, Stencil};

use super::Rows;

/// Nonzeros of each row of an R-MAT graph, about.
const RMAT_EDGES: f64 = 16.0;

/// The scale of the largest R-MAT graph.
const MOST_SCALE: u32 = 40;

/// A matrix by its name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Problem {
    /// A stencil on a grid.
    Stencil {
        /// Its points: 5, 7 or 27.
        points: Points,
        /// The grid's side.
        side: u32,
    },
    /// An R-MAT graph.
    Rmat {
        /// The logarithm of the vertices.
        scale: u32,
        /// The seed of its edges.
        seed: u64,
    },
}

/// The points of a stencil.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Points {
    /// Five points in two dimensions.
    Five,
    /// Seven points in three dimensions, without diagonals.
    Seven,
    /// All 27 neighbors in three dimensions.
    TwentySeven,
}

impl Points {
    fn name(self) -> &'static str {
        match self {
            Self::Five => "stencil5",
            Self::Seven => "stencil7",
            Self::TwentySeven => "stencil27",
        }
    }

    /// Dimensions of the grid.
    fn dimensions(self) -> f64 {
        if self == Self::Five { 2.0 } else { 3.0 }
    }

    fn stencil(self, side: u32) -> Stencil {
        match self {
            Self::Five => Stencil::five_point(side),
            Self::Seven => Stencil::seven_point(side),
            Self::TwentySeven => Stencil::twenty_seven_point(side),
        }
    }
}

impl Problem {
    /// The same matrix with another seed, if it has one.
    #[must_use]
    pub(crate) fn with_seed(self, seed: u64) -> Self {
        match self {
            Self::Rmat { scale, .. } => Self::Rmat { scale, seed },
            stencil @ Self::Stencil { .. } => stencil,
        }
    }

    /// Returns a problem of the same kind with about this many times the rows; `None` if the kind does not grow.
    pub(crate) fn grown(self, times: f64) -> Option<Self> {
        match self {
            Self::Stencil { points, side } => {
                let side = (f64::from(side) * times.powf(1.0 / points.dimensions())).round() as u32;
                Some(Self::Stencil { points, side })
            }
            Self::Rmat { .. } => None,
        }
    }

    /// Returns whether it is symmetric and positive definite.
    pub(crate) fn is_positive_definite(self) -> bool {
        matches!(self, Self::Stencil { .. })
    }

    /// Appends the entries of a row.
    pub(crate) fn row<V: evenpath::Value>(self, row: u64, entries: &mut Vec<(u64, V)>) {
        match self {
            Self::Stencil { points, side } => points.stencil(side).row(row, entries),
            Self::Rmat { scale, seed } => Rmat::new(scale, RMAT_EDGES, seed).row(row, entries),
        }
    }
}

impl Rows for Problem {
    fn nrows(&self) -> u64 {
        match *self {
            Self::Stencil { points, side } => points.stencil(side).nrows(),
            Self::Rmat { scale, seed } => Rmat::new(scale, RMAT_EDGES, seed).nrows(),
        }
    }

    fn ncols(&self) -> u64 {
        self.nrows()
    }

    fn columns(&self, row: u64, columns: &mut Vec<u64>) {
        let mut entries: Vec<(u64, f32)> = Vec::new();
        self.row(row, &mut entries);
        columns.clear();
        columns.extend(entries.into_iter().map(|entry| entry.0));
        columns.sort_unstable();
        columns.dedup();
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stencil { points, side } => write!(f, "{}:{side}", points.name()),
            Self::Rmat { scale, .. } => write!(f, "rmat:{scale}"),
        }
    }
}

impl FromStr for Problem {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown =
            || format!("`{text}` is none of stencil5:SIDE, stencil7:SIDE, stencil27:SIDE, rmat:SCALE");
        let (name, size) = text.split_once(':').ok_or_else(unknown)?;
        let size: u32 = size.parse().map_err(|_| unknown())?;
        let points = [Points::Five, Points::Seven, Points::TwentySeven];
        match points.into_iter().find(|points| points.name() == name) {
            Some(points) if size > 0 => Ok(Self::Stencil { points, side: size }),
            None if name == "rmat" && size <= MOST_SCALE => Ok(Self::Rmat { scale: size, seed: 1 }),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_matrices_by_rows() {
        for name in ["stencil5:30", "stencil7:4", "stencil27:9", "rmat:12"] {
            assert_eq!(name.parse::<Problem>().unwrap().to_string(), name);
        }
        for name in ["", "stencil5", "stencil5:x", "stencil27:0", "rmat:99", "other:3"] {
            assert!(name.parse::<Problem>().unwrap_err().contains("stencil5:SIDE"), "{name}");
        }
    }

    #[test]
    fn grids_grow_and_graphs_do_not() {
        let rows =
            |name: &str, times| name.parse::<Problem>().unwrap().grown(times).map(|problem| problem.nrows());
        assert_eq!(rows("stencil5:100", 4.0), Some(40_000));
        assert_eq!(rows("stencil27:10", 8.0), Some(8000));
        assert_eq!(rows("stencil7:100", 2.0), Some(126_u64.pow(3)));
        assert_eq!(rows("rmat:5", 2.0), None);
    }
}
