//! Products with matrices in BSR.

mod arrays;
mod tiles;

pub(crate) use arrays::BsrArrays;
pub(crate) use tiles::BsrTiles;
