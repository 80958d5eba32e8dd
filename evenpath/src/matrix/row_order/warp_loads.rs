//! Bytes that warps load with one row per thread, and the order of the rows with the fewest.

use super::order::{RowOrder, WARP_SIZE, as_stored, of_each_warp, rows_by_length};
use crate::matrix::{Csr, CsrView, MatrixError};
use crate::{Offset, Value};

/// Bytes that a GPU loads together.
const SECTOR_BYTES: usize = 32;
/// Bytes of a column index.
const INDEX_BYTES: usize = 4;
/// The smallest window that is tried: in one of 32 rows, sorting exchanges rows of one warp only.
const LEAST_WINDOW: usize = 2 * WARP_SIZE;
/// Ratio of the lengths of consecutive windows.
const WINDOW_STEP: usize = 4;

/// Loads of a product with one row per thread.
///
/// ```
/// use evenpath::Csr;
///
/// let a = Csr::from_triplets(2, 9, [(0, 0, 1.0_f32), (1, 7, 2.0), (1, 8, 3.0)])?;
/// let (_, order) = a.sort_rows_by_length();
/// let loads = order.warp_loads(&a)?.before;
/// assert_eq!((loads.slots, loads.sectors), (2 * 32, 2)); // two loads of 32 lanes; 8 elements of x to a sector
/// assert_eq!(loads.bytes(), 2 * 32 * (4 + 4) + 2 * 32);
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WarpLoads {
    /// Elements of the matrix, idle lanes included: 32 times the longest row of each warp, over all warps.
    pub slots: u64,
    /// Sectors of x, of 32 bytes: the different ones of each warp, over all warps.
    pub sectors: u64,
    slot_bytes: u64,
}

impl WarpLoads {
    /// Bytes of all slots, a column index and a value each, and of all sectors.
    pub fn bytes(&self) -> u64 {
        self.slots * self.slot_bytes + self.sectors * SECTOR_BYTES as u64
    }

    fn count<V: Value, O: Offset>(matrix: CsrView<'_, V, O>, order: &[u32]) -> Self {
        let per_sector = SECTOR_BYTES / size_of::<V>();
        let warps = of_each_warp(order, |rows| {
            let ranges = || rows.iter().map(|&row| matrix.range(row as usize));
            let longest = ranges().map(|range| range.len()).max().unwrap_or(0);
            let columns = ranges().flat_map(|range| &matrix.column_indices()[range]);
            let mut sectors: Vec<u32> = columns.map(|&column| column / per_sector as u32).collect();
            sectors.sort_unstable();
            sectors.dedup();
            (longest, sectors.len())
        });
        let sum = |of: fn(&(usize, usize)) -> usize| warps.iter().map(|warp| of(warp) as u64).sum::<u64>();
        Self {
            slots: sum(|warp| warp.0) * WARP_SIZE as u64,
            sectors: sum(|warp| warp.1),
            slot_bytes: (INDEX_BYTES + size_of::<V>()) as u64,
        }
    }
}

/// Loads of a product with one row per thread before and after the rows are put in another order.
///
/// Sorting by length gives the threads of a warp equal work, but separates neighboring rows, which often share elements
/// of x. Bytes measure both, without a product. (Row-sorting study, section VI: whether sorting pays depends on the loss
/// of locality too, which would have to be measured.)
///
/// ```
/// use evenpath::Csr;
///
/// // Rows of one and of eight nonzeros alternate.
/// let row = |row| (0..1 + row % 2 * 7).map(move |col| (row, col, 1.0_f32));
/// let a = Csr::from_triplets(64, 64, (0..64).flat_map(row))?;
/// let loads = a.sort_rows_by_length().1.warp_loads(&a)?;
/// assert_eq!((loads.before.slots, loads.after.slots), (2 * 8 * 32, (8 + 1) * 32));
/// assert!(loads.ratio() < 0.6);
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrderLoads {
    /// In the original order.
    pub before: WarpLoads,
    /// In the new order.
    pub after: WarpLoads,
}

impl OrderLoads {
    /// Bytes after divided by bytes before; 1 if the matrix has no nonzeros. Below 1 the new order loads less.
    pub fn ratio(&self) -> f64 {
        let (before, after) = (self.before.bytes(), self.after.bytes());
        if before == 0 { 1.0 } else { after as f64 / before as f64 }
    }
}

impl RowOrder {
    /// Counts what the warps of a product with `matrix` load, one row per thread, before and after putting its rows into
    /// this order. Takes about as long as sorting its nonzeros.
    ///
    /// # Errors
    ///
    /// If the matrix has a different number of rows.
    pub fn warp_loads<V: Value, O: Offset>(&self, matrix: &Csr<V, O>) -> Result<OrderLoads, MatrixError> {
        self.check(matrix.nrows())?;
        let count = |order: &[u32]| WarpLoads::count(matrix.view(), order);
        Ok(OrderLoads { before: count(&as_stored(self.nrows())), after: count(self.order()) })
    }
}

impl<V: Value, O: Offset> Csr<V, O> {
    /// Sorts the rows by length within windows whose length gives a product with one row per thread the fewest
    /// [bytes](WarpLoads::bytes): all rows, a few, or one, which keeps the order. Weighs equal work of the threads of a warp
    /// against rows that share elements of x. Returns the sorted matrix, of the same shape, and the row order.
    ///
    /// About a dozen windows are tried, each of which takes about as long as sorting all nonzeros. (Row-sorting study,
    /// section VII, names such an order as future work.)
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(100, 100, (0..100).map(|row| (row, row, 1.0)))?;
    /// let (_, order) = a.sort_rows_for_warps();
    /// assert!(order.order().is_sorted()); // rows are equally long: no order is better
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    #[must_use]
    pub fn sort_rows_for_warps(&self) -> (Self, RowOrder) {
        let bytes_of = |order: &[u32]| WarpLoads::count(self.view(), order).bytes();
        let mut best = as_stored(self.nrows());
        let mut least = bytes_of(&best);
        for window in windows(self.nrows()) {
            let order = rows_by_length(self.view(), window);
            let bytes = bytes_of(&order);
            if bytes < least {
                (best, least) = (order, bytes);
            }
        }
        let order = RowOrder::inverted(best);
        (self.in_order(&order), order)
    }
}

/// The windows that are tried, the last of which has all rows.
fn windows(rows: usize) -> impl Iterator<Item = usize> {
    let longer = move |&window: &usize| (window < rows).then(|| window.saturating_mul(WINDOW_STEP));
    std::iter::successors(Some(LEAST_WINDOW), longer)
}
