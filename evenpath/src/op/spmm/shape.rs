//! Distribution of lanes over rows, nonzeros and columns.

use evenpath_kernels::spmm::{Group, Packets, STAGED_BY_THREAD, Strided, width};
use evenpath_simt::{ScalarType, Stored};

use crate::format::Layout;

/// Number of lanes in a warp, as a power of two.
const WARP_LOG2: u32 = 5;

/// Mean lengths of rows for which each gets a block, if all these blocks run at once. A block of 128 threads
/// stages as many nonzeros as the longest have.
const BLOCK_ROWS: std::ops::RangeInclusive<f64> = 128.0..=512.0;

/// Number of threads in the blocks that a multiprocessor runs at once, ten of 128, as a multiple of
/// [`BUSY_THREADS`].
const RESIDENT: f64 = 1.25;

/// Approximate number of steps of a lane in a row of mean length, as a power of two. With fewer, lanes wait
/// more for a row's start and end than for its nonzeros.
const STEPS_LOG2: u32 = 2;

/// Maximum number of lanes over columns for which nonzeros are distributed over lanes too, as a power of two.
/// With this many lanes over the columns alone, one row per group measured better: shuffles add nothing, and
/// no lane idles at a row's end.
pub(super) const SIDE_LANES_LOG2: u32 = 3;

/// Minimum number of steps of a lane in a row of mean length for which more lanes share a row even if rows
/// are enough to keep the device busy: the last wave of blocks then takes less time, as long as there are few
/// waves. Each wave has [`BUSY_THREADS`].
const STEPS_OF_LONG: f64 = 25.0;
const LONG_IN_WAVES: f64 = 6.0;

/// Number of threads of a multiprocessor that should have work. If there are too few rows for it, more lanes
/// share a row.
const BUSY_THREADS: u64 = 1024;

/// Minimum bytes of a column of C that a block stores together: the granularity of memory.
const SECTOR: u32 = 32;

/// Chooses the group of lanes for products of `columns` columns, `width` of them per lane, with rows of
/// `mean` nonzeros, of at most `1 << most_lanes_log2` lanes: a warp, or a block if these are more and rows
/// are few and long. There is room for `room` groups of one lane per row and packet of columns.
pub(super) fn group(columns: u32, width: u32, mean: f64, room: f64, most_lanes_log2: u32) -> Group {
    let of_warp_log2 = WARP_LOG2.min(most_lanes_log2);
    let packets = columns.div_ceil(width);
    let columns_log2 = packets.min(1 << of_warp_log2).next_power_of_two().ilog2();
    let run_at_once = RESIDENT * room >= f64::from(1_u32 << most_lanes_log2);
    if most_lanes_log2 > WARP_LOG2 && run_at_once && BLOCK_ROWS.contains(&mean) {
        return Group { columns_log2, side_log2: most_lanes_log2 - columns_log2 };
    }
    let idle_log2 = ((room / f64::from(packets)) as u64).max(1).ilog2();
    let side_lanes_log2 = SIDE_LANES_LOG2.max(columns_log2 + idle_log2).min(of_warp_log2);
    let most_side_log2 = side_lanes_log2.saturating_sub(columns_log2);
    let mut side_log2 = (mean as u64).max(1).ilog2().saturating_sub(STEPS_LOG2).min(most_side_log2);
    let is_long = |side_log2| {
        let lanes = f64::from(1_u32 << (columns_log2 + side_log2));
        // Most longer rows are cut.
        let lengths = STEPS_OF_LONG * f64::from(1_u32 << side_log2)..=*BLOCK_ROWS.end();
        lengths.contains(&mean) && lanes <= LONG_IN_WAVES * room
    };
    while columns_log2 + side_log2 < of_warp_log2 && is_long(side_log2 + 1) {
        side_log2 += 1;
    }
    Group { columns_log2, side_log2 }
}

/// Number of groups of one lane per row that fit.
pub(super) fn room(multiprocessors: u32, rows: usize) -> f64 {
    (u64::from(multiprocessors) * BUSY_THREADS) as f64 / rows.max(1) as f64
}

/// Minimum fraction of the [`room`] in whole waves that the lanes of all rows take if rows alone keep the
/// device busy. The rest of the last wave is idle.
const FULL_WAVES: f64 = 0.85;

/// Returns whether rows of equal length, of `columns` columns, `width` of them per lane, keep the device busy
/// without being cut.
pub(super) fn is_busy(columns: u32, width: u32, room: f64) -> bool {
    let waves = f64::from(columns.div_ceil(width)) / room;
    waves >= FULL_WAVES * waves.ceil()
}

/// log2 of the maximum number of lanes in a group: those of a block of `block_size` threads or, for a
/// column-major C, at most a warp and as many as leave the block whole sectors of C's columns to store.
pub(super) fn most_lanes_log2(layout: Layout, block_size: u32, element_bytes: usize) -> u32 {
    match layout {
        Layout::RowMajor => block_size.ilog2(),
        Layout::ColumnMajor => (block_size * element_bytes as u32 / SECTOR).max(1).ilog2().min(WARP_LOG2),
    }
}

/// Access of a lane to its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnAccess {
    Packets,
    Strided,
    Elements,
}

/// Access of a lane to its columns, and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moves {
    access: ColumnAccess,
    pub(super) width: u32,
    /// Complex elements have few variants: for pieces, with the nonzeros of a block at once.
    is_complex: bool,
}

impl Moves {
    /// Chooses the widest access for elements of `T`. `is_strided` if B is read in strides. All `multiples`
    /// must be divisible by the access, in elements: the columns, and the elements before them and from one
    /// row to the next.
    pub(super) fn new<T: Stored>(is_strided: bool, multiples: &[usize]) -> Self {
        let (access, width) = if is_strided {
            (ColumnAccess::Strided, const { width::<T, Strided>() })
        } else {
            (ColumnAccess::Packets, const { width::<T, Packets>() })
        };
        let is_complex = matches!(T::TYPE, ScalarType::C32 | ScalarType::C64);
        if multiples.iter().all(|elements| elements.is_multiple_of(width)) {
            Self { access, width: width as u32, is_complex }
        } else {
            Self { access: ColumnAccess::Elements, width: 1, is_complex }
        }
    }

    /// Returns `rows`, in stages and in passes only if there are kernels for it.
    pub(super) fn rows(self, rows: RowSummation) -> RowSummation {
        if self.access == ColumnAccess::Packets && !self.is_complex { rows } else { RowSummation::AtOnce }
    }

    /// Name of the kernel's variant for rows, and for pieces if there may be any. There is one for strides,
    /// because it is for few nonzeros.
    pub(super) fn variant(self, rows: RowSummation, has_pieces: bool) -> &'static str {
        let has_pieces = has_pieces || self.is_complex;
        match (self.access, rows) {
            (ColumnAccess::Packets, RowSummation::AtOnce) if has_pieces => "PacketPieces",
            (ColumnAccess::Packets, RowSummation::AtOnce) => "Packets",
            (ColumnAccess::Packets, RowSummation::InPasses { .. }) if has_pieces => "PacketPassPieces",
            (ColumnAccess::Packets, RowSummation::InPasses { .. }) => "PacketPasses",
            (ColumnAccess::Packets, RowSummation::InStages) if has_pieces => "PacketStagePieces",
            (ColumnAccess::Packets, RowSummation::InStages) => "PacketStages",
            (ColumnAccess::Elements, _) if has_pieces => "ElementPieces",
            (ColumnAccess::Elements, _) => "Elements",
            (ColumnAccess::Strided, _) => "StridedPieces",
        }
    }
}

/// Summation of rows that are not long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowSummation {
    /// A block stages the nonzeros of its rows at once.
    AtOnce,
    /// Short rows, of which each group sums several, one after the other.
    InPasses { passes_log2: u32 },
    /// Each group stages the nonzeros of its row in parts.
    InStages,
}

impl RowSummation {
    /// Chooses the summation of rows of `mean` nonzeros, a group of lanes each, in blocks of `block_size`
    /// threads, with [`room`] for `room` groups of one lane. In stages if a block's nonzeros may be more than
    /// it stages at once, because they are many or, if some rows are cut into pieces, uneven, and the
    /// elements of B gathered for them are worth it; in passes if they are so few that a block can have
    /// several rows for each group, and there are enough such blocks.
    pub(super) fn new(group: Group, mean: f64, room: f64, block_size: u32, has_pieces: bool) -> Self {
        let of_block = f64::from(block_size >> group.lanes_log2()) * mean;
        let staged = f64::from(block_size) * STAGED_BY_THREAD as f64;
        let is_wide = group.columns_log2 >= STAGES_COLUMNS_LOG2;
        let are_uneven = has_pieces && mean >= UNEVEN_IN_STAGES;
        // A block that is one group stages what fits.
        let is_warp = group.lanes_log2() <= WARP_LOG2;
        if is_warp && is_wide && (are_uneven || of_block > STAGED_AT_ONCE * staged) {
            return Self::InStages;
        }
        match passes_log2(group, mean, room, STAGED_AT_ONCE * staged / of_block) {
            0 => Self::AtOnce,
            passes_log2 => Self::InPasses { passes_log2 },
        }
    }

    /// The same in one pass.
    pub(super) fn in_one_pass(self) -> Self {
        match self {
            Self::InPasses { .. } => Self::AtOnce,
            Self::AtOnce | Self::InStages => self,
        }
    }

    /// log2 of the number of rows per group.
    pub(super) fn passes_log2(self) -> u32 {
        match self {
            Self::InPasses { passes_log2 } => passes_log2,
            Self::AtOnce | Self::InStages => 0,
        }
    }
}

/// log2 of the number of rows of `mean` nonzeros that a group sums, of at most `most` that a block can stage:
/// more than one while a lane has few nonzeros, and rows keep the device busy.
fn passes_log2(group: Group, mean: f64, room: f64, most: f64) -> u32 {
    let lanes = f64::from(1 << group.lanes_log2());
    let steps = mean / f64::from(1 << group.side_log2);
    let passes = most.min(lanes).min(lanes / room).min(STEPS_IN_PASSES / steps).min(MOST_PASSES);
    (passes as u32).max(1).ilog2()
}

/// log2 of the minimum number of lanes over the columns of B for which stages are faster: with 64 bytes of B
/// per nonzero.
const STAGES_COLUMNS_LOG2: u32 = 2;

/// Maximum mean fraction of the memory for staged nonzeros that those of a block take if they are staged at
/// once: some blocks have more than others.
const STAGED_AT_ONCE: f64 = 0.75;

/// Minimum mean length for which uneven rows are faster in stages.
const UNEVEN_IN_STAGES: f64 = 16.0;

/// Maximum number of nonzeros that a lane sums in all passes. With more, a block waits for B, and not for the
/// ends of its rows.
const STEPS_IN_PASSES: f64 = 24.0;

/// Maximum number of rows per group. Eight are no faster.
const MOST_PASSES: f64 = 4.0;

/// Number of elements of B that may be loaded by columns per multiprocessor, one sector of memory for each:
/// about the cost of copying B to rows, most of which is a launch.
const STRIDED_LOADS: u128 = 8192;

/// Returns whether a column-major B of `rows` rows and `columns` columns is read directly instead of being
/// copied to rows first: if few of its elements are read, or if their sectors are fewer bytes than the copy
/// reads and writes.
pub(super) fn reads_columns(
    nonzeros: usize,
    (rows, columns): (usize, usize),
    element_bytes: usize,
    multiprocessors: u32,
) -> bool {
    let are_few = nonzeros as u128 * columns as u128 <= u128::from(multiprocessors) * STRIDED_LOADS;
    // Per column.
    let copied = 2 * rows as u128 * element_bytes as u128;
    are_few || nonzeros as u128 * u128::from(SECTOR) <= copied
}

#[cfg(test)]
mod tests {
    use evenpath_simt::half::f16;

    use super::*;

    #[test]
    fn groups_fit_into_warps_and_cover_the_columns() {
        for columns in [1, 2, 3, 4, 31, 32, 33, 64, 100, 512, u32::MAX] {
            for width in [1, 2, 4, 8] {
                for mean in [0.0, 0.5, 1.0, 5.0, 27.0, 1e9] {
                    for (most, room) in (0..8).flat_map(|most| [0.0, 7.5, 1e9].map(|room| (most, room))) {
                        let group = group(columns, width, mean, room, most);
                        assert!(group.lanes_log2() <= most, "{group:?}");
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
        assert_eq!([8, 4, 2].map(|bytes| most_lanes_log2(Layout::ColumnMajor, 128, bytes)), [5, 4, 3]);
        assert_eq!(most_lanes_log2(Layout::RowMajor, 128, 2), 7);
    }

    #[test]
    fn long_rows_of_few_waves_have_more_lanes() {
        let lanes = |width, rows, mean| group(32, width, mean, room(132, rows), 5).lanes_log2();
        assert_eq!([49.9, 50.0].map(|mean| lanes(2, 20_000, mean)), [4, 5]);
        assert_eq!([49.9, 50.0, 99.9, 100.0].map(|mean| lanes(4, 20_000, mean)), [3, 4, 4, 5]);
        // Six waves of 1024 threads for each of 132 multiprocessors.
        assert_eq!([25_344, 25_345].map(|rows| lanes(2, rows, 500.0)), [5, 4]);
        assert_eq!([25_344, 25_345, 50_689].map(|rows| lanes(4, rows, 500.0)), [5, 4, 3]);
        assert_eq!(group(32, 4, 500.0, room(132, 20_000), 4).lanes_log2(), 4, "C by columns");
        assert_eq!([512.0, 513.0].map(|mean| lanes(2, 20_000, mean)), [5, 4], "most rows are cut");
    }

    #[test]
    fn few_long_rows_have_a_block_each() {
        let lanes = |rows, mean, most| group(32, 2, mean, room(132, rows), most).lanes_log2();
        assert_eq!([1320, 1321].map(|rows| lanes(rows, 300.0, 7)), [7, 5]);
        assert_eq!([127.0, 128.0, 512.0, 513.0].map(|mean| lanes(500, mean, 7)), [5, 7, 7, 5]);
        assert_eq!(lanes(500, 300.0, 5), 5, "C by columns");
        let block = |columns| group(columns, 4, 300.0, 1e9, 7);
        assert_eq!(block(1), Group { columns_log2: 0, side_log2: 7 });
        assert_eq!(block(1000), Group { columns_log2: 5, side_log2: 2 });
        assert_eq!(RowSummation::new(block(32), 300.0, 1e9, 128, true), RowSummation::AtOnce);
    }

    #[test]
    fn rows_too_long_for_a_block_are_staged_in_parts() {
        let rows = |columns_log2, side_log2, mean| {
            RowSummation::new(Group { columns_log2, side_log2 }, mean, 1.0, 128, false)
        };
        assert_eq!(rows(4, 0, 48.0), RowSummation::AtOnce);
        assert_eq!(rows(4, 0, 48.1), RowSummation::InStages);
        assert_eq!((rows(2, 1, 33.0), rows(1, 2, 33.0)), (RowSummation::InStages, RowSummation::AtOnce));
        assert_eq!(rows(2, 3, f64::INFINITY), RowSummation::InStages);
    }

    #[test]
    fn rows_among_longer_ones_are_staged_in_parts() {
        let rows = |columns_log2, mean| {
            RowSummation::new(Group { columns_log2, side_log2: 0 }, mean, 1.0, 128, true)
        };
        assert_eq!([15.9, 16.0].map(|mean| rows(4, mean)), [RowSummation::AtOnce, RowSummation::InStages]);
        assert_eq!(rows(1, 16.0), RowSummation::AtOnce, "little of B for each nonzero");
    }

    #[test]
    fn short_rows_are_summed_in_passes() {
        let rows = |columns_log2, mean, room| {
            RowSummation::new(Group { columns_log2, side_log2: 0 }, mean, room, 128, false).passes_log2()
        };
        assert_eq!(
            [0.0, 3.0, 6.0, 6.1, 12.0, 12.1, 500.0].map(|mean| rows(4, mean, 0.0)),
            [2, 2, 2, 1, 1, 0, 0]
        );
        assert_eq!([2.0, 4.0, 8.0, 8.1, 1e9].map(|room| rows(4, 3.0, room)), [2, 2, 1, 0, 0], "few rows");
        assert_eq!((rows(2, 3.0, 0.0), rows(2, 3.1, 0.0)), (2, 1), "a block has many rows");
        assert_eq!([0, 1].map(|columns_log2| rows(columns_log2, 1.0, 0.0)), [0, 1], "more rows than threads");
        let few = RowSummation::new(Group { columns_log2: 4, side_log2: 1 }, 8.0, 0.0, 128, false);
        assert_eq!(few, RowSummation::InPasses { passes_log2: 2 }, "two at a time");
    }

    #[test]
    fn each_kind_of_rows_has_a_kernel() {
        let passes = RowSummation::InPasses { passes_log2: 1 };
        let names = |access, has_pieces| {
            [RowSummation::AtOnce, RowSummation::InStages, passes].map(|rows| {
                let moves = Moves { access, width: 2, is_complex: false };
                moves.variant(moves.rows(rows), has_pieces)
            })
        };
        assert_eq!(names(ColumnAccess::Packets, false), ["Packets", "PacketStages", "PacketPasses"]);
        let of_pieces = ["PacketPieces", "PacketStagePieces", "PacketPassPieces"];
        assert_eq!(names(ColumnAccess::Packets, true), of_pieces);
        assert_eq!(names(ColumnAccess::Elements, false), ["Elements"; 3]);
        assert_eq!(names(ColumnAccess::Elements, true), ["ElementPieces"; 3]);
        assert_eq!(
            [false, true].map(|has_pieces| names(ColumnAccess::Strided, has_pieces)),
            [["StridedPieces"; 3]; 2]
        );
        assert_eq!(passes.in_one_pass(), RowSummation::AtOnce);
    }

    #[test]
    fn accesses_are_whole() {
        let moves = |access, width| Moves { access, width, is_complex: false };
        assert_eq!(Moves::new::<f64>(false, &[0, 2, 6]), moves(ColumnAccess::Packets, 2));
        assert_eq!(Moves::new::<f16>(false, &[8, 64]), moves(ColumnAccess::Packets, 8));
        assert_eq!(Moves::new::<f32>(false, &[4, 6]), moves(ColumnAccess::Elements, 1));
        assert_eq!(Moves::new::<f16>(true, &[4, 0]), moves(ColumnAccess::Strided, 4));
        assert_eq!(Moves::new::<f64>(true, &[6]), moves(ColumnAccess::Strided, 2));
        assert_eq!(Moves::new::<f32>(true, &[6]), moves(ColumnAccess::Elements, 1));
    }

    #[test]
    fn columns_are_read_where_few_elements_are() {
        let reads = |nonzeros, columns| reads_columns(nonzeros, (50_000, columns), 8, 132);
        assert!(reads(100_000, 4) && !reads(1_000_000, 4));
        assert!(reads(10_000, 32) && !reads(100_000, 32));
        assert!(reads_columns(0, (0, 1), 8, 0) && !reads_columns(1, (1, 1), 8, 0));
        assert!(!reads_columns(usize::MAX, (1, usize::MAX), 8, u32::MAX));
        // Of a B with two million rows, a million elements of a column are not read, for any number of
        // columns.
        for columns in [1, 32, 1 << 20] {
            assert!(reads_columns(1_000_000, (2_000_000, columns), 8, 1));
            assert!(!reads_columns(1_000_001, (2_000_000, columns), 8, 1));
            assert!(!reads_columns(1_000_000, (2_000_000, columns), 4, 1), "in f32 the copy is half");
        }
    }

    #[test]
    fn rows_alone_keep_a_device_busy_if_they_fill_its_waves() {
        let is_busy = |rows, columns| is_busy(columns, 2, room(132, rows));
        assert!(is_busy(2000, 128) && !is_busy(2000, 64), "most of one wave, and half of it");
        assert!(!is_busy(2200, 128) && is_busy(4000, 128), "a little more than one, and almost two");
        assert!(is_busy(1_000_000, 2) && !is_busy(1, 128));
    }
}
