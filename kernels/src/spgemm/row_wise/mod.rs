//! Products row by row (Gustavson, "Two fast algorithms for sparse matrices", 1978): row i of C is a linear combination of
//! the rows of B that the columns of row i of A name.
//!
//! [`SpgemmRowWork`] and, for very long rows, [`SpgemmLongRowWork`] count the products of each row of C and find the span of
//! its columns. By both, [`SpgemmClassify`] assigns rows to classes, and [`SpgemmListRows`] lists each class. One launch
//! computes the rows of a class:
//!
//! * [`SpgemmHashCount`] and [`SpgemmHashFill`]: a group of lanes per row, which looks up columns in a hash table;
//! * [`SpgemmWindowCount`] and [`SpgemmWindowFill`]: a block per row, with a bit for each column of a window of C. The number
//!   of bits set before a column's bit is its position in the row, so rows come out sorted.
//!
//! Hash tables have room for the largest row of their class. Windows handle any row, with as many windows as it needs; sums
//! that do not fit in shared memory are in global memory.
//!
//! [`SpgemmRankProducts`] records the destinations of the products of windows for repeated products with new values, and
//! [`SpgemmAddRanked`] adds them up there: a warp per part of a row.
//!
//! All of these add the products of a sum in the order of A's entries, so sums are bitwise the same from run to run and from
//! kernel to kernel. The columns of a row of B are distinct, so lanes that take entries of one row of B never add to the same
//! sum. Rows of B that are processed side by side take turns.

mod add_ranked;
mod bitmap;
mod classes;
mod entries;
mod hash;
mod hash_table;
mod offsets;
mod ranked;
mod rows;
mod spans;
mod stage;
mod window;
mod work;

pub(in crate::spgemm) use entries::RowEntries;
pub(in crate::spgemm) use work::{each_long_row, each_row_of_b};

pub use add_ranked::{add_ranked_shared_bytes, SpgemmAddRanked};
pub use classes::{
    Class, ClassLimits, SpgemmClassify, SpgemmListRows, CLASSES, COUNTERS, EMPTY_CLASS, HASH_CLASSES,
};
pub use hash::{hash_shared_bytes, SpgemmHashCount, SpgemmHashFill};
pub use offsets::{SpgemmConvertOffsets, SpgemmExpandOffsets};
pub use ranked::{
    part_len, rank_shared_bytes, RowParts, SpgemmCutByParts, SpgemmPartWork, SpgemmRankProducts,
};
pub use rows::{ResultEntries, ResultPattern, RowList, RowWork};
pub use spans::Spans;
pub use window::{window_shared_bytes, SpgemmWindowCount, SpgemmWindowFill, WINDOW_COLUMNS};
pub use work::{SpgemmLongRowWork, SpgemmRowWork};
