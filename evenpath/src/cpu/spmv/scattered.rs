//! Test if prefetching elements of x pays off.

/// Maximum number of nonzeros per row for which prefetching pays off: in longer rows, the processor has
/// enough loads in flight.
const SCATTERED_MEAN: usize = 8;
/// Minimum span of the columns.
const SCATTERED_SPAN: u32 = 1 << 19;
/// Number of consecutive nonzeros whose cache lines of x are counted.
const CHUNK: usize = 256;
/// Number of elements in a cache line.
const LINE: u32 = 8;
/// Sampling interval of chunks.
const SAMPLED: usize = 16;

/// Returns whether rows are short and their columns scattered: most in a different cache line than those
/// shortly before, of which `sharing` rows may use the same, and together in more lines than caches hold.
pub(super) fn has_scattered_columns(rows: usize, columns: &[u32], sharing: usize) -> bool {
    if columns.len() > rows * SCATTERED_MEAN {
        return false;
    }
    let (chunks, _) = columns.as_chunks::<CHUNK>();
    let (mut all, mut lines, mut least, mut greatest) = (0, 0, u32::MAX, 0);
    for chunk in chunks.iter().step_by(SAMPLED) {
        // One bit per line, rarely shared by several.
        let mut seen = [0_u64; CHUNK / 4];
        for &column in chunk {
            let line = (column / LINE) as usize % (16 * CHUNK);
            seen[line / 64] |= 1 << (line % 64);
            (least, greatest) = (least.min(column), greatest.max(column));
        }
        all += CHUNK;
        lines += seen.iter().map(|word| word.count_ones() as usize).sum::<usize>();
    }
    lines * 2 * sharing > all && greatest - least >= SCATTERED_SPAN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_may_share_lines() {
        let columns = |sharing: u32| -> Vec<u32> {
            let of_row =
                |row: u32| (0..4).map(move |at| (row * 4 + at).wrapping_mul(2_654_435_761) % (1 << 20));
            (0..2000).flat_map(|row| of_row(row / sharing)).collect()
        };
        for sharing in 1..=4 {
            let found = [1, 2, 4].map(|rows| has_scattered_columns(2000, &columns(sharing), rows));
            assert_eq!(found, [sharing < 2, sharing < 4, true], "{sharing}");
        }
        assert!(!has_scattered_columns(900, &columns(1), 1), "rows are long");
        assert!(!has_scattered_columns(0, &[], 1));
    }
}
