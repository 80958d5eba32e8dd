//! Features of a matrix and its device that decide the choice of a method.

use evenpath_simt::ScalarType;

use super::gathers::Gathers;
use super::lengths::Lengths;
use super::method::SpmvMethod;
use super::thresholds::{
    BLOCK_MEAN, BLOCK_SPREAD, BLOCK_THREADS, CACHE_TENTHS, COPY_MEAN, HOT_NONZEROS, HOT_X_TENTHS,
    SLICED_QUARTERS, SPARE_LANES, SPARE_STEPS, TILE_FILLED, WAVE_THREADS, WINDOW_MEAN, WINDOW_ROWS_F32,
    WINDOW_ROWS_F64,
};
use super::windows::Found;
use crate::format::DeviceCsr;
use crate::{Offset, Value, policy};

/// Copies of a matrix that a plan may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Copies {
    Nothing,
    /// Columns in another form.
    Columns,
    /// Columns and values in another form.
    Values,
}

/// Features that decide the choice of a method.
#[derive(Debug, Clone, Copy)]
pub(super) struct Features {
    pub(super) rows: u64,
    pub(super) nonzeros: u64,
    pub(super) lengths: Lengths,
    /// Windows of x, if they were [searched](Self::may_have_windows) and found.
    pub(super) windows: Option<Found>,
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
    pub(super) fn new<V: Value, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
        gathers: Gathers,
        copies: Copies,
    ) -> Self {
        let properties = matrix.device().properties();
        Self {
            rows: matrix.rows() as u64,
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

    /// Returns whether rows are long and alike, and enough for as many blocks as run at once.
    pub(super) fn are_for_blocks(&self) -> bool {
        let are_enough = self.rows * BLOCK_THREADS >= self.wave();
        are_enough && self.lengths.mean >= BLOCK_MEAN && self.are_alike()
    }

    /// Returns whether no row is much longer than the others.
    fn are_alike(&self) -> bool {
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

    /// Returns whether it is worth counting which columns are hot. An x of which the first-level cache has most needs none.
    pub(super) fn may_have_hot_columns(&self) -> bool {
        let Gathers { x_bytes, shared_bytes, .. } = self.gathers;
        let is_large = 10 * x_bytes > HOT_X_TENTHS * shared_bytes;
        let are_many = self.nonzeros >= HOT_NONZEROS && self.lengths.mean >= COPY_MEAN;
        self.may_copy() && are_many && is_large && self.gathers.are_scattered()
    }

    /// Returns whether sliced ELL may be faster than anything else: threads of a warp then gather from the same part of x, since
    /// columns are sorted within rows of about equal length.
    pub(super) fn may_be_sliced(&self) -> bool {
        let are_alike = self.lengths.mean >= COPY_MEAN && self.are_alike();
        let are_enough = 4 * self.rows >= SLICED_QUARTERS * self.wave();
        let are_scattered = self.gathers.are_scattered() && self.gathers.span_few_caches();
        self.copies == Copies::Values && are_alike && are_enough && are_scattered
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

    /// Returns whether a method may be chosen by its estimate.
    pub(super) fn allow(&self, method: SpmvMethod) -> bool {
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
