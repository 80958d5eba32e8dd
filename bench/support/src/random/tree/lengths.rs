//! Row lengths with a given mean, second moment and maximum.

/// The top ranks are summed one by one for moments; below them lengths change little from rank to rank.
const TOP: usize = 1 << 12;
/// Samples of the ranks below those.
const SAMPLES: usize = 1 << 12;
/// Halvings until an interval is as small as f64 can represent.
const BISECTIONS: u32 = 100;

/// Moments and maximum of the row lengths.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    pub(super) mean: f64,
    /// The mean of the squares.
    pub(super) square: f64,
    pub(super) longest: f64,
}

/// Lengths by rank, the longest first. While v falls from 1 to 0, the length is `shortest + (longest - shortest)·vᵖ` or, if
/// most rows are long, `longest - (longest - shortest)·(1 - v)ᵖ`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lengths {
    rows: usize,
    shortest: f64,
    longest: f64,
    exponent: f64,
    /// True if most rows are short and a few are long.
    is_tail: bool,
}

impl Lengths {
    /// Lengths of `rows` rows whose mean and maximum are given, and whose second moment is as near as possible.
    pub(super) fn new(rows: usize, moments: Moments) -> Self {
        let longest = moments.longest.max(moments.mean);
        let law = |is_tail| Self { rows, shortest: 0.0, longest, exponent: 1.0, is_tail }.fitted(moments);
        let distance = |lengths: &Self| (lengths.square() - moments.square).abs();
        let (tail, body) = (law(true), law(false));
        if distance(&tail) <= distance(&body) { tail } else { body }
    }

    fn fitted(self, moments: Moments) -> Self {
        let (mut low, mut high) = (1e-2_f64, 4.0 * self.rows as f64);
        for _ in 0..BISECTIONS {
            let middle = libm::sqrt(low * high);
            let lengths = self.with_exponent(middle, moments.mean);
            // With a larger exponent a tail gets thinner, and the lower end of a body longer.
            let is_too_low = if self.is_tail {
                lengths.shortest < 0.0 || lengths.square() > moments.square
            } else {
                lengths.shortest >= 0.0 && lengths.square() < moments.square
            };
            if is_too_low {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.with_exponent(if self.is_tail { high } else { low }, moments.mean)
    }

    fn with_exponent(self, exponent: f64, mean: f64) -> Self {
        let share = Self { exponent, shortest: 0.0, longest: 1.0, ..self }.mean_of(|length| length);
        // mean = shortest + (longest - shortest)·share.
        let shortest = if share < 1.0 { (mean - self.longest * share) / (1.0 - share) } else { mean };
        Self { shortest, exponent, ..self }
    }

    fn square(&self) -> f64 {
        // Rounding adds the variance of the fraction.
        self.mean_of(|length| {
            let fraction = length - libm::floor(length);
            length * length + fraction * (1.0 - fraction)
        })
    }

    fn mean_of(&self, of: impl Fn(f64) -> f64) -> f64 {
        let top = self.rows.min(TOP);
        let rest = self.rows - top;
        let samples = rest.min(SAMPLES);
        let of_top: f64 = (0..top).map(|rank| of(self.at(rank))).sum();
        let sample = |index: usize| of(self.at(top + (2 * index + 1) * rest / (2 * samples)));
        let of_rest: f64 = (0..samples).map(sample).sum();
        (of_top + of_rest * rest as f64 / samples.max(1) as f64) / self.rows as f64
    }

    /// The length at a rank, before rounding.
    pub(super) fn at(&self, rank: usize) -> f64 {
        let v = 1.0 - rank as f64 / self.rows as f64;
        let range = self.longest - self.shortest;
        if self.is_tail {
            self.shortest + range * libm::pow(v, self.exponent)
        } else {
            self.longest - range * libm::pow(1.0 - v, self.exponent)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_requested() {
        // Tails and bodies: mean, deviation, longest.
        let laws = [
            (2.1, 0.6, 9.0),
            (8.2, 503.0, 203_800.0),
            (72.6, 15.8, 81.0),
            (15.6, 4.7, 33.0),
            (18.2, 195.0, 6300.0),
        ];
        for (mean, deviation, longest) in laws {
            let square = mean * mean + deviation * deviation;
            let lengths = Lengths::new(300_000, Moments { mean, square, longest });
            let rows = || (0..300_000).map(|rank| lengths.at(rank));
            let found = rows().sum::<f64>() / 300_000.0;
            assert!((found / mean - 1.0).abs() < 0.01, "{mean}: {found}");
            let found = lengths.square();
            assert!((found / square - 1.0).abs() < 0.05, "{mean}: square {found}, not {square}");
            assert!(rows().all(|length| length >= -1e-6 && length <= longest), "{mean}");
            assert!((lengths.at(0) - longest).abs() < 1e-6);
        }
    }
}
