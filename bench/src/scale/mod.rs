//! Elements that a product with a vector moves on any number of ranks, and the time of that by a model, without running it.

mod model;
mod problem;
mod volumes;

pub(crate) use model::{Machine, Prediction};
pub(crate) use problem::{Points, Problem};
pub(crate) use volumes::row_offsets;
pub(crate) use volumes::{RankVolume, Rows, Volumes};
