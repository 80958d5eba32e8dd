//! Published matrices, by the table that has them.

use crate::generate::Published;

/// Returns the matrices of Table II of Dalton et al., IPDPS 2015, all fourteen.
pub fn table2() -> impl Iterator<Item = Published> {
    Published::table2()
}
