//! Shares of a whole number, in proportion to weights and within bounds.

/// Halvings until an interval is as small as f64 can represent.
const BISECTIONS: u32 = 100;

/// A part of a whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Share without bounds, over that of other parts.
    pub(super) weight: f64,
    pub(super) least: usize,
    /// At least `least`.
    pub(super) most: usize,
}

impl Part {
    fn share(self, factor: f64) -> f64 {
        (self.weight * factor).clamp(self.least as f64, self.most as f64)
    }
}

/// Divides `total` in proportion to the weights where bounds allow it. If the bounds do not allow `total`, the shares are
/// all of the bounds next to it.
pub(super) fn shares(parts: &[Part], total: usize) -> Vec<usize> {
    let sum = |factor: f64| parts.iter().map(|part| part.share(factor)).sum::<f64>();
    let (mut low, mut high) = (1e-15_f64, 1e15_f64);
    for _ in 0..BISECTIONS {
        let middle = (low * high).sqrt();
        if sum(middle) < total as f64 { low = middle } else { high = middle }
    }
    // Fractions are carried to the next part, so that whole shares have the same sum.
    let mut carried = 0.5;
    let whole = |part: &Part| {
        let share = part.share(high) + carried;
        let whole = (share as usize).clamp(part.least, part.most);
        carried = (share - whole as f64).clamp(0.0, 1.0);
        whole
    };
    parts.iter().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(weight: f64, least: usize, most: usize) -> Part {
        Part { weight, least, most }
    }

    #[test]
    fn shares_follow_weights_within_bounds() {
        assert_eq!(shares(&[part(1.0, 0, 100), part(3.0, 0, 100)], 40), [10, 30]);
        assert_eq!(shares(&[part(1.0, 0, 100), part(3.0, 0, 20)], 40), [20, 20]);
        assert_eq!(shares(&[part(1.0, 15, 100), part(3.0, 0, 100)], 40), [15, 25]);
        let thirds = shares(&[part(1.0, 0, 9); 7], 10);
        assert_eq!((thirds.iter().sum::<usize>(), thirds.iter().max()), (10, Some(&2)));
    }

    #[test]
    fn totals_that_bounds_exclude_give_the_bounds() {
        assert_eq!(shares(&[part(1.0, 2, 3), part(5.0, 4, 9)], 100), [3, 9]);
        assert_eq!(shares(&[part(1.0, 2, 3), part(5.0, 4, 9)], 1), [2, 4]);
        assert_eq!(shares(&[part(0.0, 0, 3)], 2), [0]);
    }
}
