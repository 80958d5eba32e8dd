//! The lanes that sum one stretch of nonzeros together.
//!
//! 1. A lane loads the columns and values of a few of its nonzeros, those whose turn is its side's (`add`).
//! 2. It loads its columns of the rows of B that they name, multiplies, and adds; then it goes on with the next few.
//! 3. Lanes with the same columns add up their sums (`reduce`), and so do the warps of a group (`reduce_warps`).

use evenpath_simt::{
    device, parameters, thread, warp, Aligned16, Arena, Arithmetic, Element, Global, Shared, Stored, WidenTo,
};

use super::nonzeros::{place, Nonzeros, IN_FLIGHT};
use super::width::{Width, MAX_WIDTH};

/// A lane's sums, one per column that the lane has; the others are unused.
pub(super) type LaneSums<V> = [V; MAX_WIDTH];

parameters! {
    /// Arrangement of lanes over nonzeros and columns: `1 << columns_log2` lanes over the columns of one nonzero, `1 <<
    /// side_log2` nonzeros side by side. Together they are a group: a warp has one or more, or a group is several warps
    /// of a block.
    #[derive(PartialEq, Eq)]
    pub struct Group {
        /// log2 of the lanes over the columns of a row of B; at most 5.
        pub columns_log2: u32,
        /// log2 of the nonzeros side by side.
        pub side_log2: u32,
    }
}

parameters! {
    /// A dense matrix, stored by rows or by columns.
    pub struct DenseView<T: Element> {
        /// Its elements.
        pub values: Global<T, Aligned16>,
        /// Elements from a row to the next.
        pub row_stride: u32,
        /// Elements from a column to the next.
        pub column_stride: u32,
    }
}

impl<T: Element> DenseView<T> {
    /// Returns the matrix starting at a column.
    #[device(track_caller)]
    pub(super) fn skip_columns(self, columns: u32) -> Self {
        Self { values: self.values.skip_aligned(columns as usize * self.column_stride as usize), ..self }
    }

    /// Returns a lane's columns, which the matrix begins with, of row `row`.
    #[device(track_caller)]
    fn load<W: Width>(self, row: u32) -> W::Moved<T>
    where
        T: Stored,
    {
        W::load(self.values, row as usize * self.row_stride as usize, self.column_stride as usize)
    }

    /// [`load`](Self::load) where `condition` holds, else zeros.
    #[device(track_caller)]
    fn load_if<W: Width>(self, row: u32, condition: bool) -> W::Moved<T>
    where
        T: Stored,
    {
        W::load_if(
            self.values,
            row as usize * self.row_stride as usize,
            self.column_stride as usize,
            condition,
        )
    }
}

impl Group {
    /// log2 of the lanes in the group.
    #[device]
    pub fn lanes_log2(self) -> u32 {
        self.columns_log2 + self.side_log2
    }

    /// Returns the number of the thread's group in the block.
    #[device]
    pub fn index(self) -> u32 {
        thread::index() >> self.lanes_log2()
    }

    /// Returns the thread's number among the lanes over columns.
    #[device]
    pub fn column_lane(self) -> u32 {
        thread::index() & ((1 << self.columns_log2) - 1)
    }

    /// Returns the thread's number among the sides, which take nonzeros in turn.
    #[device]
    pub fn side(self) -> u32 {
        thread::index() >> self.columns_log2 & ((1 << self.side_log2) - 1)
    }

    /// Sums the lane's nonzeros of a stretch times its columns of B, which begins at the first of the lane's columns.
    #[device(track_caller)]
    pub(super) fn sum<W: Width, S: WidenTo<T::Compute>, T: Stored>(
        self,
        nonzeros: impl Nonzeros<S>,
        b: DenseView<T>,
    ) -> LaneSums<T::Compute> {
        let mut sums = [T::Compute::ZERO; MAX_WIDTH];
        self.add::<W, S, T>(&mut sums, nonzeros, b);
        sums
    }

    /// Adds the lane's nonzeros of a stretch times its columns of B. All loads of a round are issued before the first is used.
    #[device(track_caller)]
    pub(super) fn add<W: Width, S: WidenTo<T::Compute>, T: Stored>(
        self,
        sums: &mut LaneSums<T::Compute>,
        nonzeros: impl Nonzeros<S>,
        b: DenseView<T>,
    ) {
        let side_log2 = self.side_log2;
        let mut first = self.side();
        let len = nonzeros.len();
        let mut left = len;
        while left >= (IN_FLIGHT as u32) << side_log2 {
            let columns = nonzeros.columns(first, side_log2);
            let values = nonzeros.values(first, side_log2);
            let mut moved = [W::zeros::<T>(); IN_FLIGHT];
            for round in 0..IN_FLIGHT {
                moved[round] = b.load::<W>(columns[round]);
            }
            for round in 0..IN_FLIGHT {
                multiply_add::<W, S, T>(sums, values[round], moved[round]);
            }
            first += (IN_FLIGHT as u32) << side_log2;
            left -= (IN_FLIGHT as u32) << side_log2;
        }
        if left > 0 {
            let columns = nonzeros.columns_inside(first, side_log2);
            let values = nonzeros.values_inside(first, side_log2);
            let mut moved = [W::zeros::<T>(); IN_FLIGHT];
            for round in 0..IN_FLIGHT {
                moved[round] = b.load_if::<W>(columns[round], place(first, side_log2, round) < len);
            }
            // Absent nonzeros are zero times zero.
            for round in 0..IN_FLIGHT {
                multiply_add::<W, S, T>(sums, values[round], moved[round]);
            }
        }
    }

    /// Adds up the sums of the warp's lanes that are in one group and have the same columns; each of them has the result.
    /// Every lane of the warp calls it. Distances grow here, so that this is not [`warp::reduce_groups`].
    #[device(track_caller)]
    pub fn reduce<W: Width, T: Stored>(self, sums: &mut LaneSums<T::Compute>) {
        let mut distance = 1 << self.columns_log2;
        while distance < 1 << self.lanes_log2() && distance < thread::WARP_SIZE {
            for at in 0..W::len::<T>() {
                sums[at] += warp::shuffle_xor(warp::FULL, sums[at], distance);
            }
            distance *= 2;
        }
    }

    /// Adds up the sums of the warps of a group after [`reduce`](Self::reduce), in the order of the warps. Each lane
    /// has the result. Every thread of the block calls it.
    #[device(track_caller)]
    pub(super) fn reduce_warps<W: Width, T: Stored, const BLOCK: usize>(
        self,
        mut arena: Arena,
        sums: &mut LaneSums<T::Compute>,
    ) {
        if self.lanes_log2() <= thread::WARP_SIZE.ilog2() {
            return;
        }
        let width = W::len::<T>();
        let warp_sums: Shared<T::Compute> = arena.take(BLOCK * width);
        let place = |warp: u32| (warp * thread::WARP_SIZE + self.column_lane()) as usize * width;
        // The memory may still be in use.
        thread::barrier();
        if thread::lane() >> self.columns_log2 == 0 {
            for at in 0..width {
                warp_sums.store(place(thread::warp()) + at, sums[at]);
            }
        }
        thread::barrier();
        let warps = (1 << self.lanes_log2()) / thread::WARP_SIZE;
        let first = thread::warp() & !(warps - 1);
        for at in 0..width {
            sums[at] = warp_sums.load(place(first) + at);
        }
        let mut other = 1;
        while other < warps {
            for at in 0..width {
                sums[at] += warp_sums.load(place(first + other) + at);
            }
            other += 1;
        }
    }
}

#[device]
fn multiply_add<W: Width, S: WidenTo<T::Compute>, T: Stored>(
    sums: &mut LaneSums<T::Compute>,
    value: S,
    moved: W::Moved<T>,
) {
    let value = value.widen_to();
    for at in 0..W::len::<T>() {
        sums[at] = value.fma(W::get::<T>(moved, at).widen(), sums[at]);
    }
}
