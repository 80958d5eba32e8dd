//! The row lengths of a structure.

use rayon::prelude::*;

use super::stream::{Purpose, Seeds, Stream};
use super::structure::{Drift, LengthLaw, Structure};

/// The number of entries of each row of nodes, at most one per column, with `most` nonzeros in total.
pub(super) fn lengths(structure: &Structure, seeds: Seeds, most: usize) -> Vec<u32> {
    let &Structure { row_nodes, col_nodes, block, symmetric, .. } = structure;
    // The union with the transpose has up to twice as many entries.
    let mean = if symmetric { structure.mean / 2.0 } else { structure.mean };
    let length = |node: usize| {
        let mut stream = seeds.stream(Purpose::Length, node);
        let mean = mean * structure.drift.factor(node, row_nodes);
        structure.lengths.draw_length(mean, &mut stream).min(col_nodes as f64) as u32
    };
    let mut lengths: Vec<u32> = (0..row_nodes).into_par_iter().with_min_len(1 << 10).map(length).collect();
    let entries = most / (block * block) / if symmetric { 2 } else { 1 };
    let drawn: usize = lengths.par_iter().map(|&length| length as usize).sum();
    if drawn > entries {
        let shortened =
            |length: &mut u32| *length = (u64::from(*length) * entries as u64 / drawn as u64) as u32;
        lengths.par_iter_mut().for_each(shortened);
    }
    lengths
}

impl Drift {
    /// The mean of a row over that of all rows.
    fn factor(self, row: usize, rows: usize) -> f64 {
        // With this mean, a share of `share` is `ratio` times longer than the rest.
        let of_two = |is_long: bool, share: f64, ratio: f64| {
            let short = 1.0 / (1.0 + share * (ratio - 1.0));
            if is_long { ratio * short } else { short }
        };
        match self {
            Self::None => 1.0,
            Self::Linear { slope } => 1.0 + slope * (2.0 * (row as f64 + 0.5) / rows as f64 - 1.0),
            Self::Step { share, ratio } => of_two((row as f64) < share * rows as f64, share, ratio),
            Self::Periodic { period, ratio } => {
                of_two(row.is_multiple_of(period), 1.0 / period as f64, ratio)
            }
        }
    }
}

impl LengthLaw {
    /// A length, a whole number; the mean of all lengths is `mean`, or the nearest whole number if they are equal.
    fn draw_length(self, mean: f64, stream: &mut Stream) -> f64 {
        match self {
            Self::Constant => libm::round(mean),
            Self::Uniform { width } => {
                let length = mean * stream.between(1.0 - width, 1.0 + width);
                stream.rounded(length)
            }
            // By inversion: P(length >= n) = (mean / (1 + mean))ⁿ. 1 - unit is in (0, 1].
            Self::Geometric => libm::floor(libm::log(1.0 - stream.unit()) / libm::log(mean / (1.0 + mean))),
            Self::PowerLaw { exponent } => {
                let shortest = mean * (exponent - 1.0) / exponent;
                let length = shortest * libm::pow(1.0 - stream.unit(), -1.0 / exponent);
                stream.rounded(length)
            }
            Self::Bimodal { share, ratio } => {
                let short = mean / (1.0 + share * (ratio - 1.0));
                let length = if stream.happens(share) { ratio * short } else { short };
                stream.rounded(length)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::structure::{ColumnLaw, Permutation};
    use super::*;

    const SEEDS: Seeds = Seeds { seed: 3, number: 5 };
    const ROWS: usize = 200_000;

    pub(super) fn structure(lengths: LengthLaw, drift: Drift) -> Structure {
        Structure {
            row_nodes: ROWS,
            col_nodes: ROWS,
            block: 1,
            mean: 12.0,
            lengths,
            drift,
            columns: ColumnLaw::Uniform,
            symmetric: false,
            permutation: Permutation::None,
            empty_rows: None,
            empty_columns: None,
        }
    }

    fn mean(lengths: &[u32]) -> f64 {
        lengths.iter().map(|&length| f64::from(length)).sum::<f64>() / lengths.len() as f64
    }

    #[test]
    fn every_law_has_its_mean() {
        let laws = [
            (LengthLaw::Constant, 0.0),
            (LengthLaw::Uniform { width: 0.7 }, 0.01),
            (LengthLaw::Geometric, 0.01),
            (LengthLaw::PowerLaw { exponent: 2.5 }, 0.02),
            (LengthLaw::Bimodal { share: 0.05, ratio: 40.0 }, 0.03),
        ];
        for (law, tolerance) in laws {
            let lengths = lengths(&structure(law, Drift::None), SEEDS, usize::MAX);
            let off = (mean(&lengths) / 12.0 - 1.0).abs();
            assert!(off <= tolerance, "{law}: {}", mean(&lengths));
        }
    }

    #[test]
    fn lengths_are_spread_as_their_law_says() {
        let shares = |law, of: fn(u32) -> bool| {
            let lengths = lengths(&structure(law, Drift::None), SEEDS, usize::MAX);
            lengths.iter().filter(|&&length| of(length)).count() as f64 / ROWS as f64
        };
        // (12 / 13)²⁴.
        assert!((shares(LengthLaw::Geometric, |length| length >= 24) - 0.1465).abs() < 0.005);
        // The shortest is 7.2; (7.2 / 36)^2.5.
        assert!((shares(LengthLaw::PowerLaw { exponent: 2.5 }, |length| length > 36) - 0.0179).abs() < 0.002);
        // Short rows have 12 / 2.95.
        let bimodal = LengthLaw::Bimodal { share: 0.05, ratio: 40.0 };
        assert!((shares(bimodal, |length| length > 100) - 0.05).abs() < 0.003);
        assert!((shares(bimodal, |length| length == 4 || length == 5) - 0.95).abs() < 0.003);
        let uniform = LengthLaw::Uniform { width: 0.5 };
        assert!(shares(uniform, |length| (6..=18).contains(&length)) > 0.999);
        assert!((shares(uniform, |length| length < 9) - 0.25).abs() < 0.05);
    }

    #[test]
    fn drift_moves_nonzeros_but_keeps_the_mean() {
        // The mean of the first tenth over that of all rows.
        let drifts = [
            (Drift::None, 1.0),
            (Drift::Linear { slope: 0.5 }, 0.55),
            (Drift::Linear { slope: -0.9 }, 1.81),
            (Drift::Step { share: 0.1, ratio: 10.0 }, 10.0 / 1.9),
            (Drift::Periodic { period: 10, ratio: 5.0 }, 1.0),
        ];
        for (drift, first) in drifts {
            let lengths = lengths(&structure(LengthLaw::Geometric, drift), SEEDS, usize::MAX);
            assert!((mean(&lengths) / 12.0 - 1.0).abs() < 0.02, "{drift}: {}", mean(&lengths));
            let of_first = mean(&lengths[..ROWS / 10]) / mean(&lengths);
            assert!((of_first / first - 1.0).abs() < 0.05, "{drift}: {of_first}");
        }
        let periodic = structure(LengthLaw::Constant, Drift::Periodic { period: 10, ratio: 5.0 });
        let lengths = lengths(&periodic, SEEDS, usize::MAX);
        // 60 / 1.4 and 12 / 1.4.
        assert_eq!(lengths[8..13], [9, 9, 43, 9, 9]);
    }

    #[test]
    fn lengths_hold_the_limit_and_the_width() {
        let mut structure = structure(LengthLaw::Geometric, Drift::None);
        let total = |lengths: &[u32]| lengths.iter().map(|&length| length as usize).sum::<usize>();
        assert!(total(&lengths(&structure, SEEDS, 1_000_000)) <= 1_000_000);
        (structure.block, structure.symmetric) = (2, true);
        assert!(8 * total(&lengths(&structure, SEEDS, 1_000_000)) <= 1_000_000);
        structure.col_nodes = 5;
        assert_eq!(lengths(&structure, SEEDS, usize::MAX).into_iter().max(), Some(5));
    }
}
