//! Sums of matrices of coordinates.
