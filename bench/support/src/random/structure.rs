//! The parameters of a structure, and how they are drawn.

use std::fmt;

use super::stream::{Purpose, Seeds, Stream};

/// The fewest nonzeros that a structure is drawn for without a floor; collisions of columns and empty parts may leave fewer.
pub(super) const FEWEST_NONZEROS: f64 = 1e4;
/// Structures are drawn for at most this fraction of the limit, so that few have to be shortened to hold it.
pub(super) const LIMIT_FRACTION: f64 = 0.8;

/// The structure of a matrix. Rows and columns are those of nodes, whose entries are dense blocks; without blocks, a
/// node is one row or column. The display lists all parameters as `name=value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Structure {
    /// The nodes of rows.
    pub row_nodes: usize,
    /// The nodes of columns.
    pub col_nodes: usize,
    /// Rows and columns of a node.
    pub block: usize,
    /// The mean number of entries, blocks if there are any, in a row of nodes, before collisions.
    pub mean: f64,
    /// The distribution of the row lengths around their mean.
    pub lengths: LengthLaw,
    /// Change of the mean along the matrix.
    pub drift: Drift,
    /// Places of the columns of a row.
    pub columns: ColumnLaw,
    /// True if the pattern is the union of a drawn pattern, with half the entries, and its transpose.
    pub symmetric: bool,
    /// The order of rows and columns.
    pub permutation: Permutation,
    /// Empty rows; of a symmetric matrix, the columns with the same numbers too.
    pub empty_rows: Option<Stretches>,
    /// Empty columns.
    pub empty_columns: Option<Stretches>,
}

/// The distribution of the row lengths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LengthLaw {
    /// All equal.
    Constant,
    /// Uniform between mean·(1 - width) and mean·(1 + width).
    Uniform {
        /// In [0.1, 1).
        width: f64,
    },
    /// Geometric, from 0.
    Geometric,
    /// A Pareto distribution.
    PowerLaw {
        /// The exponent of the probability that a row is longer than a length, in [1.3, 3).
        exponent: f64,
    },
    /// Two lengths.
    Bimodal {
        /// The share of long rows, in [0.001, 0.3).
        share: f64,
        /// The long length over the short one, in [4, 200).
        ratio: f64,
    },
}

/// Change of the mean of the row lengths along the matrix. The mean over all rows does not change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Drift {
    /// It does not.
    None,
    /// Linearly from mean·(1 - slope) to mean·(1 + slope).
    Linear {
        /// In [-0.95, 0.95).
        slope: f64,
    },
    /// The first rows are longer.
    Step {
        /// The share of these rows, in [0.02, 0.5).
        share: f64,
        /// Factor of length, in [2, 30).
        ratio: f64,
    },
    /// One row in this many is longer.
    Periodic {
        /// The period, in [2, 100).
        period: usize,
        /// Factor of length, in [2, 30).
        ratio: f64,
    },
}

/// Places of the columns of a row. The diagonal leads from corner to corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ColumnLaw {
    /// Anywhere.
    Uniform,
    /// Within a distance of the diagonal, more for rows that need more room.
    Band {
        /// The distance.
        reach: usize,
    },
    /// Within a distance of centers, which neighboring rows share.
    Clusters {
        /// The number of centers of a group of rows.
        centers: usize,
        /// The number of consecutive rows of a group.
        group: usize,
        /// The distance.
        reach: usize,
    },
    /// Anywhere, but a few columns are drawn much more often: column number cols·uᵉ of a fixed order, u uniform.
    Hot {
        /// e, in [1.5, 5).
        exponent: f64,
    },
    /// Runs of consecutive columns that begin within a distance of the diagonal.
    Runs {
        /// The length of a run.
        length: usize,
        /// The distance.
        reach: usize,
    },
}

/// The order of rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permutation {
    /// The order drawn.
    None,
    /// Rows in random order.
    Rows,
    /// Rows and columns in random order, the same one if the matrix is square.
    Both,
    /// Rows and columns from the last to the first.
    Reversed,
}

/// Stretches of rows or columns, of which some are empty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretches {
    /// The rows, or columns, of a stretch.
    pub length: usize,
    /// The share of stretches that are empty.
    pub share: f64,
}

impl Structure {
    /// Draws the structure of a matrix for at least `least` nonzeros, with at most `most_nonzeros`.
    pub(super) fn draw(seeds: Seeds, least: f64, most_nonzeros: usize) -> Self {
        let stream = &mut seeds.stream(Purpose::Structure, 0);
        let nonzeros = stream.log_uniform(least, LIMIT_FRACTION * most_nonzeros as f64);
        // Columns over rows.
        let (is_square, aspect) = match stream.below(10) {
            0..6 => (true, 1.0),
            6..8 => (false, 1.0 / stream.log_uniform(2.0, 200.0)),
            _ => (false, stream.log_uniform(2.0, 200.0)),
        };
        let block = if stream.happens(0.25) { stream.one_of(&[2, 3, 4, 5, 6, 8]) } else { 1 };
        let lengths = LengthLaw::draw(stream);
        let symmetric = is_square && stream.happens(0.5);

        // In a full matrix, the mean row length is the number of columns.
        let nodes = nonzeros / (block * block) as f64;
        let most = (nodes * aspect).sqrt();
        let mut mean = (stream.log_uniform(1.2, 400.0) / block as f64).clamp(1.0, most);
        if lengths == LengthLaw::Constant {
            mean = libm::round(mean);
        }
        let mut row_nodes = ((nodes / mean) as usize).max(1);
        let col_nodes = ((row_nodes as f64 * aspect) as usize).max(mean as usize + 1);
        if is_square {
            row_nodes = col_nodes;
        }
        Self {
            row_nodes,
            col_nodes,
            block,
            mean,
            lengths,
            drift: Drift::draw(stream),
            columns: ColumnLaw::draw(stream, col_nodes),
            symmetric,
            permutation: Permutation::draw(stream, symmetric),
            empty_rows: Stretches::draw(stream, row_nodes),
            empty_columns: Stretches::draw(stream, col_nodes),
        }
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.row_nodes * self.block, self.col_nodes * self.block)
    }
}

impl LengthLaw {
    fn draw(stream: &mut Stream) -> Self {
        match stream.below(5) {
            0 => Self::Constant,
            1 => Self::Uniform { width: stream.between(0.1, 1.0) },
            2 => Self::Geometric,
            3 => Self::PowerLaw { exponent: stream.between(1.3, 3.0) },
            _ => {
                Self::Bimodal { share: stream.log_uniform(0.001, 0.3), ratio: stream.log_uniform(4.0, 200.0) }
            }
        }
    }
}

impl Drift {
    fn draw(stream: &mut Stream) -> Self {
        match stream.below(10) {
            0..6 => Self::None,
            6..8 => Self::Linear { slope: stream.between(-0.95, 0.95) },
            8 => Self::Step { share: stream.between(0.02, 0.5), ratio: stream.log_uniform(2.0, 30.0) },
            _ => Self::Periodic { period: 2 + stream.below(98), ratio: stream.log_uniform(2.0, 30.0) },
        }
    }
}

impl ColumnLaw {
    fn draw(stream: &mut Stream, cols: usize) -> Self {
        let mut reach = |fraction: f64| {
            let most = (fraction * cols as f64).max(4.0);
            stream.log_uniform(2.0, most) as usize
        };
        let (near, narrow) = (reach(0.2), reach(0.01));
        match stream.below(6) {
            0 | 1 => Self::Band { reach: near },
            2 => Self::Uniform,
            3 => Self::Clusters { centers: 1 + stream.below(8), group: 1 + stream.below(64), reach: narrow },
            4 => Self::Hot { exponent: stream.between(1.5, 5.0) },
            _ => Self::Runs { length: stream.log_uniform(2.0, 64.0) as usize, reach: near },
        }
    }
}

impl Permutation {
    /// Draws a permutation that keeps a symmetric matrix symmetric.
    fn draw(stream: &mut Stream, symmetric: bool) -> Self {
        match stream.below(10) {
            0..6 => Self::None,
            6..8 => Self::Both,
            8 if !symmetric => Self::Rows,
            _ => Self::Reversed,
        }
    }
}

impl Stretches {
    /// None, for most matrices.
    fn draw(stream: &mut Stream, count: usize) -> Option<Self> {
        stream.happens(0.2).then(|| Self {
            length: stream.log_uniform(1.0, (0.1 * count as f64).max(2.0)) as usize,
            share: stream.between(0.05, 0.7),
        })
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { block, mean, lengths, drift, columns, symmetric, permutation, .. } = self;
        let (rows, cols) = self.shape();
        write!(
            f,
            "rows={rows} cols={cols} block={block} mean={mean:.3} lengths={lengths} drift={drift} \
             columns={columns} symmetric={symmetric} permutation={permutation}"
        )?;
        for (name, stretches) in [("empty-rows", self.empty_rows), ("empty-columns", self.empty_columns)] {
            match stretches {
                Some(Stretches { length, share }) => write!(f, " {name}={share:.3}:{length}")?,
                None => write!(f, " {name}=none")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for LengthLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => write!(f, "constant"),
            Self::Uniform { width } => write!(f, "uniform:{width:.3}"),
            Self::Geometric => write!(f, "geometric"),
            Self::PowerLaw { exponent } => write!(f, "power-law:{exponent:.3}"),
            Self::Bimodal { share, ratio } => write!(f, "bimodal:{share:.4}:{ratio:.1}"),
        }
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => write!(f, "none"),
            Self::Linear { slope } => write!(f, "linear:{slope:.3}"),
            Self::Step { share, ratio } => write!(f, "step:{share:.3}:{ratio:.1}"),
            Self::Periodic { period, ratio } => write!(f, "periodic:{period}:{ratio:.1}"),
        }
    }
}

impl fmt::Display for ColumnLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => write!(f, "uniform"),
            Self::Band { reach } => write!(f, "band:{reach}"),
            Self::Clusters { centers, group, reach } => write!(f, "clusters:{centers}:{group}:{reach}"),
            Self::Hot { exponent } => write!(f, "hot:{exponent:.3}"),
            Self::Runs { length, reach } => write!(f, "runs:{length}:{reach}"),
        }
    }
}

impl fmt::Display for Permutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Rows => "rows",
            Self::Both => "both",
            Self::Reversed => "reversed",
        })
    }
}
