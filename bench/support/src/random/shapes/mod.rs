//! Large matrices of shapes that decide between methods of SpMV: row lengths, columns and proportions that the other
//! generated matrices and the random structures do not have.

mod entries;
mod matrix;
mod rows;
mod shape;

pub use matrix::{ParseShapeError, ShapeMatrix};
pub use shape::Shape;
