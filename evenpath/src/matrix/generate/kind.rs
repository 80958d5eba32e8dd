//! The kinds of generated matrix, and their names.

use std::fmt;
use std::str::FromStr;

use super::{ParseKindError, Published};

/// A kind of generated matrix. Its text form is a name, a colon and a size: `uniform:2000000`. A name alone
/// means the default size given here.
///
/// ```
/// use evenpath::generate::{Kind, generate};
/// use evenpath::Csr;
///
/// let kind: Kind = "stencil5:100".parse()?;
/// let a: Csr<f64> = generate(kind, 1)?; // with seed 1
/// assert_eq!((a.nrows(), kind.shape()), (10_000, (10_000, 10_000)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// `stencil5:SIDE`: 5-point stencil on a grid of SIDE x SIDE points. Default 2000.
    Stencil5 {
        /// Points along one side of the grid.
        side: usize,
    },
    /// `stencil27:SIDE`: 27-point stencil on a grid of SIDE x SIDE x SIDE points. Default 100.
    Stencil27 {
        /// Points along one side of the grid.
        side: usize,
    },
    /// `fem:ROWS`: like an unstructured finite element matrix: the diagonal and 49 to 68 columns per row, drawn
    /// within 1500 of it; repeated draws count once. Default 1000000.
    Fem {
        /// Rows and columns.
        rows: usize,
    },
    /// `block-fem:NODESxBLOCK`: finite elements with BLOCK unknowns per node: dense BLOCK x BLOCK blocks, the
    /// diagonal one and 16 to 24 per node drawn within 500 nodes of it. Default 200000x3.
    BlockFem {
        /// Nodes.
        nodes: usize,
        /// Unknowns per node.
        block: usize,
    },
    /// `uniform:ROWS`: 16 distinct columns per row, anywhere. Default 2000000.
    Uniform {
        /// Rows and columns.
        rows: usize,
    },
    /// `power-law:ROWS`: row lengths 4 u^-0.7, u uniform in (0, 1), at most the number of columns; columns
    /// anywhere; repeated draws count once. Default 2000000.
    PowerLaw {
        /// Rows and columns.
        rows: usize,
    },
    /// `lp:ROWS`: like a linear program with a few long rows: 255 ROWS columns, 1300 nonzeros per row, 12000 in
    /// every eighth row. Default 4284.
    LinearProgram {
        /// Number of rows.
        rows: usize,
    },
    /// `empty-rows:ROWS`: three of four rows are empty; the fourth has the diagonal and another nonzero within 1500
    /// of it. Default 8000000.
    EmptyRows {
        /// Rows and columns.
        rows: usize,
    },
    /// `rmat:SCALE`: like a web or social graph: 2^SCALE rows, edges placed by the R-MAT model with the
    /// Graph500 probabilities 0.57, 0.19, 0.19, 0.05, about 16 per row; repeated edges count once.
    /// Default 20.
    Rmat {
        /// log2 of the number of rows.
        scale: u32,
    },
    /// `dense:ROWSxCOLS`, or `dense:ROWS` for a square one: every entry stored. Default 2000x2000.
    Dense {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        cols: usize,
    },
    /// `diagonal:ROWS`: the diagonal only. Default 1000000.
    Diagonal {
        /// Rows and columns.
        rows: usize,
    },
    /// `like:NAME`: a stand-in for a published matrix: it has the same rows, columns, nonzeros, mean and deviation
    /// of the row length, and longest row; the rest is generated. Default `like:protein`.
    Like {
        /// The published matrix.
        matrix: Published,
    },
}

/// All kinds with their default sizes, in the order of help texts.
const DEFAULTS: [Kind; 12] = [
    Kind::Stencil5 { side: 2000 },
    Kind::Stencil27 { side: 100 },
    Kind::Fem { rows: 1_000_000 },
    Kind::BlockFem { nodes: 200_000, block: 3 },
    Kind::Uniform { rows: 2_000_000 },
    Kind::PowerLaw { rows: 2_000_000 },
    Kind::LinearProgram { rows: 4284 },
    Kind::EmptyRows { rows: 8_000_000 },
    Kind::Rmat { scale: 20 },
    Kind::Dense { rows: 2000, cols: 2000 },
    Kind::Diagonal { rows: 1_000_000 },
    Kind::Like { matrix: Published::PROTEIN },
];

impl Kind {
    /// Every kind, with its default size.
    pub fn all() -> &'static [Kind] {
        &DEFAULTS
    }

    /// The word of the name, without the size.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stencil5 { .. } => "stencil5",
            Self::Stencil27 { .. } => "stencil27",
            Self::Fem { .. } => "fem",
            Self::BlockFem { .. } => "block-fem",
            Self::Uniform { .. } => "uniform",
            Self::PowerLaw { .. } => "power-law",
            Self::LinearProgram { .. } => "lp",
            Self::EmptyRows { .. } => "empty-rows",
            Self::Rmat { .. } => "rmat",
            Self::Dense { .. } => "dense",
            Self::Diagonal { .. } => "diagonal",
            Self::Like { .. } => "like",
        }
    }

    /// Rows and columns; `usize::MAX` on overflow.
    pub fn shape(&self) -> (usize, usize) {
        let square = |rows| (rows, rows);
        match *self {
            Self::Stencil5 { side } => square(side.saturating_pow(2)),
            Self::Stencil27 { side } => square(side.saturating_pow(3)),
            Self::BlockFem { nodes, block } => square(nodes.saturating_mul(block)),
            Self::LinearProgram { rows } => (rows, rows.saturating_mul(255)),
            Self::Rmat { scale } => square(1usize.checked_shl(scale).unwrap_or(usize::MAX)),
            Self::Dense { rows, cols } => (rows, cols),
            Self::Like { matrix } => matrix.shape(),
            Self::Fem { rows }
            | Self::Uniform { rows }
            | Self::PowerLaw { rows }
            | Self::EmptyRows { rows }
            | Self::Diagonal { rows } => square(rows),
        }
    }

    /// The same kind with the size given as text; `None` if that is invalid.
    fn with_size(self, size: &str) -> Option<Self> {
        let one = || size.parse().ok();
        let two = || {
            let (a, b) = size.split_once('x')?;
            Some((a.parse().ok()?, b.parse().ok()?))
        };
        Some(match self {
            Self::Stencil5 { .. } => Self::Stencil5 { side: one()? },
            Self::Stencil27 { .. } => Self::Stencil27 { side: one()? },
            Self::Fem { .. } => Self::Fem { rows: one()? },
            Self::BlockFem { block, .. } => {
                let (nodes, block) = two().or_else(|| Some((one()?, block)))?;
                Self::BlockFem { nodes, block }
            }
            Self::Uniform { .. } => Self::Uniform { rows: one()? },
            Self::PowerLaw { .. } => Self::PowerLaw { rows: one()? },
            Self::LinearProgram { .. } => Self::LinearProgram { rows: one()? },
            Self::EmptyRows { .. } => Self::EmptyRows { rows: one()? },
            Self::Rmat { .. } => Self::Rmat { scale: size.parse().ok()? },
            Self::Dense { .. } => {
                let (rows, cols) = two().or_else(|| one().map(|rows| (rows, rows)))?;
                Self::Dense { rows, cols }
            }
            Self::Diagonal { .. } => Self::Diagonal { rows: one()? },
            Self::Like { .. } => Self::Like { matrix: size.parse().ok()? },
        })
    }

    fn size_syntax(self) -> &'static str {
        match self {
            Self::BlockFem { .. } => "NODES or NODESxBLOCK",
            Self::Dense { .. } => "ROWS or ROWSxCOLS",
            _ => "one whole number",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.name())?;
        match self {
            Self::Stencil5 { side: size }
            | Self::Stencil27 { side: size }
            | Self::Fem { rows: size }
            | Self::Uniform { rows: size }
            | Self::PowerLaw { rows: size }
            | Self::LinearProgram { rows: size }
            | Self::EmptyRows { rows: size }
            | Self::Diagonal { rows: size } => write!(f, "{size}"),
            Self::Rmat { scale } => write!(f, "{scale}"),
            Self::Like { matrix } => write!(f, "{matrix}"),
            Self::BlockFem { nodes: a, block: b } | Self::Dense { rows: a, cols: b } => {
                write!(f, "{a}x{b}")
            }
        }
    }
}

impl FromStr for Kind {
    type Err = ParseKindError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, size) = match text.split_once(':') {
            Some((name, size)) => (name, Some(size)),
            None => (text, None),
        };
        let Some(&kind) = DEFAULTS.iter().find(|kind| kind.name() == name) else {
            let known = DEFAULTS.map(|kind| kind.name()).join(", ");
            return Err(ParseKindError::Unknown { name: name.into(), known });
        };
        let Some(size) = size else {
            return Ok(kind);
        };
        if let Self::Like { .. } = kind {
            return Ok(Self::Like { matrix: size.parse()? });
        }
        kind.with_size(size).ok_or_else(|| ParseKindError::Size {
            name: name.into(),
            size: size.into(),
            expected: kind.size_syntax(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for kind in Kind::all() {
            assert_eq!(kind.to_string().parse(), Ok(*kind));
            assert_eq!(kind.name().parse(), Ok(*kind));
        }
        assert_eq!("dense:3x4".parse(), Ok(Kind::Dense { rows: 3, cols: 4 }));
        assert_eq!("dense:3".parse(), Ok(Kind::Dense { rows: 3, cols: 3 }));
        assert_eq!("block-fem:9".parse(), Ok(Kind::BlockFem { nodes: 9, block: 3 }));
    }

    #[test]
    fn errors_of_bad_names_list_the_known_ones() {
        let error = "stencil7:3".parse::<Kind>().unwrap_err().to_string();
        assert!(error.contains("`stencil7`") && error.contains("stencil27"), "{error}");
        for text in ["uniform:", "uniform:-1", "uniform:3x3", "rmat:x", "dense:3x", "block-fem:x3"] {
            assert!(matches!(text.parse::<Kind>(), Err(ParseKindError::Size { .. })), "{text}");
        }
        let error = "like:nothing".parse::<Kind>().unwrap_err().to_string();
        assert!(error.contains("`nothing`") && error.contains("wind-tunnel"), "{error}");
    }
}
