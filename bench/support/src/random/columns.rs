//! The columns of a row.

use super::stream::{Purpose, Seeds, Stream};
use super::structure::{ColumnLaw, Structure};

/// Maximum number of times that columns drawn twice are replaced. Rows for which that is not enough are shorter.
const ATTEMPTS: usize = 16;

/// Replaces `columns` by about `count` distinct columns of a row of nodes, ascending.
pub(super) fn columns(structure: &Structure, seeds: Seeds, row: usize, count: usize, columns: &mut Vec<u32>) {
    columns.clear();
    let &Structure { row_nodes, col_nodes, .. } = structure;
    let stream = &mut seeds.stream(Purpose::Columns, row);
    let diagonal = (row as u128 * col_nodes as u128 / row_nodes as u128) as usize;
    match structure.columns {
        ColumnLaw::Uniform => distinct(stream, (0, col_nodes), count, columns),
        ColumnLaw::Band { reach } => {
            distinct(stream, around(diagonal, reach.max(count), col_nodes), count, columns);
        }
        ColumnLaw::Clusters { centers, group, reach } => {
            let shared = &mut seeds.stream(Purpose::Centers, row / group);
            let places: Vec<usize> = (0..centers).map(|_| shared.below(col_nodes)).collect();
            let reach = reach.max(count / centers);
            fill(count, columns, |columns| {
                let (low, high) = around(stream.one_of(&places), reach, col_nodes);
                columns.push((low + stream.below(high - low)) as u32);
            });
        }
        ColumnLaw::Hot { exponent } => {
            let stride = spreading_stride(col_nodes);
            fill(count, columns, |columns| {
                let rank = (col_nodes as f64 * libm::pow(stream.unit(), exponent)) as u128;
                columns.push((rank * stride as u128 % col_nodes as u128) as u32);
            });
        }
        ColumnLaw::Runs { length, reach } => {
            let (low, high) = around(diagonal, reach.max(count), col_nodes);
            fill(count, columns, |columns| {
                let start = low + stream.below(high - low);
                columns.extend((start..col_nodes.min(start + length)).map(|column| column as u32));
            });
            columns.truncate(count);
        }
    }
}

/// The columns within `reach` of one, of `cols`.
fn around(column: usize, reach: usize, cols: usize) -> (usize, usize) {
    (column.saturating_sub(reach), cols.min(column + reach + 1))
}

/// Draws columns until there are `count` distinct ones, or attempts run out, and sorts them.
fn fill(count: usize, columns: &mut Vec<u32>, mut draw: impl FnMut(&mut Vec<u32>)) {
    for _ in 0..ATTEMPTS {
        // Collisions are removed only when there may be enough columns, because that takes a sort.
        while columns.len() < count {
            draw(columns);
        }
        columns.sort_unstable();
        columns.dedup();
        if columns.len() >= count {
            return;
        }
    }
}

/// `count` distinct columns in a range, or all of it.
fn distinct(stream: &mut Stream, (low, high): (usize, usize), count: usize, columns: &mut Vec<u32>) {
    if 4 * count < high - low {
        return fill(count, columns, |columns| columns.push((low + stream.below(high - low)) as u32));
    }
    // Dense: selection sampling (Knuth, vol. 2, algorithm S).
    let mut wanted = count.min(high - low);
    for column in low..high {
        if stream.below(high - column) < wanted {
            columns.push(column as u32);
            wanted -= 1;
        }
    }
}

/// A number that is coprime to `count`, near its golden section, so that its multiples are spread evenly.
pub(super) fn spreading_stride(count: usize) -> usize {
    let divisor = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let mut stride = ((count as f64 * 0.618_033_988_749_895) as usize).max(1);
    while divisor(stride, count) > 1 {
        stride += 1;
    }
    stride
}

#[cfg(test)]
mod tests {
    use super::super::structure::{Drift, LengthLaw, Permutation};
    use super::*;

    const SEEDS: Seeds = Seeds { seed: 1, number: 2 };
    const COLS: usize = 10_000;

    fn rows(law: ColumnLaw, count: usize) -> Vec<Vec<u32>> {
        let structure = Structure {
            row_nodes: 1000,
            col_nodes: COLS,
            block: 1,
            mean: count as f64,
            lengths: LengthLaw::Constant,
            drift: Drift::None,
            columns: law,
            symmetric: false,
            permutation: Permutation::None,
            empty_rows: None,
            empty_columns: None,
        };
        let row = |row| {
            let mut found = Vec::new();
            columns(&structure, SEEDS, row, count, &mut found);
            assert!(found.is_sorted_by(|a, b| a < b) && found.iter().all(|&column| column < COLS as u32));
            found
        };
        (0..1000).map(row).collect()
    }

    #[test]
    fn uniform_and_band_rows_are_complete() {
        for count in [0, 1, 20, 4900, 9000, 10_000] {
            assert!(rows(ColumnLaw::Uniform, count).iter().all(|row| row.len() == count), "{count}");
        }
        for (index, row) in rows(ColumnLaw::Band { reach: 30 }, 25).iter().enumerate() {
            assert!(row.iter().all(|&column| (column as usize).abs_diff(10 * index) <= 30), "{index}");
            assert_eq!(row.len(), 25);
        }
        // A band that is too narrow is widened.
        assert!(rows(ColumnLaw::Band { reach: 2 }, 25).iter().all(|row| row.len() == 25));
    }

    #[test]
    fn clusters_are_shared_by_groups_of_rows() {
        let rows = rows(ColumnLaw::Clusters { centers: 2, group: 5, reach: 20 }, 16);
        let distinct_hundreds = |rows: &[Vec<u32>]| {
            let mut hundreds: Vec<u32> = rows.concat().into_iter().map(|column| column / 100).collect();
            hundreds.sort_unstable();
            hundreds.dedup();
            hundreds.len()
        };
        // Two clusters of 41 columns each.
        assert!(rows.chunks(5).all(|group| distinct_hundreds(group) <= 4));
        assert!(distinct_hundreds(&rows[..50]) > 10);
    }

    #[test]
    fn a_few_columns_are_hot() {
        let mut counts = vec![0; COLS];
        let rows = rows(ColumnLaw::Hot { exponent: 3.0 }, 20);
        rows.concat().into_iter().for_each(|column| counts[column as usize] += 1);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let (all, hot): (usize, usize) = (counts.iter().sum(), counts[..100].iter().sum());
        assert!(hot as f64 > 0.15 * all as f64 && counts[5000..].iter().sum::<usize>() > all / 10, "{hot}");
    }

    #[test]
    fn runs_are_consecutive() {
        let rows = rows(ColumnLaw::Runs { length: 8, reach: 5000 }, 40);
        let consecutive: usize =
            rows.iter().map(|row| row.windows(2).filter(|pair| pair[1] == pair[0] + 1).count()).sum();
        let pairs: usize = rows.iter().map(|row| row.len() - 1).sum();
        let share = consecutive as f64 / pairs as f64;
        assert!((0.85..0.92).contains(&share), "{share}");
    }
}
