//! The right-hand side of a matrix with fixed unknowns.

use evenpath_simt::{device, kernel, thread, Arena, Float, Global, GlobalMut};

use super::FIXED_ENTRY;

kernel! {
    /// Subtracts from each row of the right-hand side the triplets in fixed columns times the values of their unknowns, in
    /// the order of the triplets, and copies the values of fixed unknowns to their rows: one thread per row.
    pub struct CorrectRows<V: Float> {
        /// Values of the triplets.
        pub values: Global<V>,
        /// Positions of the triplets in fixed columns, sorted by row, or [`FIXED_ENTRY`] in rows of fixed unknowns.
        pub positions: Global<u32>,
        /// Column of each of them.
        pub columns: Global<u32>,
        /// Rows that have any; each occurs once.
        pub rows: Global<u32>,
        /// First position of each of these rows, and the end.
        pub run_offsets: Global<u32>,
        /// Values of the unknowns; only those of fixed ones are read.
        pub unknowns: Global<V>,
        /// The right-hand side.
        pub rhs: GlobalMut<V>,
        /// Elements of `rows`.
        pub runs: u32,
    }
    shared: 0;
    body: CorrectRows::correct_rows::<BLOCK>;
    entry: assembly_correct_rows_{V} in assembly: V in [f32, f64], 256 x 1;
}

impl<V: Float> CorrectRows<V> {
    #[device]
    fn correct_rows<const BLOCK: usize>(self, _: Arena) {
        let run = thread::global_index::<BLOCK>();
        if run >= self.runs as usize {
            return;
        }
        let row = self.rows.load(run) as usize;
        let (begin, end) = (self.run_offsets.load(run) as usize, self.run_offsets.load(run + 1) as usize);
        if self.positions.load(begin) == FIXED_ENTRY {
            self.rhs.store(row, self.unknowns.load(row));
            return;
        }
        let mut value = self.rhs.load(row);
        for at in begin..end {
            let (position, column) = (self.positions.load(at) as usize, self.columns.load(at) as usize);
            value = value - self.values.load(position) * self.unknowns.load(column);
        }
        self.rhs.store(row, value);
    }
}
