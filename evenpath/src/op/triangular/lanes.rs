//! The number of partial sums of a row, which the order of sums depends on.

/// Entries of a row, in the mean, for each lane.
const ENTRIES_PER_LANE: u64 = 4;

/// Number of lanes for a row of a triangle of `rows` rows and `entries` entries, the diagonal left out. It depends on nothing else, so
/// that all devices agree.
pub(in crate::op) fn lanes(rows: usize, entries: u64) -> u32 {
    let mean = entries / (rows as u64).max(1);
    (mean / ENTRIES_PER_LANE).clamp(1, 32).next_power_of_two() as u32
}

#[cfg(test)]
mod tests {
    use super::lanes;

    #[test]
    fn lanes_have_entries() {
        let of_mean = |mean: u64| lanes(100, 100 * mean);
        assert_eq!([0, 3, 4, 8, 12, 40, 64, 128, 1000].map(of_mean), [1, 1, 1, 2, 4, 16, 16, 32, 32]);
        assert_eq!(lanes(0, 0), 1);
    }
}
