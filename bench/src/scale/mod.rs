//! What a product with a vector moves on any number of ranks, and how long that takes by a model, without running it.

mod model;
mod volumes;

pub use model::{Machine, Prediction};
pub(crate) use volumes::row_offsets;
pub use volumes::{RankVolume, Rows, Volumes};
