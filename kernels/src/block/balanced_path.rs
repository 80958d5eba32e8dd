//! Balanced path: where an equal share of a set operation begins.
//!
//! The copies of a key in a sequence are numbered 0, 1, …; a copy in A and one in B *match* if their keys and numbers are
//! equal. The path takes keys in order, and within a key's copies one of A and one of B in turn, then what is left of
//! the longer run. A diagonal that would come between two that match is *starred*: it takes one element of B more, so
//! that no match is ever cut (Baxter, "Modern GPU", 2013; Dalton, Baxter, Merrill, Olson, Garland, "Optimizing Sparse
//! Matrix Operations on GPUs using Merge Path", IPDPS 2015, section III-B). On one side of a cut, numbers count on from
//! where the other side left off: either both sequences have the same number of copies before it, or one has none after
//! it.

use evenpath_simt::device;

use super::search::partition_point;
use super::{merge_path, Index};

/// Cut of the path by a diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathCut<T> {
    /// Elements of A before the cut.
    pub a: T,
    /// Elements of B before the cut: with `a` as many as the diagonal says, and one more if starred.
    pub b: T,
}

/// Finds the cut of the balanced path of A, `a_len` long, and B, `b_len` long, by `diagonal`.
///
/// Runs of equal elements may have any length; a run costs two comparisons for each doubling of its length. Even if
/// elements are not sorted, the cut lies inside both sequences, at the diagonal or one after it, and `a` and `b` are
/// called for indices below the lengths only.
#[device]
pub fn search<T: Index, K: Copy + PartialOrd>(
    diagonal: T,
    a_len: T,
    b_len: T,
    a: impl Fn(T) -> K,
    b: impl Fn(T) -> K,
) -> PathCut<T> {
    let (zero, one) = (T::from(0), T::from(1));
    let a_cut = merge_path::search(diagonal, a_len, b_len, &a, &b);
    let b_cut = diagonal - a_cut;
    let unchanged = PathCut { a: a_cut, b: b_cut };
    if b_cut >= b_len {
        return unchanged;
    }
    let key = b(b_cut);
    let in_a = a_cut > zero && a(a_cut - one) == key;
    let in_b = b_cut > zero && b(b_cut - one) == key;
    if !in_a && !in_b {
        return unchanged;
    }
    if in_a && !in_b && !(a_cut > one && a(a_cut - one - one) == key) {
        // One copy in A is taken, and the first of B, which matches it, is not.
        return PathCut { a: a_cut, b: b_cut + one };
    }
    stairs(PathCut { a: a_cut, b: b_cut }, b_len, key, a, b)
}

/// Moves the merge path's cut within the copies of `key` to where both sequences' copies are taken in turn.
#[device]
fn stairs<T: Index, K: Copy + PartialOrd>(
    cut: PathCut<T>,
    b_len: T,
    key: K,
    a: impl Fn(T) -> K,
    b: impl Fn(T) -> K,
) -> PathCut<T> {
    let one = T::from(1);
    let a_start = run_start(cut.a, key, &a);
    let b_start = run_start(cut.b, key, &b);
    let taken = (cut.a - a_start) + (cut.b - b_start);
    // Merge path takes all of A's copies first, so B has taken more than half only if A has none left.
    let b_taken = cut.b - b_start;
    let half = taken >> 1;
    let wanted = if half > b_taken { half } else { b_taken };
    // B's copies, as far as it matters: up to one more than wanted.
    let limit = if b_len - b_start > wanted { b_start + wanted + one } else { b_len };
    let b_copies = run_end(cut.b, limit, key, &b) - b_start;
    let b_advance = if wanted < b_copies { wanted } else { b_copies };
    let a_advance = taken - b_advance;
    let starred = a_advance == b_advance + one && b_advance < b_copies;
    let b_cut = b_start + b_advance;
    PathCut { a: a_start + a_advance, b: if starred { b_cut + one } else { b_cut } }
}

/// Returns the first of the elements before `end` that are equal to `key` without a gap: strides double until they
/// leave the run, then bisection.
#[device]
fn run_start<T: Index, K: Copy + PartialOrd>(end: T, key: K, element: impl Fn(T) -> K) -> T {
    let (zero, one) = (T::from(0), T::from(1));
    let (mut low, mut high) = (zero, end);
    let mut stride = one;
    while high > zero {
        let probe = if high > stride { high - stride } else { zero };
        if element(probe) < key {
            low = probe + one;
            break;
        }
        high = probe;
        stride = stride + stride;
    }
    partition_point(low, high, |index| element(index) < key)
}

/// Returns the first of the elements in `start..limit` that is greater than `key`, or `limit`.
#[device]
fn run_end<T: Index, K: Copy + PartialOrd>(start: T, limit: T, key: K, element: impl Fn(T) -> K) -> T {
    partition_point(start, limit, |index| element(index) <= key)
}
