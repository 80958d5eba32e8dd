//! Merge path: where an equal share of a merge begins.
//!
//! A merge of sequences A and B is a path through a grid, right for an element of A and down for one
//! of B. Diagonal `d` cuts it after `d` elements; the cut's place is found by binary search along the
//! diagonal, independently of every other cut (Green, McColl, Bader, "GPU Merge Path", ICS 2012;
//! Merrill, Garland, "Merge-based Parallel Sparse Matrix-Vector Multiplication", SC 2016).

use evenpath_simt::device;

use super::index::Index;
use super::search::partition_point;

/// Returns the number of the `rows` row ends before diagonal `diagonal` of their merge with the numbers 0, 1, …
/// `nonzeros` − 1: row ends are consumed first where they equal the next nonzero's number.
///
/// `row_end(i)` is the number of nonzeros in rows 0 to i, so it does not decrease with i.
#[device]
pub fn search_rows<T: Index>(diagonal: T, rows: T, nonzeros: T, row_end: impl Fn(T) -> T) -> T {
    let low = if diagonal > nonzeros { diagonal - nonzeros } else { T::from(0) };
    let high = if diagonal < rows { diagonal } else { rows };
    partition_point(low, high, |row| row_end(row) + row < diagonal)
}

/// Returns the number of elements of A, `a_len` long, before diagonal `diagonal` of its merge with B, `b_len` long; the
/// others before it are B's. An element of A comes before those of B that equal it.
///
/// Even if elements are not sorted, the result lies in `diagonal - b_len ..= a_len`, and `a` and `b` are called for
/// indices below the lengths only.
#[device]
pub fn search<T: Index, K: PartialOrd>(
    diagonal: T,
    a_len: T,
    b_len: T,
    a: impl Fn(T) -> K,
    b: impl Fn(T) -> K,
) -> T {
    let low = if diagonal > b_len { diagonal - b_len } else { T::from(0) };
    let high = if diagonal < a_len { diagonal } else { a_len };
    partition_point(low, high, |a_taken| a(a_taken) <= b(diagonal - T::from(1) - a_taken))
}
