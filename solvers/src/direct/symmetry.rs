//! The reason why a symmetric factorization is of no use.

use evenpath::{Csr, Offset, RealStorage};

use super::value::DirectValue;
use crate::error::Error;
use crate::scalars::epsilon;

/// The first entry of a canonical matrix that differs from its mirror image by more than rounding.
pub(super) fn first_difference<V: DirectValue, O: Offset>(a: &Csr<V, O>) -> Option<Error> {
    a.iter().find_map(|(row, col, value)| {
        let (value, mirrored) = (value.to_f64(), a.get(col, row).map_or(0.0, RealStorage::to_f64));
        let limit = 100.0 * epsilon::<V>() * value.abs().max(mirrored.abs());
        ((value - mirrored).abs() > limit).then_some(Error::NotSymmetric { row, col })
    })
}
