//! Products row by row (Gustavson, "Two fast algorithms for sparse matrices", 1978): row i of C is the sum of the rows of
//! B that row i of A names.
//!
//! [`SpgemmRowWork`] and, for very long rows, [`SpgemmLongRowWork`] count the products of each row of C and find the span
//! of its columns. [`SpgemmClassify`] puts
//! rows into classes by both, and [`SpgemmListRows`] lists each class. Rows of a class are done by one launch:
//!
//! * [`SpgemmHashCount`] and [`SpgemmHashFill`]: a group of lanes a row, which looks columns up in a hash table;
//! * [`SpgemmWindowCount`] and [`SpgemmWindowFill`]: a block a row, with a bit for each column of a window of C. How many
//!   bits are set before a column's is its place in the row, so rows come out sorted.
//!
//! Tables have room for the largest row of their class. Windows do any row: as many windows as it takes, and sums in global
//! memory that shared memory has no room for.
//!
//! For products with changing values, [`SpgemmRankProducts`] keeps where the products of windows go, and [`SpgemmAddRanked`]
//! adds them up by that: a warp a part of a row.
//!
//! The products of each sum are added in the order of A's entries, by all of these, so sums are bitwise the same from run to
//! run and from kernel to kernel. Columns of one row of B differ, so lanes that take entries of one row of B never add to
//! the same sum; rows of B that are added side by side take turns.

mod add_ranked;
mod bitmap;
mod classes;
mod entries;
mod hash;
mod hash_table;
mod offsets;
mod ranked;
mod stage;
mod window;
mod work;

pub use add_ranked::{add_ranked_shared_bytes, SpgemmAddRanked};
pub use classes::{
    Class, ClassLimits, SpgemmClassify, SpgemmListRows, CLASSES, COUNTERS, EMPTY_CLASS, HASH_CLASSES,
};
pub use hash::{hash_shared_bytes, SpgemmHashCount, SpgemmHashFill};
pub use offsets::SpgemmConvertOffsets;
pub use ranked::{part_len, rank_shared_bytes, SpgemmCutByParts, SpgemmPartWork, SpgemmRankProducts};
pub use window::{window_shared_bytes, SpgemmWindowCount, SpgemmWindowFill, WINDOW_COLUMNS};
pub use work::{SpgemmLongRowWork, SpgemmMaskWork, SpgemmRowWork};
