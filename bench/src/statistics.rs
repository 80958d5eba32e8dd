//! Summaries of many measurements.

pub(crate) use evenpath_bench_support::statistics::{MOST_ROUNDS, WIDE, median, spread};

/// The geometric mean; `None` without values.
pub(crate) fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut logarithms, mut count) = (0.0, 0);
    for value in values {
        logarithms += value.ln();
        count += 1;
    }
    (count > 0).then(|| (logarithms / f64::from(count)).exp())
}

/// The mean and the standard deviation (of all values, not of a sample); `None` without values.
pub(crate) fn mean_and_deviation(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (count > 0.0).then_some((mean, variance.sqrt()))
}

/// Pearson's correlation coefficient of pairs; `None` if either side is constant.
pub(crate) fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let count = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let (mean_a, mean_b) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let (mut covariance, mut variance_a, mut variance_b) = (0.0, 0.0, 0.0);
    for (a, b) in pairs {
        covariance += (a - mean_a) * (b - mean_b);
        variance_a += (a - mean_a).powi(2);
        variance_b += (b - mean_b).powi(2);
    }
    (variance_a > 0.0 && variance_b > 0.0).then(|| covariance / (variance_a * variance_b).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(actual: Option<f64>, expected: f64) {
        assert!(actual.is_some_and(|actual| (actual - expected).abs() < 1e-12), "{actual:?}, not {expected}");
    }

    #[test]
    fn geometric_mean_is_that_of_ratios() {
        assert_near(geometric_mean([2.0, 0.5]), 1.0);
        assert_near(geometric_mean([1.0, 2.0, 4.0]), 2.0);
        assert_eq!(geometric_mean([]), None);
    }

    #[test]
    fn deviation_is_that_of_all_values() {
        assert_eq!(mean_and_deviation(&[1.0, 3.0, 5.0, 7.0]), Some((4.0, 5.0_f64.sqrt())));
        assert_eq!((mean_and_deviation(&[2.0]), mean_and_deviation(&[])), (Some((2.0, 0.0)), None));
    }

    #[test]
    fn correlation_tells_lines_from_clouds() {
        assert_near(correlation(&[(1.0, 12.0), (2.0, 14.0), (4.0, 18.0)]), 1.0);
        assert_near(correlation(&[(1.0, -1.0), (2.0, -2.0)]), -1.0);
        // By hand: covariance 4, variances 5 and 5.
        assert_near(correlation(&[(0.0, 1.0), (1.0, 0.0), (2.0, 3.0), (3.0, 2.0)]), 0.6);
        assert_eq!(correlation(&[(1.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(correlation(&[]), None);
    }
}
