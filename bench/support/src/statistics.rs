//! Medians of times, and how far the times are spread.

/// A spread above this is wide: the median may differ by some percent in another run.
pub const WIDE: f64 = 0.05;

/// The most rounds of runs for a median with a wide spread.
pub const MOST_ROUNDS: usize = 3;

/// The median: the mean of the two middle values if their number is even, NaN if there is none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => f64::NAN,
        (len, middle) if len % 2 == 1 => sorted[middle],
        (_, middle) => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The value below which a fraction of the values lies, interpolated between neighbors; NaN if there is none.
pub fn quantile(values: &[f64], fraction: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = fraction * last as f64;
    let below = position as usize;
    let above = (below + 1).min(last);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

/// The spread: the interquartile range over the median. 0 for at most one value.
pub fn spread(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    (quantile(values, 0.75) - quantile(values, 0.25)) / median(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_an_even_number_is_between_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]).to_bits(), 2.5_f64.to_bits());
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn spread_is_that_of_the_middle_half() {
        // The quartiles are 2 and 4, the median 3; the outlier does not matter.
        assert!((spread(&[1.0, 2.0, 3.0, 4.0, 500.0]) - 2.0 / 3.0).abs() < 1e-12);
        // Between neighbors: 1.75 and 3.25 around 2.5.
        assert!((spread(&[4.0, 3.0, 2.0, 1.0]) - 1.5 / 2.5).abs() < 1e-12);
        for values in [&[][..], &[7.0], &[7.0, 7.0, 7.0]] {
            assert!(spread(values).abs() < 1e-12, "{values:?}");
        }
    }
}
