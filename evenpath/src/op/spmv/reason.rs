//! Why a plan chose its method.

use std::borrow::Cow;

use super::features::Features;
use super::lengths::{Lengths, Long};

/// Reason for a method, besides the row lengths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reason {
    /// None.
    RowLengths,
    /// A property of the matrix, in words.
    Property(Cow<'static, str>),
    /// It is estimated to take this long, and every other method that can be built longer.
    Estimate { nanoseconds: u64 },
    /// No other method can be built.
    AnyRows,
}

impl Reason {
    /// The reason in words.
    pub(super) fn explain(&self, features: &Features) -> String {
        let Lengths { longest, mean, empty, limit, long } = features.lengths;
        let text =
            format!("rows have {mean:.1} nonzeros on average and {longest} at most, {empty} are empty");
        match self {
            Self::RowLengths => text,
            Self::Property(property) => format!("{text}; {property}"),
            Self::Estimate { nanoseconds } => {
                let estimate = *nanoseconds as f64 / 1e3;
                if long.rows == 0 {
                    format!("{text}; estimated at {estimate:.1} µs")
                } else {
                    let Long { rows, nonzeros, .. } = long;
                    format!(
                        "{text}; {rows} with more than {limit} have {nonzeros} of the nonzeros; estimated at {estimate:.1} µs"
                    )
                }
            }
            Self::AnyRows => format!("{text}; no other method can be built"),
        }
    }
}
