//! Stretches of nonzeros, in global or in shared memory.

use evenpath_simt::{device, Element, Global, Shared};

/// Nonzeros that a lane loads before it uses the first.
pub(super) const IN_FLIGHT: usize = 4;

/// A stretch of the matrix's nonzeros, fewer than 2³¹, each by its place in the stretch.
pub(super) trait Nonzeros<S>: Copy {
    /// How many there are.
    fn len(self) -> u32;
    /// The columns of those that a lane loads in a round: `1 << step_log2` places from one to the next.
    fn columns(self, first: u32, step_log2: u32) -> [u32; IN_FLIGHT];
    /// Their values.
    fn values(self, first: u32, step_log2: u32) -> [S; IN_FLIGHT];
    /// [`columns`](Self::columns) of those that there are, else any numbers; of a stretch that is not empty.
    fn columns_inside(self, first: u32, step_log2: u32) -> [u32; IN_FLIGHT];
    /// [`values`](Self::values) of those that there are, else zeros; of a stretch that is not empty.
    fn values_inside(self, first: u32, step_log2: u32) -> [S; IN_FLIGHT];
}

/// Nonzeros in the matrix's own arrays.
#[derive(Clone, Copy)]
pub(super) struct InGlobal<S> {
    pub(super) column_indices: Global<u32>,
    pub(super) values: Global<S>,
    pub(super) len: u32,
}

impl<S: Element> InGlobal<S> {
    /// `len` of the nonzeros from `start` on.
    #[device]
    pub(super) fn part(self, start: u32, len: u32) -> Self {
        // From the end of the matrix on, a stretch has no element to begin with.
        let start = if len > 0 { start as usize } else { 0 };
        Self { column_indices: self.column_indices.skip(start), values: self.values.skip(start), len }
    }
}

/// The place of a lane's nonzero of a round.
#[device]
pub(super) fn place(first: u32, step_log2: u32, round: usize) -> u32 {
    first + ((round as u32) << step_log2)
}

impl<S: Element> Nonzeros<S> for InGlobal<S> {
    #[device]
    fn len(self) -> u32 {
        self.len
    }

    #[device(track_caller)]
    fn columns(self, first: u32, step_log2: u32) -> [u32; IN_FLIGHT] {
        let mut columns = [0; IN_FLIGHT];
        for round in 0..IN_FLIGHT {
            columns[round] = self.column_indices.load(place(first, step_log2, round) as usize);
        }
        columns
    }

    #[device(track_caller)]
    fn values(self, first: u32, step_log2: u32) -> [S; IN_FLIGHT] {
        let mut values = [S::ZERO; IN_FLIGHT];
        for round in 0..IN_FLIGHT {
            values[round] = self.values.load(place(first, step_log2, round) as usize);
        }
        values
    }

    #[device(track_caller)]
    fn columns_inside(self, first: u32, step_log2: u32) -> [u32; IN_FLIGHT] {
        let mut columns = [0; IN_FLIGHT];
        for round in 0..IN_FLIGHT {
            let place = place(first, step_log2, round);
            columns[round] = self.column_indices.load_if(place as usize, place < self.len);
        }
        columns
    }

    #[device(track_caller)]
    fn values_inside(self, first: u32, step_log2: u32) -> [S; IN_FLIGHT] {
        let mut values = [S::ZERO; IN_FLIGHT];
        for round in 0..IN_FLIGHT {
            let place = place(first, step_log2, round);
            values[round] = self.values.load_if(place as usize, place < self.len);
        }
        values
    }
}

/// Nonzeros that the block has copied to shared memory, from `first` on.
#[derive(Clone, Copy)]
pub(super) struct InShared<S> {
    pub(super) column_indices: Shared<u32>,
    pub(super) values: Shared<S>,
    pub(super) first: u32,
    pub(super) len: u32,
}

impl<S: Element> Nonzeros<S> for InShared<S> {
    #[device]
    fn len(self) -> u32 {
        self.len
    }

    #[device(track_caller)]
    fn columns(self, first: u32, step_log2: u32) -> [u32; IN_FLIGHT] {
        let mut columns = [0; IN_FLIGHT];
        for round in 0..IN_FLIGHT {
            columns[round] = self.column_indices.load((self.first + place(first, step_log2, round)) as usize);
        }
        columns
    }

    #[device(track_caller)]
    fn values(self, first: u32, step_log2: u32) -> [S; IN_FLIGHT] {
        let mut values = [S::ZERO; IN_FLIGHT];
        for round in 0..IN_FLIGHT {
            values[round] = self.values.load((self.first + place(first, step_log2, round)) as usize);
        }
        values
    }

    #[device(track_caller)]
    fn columns_inside(self, first: u32, step_log2: u32) -> [u32; IN_FLIGHT] {
        let mut columns = [0; IN_FLIGHT];
        for round in 0..IN_FLIGHT {
            let place = place(first, step_log2, round);
            let inside = if place < self.len { place } else { 0 };
            columns[round] = self.column_indices.load((self.first + inside) as usize);
        }
        columns
    }

    #[device(track_caller)]
    fn values_inside(self, first: u32, step_log2: u32) -> [S; IN_FLIGHT] {
        let mut values = [S::ZERO; IN_FLIGHT];
        for round in 0..IN_FLIGHT {
            let place = place(first, step_log2, round);
            let inside = if place < self.len { place } else { 0 };
            let value = self.values.load((self.first + inside) as usize);
            values[round] = if place < self.len { value } else { S::ZERO };
        }
        values
    }
}
