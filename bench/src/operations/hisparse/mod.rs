//! HiSparse: bytes, products, sums and conversion of a matrix, compared with CSR and other libraries: Figures 3.2, 7.2 and 7.3
//! of the thesis.

mod conversions;
mod extent;
mod measure;
mod node_sizes;
mod products;
mod sums;
mod ways;

pub(crate) use extent::Extent;
pub(crate) use measure::{NODES, Nodes, measure, measure_tree};
pub(crate) use node_sizes::{NODE_SIZES, of_size};
pub(crate) use ways::{BY_ROW, COPIED, FROZEN, QUEUE, QUEUES};
