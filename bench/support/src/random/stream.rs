use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Purpose of a stream of random numbers. Streams for different purposes are independent.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// The parameters of the structure.
    Structure,
    /// The length of a row of nodes.
    Length,
    /// The columns of a row of nodes.
    Columns,
    /// The centers of the clusters of neighboring rows.
    Centers,
    /// True if a stretch of rows is empty.
    EmptyRows,
    /// True if a stretch of columns is empty.
    EmptyColumns,
    /// The permutation of the rows, or of both rows and columns.
    RowOrder,
    /// The permutation of the columns, if it is another one.
    ColumnOrder,
    /// The values of a row.
    Values,
    /// Entries that are drawn one by one.
    Entries,
}

/// The numbers that identify a matrix; every stream is derived from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seeds {
    pub(super) seed: u64,
    pub(super) number: u64,
}

impl Seeds {
    /// The stream of one item, such as a row.
    pub(super) fn stream(self, purpose: Purpose, item: usize) -> Stream {
        let mut state = 0;
        for word in [self.seed, self.number, purpose as u64, item as u64] {
            state = mixed(state ^ word);
        }
        Stream(Xoshiro256PlusPlus::seed_from_u64(state))
    }
}

/// The step of `SplitMix64` (Steele, Lea, Flood, OOPSLA 2014).
fn mixed(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A stream of random numbers.
pub(super) struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// Uniform in [0, 1), a multiple of 2⁻⁵³.
    pub(super) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in [low, high).
    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Between `low` and `high`, with a uniform logarithm.
    pub(super) fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        low * libm::pow(high / low, self.unit())
    }

    /// Uniform below `bound`, which is not 0. The bias is below `bound` / 2⁶⁴ (Lemire, 2019).
    pub(super) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }

    /// Draws one of these.
    pub(super) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Returns whether an event of this probability happens.
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Draws one of the two whole numbers around `value`, which is not negative, such that their mean is `value`.
    pub(super) fn rounded(&mut self, value: f64) -> f64 {
        libm::floor(value + self.unit())
    }
}
