//! How lanes lie over rows, nonzeros and columns.

use evenpath_kernels::spmm::Group;

/// Lanes of a warp, as a power of two.
const WARP_LOG2: u32 = 5;

/// Bytes that a lane moves at once.
const PACKET: usize = 16;

/// Steps of a lane through a row of mean length, as a power of two, about. With fewer, lanes wait more for a row's beginning
/// and end than for its nonzeros.
const STEPS_LOG2: u32 = 2;

/// Lanes up to which nonzeros lie side by side, as a power of two. With as many lanes over the columns alone, a row each
/// measured better: nothing is added up by shuffles, and no lane idles at a row's end.
pub(super) const SIDE_LANES_LOG2: u32 = 3;

/// Threads of a multiprocessor that should have work. If rows are too few for it, more lanes share a row.
const BUSY_THREADS: u64 = 1024;

/// The least bytes of a column of C that a block stores together: what memory moves at once.
const SECTOR: u32 = 32;

/// The group of lanes for products of `columns` columns, `width` of them per lane, with rows of `mean` nonzeros, of at
/// most `1 << most_lanes_log2` lanes. There is room for `room` groups of one lane per row and packet of columns.
pub(super) fn group(columns: u32, width: u32, mean: f64, room: f64, most_lanes_log2: u32) -> Group {
    let most_lanes_log2 = WARP_LOG2.min(most_lanes_log2);
    let packets = columns.div_ceil(width);
    let columns_log2 = packets.min(1 << most_lanes_log2).next_power_of_two().ilog2();
    let idle_log2 = ((room / f64::from(packets)) as u64).max(1).ilog2();
    let side_lanes_log2 = SIDE_LANES_LOG2.max(columns_log2 + idle_log2).min(most_lanes_log2);
    let most_side_log2 = side_lanes_log2.saturating_sub(columns_log2);
    let side_log2 = (mean as u64).max(1).ilog2().saturating_sub(STEPS_LOG2).min(most_side_log2);
    Group { columns_log2, side_log2 }
}

/// How many groups of one lane per row there is room for.
pub(super) fn room(multiprocessors: u32, rows: usize) -> f64 {
    (u64::from(multiprocessors) * BUSY_THREADS) as f64 / rows.max(1) as f64
}

/// log2 of the most lanes of a group with which a block of `block_size` threads stores whole sectors of C's columns.
pub(super) fn lanes_by_columns_log2(block_size: u32, element_bytes: usize) -> u32 {
    (block_size * element_bytes as u32 / SECTOR).max(1).ilog2()
}

/// Elements of `element_bytes` bytes in an access, if everything that is moved is whole accesses: the columns, and the
/// elements before them and from one row to the next.
pub(super) fn packet_width(element_bytes: usize, multiples: &[usize]) -> Option<u32> {
    let width = PACKET / element_bytes;
    multiples.iter().all(|elements| elements.is_multiple_of(width)).then_some(width as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_fit_into_warps_and_cover_the_columns() {
        for columns in [1, 2, 3, 4, 31, 32, 33, 64, 100, 512, u32::MAX] {
            for width in [1, 2, 4, 8] {
                for mean in [0.0, 0.5, 1.0, 5.0, 27.0, 1e9] {
                    for (most, room) in (0..8).flat_map(|most| [0.0, 7.5, 1e9].map(|room| (most, room))) {
                        let group = group(columns, width, mean, room, most);
                        assert!(group.lanes_log2() <= most.min(WARP_LOG2), "{group:?}");
                        let covered = u64::from(width) << group.columns_log2;
                        let most_covered = u64::from(width) << most.min(WARP_LOG2);
                        assert!(
                            covered >= u64::from(columns).min(most_covered),
                            "{columns} columns, {group:?}"
                        );
                    }
                }
            }
        }
        assert_eq!(group(32, 2, 27.0, 0.1, 5), Group { columns_log2: 4, side_log2: 0 });
        assert_eq!(group(4, 2, 27.0, 0.1, 5), Group { columns_log2: 1, side_log2: 2 });
        let small = room(132, 324);
        assert_eq!(group(32, 4, 82.5, small, 5), Group { columns_log2: 3, side_log2: 2 }, "few rows");
        assert_eq!(group(32, 4, 5.9, small, 5), Group { columns_log2: 3, side_log2: 0 }, "few and short");
        assert_eq!(group(32, 4, 82.5, small, 4), Group { columns_log2: 3, side_log2: 1 });
        assert_eq!([8, 4, 2].map(|bytes| lanes_by_columns_log2(128, bytes)), [5, 4, 3]);
    }

    #[test]
    fn packets_are_whole() {
        assert_eq!(packet_width(8, &[0, 2, 6]), Some(2));
        assert_eq!(packet_width(2, &[8, 64]), Some(8));
        assert_eq!(packet_width(4, &[4, 6]), None);
    }
}
