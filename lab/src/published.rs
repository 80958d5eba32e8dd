//! Published matrices, by the table that has them.

use evenpath::generate::Published;

/// Matrices of Table II that are not in Figure 7.1 under another name: where one list ends and the other begins.
const IN_TABLE_2: usize = 14;

/// Returns the matrices of Table II of Dalton et al., IPDPS 2015, all fourteen.
pub fn table2() -> impl Iterator<Item = Published> {
    Published::all().take(IN_TABLE_2)
}

/// Returns the matrices of Figure 7.1 of the thesis on HiSparse, without its dense matrix, and without `webbase` and `lp`,
/// which are in Table II.
pub fn figure7() -> impl Iterator<Item = Published> {
    Published::all().skip(IN_TABLE_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_meet_where_the_tables_do() {
        assert_eq!(table2().last().map(Published::name), Some("lp"));
        assert_eq!(figure7().next().map(Published::name), Some("asia-osm"));
        assert_eq!(figure7().count(), 17);
    }
}
