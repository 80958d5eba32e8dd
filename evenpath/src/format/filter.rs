//! Matrices of some of the entries of another.

use evenpath_kernels::absolute::AbsoluteValues;
use evenpath_kernels::entries::{
    CompactEntries, Condition, CountKept, MarkEntries, MarkLargest, RankRows, code,
};

use super::DeviceCsr;
use crate::device::{DeviceError, DeviceSlice, DeviceVec};
use crate::format::csr::DevicePattern;
use crate::format::path_tiles::PathTiles;
use crate::matrix::CsrView;
use crate::operand::{OpError, Pairs};
use crate::operation::Operator;
use crate::sequence::scan::{self, ScanOptions};
use crate::sequence::sort::{self, SortOptions, SortOrder};
use crate::sequence::vector;
use crate::{Offset, Scalar, Value};

/// Condition on the entries that [`DeviceCsr::filter`] keeps. Diagonal k has the entries whose column is their row plus
/// k: those above the main diagonal have positive numbers.
///
/// For a mask given by another matrix see [`Elementwise`](crate::spadd::Elementwise).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Filter<V> {
    /// Entries with an absolute value above a limit, and NaN.
    AbsAbove(V),
    /// Entries on this diagonal and below it.
    Lower(i64),
    /// Entries on this diagonal and above it.
    Upper(i64),
    /// Entries between two diagonals, and on them.
    Band {
        /// Lowest diagonal.
        lower: i64,
        /// Highest diagonal.
        upper: i64,
    },
    /// Entries other than explicit zeros.
    Nonzero,
    /// Entries with the largest absolute values of each row, this many at most. Of equal ones those stored first are kept:
    /// where rows are sorted, those of lower columns. NaN is larger than any number.
    LargestOfRow(usize),
}

impl<V: Value> Filter<V> {
    /// The condition on a single entry, if it is one.
    fn condition(self) -> Option<Condition<V>> {
        let band = |lower, upper| Condition { code: code::BAND, limit: V::ZERO, lower, upper };
        match self {
            Self::Lower(diagonal) => Some(band(i64::MIN, diagonal)),
            Self::Upper(diagonal) => Some(band(diagonal, i64::MAX)),
            Self::Band { lower, upper } => Some(band(lower, upper)),
            Self::AbsAbove(limit) => Some(Condition { code: code::ABS_ABOVE, limit, lower: 0, upper: 0 }),
            Self::Nonzero => Some(Condition { code: code::NONZERO, limit: V::ZERO, lower: 0, upper: 0 }),
            Self::LargestOfRow(_) => None,
        }
    }
}

impl<V: Scalar, O: Offset> DeviceCsr<V, O> {
    /// Returns a matrix of the same shape with the entries that fulfill a condition, in their order. Later changes of
    /// this matrix's values do not affect it. Waits for the device. Complex values are compared by their absolute values, which neither
    /// overflow nor vanish.
    ///
    /// On a GPU it takes temporary memory for some more than two bits per nonzero; for
    /// [`LargestOfRow`](Filter::LargestOfRow), which sorts rows, also the absolute values, two words per nonzero, and the memory of
    /// [`sort::pairs_by_offsets`](crate::sort::pairs_by_offsets).
    ///
    /// ```
    /// use evenpath::csr::Filter;
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1e-9), (0, 2, 3.0), (1, 0, -5.0), (1, 1, 4.0)])?;
    /// let a = Device::best()?.upload(&a)?;
    /// assert_eq!(a.filter(Filter::AbsAbove(1e-6))?.nnz(), 3);
    /// assert_eq!(a.filter(Filter::LargestOfRow(1))?.download()?.values(), [3.0, -5.0]);
    /// assert_eq!(a.tril(0)?.download()?.values(), [1e-9, -5.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If this thread captures a graph, there is too little memory, or the device was lost; for
    /// [`LargestOfRow`](Filter::LargestOfRow) also if there are 2³² nonzeros or more.
    pub fn filter(&self, filter: Filter<V::Real>) -> Result<Self, OpError> {
        let device = self.device();
        device.refuse_in_graph("the entries of a matrix are filtered")?;
        let values = self.values_now();
        if let Some(view) = self.pattern().host_view(&values) {
            return Ok(Self::adopt(device, filter_on_host(view, filter))?);
        }
        // One bit more than entries, so that the end has a word too.
        let mut bits = device.zeros(self.nnz() / 32 + 1)?;
        match (filter.condition(), filter) {
            (Some(condition), _) => self.mark(condition, &values, &mut bits)?,
            (None, Filter::LargestOfRow(count)) => self.mark_largest(count, &values, &mut bits)?,
            (None, _) => unreachable!("other filters are conditions"),
        }
        self.compact(&values, &bits)
    }

    /// Returns the entries on diagonal `k` and below it, like [`Filter::Lower`].
    ///
    /// # Errors
    ///
    /// The same as for [`filter`](Self::filter).
    pub fn tril(&self, k: i64) -> Result<Self, OpError> {
        self.filter(Filter::Lower(k))
    }

    /// Returns the entries on diagonal `k` and above it, like [`Filter::Upper`].
    ///
    /// # Errors
    ///
    /// The same as for [`filter`](Self::filter).
    pub fn triu(&self, k: i64) -> Result<Self, OpError> {
        self.filter(Filter::Upper(k))
    }

    /// Sets the bits of the entries that fulfill a condition; all are zero before.
    fn mark(
        &self,
        condition: Condition<V::Real>,
        values: &DeviceSlice<V>,
        bits: &mut DeviceSlice<u32>,
    ) -> Result<(), OpError> {
        let (tiles, launch) = PathTiles::find(self, self.device().kernel())?;
        let kernel = MarkEntries {
            pattern: self.pattern().view(),
            values: values.as_global(),
            tile_rows: tiles.rows.as_global(),
            bits: bits.as_global_mut(),
            condition,
        };
        // SAFETY: the tiles are the matrix's, of the kernel's length; there is a value and a bit per nonzero; buffers
        // are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// Sets the bits of the largest entries of each row; all are zero before.
    fn mark_largest(
        &self,
        count: usize,
        values: &DeviceVec<V>,
        bits: &mut DeviceSlice<u32>,
    ) -> Result<(), OpError> {
        let nonzeros = super::transpose::check_countable(self)?;
        let pattern = self.pattern();
        let order = {
            let magnitudes = absolute_values(values)?;
            let numbers = vector::iota(self.device(), nonzeros)?;
            let options = SortOptions::default().with_order(SortOrder::Descending);
            let pairs = Pairs::new(&magnitudes, &numbers);
            sort::pairs_by_valid_offsets(&pattern.row_offsets, pairs, options)?.1
        };
        let (tiles, launch) = PathTiles::find(self, self.device().kernel())?;
        let kernel = MarkLargest {
            pattern: pattern.view(),
            order: order.as_global(),
            tile_rows: tiles.rows.as_global(),
            bits: bits.as_global_mut(),
            count: count as u64,
        };
        // SAFETY: the tiles are the matrix's, of the kernel's length; the order is a permutation of the nonzeros, each
        // of which has a bit; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// Copies the entries whose bits are set.
    fn compact(&self, values: &DeviceSlice<V>, bits: &DeviceSlice<u32>) -> Result<Self, OpError> {
        let (device, pattern) = (self.device(), self.pattern());
        let mut counts = device.uninitialized(bits.len())?;
        let count = device.kernel().threads(bits.len())?;
        let kernel =
            CountKept { bits: bits.as_global(), counts: counts.as_global_mut(), words: bits.len() as u64 };
        // SAFETY: there is a count per word; buffers are freed in the stream's order.
        unsafe { count.launch(kernel) }?;
        let before = scan::values(&counts, ScanOptions::exclusive(Operator::Sum))?;
        drop(counts);

        let mut row_offsets: DeviceVec<O> = device.uninitialized(pattern.rows + 1)?;
        let rank = device.kernel().threads(pattern.rows + 1)?;
        let kernel = RankRows {
            row_offsets: pattern.row_offsets.as_global(),
            bits: bits.as_global(),
            before: before.as_global(),
            kept_offsets: row_offsets.as_global_mut(),
            rows: pattern.rows as u32,
        };
        // SAFETY: there are `rows` + 1 offsets of both, and a bit for each value of the first; buffers are freed in the
        // stream's order.
        unsafe { rank.launch(kernel) }?;

        let kept = row_offsets.get(pattern.rows)?.to_usize();
        let (mut columns, mut kept_values) = (device.uninitialized(kept)?, device.uninitialized(kept)?);
        let compact = device.kernel().threads(self.nnz())?;
        let kernel = CompactEntries {
            column_indices: pattern.column_indices.as_global(),
            values: values.as_global(),
            bits: bits.as_global(),
            before: before.as_global(),
            kept_columns: columns.as_global_mut(),
            kept_values: kept_values.as_global_mut(),
            len: self.nnz() as u64,
        };
        // SAFETY: there are a column, a value and a bit per nonzero, and room for those whose bit is set; buffers are
        // freed in the stream's order.
        unsafe { compact.launch(kernel) }?;
        let shape = (pattern.rows, pattern.cols);
        let kept = DevicePattern::known(shape, row_offsets, columns, pattern.is_canonical());
        Ok(Self::from_valid(kept, kept_values))
    }
}

/// Absolute values of a vector, on a device with kernels.
fn absolute_values<V: Scalar>(x: &DeviceSlice<V>) -> Result<DeviceVec<V::Real>, DeviceError> {
    let device = x.device();
    let mut result = device.uninitialized(x.len())?;
    let launch = device.kernel().threads(x.len())?;
    let kernel = AbsoluteValues { x: x.as_global(), result: result.as_global_mut(), len: x.len() as u64 };
    // SAFETY: both views are of `len` elements on this device; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(result)
}

/// Filters on the CPU.
fn filter_on_host<V: Scalar, O: Offset>(
    matrix: CsrView<'_, V, O>,
    filter: Filter<V::Real>,
) -> crate::matrix::Csr<V, O> {
    if let Some(condition) = filter.condition() {
        return matrix
            .filtered(|_, row, column, value| condition.holds(row as u32, column, || value.absolute()));
    }
    let Filter::LargestOfRow(count) = filter else { unreachable!("other filters are conditions") };
    let is_kept = matrix.marks_of_largest(count);
    matrix.filtered(|position, _, _, _| is_kept[position])
}
