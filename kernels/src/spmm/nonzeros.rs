//! Stretches of nonzeros, in global or in shared memory.

use evenpath_simt::{device, Element, Global, Shared};

/// Nonzeros that a lane loads before it uses the first.
pub(super) const IN_FLIGHT: usize = 4;

/// A stretch of fewer than 2³¹ of the matrix's nonzeros, each known by its place in the stretch.
///
/// A lane loads [`IN_FLIGHT`] nonzeros in a round, `1 << step_log2` places from one to the next.
pub(super) trait Nonzeros<S>: Copy {
    /// Number of nonzeros.
    fn len(self) -> u32;
    /// Columns of a lane's nonzeros of a round.
    fn columns(self, first: u32, step_log2: u32) -> [u32; IN_FLIGHT];
    /// Values of a lane's nonzeros of a round.
    fn values(self, first: u32, step_log2: u32) -> [S; IN_FLIGHT];
    /// [`columns`](Self::columns) up to the end, then any numbers. The stretch is not empty.
    fn columns_inside(self, first: u32, step_log2: u32) -> [u32; IN_FLIGHT];
    /// [`values`](Self::values) up to the end, then zeros. The stretch is not empty.
    fn values_inside(self, first: u32, step_log2: u32) -> [S; IN_FLIGHT];
}

/// Loads what a lane needs of the nonzeros of a round.
#[device]
fn round<T: Element>(first: u32, step_log2: u32, load: impl Fn(u32) -> T) -> [T; IN_FLIGHT] {
    let mut loaded = [T::ZERO; IN_FLIGHT];
    for index in 0..IN_FLIGHT {
        loaded[index] = load(place(first, step_log2, index));
    }
    loaded
}

/// Returns the place of a lane's nonzero of a round.
#[device]
pub(super) fn place(first: u32, step_log2: u32, index: usize) -> u32 {
    first + ((index as u32) << step_log2)
}

/// Nonzeros in the matrix's own arrays.
#[derive(Clone, Copy)]
pub(super) struct InGlobal<S> {
    pub(super) column_indices: Global<u32>,
    pub(super) values: Global<S>,
    pub(super) len: u32,
}

impl<S: Element> InGlobal<S> {
    /// Returns `len` of the nonzeros, starting at `start`.
    #[device]
    pub(super) fn part(self, start: u32, len: u32) -> Self {
        // A part at the end of the matrix has no first element.
        let start = if len > 0 { start as usize } else { 0 };
        Self { column_indices: self.column_indices.skip(start), values: self.values.skip(start), len }
    }
}

impl<S: Element> Nonzeros<S> for InGlobal<S> {
    #[device]
    fn len(self) -> u32 {
        self.len
    }

    #[device(track_caller)]
    fn columns(self, first: u32, step_log2: u32) -> [u32; IN_FLIGHT] {
        round(first, step_log2, |place| self.column_indices.load(place as usize))
    }

    #[device(track_caller)]
    fn values(self, first: u32, step_log2: u32) -> [S; IN_FLIGHT] {
        round(first, step_log2, |place| self.values.load(place as usize))
    }

    #[device(track_caller)]
    fn columns_inside(self, first: u32, step_log2: u32) -> [u32; IN_FLIGHT] {
        round(first, step_log2, |place| self.column_indices.load_if(place as usize, place < self.len))
    }

    #[device(track_caller)]
    fn values_inside(self, first: u32, step_log2: u32) -> [S; IN_FLIGHT] {
        round(first, step_log2, |place| self.values.load_if(place as usize, place < self.len))
    }
}

/// Nonzeros that the block has copied to shared memory, starting at `first`.
#[derive(Clone, Copy)]
pub(super) struct InShared<S> {
    pub(super) column_indices: Shared<u32>,
    pub(super) values: Shared<S>,
    pub(super) first: u32,
    pub(super) len: u32,
}

impl<S: Element> InShared<S> {
    /// Returns the index in shared memory of a nonzero, or of the first one after the end.
    #[device]
    fn inside(self, place: u32) -> usize {
        (self.first + if place < self.len { place } else { 0 }) as usize
    }
}

impl<S: Element> Nonzeros<S> for InShared<S> {
    #[device]
    fn len(self) -> u32 {
        self.len
    }

    #[device(track_caller)]
    fn columns(self, first: u32, step_log2: u32) -> [u32; IN_FLIGHT] {
        round(first, step_log2, |place| self.column_indices.load((self.first + place) as usize))
    }

    #[device(track_caller)]
    fn values(self, first: u32, step_log2: u32) -> [S; IN_FLIGHT] {
        round(first, step_log2, |place| self.values.load((self.first + place) as usize))
    }

    #[device(track_caller)]
    fn columns_inside(self, first: u32, step_log2: u32) -> [u32; IN_FLIGHT] {
        round(first, step_log2, |place| self.column_indices.load(self.inside(place)))
    }

    #[device(track_caller)]
    fn values_inside(self, first: u32, step_log2: u32) -> [S; IN_FLIGHT] {
        round(first, step_log2, |place| {
            let value = self.values.load(self.inside(place));
            if place < self.len {
                value
            } else {
                S::ZERO
            }
        })
    }
}
