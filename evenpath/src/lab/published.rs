//! Published matrices, by the table that has them.

use crate::generate::Published;

/// Returns the matrices of Table II of Dalton et al., IPDPS 2015, all fourteen.
pub fn table2() -> impl Iterator<Item = Published> {
    Published::table2()
}

/// Returns the matrices of Figure 7.1 of the thesis on HiSparse, without its dense matrix, and without `webbase` and `lp`,
/// which are in Table II.
pub fn figure7() -> impl Iterator<Item = Published> {
    Published::figure7()
}
