//! Panels of B's rows in the product of two sparse matrices.

use crate::error::{Error, Result};

/// Boundaries of panels of rows with at most `limit` bytes each.
pub(super) fn cut_panels<V>(numbers: &[u64], lengths: &[u64], limit: u64) -> Result<Vec<usize>> {
    let bytes = |length: u64| 8 + length * (8 + size_of::<V>() as u64);
    let mut boundaries = vec![0];
    let mut used = 0;
    for (at, &length) in lengths.iter().enumerate() {
        let needed = bytes(length);
        if needed > limit {
            return Err(Error::PanelMemory { row: numbers[at], needed, limit });
        }
        if used + needed > limit {
            boundaries.push(at);
            used = 0;
        }
        used += needed;
    }
    boundaries.push(lengths.len());
    Ok(boundaries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_keep_the_limit() {
        // 8 bytes per row and 16 per nonzero.
        let panels = cut_panels::<f64>(&[3, 4, 9, 10], &[1, 2, 0, 3], 64).unwrap();
        assert_eq!(panels, [0, 2, 4]);
        assert_eq!(cut_panels::<f64>(&[], &[], 0).unwrap(), [0, 0]);
        let error = cut_panels::<f64>(&[3, 4], &[1, 4], 64).unwrap_err();
        assert!(matches!(error, Error::PanelMemory { row: 4, needed: 72, limit: 64 }));
    }
}
