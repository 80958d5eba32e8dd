//! Matrices of `scipy.sparse`: `.npz` files of `save_npz`.

mod array;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::read_npz;
pub use write::{NpzFormat, write_npz};
