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

/// The spread: the interquartile range over the median, with quartiles interpolated between neighbors. 0 for a single value.
pub fn spread(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let quantile = |fraction: f64| {
        let position = fraction * last as f64;
        let below = position as usize;
        let above = (below + 1).min(last);
        sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
    };
    (quantile(0.75) - quantile(0.25)) / median(values)
}

/// Measures until the spread is not [wide](WIDE), at most `rounds` times, and returns the values of the narrowest round.
///
/// # Errors
///
/// The first error of a round.
pub fn narrowest<E>(rounds: usize, mut measure: impl FnMut() -> Result<Vec<f64>, E>) -> Result<Vec<f64>, E> {
    let mut best = measure()?;
    for _ in 1..rounds {
        if spread(&best) <= WIDE {
            break;
        }
        let again = measure()?;
        if spread(&again) < spread(&best) {
            best = again;
        }
    }
    Ok(best)
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

    /// The rounds that were measured, and the first value of the one that counts.
    fn rounds(most: usize, samples: &[[f64; 3]]) -> (usize, f64) {
        let mut samples = samples.iter();
        let mut measured = 0;
        let values = narrowest(most, || {
            measured += 1;
            samples.next().map(|values| values.to_vec()).ok_or("no more samples")
        });
        (measured, values.unwrap()[0])
    }

    #[test]
    fn wide_rounds_are_measured_again_up_to_a_bound() {
        const NARROW: [f64; 3] = [100.0, 101.0, 102.0];
        const WIDE: [f64; 3] = [10.0, 11.0, 12.0];
        const WIDER: [f64; 3] = [1.0, 2.0, 3.0];
        assert_eq!(rounds(3, &[NARROW]), (1, 100.0));
        assert_eq!(rounds(3, &[WIDE, NARROW]), (2, 100.0));
        assert_eq!(rounds(3, &[WIDER, WIDE, WIDER]), (3, 10.0));
        assert_eq!(rounds(1, &[WIDER]), (1, 1.0));
        assert_eq!(narrowest(3, || Err::<Vec<f64>, _>("lost")), Err("lost"));
    }
}
