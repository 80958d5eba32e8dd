//! SpMM, `C = αAB + βC`, of a CSR matrix A and dense B and C.
//!
//! Lanes are laid over the columns of B, whose rows are gathered with coalesced loads (Yang, Buluç, Owens, "Design
//! Principles for Sparse Matrix Multiplication on the GPU", Euro-Par 2018, section 4). A group of lanes sums a row;
//! rows that are too long for one group are cut into pieces, which are summed separately and then added up in order.
//!
//! [`SpmmRows`] is the product in one launch; [`SpmmLongRows`] lists the pieces once per plan. A B by columns is read
//! directly if few elements are read, and otherwise copied to rows by [`SpmmTranspose`]. [`SpmmCombine`] is for factors
//! in device memory. [`SemiringSpmm`] is the product in a semiring.
mod combine;
mod group;
mod long;
mod nonzeros;
mod passes;
mod piece_sums;
mod pieces;
mod rows;
mod semiring;
mod stage;
mod tile_of_c;
mod transpose;
mod update;
mod variant;
mod width;

pub use combine::SpmmCombine;
pub use group::{DenseView, Group};
pub use long::{SpmmLongRows, LONG_COUNTERS};
pub use pieces::Pieces;
pub use rows::SpmmRows;
pub use semiring::{SemiringCarries, SemiringOperand, SemiringResult, SemiringSpmm, SemiringTiles};
pub use stage::STAGED_BY_THREAD;
pub use transpose::{SpmmTranspose, TRANSPOSE_TILE};
pub use update::DenseUpdate;
pub use variant::{InPasses, InStages, Variant, WithPieces};
pub use width::{width, Elements, Packets, Strided, Width};
