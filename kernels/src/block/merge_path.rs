//! Merge path: where an equal share of a merge begins.
//!
//! A merge of sequences A and B is a path through a grid, right for an element of A and down for one
//! of B. Diagonal `d` cuts it after `d` elements; the cut's place is found by binary search along the
//! diagonal, independently of every other cut (Green, McColl, Bader, "GPU Merge Path", ICS 2012;
//! Merrill, Garland, "Merge-based Parallel Sparse Matrix-Vector Multiplication", SC 2016).

use core::ops::{Add, Shr, Sub};

/// How many of the `rows` row ends lie before diagonal `diagonal` of their merge with the numbers
/// 0, 1, … `nonzeros` − 1: row ends are consumed first where they equal the next nonzero's number.
///
/// `row_end(i)` is the number of nonzeros in rows 0 to i, so it does not decrease with i.
#[inline(always)]
pub fn search_rows<T>(diagonal: T, rows: T, nonzeros: T, row_end: impl Fn(T) -> T) -> T
where
    T: Copy + PartialOrd + From<u8> + Add<Output = T> + Sub<Output = T> + Shr<u32, Output = T>,
{
    let mut low = if diagonal > nonzeros { diagonal - nonzeros } else { T::from(0) };
    let mut high = if diagonal < rows { diagonal } else { rows };
    while low < high {
        let middle = low + ((high - low) >> 1);
        if row_end(middle) + middle < diagonal {
            low = middle + T::from(1);
        } else {
            high = middle;
        }
    }
    low
}
