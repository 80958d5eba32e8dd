//! SDDMM, the product AB of dense matrices at the nonzeros of a sparse matrix C: `c = α (AB) + β c` for each of them.
//!
//! Lanes are laid over the terms of an inner product, so that rows of A and columns of B are gathered with coalesced loads.
//! Tiles of row ends plus nonzeros are equal work for rows of any length.
mod chunk;
mod lines;
mod multiply;
mod sums;

pub use chunk::Chunk;
pub use lines::DenseLines;
pub use multiply::{chunk_len, Sddmm};
