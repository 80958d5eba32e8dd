//! Products of a batch of matrices that have one pattern: yₖ = αAₖxₖ + βyₖ, by merge path (Merrill, Garland, SC 2016).
//!
//! A block multiplies a tile of row ends and nonzeros in several matrices at once: it loads the column indices and row ends once,
//! and the values and elements of x of each matrix. The parts of rows that tiles cut are carries, which a second launch adds.

mod fixup;
mod sums;
mod tile;

pub use fixup::BatchFixup;
pub use sums::BATCH_AT_ONCE;
pub use tile::BatchTile;
