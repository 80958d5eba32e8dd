//! Number of nonzeros, limited by the type of row offsets.

use super::OpError;
use crate::{MatrixError, Offset};

/// Converts the number of nonzeros of a result, if row offsets of this type can count them; `remedy` names
/// the call to use otherwise.
pub(crate) fn countable<O: Offset>(nonzeros: u64, remedy: &'static str) -> Result<usize, OpError> {
    let len = usize::try_from(nonzeros).ok().filter(|&len| O::try_from_usize(len).is_some());
    let overflow = MatrixError::OffsetOverflow { nnz: nonzeros, offset: O::NAME, remedy };
    len.ok_or(OpError::Matrix(overflow))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_beyond_an_offset_are_named() {
        let beyond = 1_u64 << 32;
        assert_eq!(countable::<u32>(beyond - 1, "").ok(), Some(u32::MAX as usize));
        assert_eq!(countable::<u64>(beyond, "").ok(), Some(1 << 32));
        let text = countable::<u32>(beyond, "ask for less").unwrap_err().to_string();
        assert!(text.contains("4294967296 nonzeros") && text.contains("ask for less"), "{text}");
    }
}
