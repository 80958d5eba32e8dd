//! Which methods suit a matrix: from what is measured of it and of its device, and from nothing else.

use evenpath_simt::ScalarType;

use super::SpmvMethod;
use super::lengths::Lengths;
use super::thresholds::{
    ALIKE_SPREAD, BINNED_LEAST_MEAN, BINNED_MEAN, BLOCK_MEAN, BLOCK_SPREAD, BLOCK_THREADS, CACHE_TENTHS,
    CACHED_SPREAD, LONG_SHARE, RESIDENT_BLOCK_MEAN, RESIDENT_BLOCK_MEAN_OF_UNEVEN, ROW_BLOCK_MEAN,
    ROW_BLOCK_MEAN_OF_F32, SHORT_LONGEST, SPARE_LANES, SPARE_STEPS, WARP_STEPS, WAVE_STEPS_OF_ALIKE,
    WAVE_STEPS_OF_BLOCKS, WAVE_STEPS_OF_TILES, WAVE_THREADS, WAVES_OF_F32, WAVES_OF_WARPS, WINDOW_MEAN,
    WINDOW_MEAN_OF_NEIGHBORS, WINDOW_ROWS_F32, WINDOW_ROWS_F64,
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
    StaysInCache,
    LongRowsAreCut,
    LongRowsHaveMany,
}

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
    fn wave(&self) -> u64 {
        wave(self.multiprocessors)
    }

    fn is_f32(&self) -> bool {
        self.value == ScalarType::F32
    }

    /// Whether rows are long and alike.
    fn are_for_blocks(&self) -> bool {
        let Lengths { mean, longest, .. } = self.lengths;
        mean >= BLOCK_MEAN && longest as f64 <= BLOCK_SPREAD * mean
    }

    /// Whether every row can have a block of its own, all at once, and enough work for one.
    fn are_for_resident_blocks(&self) -> bool {
        let Lengths { mean, longest, .. } = self.lengths;
        let is_long_for_warps = longest > 32 * WAVE_STEPS_OF_BLOCKS;
        let least_mean = if is_long_for_warps { RESIDENT_BLOCK_MEAN_OF_UNEVEN } else { RESIDENT_BLOCK_MEAN };
        mean >= least_mean
            && longest <= BLOCK_THREADS * WAVE_STEPS_OF_BLOCKS
            && self.rows * BLOCK_THREADS <= self.wave()
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

    /// Whether the second-level cache holds the matrix and its vectors from run to run, with room for what else is in it.
    /// Then few steps, one behind the other, count for more than wide accesses.
    fn stays_in_cache(&self) -> bool {
        let value = self.value.size() as u64;
        let bytes = self.nonzeros * (value + 4) + self.rows * (value + self.offset_bytes) + self.cols * value;
        self.l2_bytes.is_some_and(|l2| bytes <= l2 / 10 * CACHE_TENTHS)
    }

    /// Whether lanes per row are best for a matrix that stays in cache.
    fn are_lanes_best(&self) -> bool {
        let lanes = u64::from(self.lanes());
        let threads = self.rows * lanes;
        let Lengths { mean, longest, .. } = self.lengths;
        if threads > self.wave() {
            let is_spread = mean >= ROW_BLOCK_MEAN && longest as f64 > CACHED_SPREAD * mean;
            return !is_spread && (!self.is_f32() || threads <= WAVES_OF_F32 * self.wave());
        }
        // All rows run at once, and the longest one decides.
        let most_steps = if mean < ROW_BLOCK_MEAN {
            WAVE_STEPS_OF_TILES
        } else if longest as f64 <= ALIKE_SPREAD * mean {
            WAVE_STEPS_OF_ALIKE
        } else {
            WAVE_STEPS_OF_BLOCKS
        };
        longest.div_ceil(lanes) <= most_steps
    }

    /// Whether all rows run at once and some are much longer than others, so that a block's rows end long before its longest one.
    fn are_resident_and_uneven(&self) -> bool {
        let Lengths { mean, longest, .. } = self.lengths;
        self.rows * u64::from(self.lanes()) <= self.wave()
            && mean >= ROW_BLOCK_MEAN
            && longest as f64 > CACHED_SPREAD * mean
    }

    /// Whether a warp per row is best for rows of unlike lengths: there are few, and none takes it many steps.
    fn are_for_warps(&self) -> bool {
        self.stays_in_cache()
            && self.rows * 32 <= WAVES_OF_WARPS * self.wave()
            && self.lengths.longest <= 32 * WARP_STEPS
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
    } else if features.are_for_resident_blocks() {
        vec![suits(SpmvMethod::Block)]
    } else if features.are_even() {
        of_even_rows(features)
    } else {
        of_few_long_rows(features)
    };
    candidates.push(because(Reason::LongRowsHaveMany, whatever_the_rows(features)));
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

/// Where no row is much longer than the mean.
fn of_even_rows(features: &Features) -> Vec<Candidate> {
    let Lengths { mean, empty, .. } = features.lengths;
    let is_f32 = features.is_f32();
    if let Some(found) = features.windows {
        if found.are_worth_it(features.nonzeros, is_f32 && mean >= WINDOW_MEAN_OF_NEIGHBORS) {
            return vec![because(Reason::Windows, SpmvMethod::Windows)];
        }
        if empty == 0 && found.are_too_narrow(features.nonzeros) {
            return vec![because(Reason::ScatteredColumns, SpmvMethod::Flat)];
        }
    }
    let in_cache = features.stays_in_cache();
    if in_cache && features.are_lanes_best() {
        return vec![because(Reason::StaysInCache, SpmvMethod::Vector)];
    }
    if in_cache && features.are_resident_and_uneven() {
        return vec![because(Reason::StaysInCache, whatever_the_rows(features))];
    }
    let mut candidates = Vec::new();
    // In cache, bytes are not what counts, unless rows are short.
    if features.may_narrow && (!in_cache || mean < ROW_BLOCK_MEAN) {
        candidates.push(suits(SpmvMethod::NarrowColumns));
    }
    let tiles_are_as_good = is_f32 && !in_cache && mean < ROW_BLOCK_MEAN_OF_F32;
    if mean >= ROW_BLOCK_MEAN && !tiles_are_as_good {
        candidates.push(suits(SpmvMethod::RowBlocks));
    }
    candidates.push(suits(SpmvMethod::RowTiles));
    candidates
}

/// Where some rows are long: in cache, and where they are very long or have a large share of the nonzeros, a cut that knows no rows
/// is better.
fn of_few_long_rows(features: &Features) -> Vec<Candidate> {
    let Lengths { mean, longest, empty, long, .. } = features.lengths;
    if features.are_for_warps() {
        return vec![because(Reason::StaysInCache, SpmvMethod::Warp)];
    }
    if features.stays_in_cache() {
        let are_short = mean < ROW_BLOCK_MEAN && longest <= SHORT_LONGEST;
        return are_short.then(|| because(Reason::StaysInCache, SpmvMethod::Vector)).into_iter().collect();
    }
    if mean >= BINNED_MEAN || long.nonzeros > features.nonzeros / LONG_SHARE {
        return Vec::new();
    }
    let row_blocks = (2 * empty <= features.rows).then(|| suits(SpmvMethod::RowBlocks));
    let binned = (mean >= BINNED_LEAST_MEAN).then(|| because(Reason::LongRowsAreCut, SpmvMethod::Binned));
    row_blocks.into_iter().chain(binned).collect()
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
            Self::StaysInCache => format!("{text}; the matrix stays in cache"),
            Self::LongRowsAreCut => {
                format!("{text}; {} with more than {limit} are cut into {} pieces", long.rows, long.pieces)
            }
            Self::LongRowsHaveMany => {
                format!("{text}; {} with more than {limit} have {} of the nonzeros", long.rows, long.nonzeros)
            }
        }
    }
}

#[cfg(test)]
mod tests;
