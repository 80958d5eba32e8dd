//! Which method a product takes.

use evenpath_kernels::spgemm::Class;

use super::bins::Bins;

/// Nanoseconds of a row's *turn*: by windows, the rows of B that a row of A names are added one after the other.
const TURN: f64 = 1000.0;
/// Nanoseconds of a product in a hash table, by whether a row has more than 64 of them.
const HASH_PRODUCT: [f64; 2] = [0.035, 0.060];
/// Nanoseconds of a product by windows, if rows of B have at least so many entries.
const WINDOW_PRODUCT: f64 = 0.020;
const WINDOW_ENTRIES: f64 = 20.0;
/// Nanoseconds of a product that is sorted.
const SORTED_PRODUCT: f64 = 0.050;
/// Nanoseconds that each method takes beside: by rows, and by sorting.
const LAUNCHES: [f64; 2] = [100_000.0, 200_000.0];

/// Whether sorting all products is faster than going row by row: where a row names very many rows of B, each of which has
/// its turn, and where rows are many products in no order with few columns in common. From times measured on an H200.
pub(super) fn sorting_is_faster(bins: &Bins, mean: f64) -> bool {
    let total = bins.total as f64;
    let (mut left, mut by_rows, mut turns) = (total, LAUNCHES[0], 0.0_f64);
    for bin in &bins.filled {
        match bin.class {
            Class::Empty => {}
            Class::Hash { size } => {
                let products = (f64::from(bin.rows) * f64::from(size)).min(left);
                by_rows += products * HASH_PRODUCT[usize::from(size > 64)];
                left -= products;
            }
            Class::Window { .. } => turns = turns.max(bin.largest as f64 / mean.max(1.0)),
        }
    }
    by_rows += left * WINDOW_PRODUCT * (WINDOW_ENTRIES / mean.max(1.0)).max(1.0) + turns * TURN;
    LAUNCHES[1] + total * SORTED_PRODUCT < by_rows
}
