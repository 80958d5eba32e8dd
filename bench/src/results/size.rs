//! Classes of matrices by size.

use super::Row;

/// The least bytes of a large matrix in CSR. Below, launches and the cache decide on times, not the work.
const LEAST_LARGE: u64 = 4_000_000;

/// A class of matrices by the bytes of their arrays in CSR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// 4 MB and more; and matrices that could not be read.
    Large,
    /// Under 4 MB.
    Small,
}

impl Size {
    pub(crate) const ALL: [Self; 2] = [Self::Large, Self::Small];

    /// The class of the matrix of a row, with values of its type.
    pub(crate) fn of(row: &Row) -> Self {
        if row.csr_bytes().is_some_and(|bytes| bytes < LEAST_LARGE) { Self::Small } else { Self::Large }
    }

    /// Its name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Large => "4 MB and more",
            Self::Small => "under 4 MB",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Key, Op, Shape};

    #[test]
    fn values_and_offsets_count() {
        let size = |value: &str, shape| {
            let (variant, suite, matrix) = (String::new(), "-".into(), "a".into());
            Size::of(&Row::failed(
                Key { op: Op::Spmv, variant, suite, matrix, value: value.into() },
                shape,
                "no",
            ))
        };
        // 1,200,004 bytes of offsets.
        let of = |nnz| Some(Shape { rows: 300_000, cols: 5, nnz });
        for (value, bytes) in [("f16", 6), ("f32", 8), ("f64", 12), ("c32", 12), ("c64", 20)] {
            let least = 2_799_996_usize.div_ceil(bytes);
            assert_eq!(
                (size(value, of(least)), size(value, of(least - 1))),
                (Size::Large, Size::Small),
                "{value}"
            );
        }
        assert_eq!(size("f64", None), Size::Large);
    }
}
