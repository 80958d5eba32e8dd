//! The shapes, and their sizes.

/// A shape of a matrix. Its size is a number of rows unless stated otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Row lengths uniform from 0 to 24, columns uniform within 2/75 of the rows of the diagonal, and no farther than
    /// the first or last column.
    Band,
    /// A Kronecker graph, in both directions: 2^SIZE rows, 12 edges per row drawn by the probabilities 0.45, 0.22, 0.22,
    /// 0.11.
    Kron,
    /// A planar grid of SIZE x SIZE points that has 62 % of the edges, in both directions. Chunks of 256 points are in
    /// random order.
    Road,
    /// Ratings of items by users: 35 draws per row and 3 columns per 40 rows, row number SIZE·u^1.6 and column number
    /// by the exponent 3, u uniform. A few users and items have most of them.
    Ratings,
    /// One entry per 10 rows, anywhere: most rows are empty.
    Hyper,
    /// A tridiagonal matrix with 20 full rows and the 20 columns of the same numbers, at random places.
    Border,
    /// SIZE dense blocks of 48 x 48 on the diagonal, and 200 draws per 3 blocks of a coupling: a row with the column
    /// seven blocks farther.
    Blocks,
    /// 300 rows; SIZE columns, with two draws per column, anywhere.
    Wide,
    /// 300 columns; 10 draws per 3 rows, anywhere.
    Tall,
    /// Row lengths that grow along the rows, from 1 to 200 draws; columns uniform among the 3000 from the diagonal on.
    Stairs,
    /// A 7-point stencil on a grid of SIZE x SIZE x SIZE points.
    Mesh7,
    /// The same with rows and columns in one random order.
    Perm7,
}

/// Rows of `Wide` and columns of `Tall`.
pub(super) const FEW: usize = 300;
/// Rows of a chunk of `Road`.
pub(super) const CHUNK: usize = 256;
/// Rows of a block of `Blocks`.
pub(super) const BLOCK: usize = 48;
/// Full rows of `Border`.
pub(super) const FULL: usize = 20;

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 12] = [
        Self::Band,
        Self::Kron,
        Self::Road,
        Self::Ratings,
        Self::Hyper,
        Self::Border,
        Self::Blocks,
        Self::Wide,
        Self::Tall,
        Self::Stairs,
        Self::Mesh7,
        Self::Perm7,
    ];

    /// The word of the name, without the size.
    pub fn name(self) -> &'static str {
        match self {
            Self::Band => "band",
            Self::Kron => "kron",
            Self::Road => "road",
            Self::Ratings => "ratings",
            Self::Hyper => "hyper",
            Self::Border => "border",
            Self::Blocks => "blocks",
            Self::Wide => "wide",
            Self::Tall => "tall",
            Self::Stairs => "stairs",
            Self::Mesh7 => "mesh7",
            Self::Perm7 => "perm7",
        }
    }

    /// The size of the suite, with 2 to 25 million nonzeros.
    pub fn default_size(self) -> usize {
        match self {
            Self::Band => 1_500_000,
            Self::Kron => 20,
            Self::Road => 2200,
            Self::Ratings => 400_000,
            Self::Hyper => 20_000_000,
            Self::Border => 300_000,
            Self::Blocks => 6000,
            Self::Wide | Self::Tall => 6_000_000,
            Self::Stairs => 200_000,
            Self::Mesh7 | Self::Perm7 => 150,
        }
    }

    /// Rows and columns of a size; `usize::MAX` on overflow.
    pub fn dimensions(self, size: usize) -> (usize, usize) {
        let square = |rows| (rows, rows);
        match self {
            Self::Band | Self::Hyper | Self::Border | Self::Stairs => square(size),
            Self::Kron => square(
                u32::try_from(size).ok().and_then(|scale| 1_usize.checked_shl(scale)).unwrap_or(usize::MAX),
            ),
            Self::Road => square(size.saturating_pow(2).div_ceil(CHUNK).saturating_mul(CHUNK)),
            Self::Ratings => (size, (size.saturating_mul(3) / 40).max(1)),
            Self::Blocks => square(size.saturating_mul(BLOCK)),
            Self::Wide => (FEW, size),
            Self::Tall => (size, FEW),
            Self::Mesh7 | Self::Perm7 => square(size.saturating_pow(3)),
        }
    }

    /// The largest number of nonzeros of a size, or for `Band` and `Road` the expected one; repeated draws leave fewer.
    /// `usize::MAX` on overflow.
    pub fn draws(self, size: usize) -> usize {
        let rows = self.dimensions(size).0;
        match self {
            Self::Band => rows.saturating_mul(12),
            Self::Kron => rows.saturating_mul(24),
            Self::Road => (size.saturating_pow(2) / 100).saturating_mul(248),
            Self::Ratings => rows.saturating_mul(35),
            Self::Hyper => rows / 10,
            Self::Border => rows.saturating_mul(3 + 2 * FULL),
            Self::Blocks => rows.saturating_mul(BLOCK).saturating_add(couplings(size)),
            Self::Wide => size.saturating_mul(2),
            Self::Tall => size.saturating_mul(10) / 3,
            Self::Stairs => rows.saturating_mul(101),
            Self::Mesh7 | Self::Perm7 => rows.saturating_mul(7),
        }
    }
}

/// Draws of a coupling between blocks.
pub(super) fn couplings(blocks: usize) -> usize {
    blocks.saturating_mul(200) / 3
}
