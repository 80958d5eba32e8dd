//! HiSparse: bytes, products, sums and conversion of a matrix, compared with CSR and other libraries: Figures 3.2, 7.2 and 7.3
//! of the thesis.

mod extent;
mod measure;
mod products;
mod sums;

pub(crate) use extent::Extent;
pub(crate) use measure::{NODES, measure, measure_tree};
