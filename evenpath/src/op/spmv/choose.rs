//! Which methods suit a matrix: from what is measured of it and of its device, and from nothing else.

use evenpath_simt::ScalarType;

use super::SpmvMethod;
use super::cost::estimate;
use super::lengths::{Lengths, Long};
use super::thresholds::{
    BLOCK_MEAN, BLOCK_SPREAD, BLOCK_THREADS, CACHE_TENTHS, ROW_BLOCK_MEAN, SPARE_LANES, SPARE_STEPS,
    TILE_FILLED, WAVE_THREADS, WINDOW_MEAN, WINDOW_MEAN_OF_NEIGHBORS, WINDOW_ROWS_F32, WINDOW_ROWS_F64,
};
use super::windows::Found;
use crate::op::DeviceCsr;
use crate::policy;
use crate::{Offset, Value};

/// What the choice of a method depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Features {
    pub(super) rows: u64,
    pub(super) cols: u64,
    pub(super) nonzeros: u64,
    pub(super) lengths: Lengths,
    /// What the windows of x are like, if they were [looked for](Self::may_have_windows) and there can be some.
    pub(super) windows: Option<Found>,
    pub(super) value: ScalarType,
    /// Bytes of a row offset.
    pub(super) offset_bytes: u64,
    pub(super) multiprocessors: u64,
    pub(super) l2_bytes: Option<u64>,
    /// Whether memory may be spent on narrow columns.
    pub(super) may_narrow: bool,
}

/// A method, and why it suits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) method: SpmvMethod,
    pub(super) reason: Reason,
}

/// What is said of a candidate beside the row lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    RowLengths,
    Windows,
    ScatteredColumns,
    /// It is estimated to take this long, and every other method that can be built longer.
    Estimate {
        nanoseconds: u64,
    },
    AnyRows,
}

/// The methods that have an estimate: of equal ones, the first is taken.
const ESTIMATED: [SpmvMethod; 9] = [
    SpmvMethod::Vector,
    SpmvMethod::Warp,
    SpmvMethod::Scalar,
    SpmvMethod::RowBlocks,
    SpmvMethod::RowTiles,
    SpmvMethod::Flat,
    SpmvMethod::MergePath,
    SpmvMethod::Block,
    SpmvMethod::Binned,
];

impl Features {
    /// What is known before windows are looked for.
    pub(super) fn new<V: Value, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
        may_narrow: bool,
    ) -> Self {
        let properties = matrix.device().properties();
        Self {
            rows: matrix.rows() as u64,
            cols: matrix.cols() as u64,
            nonzeros: matrix.nnz() as u64,
            lengths,
            windows: None,
            value: V::TYPE,
            offset_bytes: O::SIZE as u64,
            multiprocessors: u64::from(properties.multiprocessors),
            l2_bytes: properties.l2_bytes,
            may_narrow,
        }
    }

    /// Lanes per row.
    pub(super) fn lanes(&self) -> u32 {
        lanes(self.rows, self.nonzeros, self.multiprocessors)
    }

    /// Threads that run at once.
    pub(super) fn wave(&self) -> u64 {
        wave(self.multiprocessors)
    }

    pub(super) fn is_f32(&self) -> bool {
        self.value == ScalarType::F32
    }

    /// Whether rows are long and alike, and enough for as many blocks as run at once.
    fn are_for_blocks(&self) -> bool {
        let Lengths { mean, longest, .. } = self.lengths;
        let are_enough = self.rows * BLOCK_THREADS >= self.wave();
        are_enough && mean >= BLOCK_MEAN && longest as f64 <= BLOCK_SPREAD * mean
    }

    /// Whether no row is much longer than the mean.
    fn are_even(&self) -> bool {
        self.lengths.longest <= u64::from(self.lengths.limit)
    }

    /// Whether windows of x may pay, so that they are worth looking for.
    pub(super) fn may_have_windows(&self) -> bool {
        let rows = if self.is_f32() { WINDOW_ROWS_F32 } else { WINDOW_ROWS_F64 };
        !self.are_for_blocks()
            && self.are_even()
            && self.lengths.mean >= WINDOW_MEAN
            && self.rows >= rows * self.multiprocessors
    }

    /// Bytes of the matrix and its vectors. Of x, memory delivers no more than 32 bytes for each nonzero.
    pub(super) fn bytes(&self) -> u64 {
        let value = self.value.size() as u64;
        let x = (self.cols * value).min(self.nonzeros * 32);
        self.nonzeros * (value + 4) + self.rows * (value + self.offset_bytes) + x
    }

    /// Whether the second-level cache holds the matrix and its vectors from run to run, with room for what else is in it.
    fn stays_in_cache(&self) -> bool {
        self.l2_bytes.is_some_and(|l2| self.bytes() <= l2 / 10 * CACHE_TENTHS)
    }

    /// Whether a method may be chosen by its estimate.
    fn allow(&self, method: SpmvMethod) -> bool {
        let Lengths { empty, long, .. } = self.lengths;
        // Empty rows may lie together, and then the others do, for tiles of equally many rows too many.
        let are_filled = TILE_FILLED * self.rows.saturating_sub(empty) >= self.rows;
        match method {
            // It would need a list of the rows that are not empty, and another launch.
            SpmvMethod::Flat => empty == 0,
            SpmvMethod::RowTiles => are_filled,
            SpmvMethod::Binned => are_filled && long.rows > 0,
            SpmvMethod::RowBlocks => 2 * empty <= self.rows,
            _ => true,
        }
    }
}

/// Threads that run at once.
fn wave(multiprocessors: u64) -> u64 {
    multiprocessors * WAVE_THREADS
}

/// Lanes that rows of the mean length want: more where the device has threads to spare, since the steps of a row then decide.
pub(super) fn lanes(rows: u64, nonzeros: u64, multiprocessors: u64) -> u32 {
    let wave = wave(multiprocessors);
    let mean = nonzeros as f64 / rows.max(1) as f64;
    let mut lanes = policy::spmv_lanes(rows, nonzeros);
    if 2 * rows * u64::from(SPARE_LANES) <= wave {
        lanes = lanes.max(SPARE_LANES);
    }
    let fits = |lanes: u32| rows * u64::from(lanes) <= wave;
    let has_steps = |lanes: u32| f64::from(lanes) * SPARE_STEPS <= mean;
    while lanes < 32 && fits(2 * lanes) && has_steps(2 * lanes) {
        lanes *= 2;
    }
    lanes
}

/// The methods that suit, best first: the first one that can be built is taken. The last one always can.
pub(super) fn candidates(features: &Features) -> Vec<Candidate> {
    let mut candidates = if features.are_for_blocks() {
        of_long_rows(features)
    } else if let Some(by_windows) = of_windows(features) {
        vec![by_windows]
    } else {
        by_estimate(features)
    };
    candidates.push(because(Reason::AnyRows, whatever_the_rows(features)));
    candidates
}

/// The method that divides nonzeros, not rows.
fn whatever_the_rows(features: &Features) -> SpmvMethod {
    if features.lengths.empty == 0 { SpmvMethod::Flat } else { SpmvMethod::MergePath }
}

fn because(reason: Reason, method: SpmvMethod) -> Candidate {
    Candidate { method, reason }
}

/// The method for its row lengths.
fn suits(method: SpmvMethod) -> Candidate {
    because(Reason::RowLengths, method)
}

fn of_long_rows(features: &Features) -> Vec<Candidate> {
    let narrow = features.may_narrow.then_some(SpmvMethod::NarrowColumns);
    narrow.into_iter().chain([SpmvMethod::Block]).map(suits).collect()
}

/// The method that what is known of windows decides, where no row is much longer than the mean.
fn of_windows(features: &Features) -> Option<Candidate> {
    let (found, nonzeros) = (features.windows?, features.nonzeros);
    let with_neighbors = features.is_f32() && features.lengths.mean >= WINDOW_MEAN_OF_NEIGHBORS;
    if !features.are_even() {
        return None;
    }
    if found.are_worth_it(nonzeros, with_neighbors) {
        return Some(because(Reason::Windows, SpmvMethod::Windows));
    }
    let are_scattered = features.lengths.empty == 0 && found.are_too_narrow(nonzeros);
    are_scattered.then(|| because(Reason::ScatteredColumns, SpmvMethod::Flat))
}

/// Methods in the order of their estimates, after narrow columns if these save bytes that count.
fn by_estimate(features: &Features) -> Vec<Candidate> {
    let mut estimates: Vec<(f64, SpmvMethod)> = ESTIMATED
        .into_iter()
        .filter(|&method| features.allow(method))
        .filter_map(|method| Some((estimate(features, method)?, method)))
        .collect();
    estimates.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    let best = estimates.first().map(|&(_, method)| method);
    let narrow = best.filter(|&best| are_for_narrow_columns(features, best));
    let by_estimate = estimates.into_iter().map(|(microseconds, method)| {
        because(Reason::Estimate { nanoseconds: (microseconds * 1e3) as u64 }, method)
    });
    narrow.map(|_| suits(SpmvMethod::NarrowColumns)).into_iter().chain(by_estimate).collect()
}

/// Whether narrow columns may be faster than the best of the other methods: in cache, bytes are not what counts, unless rows are
/// short.
fn are_for_narrow_columns(features: &Features, best: SpmvMethod) -> bool {
    let saves_time = if features.stays_in_cache() {
        let are_tiled = matches!(best, SpmvMethod::RowTiles | SpmvMethod::RowBlocks);
        are_tiled && features.lengths.mean < ROW_BLOCK_MEAN
    } else {
        best != SpmvMethod::Block
    };
    features.may_narrow && features.are_even() && saves_time
}

impl Reason {
    /// The reason in words.
    pub(super) fn explain(self, features: &Features) -> String {
        let Lengths { longest, mean, empty, limit, long } = features.lengths;
        let text =
            format!("rows have {mean:.1} nonzeros on average and {longest} at most, {empty} are empty");
        match self {
            Self::RowLengths => text,
            Self::Windows => {
                let uses = features.windows.map_or(0, Found::uses);
                format!("{text}; the rows of a block use the same elements of x {uses} times")
            }
            Self::ScatteredColumns => format!("{text}; their columns are scattered"),
            Self::Estimate { nanoseconds } => {
                let estimate = nanoseconds as f64 / 1e3;
                if long.rows == 0 {
                    format!("{text}; estimated at {estimate:.1} µs")
                } else {
                    let Long { rows, nonzeros, .. } = long;
                    format!(
                        "{text}; {rows} with more than {limit} have {nonzeros} of the nonzeros; estimated at {estimate:.1} µs"
                    )
                }
            }
            Self::AnyRows => format!("{text}; no other method can be built"),
        }
    }
}

#[cfg(test)]
mod tests;
