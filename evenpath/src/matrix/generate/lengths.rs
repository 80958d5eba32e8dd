//! Row lengths with a given mean, deviation and maximum.

use super::published::Published;

/// The top positions are summed one by one for moments; below them lengths change little from one to the next.
const TOP: usize = 1 << 12;
/// Samples of the positions below those.
const SAMPLES: usize = 1 << 12;
/// Bisections until an interval is as small as f64 can represent.
const BISECTIONS: u32 = 100;

/// Lengths by position: rows (or nodes) ordered by length, longest first. While v falls from 1 at the longest to 0 at the
/// shortest, the length is `shortest + (longest - shortest)·vᵖ` or, if the deviation is too large for that, `longest -
/// (longest - shortest)·(1 - v)ᵖ`. The mean and deviation determine p and the shortest.
///
/// Fractional lengths are rounded up or down such that the mean is preserved.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lengths {
    rows: usize,
    shortest: f64,
    longest: f64,
    exponent: f64,
    /// True if most rows are short and a few long, rather than most long.
    is_tail: bool,
    /// True if lengths far below the longest are drawn from a geometric distribution whose mean is the length
    /// of the position.
    is_geometric: bool,
    /// The position of a row is its index times this, modulo the number of rows; the two are coprime.
    stride: u64,
}

/// Mean and variance.
#[derive(Clone, Copy)]
struct Moments {
    mean: f64,
    variance: f64,
}

impl Lengths {
    /// Creates the lengths for the rows of a published matrix; with blocks, for its nodes, and lengths count
    /// blocks.
    pub(super) fn new(matrix: Published, block: usize, is_geometric: bool) -> Self {
        let (rows, _) = matrix.shape();
        let block_size = block as f64;
        let target = Moments {
            mean: matrix.nonzeros() as f64 / rows as f64 / block_size,
            variance: (matrix.deviation() / block_size).powi(2),
        };
        let longest = (matrix.longest() / block) as f64;
        let rows = rows.div_ceil(block);
        let geometric = Self {
            rows,
            shortest: 0.0,
            longest,
            exponent: 0.0,
            is_tail: true,
            is_geometric,
            stride: stride(rows),
        };
        let tail = Self { is_geometric: false, ..geometric };
        let body = Self { is_tail: false, ..tail };
        let distance = |lengths: &Self| (lengths.moments().variance - target.variance).abs();
        let fitted = [geometric, tail, body].map(|lengths| lengths.fitted(target));
        fitted
            .into_iter()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .unwrap_or_else(|| unreachable!("three"))
    }

    /// The same with the exponent whose variance is nearest to the target.
    fn fitted(&self, target: Moments) -> Self {
        // For both shapes, a larger exponent gives fewer outliers, further away.
        let at = |exponent: f64| self.with_exponent(exponent, target.mean);
        let (mut low, mut high) = (1e-2_f64, 4.0 * self.rows as f64);
        for _ in 0..BISECTIONS {
            let middle = (low * high).sqrt();
            let lengths = at(middle);
            // With a larger exponent a tail gets thinner, and the lower end of a body longer.
            let is_too_low = if self.is_tail {
                lengths.shortest < 0.0 || lengths.moments().variance > target.variance
            } else {
                lengths.shortest >= 0.0 && lengths.moments().variance < target.variance
            };
            if is_too_low {
                low = middle;
            } else {
                high = middle;
            }
        }
        at(if self.is_tail { high } else { low })
    }

    fn with_exponent(&self, exponent: f64, mean: f64) -> Self {
        let unit = Self { exponent, shortest: 0.0, longest: 1.0, is_geometric: false, ..*self };
        let share = unit.mean();
        // mean = shortest + (longest - shortest)·share.
        let shortest = (mean - self.longest * share) / (1.0 - share);
        Self { shortest, exponent, ..*self }
    }

    /// The length at a position, before rounding.
    fn at(&self, position: usize) -> f64 {
        let v = 1.0 - position as f64 / self.rows as f64;
        let range = self.longest - self.shortest;
        if self.is_tail {
            self.shortest + range * libm::pow(v, self.exponent)
        } else {
            self.longest - range * libm::pow(1.0 - v, self.exponent)
        }
    }

    /// Positions with the number of positions that each represents: the top ones individually, the others by samples.
    fn positions(&self) -> impl Iterator<Item = (usize, f64)> {
        let top = self.rows.min(TOP);
        let rest = self.rows - top;
        let samples = rest.min(SAMPLES);
        let sample =
            move |index: usize| (top + (2 * index + 1) * rest / (2 * samples), rest as f64 / samples as f64);
        (0..top).map(|position| (position, 1.0)).chain((0..samples).map(sample))
    }

    fn mean(&self) -> f64 {
        self.positions().map(|(position, count)| self.at(position) * count).sum::<f64>() / self.rows as f64
    }

    fn moments(&self) -> Moments {
        let (mut sum, mut square) = (0.0, 0.0);
        for (position, count) in self.positions() {
            let length = self.at(position);
            sum += length * count;
            square += (length * length + self.variance_of(length)) * count;
        }
        let mean = sum / self.rows as f64;
        Moments { mean, variance: square / self.rows as f64 - mean * mean }
    }

    /// The variance that drawing adds to a length.
    fn variance_of(&self, length: f64) -> f64 {
        if self.is_spread(length) {
            return length * (length + 1.0);
        }
        let fraction = length - length.floor();
        fraction * (1.0 - fraction)
    }

    /// Returns whether a length is drawn: a geometric distribution reaches about ten times its mean.
    fn is_spread(&self, length: f64) -> bool {
        self.is_geometric && length * 32.0 < self.longest
    }

    /// The length of a row. `unit`, uniform in [0, 1), determines the draw or the rounding.
    pub(super) fn of(&self, row: usize, unit: f64) -> usize {
        let position = (u128::from(self.stride) * row as u128 % self.rows as u128) as usize;
        let length = self.at(position);
        if self.is_spread(length) {
            // The number of failures before a success: a geometric distribution with that mean.
            let ratio = length / (1.0 + length);
            let failures = libm::log(1.0 - unit) / libm::log(ratio);
            return (failures as usize).min(self.longest as usize);
        }
        (length + unit) as usize
    }
}

/// A number coprime to `count`, near its golden section, so that consecutive rows get distant positions.
fn stride(count: usize) -> u64 {
    let mut stride = (count as f64 * 0.618_033_988_749_895) as u64;
    while greatest_common_divisor(stride, count as u64) > 1 {
        stride += 1;
    }
    stride.max(1)
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::super::rows::{Stream, lengths_of};
    use super::*;

    /// Sum, standard deviation and maximum of the lengths drawn.
    fn drawn(matrix: Published) -> Option<(f64, f64, usize)> {
        let (lengths, block) = (lengths_of(matrix)?, matrix.structure().block());
        let (rows, cols) = matrix.shape();
        let of = |row: usize| lengths.of(row / block, Stream::pattern(1, row / block).unit()) * block;
        let add = |(a, b, c): (f64, f64, usize), (d, e, f): (f64, f64, usize)| (a + d, b + e, c.max(f));
        let moments = |row| {
            let length = of(row).min(cols);
            (length as f64, (length as f64).powi(2), length)
        };
        let (sum, square, longest) = (0..rows).into_par_iter().map(moments).reduce(|| (0.0, 0.0, 0), add);
        let mean = sum / rows as f64;
        Some((sum, (square / rows as f64 - mean * mean).sqrt(), longest))
    }

    #[test]
    fn moments_are_those_published() {
        // Larger ones are drawn the same way, and take a minute.
        for matrix in Published::all().filter(|matrix| matrix.shape().0 < 1_500_000) {
            let Some((sum, deviation, longest)) = drawn(matrix) else { continue };
            let off = sum / matrix.nonzeros() as f64 - 1.0;
            assert!(off.abs() < 0.01, "{matrix}: {sum} nonzeros, not {}", matrix.nonzeros());
            let off = deviation / matrix.deviation() - 1.0;
            assert!(off.abs() < 0.04, "{matrix}: deviation {deviation}, not {}", matrix.deviation());
            let off = longest as f64 / matrix.longest() as f64 - 1.0;
            assert!(off.abs() < 0.04, "{matrix}: longest row {longest}, not {}", matrix.longest());
        }
    }
}
