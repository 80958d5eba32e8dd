//! Calls of [`evenpath`] that only measure or test, for its studies and its own tests.
//!
//! Nothing here computes what the library does not: these are variants of kernels that a study compares, phases that it
//! times, and what tests need to see of a device. They are the feature `lab` of evenpath, which is no part of its
//! interface, and change without notice.

#[doc(inline)]
pub use evenpath::lab::*;

#[cfg(test)]
mod tests {
    use evenpath::generate::Published;

    use super::table2;

    #[test]
    fn the_list_ends_where_the_table_does() {
        assert_eq!(table2().last().map(Published::name), Some("lp"));
        assert_eq!(table2().count(), 14);
    }
}
