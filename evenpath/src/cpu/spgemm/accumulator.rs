//! Sums by column, for one row of C at a time.

use parking_lot::Mutex;

use crate::Value;

/// The maximum number of columns of B for an accumulator with one sum per column.
const MOST_PLACES: usize = 1 << 22;

/// Columns up to which each is compared with all others to put them in order.
const RANKED: usize = 32;
/// Columns up to which this takes half as many comparisons.
const RANKED_AT_ONCE: usize = 16;
/// Places in a group.
const FLAGS: usize = 64;
/// Groups up to which it is faster to look through them than to compare more than [`RANKED_AT_ONCE`] columns.
const FEW_GROUPS: usize = 8;

/// A set of columns.
pub(super) struct Columns {
    /// 1 for those in the set; a multiple of [`FLAGS`] places.
    is_used: Vec<u8>,
    /// Those in the set, in the order in which they came, and room for more.
    list: Vec<u32>,
    len: usize,
}

impl Columns {
    fn new(columns: usize) -> Self {
        Self { is_used: vec![0; columns.next_multiple_of(FLAGS)], list: Vec::new(), len: 0 }
    }

    /// Makes room for as many more.
    #[inline]
    fn reserve(&mut self, columns: usize) {
        if self.list.len() < self.len + columns {
            self.list.resize((self.len + columns).next_power_of_two(), 0);
        }
    }

    /// Adds a column, for which there is room; whether it was not in the set.
    // Whether a column is new cannot be predicted, so there is no branch: it is written behind the others, and counted or not.
    #[inline]
    fn insert_one(&mut self, column: u32) -> bool {
        let flag = &mut self.is_used[column as usize];
        let is_new = *flag == 0;
        *flag = 1;
        self.list[self.len] = column;
        self.len += usize::from(is_new);
        is_new
    }

    /// Adds columns.
    #[inline]
    fn insert(&mut self, columns: &[u32]) {
        self.reserve(columns.len());
        for &column in columns {
            self.insert_one(column);
        }
    }

    /// Empties the set; how many columns it had.
    fn clear(&mut self) -> u64 {
        for &column in &self.list[..self.len] {
            self.is_used[column as usize] = 0;
        }
        std::mem::take(&mut self.len) as u64
    }

    /// Empties the set; calls `tell` with its columns, ascending.
    #[inline]
    fn drain(&mut self, mut tell: impl FnMut(u32)) {
        let list = &mut self.list[..self.len];
        if list.len() <= RANKED_AT_ONCE {
            ranked::<RANKED_AT_ONCE>(list)[..list.len()].iter().copied().for_each(tell);
            self.clear();
            return;
        }
        let (mut first, mut last) = (list[0], list[0]);
        for &column in &*list {
            (first, last) = (first.min(column), last.max(column));
        }
        let groups = first as usize / FLAGS..last as usize / FLAGS + 1;
        if list.len() <= RANKED && groups.len() > FEW_GROUPS {
            ranked::<RANKED>(list)[..list.len()].iter().copied().for_each(tell);
            self.clear();
            return;
        }
        if groups.len() > list.len() {
            list.sort_unstable();
            list.iter().copied().for_each(tell);
            self.clear();
            return;
        }
        for group in groups {
            let flags = &mut self.is_used[group * FLAGS..][..FLAGS];
            let mut left = bits_of(flags);
            flags.fill(0);
            while left != 0 {
                tell((group * FLAGS) as u32 + left.trailing_zeros());
                left &= left - 1;
            }
        }
        self.len = 0;
    }
}

/// Up to `N` different columns, ascending; what follows them means nothing. The place of each is the number of those below it, which
/// takes vector instructions and no branch.
#[inline]
fn ranked<const N: usize>(columns: &[u32]) -> [u32; N] {
    // No column: none is so large.
    let mut all = [u32::MAX; N];
    all[..columns.len()].copy_from_slice(columns);
    let mut ranked = [0; N];
    for &column in columns {
        let below: u32 = all.iter().map(|&other| u32::from(other < column)).sum();
        ranked[below as usize] = column;
    }
    ranked
}

/// A bit for each of [`FLAGS`] bytes that are 0 or 1.
fn bits_of(flags: &[u8]) -> u64 {
    // A product with this puts the lowest bits of eight bytes side by side in the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let bytes = flags.as_chunks::<8>().0.iter().enumerate();
    bytes.fold(0, |bits, (at, &eight)| {
        bits | (u64::from_le_bytes(eight).wrapping_mul(GATHER) >> 56) << (8 * at)
    })
}

/// Accumulators that no task uses. They are as long as a row of C: one for each thread is enough.
pub(super) struct Idle<V> {
    columns: usize,
    accumulators: Mutex<Vec<Accumulator<V>>>,
}

impl<V: Value> Idle<V> {
    /// For matrices with this many columns.
    pub(super) fn new(columns: usize) -> Self {
        Self { columns, accumulators: Mutex::default() }
    }

    /// Lends an accumulator, which is empty, and is empty again when `task` returns.
    pub(super) fn with<R>(&self, task: impl FnOnce(&mut Accumulator<V>) -> R) -> R {
        let idle = self.accumulators.lock().pop();
        let mut accumulator = idle.unwrap_or_else(|| Accumulator::new(self.columns));
        let result = task(&mut accumulator);
        self.accumulators.lock().push(accumulator);
        result
    }
}

/// An accumulator for one row at a time.
pub(super) enum Accumulator<V> {
    /// One sum per column, and the columns in use.
    Places { sums: Vec<V>, used: Columns },
    /// The products of the row, to be sorted.
    Products(Vec<(u32, V)>),
}

impl<V: Value> Accumulator<V> {
    fn new(columns: usize) -> Self {
        if columns > MOST_PLACES {
            return Self::Products(Vec::new());
        }
        Self::Places { sums: vec![V::default(); columns], used: Columns::new(columns) }
    }

    /// Adds columns, to be counted.
    #[inline]
    pub(super) fn insert(&mut self, columns: &[u32]) {
        match self {
            Self::Places { used, .. } => used.insert(columns),
            Self::Products(products) => products.extend(columns.iter().map(|&column| (column, V::default()))),
        }
    }

    /// The number of different columns. Removes them.
    pub(super) fn count(&mut self) -> u64 {
        match self {
            Self::Places { used, .. } => used.clear(),
            Self::Products(products) => {
                products.sort_unstable_by_key(|&(column, _)| column);
                let count = products.chunk_by(|a, b| a.0 == b.0).count();
                products.clear();
                count as u64
            }
        }
    }

    /// Adds the products of a number and a row of B.
    #[inline]
    pub(super) fn add(&mut self, left: V, columns: &[u32], values: &[V]) {
        match self {
            Self::Places { sums, used } => {
                used.reserve(columns.len());
                for (&column, &right) in columns.iter().zip(values) {
                    let product = left * right;
                    let sum = &mut sums[column as usize];
                    *sum = if used.insert_one(column) { product } else { *sum + product };
                }
            }
            Self::Products(products) => {
                products.extend(columns.iter().zip(values).map(|(&column, &right)| (column, left * right)));
            }
        }
    }

    /// Passes the sums of products by column, in the order in which they were added, to `tell`, ascending by column. Removes them.
    #[inline]
    pub(super) fn drain(&mut self, mut tell: impl FnMut(u32, V)) {
        match self {
            Self::Places { sums, used } => used.drain(|column| tell(column, sums[column as usize])),
            Self::Products(products) => {
                // A stable sort keeps the products of a column in order.
                products.sort_by_key(|&(column, _)| column);
                for products in products.chunk_by(|a, b| a.0 == b.0) {
                    let (first, rest) = products.split_first().expect("chunks are not empty");
                    tell(first.0, rest.iter().fold(first.1, |sum, &(_, product)| sum + product));
                }
                products.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_out_ascending_whether_few_or_many() {
        let mut columns = Columns::new(1000);
        let sets: [Vec<u32>; 8] = [
            vec![],
            vec![999, 0, 63, 64],
            (0..64).rev().collect(),
            (0..300).map(|i| i * 7 % 1000).collect(),
            (0..17).map(|i| i * 47 % 64).rev().collect(),
            (0..RANKED as u32).map(|i| i * 31).rev().collect(),
            (0..=RANKED as u32).map(|i| i * 29).rev().collect(),
            (0..16).map(|i| (i * 7 + 3) % 16 * 60).collect(),
        ];
        for set in sets.iter().chain(&sets) {
            columns.insert(set);
            let new = columns.len;
            columns.insert(&set[..set.len() / 2]);
            assert_eq!(columns.len, new, "they are there");
            let mut found = Vec::new();
            columns.drain(|column| found.push(column));
            let mut expected = set.clone();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!((found.len(), found), (new, expected));
            assert!(columns.len == 0 && columns.is_used.iter().all(|&flag| flag == 0));
        }
    }

    #[test]
    fn bits_are_those_of_bytes() {
        for place in 0..FLAGS {
            let mut flags = [0; FLAGS];
            flags[place] = 1;
            assert_eq!(bits_of(&flags), 1 << place);
            assert_eq!(bits_of(&flags.map(|flag| 1 - flag)), !(1 << place));
        }
    }

    #[test]
    fn both_accumulators_give_the_same() {
        let products: Vec<(u32, f64)> =
            (0..500).map(|i| ((i * 37 % 90) as u32, f64::from(i as u16).sin())).collect();
        let (columns, values): (Vec<u32>, Vec<f64>) = products.into_iter().unzip();
        let mut results = [90, MOST_PLACES + 1].map(|cols| {
            let mut accumulator = Accumulator::<f64>::new(cols);
            let mut sums = Vec::new();
            for _ in 0..2 {
                accumulator.insert(&columns);
                assert_eq!(accumulator.count(), 90);
                let half = columns.len() / 2;
                accumulator.add(1.5, &columns[..half], &values[..half]);
                accumulator.add(-0.5, &columns[half..], &values[half..]);
                accumulator.drain(|column, sum| sums.push((column, sum.to_bits())));
            }
            sums
        });
        assert_eq!(results[0].len(), 180);
        let other = std::mem::take(&mut results[1]);
        assert_eq!(results[0], other);
    }
}
