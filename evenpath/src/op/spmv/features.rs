//! Features of a matrix and its device that decide the choice of a method.

use evenpath_simt::ScalarType;

use super::found_windows::WindowStatistics;
use super::gathers::Gathers;
use super::lengths::Lengths;
use super::thresholds::{
    BLOCK_MEAN, BLOCK_SPREAD, BLOCK_THREADS, CACHE_TENTHS, SPARE_LANES, SPARE_STEPS, TILE_FILLED,
    WAVE_THREADS, WINDOW_MEAN, WINDOW_MEAN_OF_NEIGHBORS, WINDOW_ROWS_F32, WINDOW_ROWS_F64,
};
use crate::format::DeviceCsr;
use crate::{Offset, Scalar, policy};

/// Copies of a matrix that a plan may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Copies {
    #[default]
    Nothing,
    /// Columns in another form.
    Columns,
    /// Columns and values in another form.
    Values,
}

/// Decision by windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByWindows {
    /// They pay.
    Windows,
    /// Columns are scattered wider than windows are: equal shares of the nonzeros.
    Flat,
}

/// Features that decide the choice of a method.
#[derive(Debug, Clone, Copy)]
pub(super) struct Features {
    pub(super) rows: u64,
    pub(super) nonzeros: u64,
    pub(super) lengths: Lengths,
    /// Windows of x, if they were [searched](Self::may_have_windows) and found.
    pub(super) windows: Option<WindowStatistics>,
    pub(super) value: ScalarType,
    /// Bytes of a row offset.
    pub(super) offset_bytes: u64,
    pub(super) multiprocessors: u64,
    pub(super) l2_bytes: Option<u64>,
    pub(super) gathers: Gathers,
    pub(super) copies: Copies,
}

impl Features {
    /// Collects the features that are known before windows are searched.
    pub(super) fn new<V: Scalar, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
        gathers: Gathers,
        copies: Copies,
    ) -> Self {
        let properties = matrix.device().properties();
        Self {
            rows: matrix.nrows() as u64,
            nonzeros: matrix.nnz() as u64,
            lengths,
            windows: None,
            value: V::TYPE,
            offset_bytes: O::SIZE as u64,
            multiprocessors: u64::from(properties.multiprocessors),
            l2_bytes: properties.l2_bytes,
            gathers,
            copies,
        }
    }

    /// Returns whether memory may be spent on another form of the matrix.
    pub(super) fn may_copy(&self) -> bool {
        self.copies != Copies::Nothing
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

    pub(super) fn is_complex(&self) -> bool {
        matches!(self.value, ScalarType::C32 | ScalarType::C64)
    }

    /// Returns whether rows are long and alike, and enough for as many blocks as run at once.
    pub(super) fn are_for_blocks(&self) -> bool {
        let are_enough = self.rows * BLOCK_THREADS >= self.wave();
        are_enough && self.lengths.mean >= BLOCK_MEAN && self.are_alike()
    }

    /// Returns whether no row is much longer than the others.
    pub(super) fn are_alike(&self) -> bool {
        self.lengths.longest as f64 <= BLOCK_SPREAD * self.lengths.mean
    }

    /// Returns whether no row is much longer than the mean.
    pub(super) fn are_even(&self) -> bool {
        self.lengths.longest <= u64::from(self.lengths.limit)
    }

    /// Returns whether windows of x may pay, so that they are worth looking for.
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
        let x = self.gathers.x_bytes.min(self.nonzeros * 32);
        self.nonzeros * (value + 4) + self.rows * (value + self.offset_bytes) + x
    }

    /// Returns whether the second-level cache holds the matrix and its vectors from run to run, with room for what else is in it.
    pub(super) fn stays_in_cache(&self) -> bool {
        self.l2_bytes.is_some_and(|l2| self.bytes() <= l2 / 10 * CACHE_TENTHS)
    }

    /// Returns whether rules decide alone, so that nothing is estimated.
    pub(super) fn rules_decide(&self) -> bool {
        self.are_for_blocks() || self.by_windows().is_some()
    }

    /// Decision by windows, where no row is much longer than the mean.
    pub(super) fn by_windows(&self) -> Option<ByWindows> {
        let (found, nonzeros) = (self.windows?, self.nonzeros);
        if self.are_for_blocks() || !self.are_even() {
            return None;
        }
        let with_neighbors = self.is_f32() && self.lengths.mean >= WINDOW_MEAN_OF_NEIGHBORS;
        if found.are_worth_it(nonzeros, with_neighbors) {
            return Some(ByWindows::Windows);
        }
        let are_scattered = self.lengths.empty == 0 && found.are_too_narrow(nonzeros);
        are_scattered.then_some(ByWindows::Flat)
    }

    /// Returns whether windows of x are found and decide for themselves.
    pub(super) fn are_for_windows(&self) -> bool {
        self.by_windows() == Some(ByWindows::Windows)
    }

    /// Returns whether enough rows have nonzeros for tiles of equally many rows: empty rows may lie together, and then a tile of others
    /// has too many nonzeros.
    pub(super) fn are_filled(&self) -> bool {
        TILE_FILLED * self.rows.saturating_sub(self.lengths.empty) >= self.rows
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
