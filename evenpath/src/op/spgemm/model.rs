//! Estimates of the time that rows of C take, row by row and sorted, and the division between both that takes the least.

use evenpath_kernels::spgemm::Class;

use super::symbolic::Bin;

/// Nanoseconds that windows take for each row of B that a row of A names: they are added one after the other.
const TURN: f64 = 1000.0;
/// Nanoseconds of a product in a hash table, by whether a row has more than 64 of them.
const HASH_PRODUCT: [f64; 2] = [0.035, 0.060];
/// Nanoseconds of a product by windows, if rows of B have at least this many entries.
const WINDOW_PRODUCT: f64 = 0.020;
const WINDOW_ENTRIES: f64 = 20.0;
/// Nanoseconds of a product that is sorted.
const SORTED_PRODUCT: f64 = 0.050;
/// Nanoseconds of each method's launches: by rows, and by sorting.
const LAUNCHES: [f64; 2] = [100_000.0, 200_000.0];

/// Nanoseconds of the launches and waits that divide rows and place those that were sorted. From times measured on an H200.
const DIVISION_LAUNCHES: f64 = 200_000.0;
/// Bytes per nanosecond at which entries are copied, read and written bytes together. This and the next are estimates that were not
/// fitted to measurements.
const COPY_RATE: f64 = 2000.0;
/// Bytes per row that its division reads and writes: its size and span, and its length.
const ROW_BYTES: f64 = 24.0;

/// Estimated times of the rows of C, in nanoseconds.
pub(super) struct RowCosts {
    bins: Vec<BinCosts>,
    /// Products of all rows, and of those that use windows.
    products: f64,
    window_products: f64,
    /// The factor of a product by windows where rows of B are short.
    window_factor: f64,
    /// The time of the rows, at the rate of copies.
    division: f64,
}

/// Estimated times of the rows of a bin that has products.
struct BinCosts {
    /// The bit of the bin's class.
    class: u32,
    /// Row by row, without `turns`.
    by_rows: f64,
    /// Sorted, with the copies that this takes beside other rows.
    sorted: f64,
    /// Rows of B that are added one after the other by windows; zero in hash tables.
    turns: f64,
}

/// Rows in two regions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Division {
    /// A bit for each class whose rows are sorted.
    pub(super) sorted_classes: u32,
    /// Nanoseconds of all rows, without launches.
    cost: f64,
    /// True if there are rows in both regions.
    pub(super) is_mixed: bool,
}

impl RowCosts {
    /// Costs of the rows of these bins, which have `total` products, from rows of B with `mean` entries on average and values of
    /// `value_bytes`.
    pub(super) fn new(bins: &[Bin], total: u64, mean: f64, value_bytes: usize) -> Self {
        let (products, mean) = (total as f64, mean.max(1.0));
        // Copies of A's entries, and of C's, of which there is at most one per product; each is read and written.
        let copied = 2.0 * (4 + value_bytes) as f64 * (1.0 / mean + 1.0) / COPY_RATE;
        let window_factor = (WINDOW_ENTRIES / mean).max(1.0);
        // A bin's products in windows are not known, only those of all: they are divided by the largest rows.
        let weight = |bin: &Bin| f64::from(bin.rows) * bin.largest as f64;
        let is_window = |bin: &&Bin| matches!(bin.class, Class::Window { .. });
        let windows: f64 = bins.iter().filter(is_window).map(weight).sum();
        let mut left = products;
        let mut costs = Vec::with_capacity(bins.len());
        for bin in bins {
            let (products, by_rows, turns) = match bin.class {
                Class::Empty => continue,
                Class::Hash { size } => {
                    let products = (f64::from(bin.rows) * f64::from(size)).min(left);
                    left -= products;
                    (products, products * HASH_PRODUCT[usize::from(size > 64)], 0.0)
                }
                // Bins are in the order of their classes, so hash tables come first.
                Class::Window { .. } => {
                    let products = left * weight(bin) / windows.max(1.0);
                    (products, products * WINDOW_PRODUCT * window_factor, bin.largest as f64 / mean)
                }
            };
            let sorted = products * (SORTED_PRODUCT + copied);
            costs.push(BinCosts { class: 1 << bin.number, by_rows, sorted, turns });
        }
        let rows: f64 = bins.iter().map(|bin| f64::from(bin.rows)).sum();
        let division = rows * ROW_BYTES / COPY_RATE;
        Self { bins: costs, products, window_products: left, window_factor, division }
    }

    /// Time of all rows, row by row. From times measured on an H200.
    fn by_rows(&self) -> f64 {
        let in_tables = self.bins.iter().filter(|bin| bin.turns == 0.0);
        let in_tables = in_tables.fold(LAUNCHES[0], |sum, bin| sum + bin.by_rows);
        let turns = self.bins.iter().fold(0.0_f64, |most, bin| most.max(bin.turns));
        in_tables + (self.window_products * WINDOW_PRODUCT * self.window_factor + turns * TURN)
    }

    /// Time of all rows, sorted. From times measured on an H200.
    fn sorted(&self) -> f64 {
        LAUNCHES[1] + self.products * SORTED_PRODUCT
    }

    /// Returns whether sorting all products is faster than going row by row: where a row of A names very many rows of B, which
    /// windows add one after the other, and where rows have many products with few columns in common.
    pub(super) fn sorting_is_faster(&self) -> bool {
        self.sorted() < self.by_rows()
    }

    /// The division of rows between both regions that takes the least time, without launches. All rows of a bin are in one region.
    ///
    /// The costs of bins add up, but for the turns, of which the most of any row that is not sorted count: rows with more turns than
    /// some number are sorted, and of the others those for which that is faster.
    pub(super) fn cheapest_division(&self) -> Division {
        let divisions = self.bins.iter().map(|bin| self.division_by(bin.turns));
        let cheaper = |best: Division, next: Division| if next.cost < best.cost { next } else { best };
        divisions.fold(self.division_by(0.0), cheaper)
    }

    /// The cheapest division in which no row that is not sorted has more than `most_turns`.
    fn division_by(&self, most_turns: f64) -> Division {
        let (mut sorted_classes, mut cost, mut turns) = (0, 0.0, 0.0_f64);
        for bin in &self.bins {
            if bin.turns > most_turns || bin.sorted < bin.by_rows {
                sorted_classes |= bin.class;
                cost += bin.sorted;
            } else {
                cost += bin.by_rows;
                turns = turns.max(bin.turns);
            }
        }
        let sorted_bins = sorted_classes.count_ones() as usize;
        let is_mixed = sorted_bins > 0 && sorted_bins < self.bins.len();
        Division { sorted_classes, cost: cost + turns * TURN, is_mixed }
    }

    /// Returns whether a division takes less time than all rows row by row, and than all rows sorted unless there is no memory
    /// for that.
    pub(super) fn mixing_is_faster(&self, division: Division, may_sort_all: bool) -> bool {
        let mixed = LAUNCHES[0] + LAUNCHES[1] + DIVISION_LAUNCHES + self.division + division.cost;
        division.is_mixed && mixed < self.by_rows() && !(may_sort_all && self.sorted() <= mixed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE_BYTES: usize = 8;

    fn bin(number: usize, rows: u32, largest: u64) -> Bin {
        let class = Class::from_index(number);
        Bin { class, number: number as u32, start: 0, rows, largest, widest: 1 << 20 }
    }

    /// The classes of the tests: the empty one, hash tables for 64 and 256 products, and windows of all sizes.
    const EMPTY: usize = 0;
    const SMALL_TABLES: usize = 2;
    const TABLES: usize = 4;
    const WINDOWS: usize = 5;
    const LARGEST_WINDOWS: usize = 20;

    fn costs(bins: &[Bin], total: u64, mean: f64) -> RowCosts {
        RowCosts::new(bins, total, mean, VALUE_BYTES)
    }

    #[test]
    fn a_row_with_very_many_turns_is_sorted_alone() {
        // Half a billion products in short rows, and a row that adds 100,000 rows of B in turn, 100 ms by windows.
        let bins = [bin(EMPTY, 9, 0), bin(SMALL_TABLES, 8_000_000, 64), bin(LARGEST_WINDOWS, 1, 3_000_000)];
        let costs = costs(&bins, 8_000_000 * 64 + 3_000_000, 30.0);
        let division = costs.cheapest_division();
        assert!(division.is_mixed && division.sorted_classes == 1 << LARGEST_WINDOWS, "{division:?}");
        // 17.9 ms in tables, 0.2 ms sorted and 0.4 ms at most of launches and copies; 25.8 ms if all are sorted.
        assert!(costs.sorting_is_faster());
        assert!(costs.mixing_is_faster(division, true) && costs.mixing_is_faster(division, false));
    }

    #[test]
    fn few_products_are_not_worth_two_methods() {
        let bins = [bin(SMALL_TABLES, 1000, 64), bin(LARGEST_WINDOWS, 1, 60_000)];
        let costs = costs(&bins, 124_000, 30.0);
        let division = costs.cheapest_division();
        // By name they are taken, but sorting everything saves launches.
        assert!(division.is_mixed && costs.sorting_is_faster());
        assert!(!costs.mixing_is_faster(division, true) && costs.mixing_is_faster(division, false));
    }

    #[test]
    fn all_rows_may_be_in_one_region() {
        let short = [bin(EMPTY, 1000, 0), bin(SMALL_TABLES, 100_000, 64)];
        let by_rows = costs(&short, 6_400_000, 30.0);
        let division = by_rows.cheapest_division();
        assert!(division.sorted_classes == 0 && !division.is_mixed && !by_rows.sorting_is_faster());
        assert!(!by_rows.mixing_is_faster(division, true) && !by_rows.mixing_is_faster(division, false));
        let long = [bin(EMPTY, 1000, 0), bin(LARGEST_WINDOWS, 10, 1_000_000)];
        let sorted = costs(&long, 10_000_000, 2.0);
        let division = sorted.cheapest_division();
        assert!(division.sorted_classes == 1 << LARGEST_WINDOWS && !division.is_mixed);
        assert!(sorted.sorting_is_faster() && !sorted.mixing_is_faster(division, true));
        let nothing = costs(&[], 0, 0.0).cheapest_division();
        assert!(nothing.sorted_classes == 0 && !nothing.is_mixed);
    }

    /// Every division of a few bins is tried.
    #[test]
    fn no_other_division_is_cheaper() {
        let bins = [
            bin(SMALL_TABLES, 700_000, 64),
            bin(TABLES, 40_000, 256),
            bin(WINDOWS, 2000, 250),
            bin(WINDOWS + 6, 900, 1000),
            bin(LARGEST_WINDOWS, 7, 40_000),
            bin(LARGEST_WINDOWS + 3, 2, 900_000),
        ];
        for (total, mean) in [(70_000_000, 1.0), (60_000_000, 9.0), (57_500_000, 40.0), (1 << 36, 3000.0)] {
            let costs = costs(&bins, total, mean);
            let cheapest = costs.cheapest_division();
            for sorted in 0..1_u32 << bins.len() {
                let (mut cost, mut turns) = (0.0, 0.0_f64);
                for (at, bin) in costs.bins.iter().enumerate() {
                    let is_sorted = sorted >> at & 1 != 0;
                    cost += if is_sorted { bin.sorted } else { bin.by_rows };
                    turns = if is_sorted { turns } else { turns.max(bin.turns) };
                }
                cost += turns * TURN;
                assert!(cheapest.cost <= cost * (1.0 + 1e-12), "{cheapest:?}: {sorted:b} takes {cost}");
            }
        }
    }
}
