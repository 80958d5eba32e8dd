//! Converts trees to COO and CSR, on the device: entries are listed leaf by leaf, then sorted by row.

use std::borrow::Cow;

use evenpath_kernels::hisparse::{HiSparseCountEntries, HiSparseListEntries};
use evenpath_kernels::vector::{Gather, GatherIndices, Iota};
use evenpath_simt::Word;

use super::device::{Content, DeviceHiSparse, Nodes};
use super::leaves::{self, LeafList};
use crate::device::{DeviceError, DeviceSlice, DeviceVec, Kernels};
use crate::format::csr::DevicePattern;
use crate::format::{DeviceCoo, DeviceCsr, transpose};
use crate::matrix::hisparse::Options;
use crate::operand::{OpError, Pairs, countable};
use crate::operation::Operator;
use crate::sequence::radix_sort::pair_kernels;
use crate::sequence::scale::scale;
use crate::sequence::scan::{self, ScanOptions};
use crate::sequence::{sort, vector};
use crate::{Offset, Value};

/// The arrays of a COO matrix: rows, columns, values.
type Coordinates<V> = (DeviceVec<u32>, DeviceVec<u32>, DeviceVec<V>);

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// Converts an m x n matrix to m x n CSR, with transposition and scale applied. The result is canonical.
    ///
    /// In the order of the tree, the entries of a row are sorted by column, so a stable radix sort by row suffices. Takes
    /// 24 bytes per nonzero and a copy of the values of temporary memory, besides the result.
    ///
    /// ```
    /// use evenpath::{Csr, Device, DeviceCsr, hisparse};
    ///
    /// let a = Csr::from_triplets(2, 300, [(0, 0, 1.0), (0, 299, 2.0), (1, 299, 3.0)])?;
    /// let tree = Device::cpu().upload(&a)?.to_hisparse::<64>(hisparse::Options::default())?;
    /// let turned: DeviceCsr<f64> = tree.transpose().scaled(10.0).to_csr()?;
    /// assert_eq!(turned.download()?.get(299, 1), Some(30.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `O` cannot count the nonzeros, there are 2³² or more and the device is not the CPU, there is not enough memory,
    /// or the device was lost.
    pub fn to_csr(&self) -> Result<DeviceCsr<V>, OpError> {
        self.to_csr_with_offsets()
    }

    /// Converts an m x n matrix to m x n CSR like [`to_csr`](Self::to_csr), with row offsets of type `O`: `u64` counts more
    /// entries than `u32`.
    ///
    /// ```
    /// use evenpath::{Csr, Device, hisparse};
    ///
    /// let a = Csr::from_triplets(2, 300, [(0, 0, 1.0), (1, 299, 3.0)])?;
    /// let tree = Device::best()?.upload(&a)?.to_hisparse::<64>(hisparse::Options::default())?;
    /// assert_eq!(tree.to_csr_with_offsets::<u64>()?.download()?.get(1, 299), Some(3.0));
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`to_csr`](Self::to_csr).
    pub fn to_csr_with_offsets<O: Offset>(&self) -> Result<DeviceCsr<V, O>, OpError> {
        self.device().refuse_in_graph("a matrix is converted")?;
        let remedy = "u64 row offsets (to_csr_with_offsets::<u64>) count them";
        countable::<O>(self.nnz() as u64, remedy)?;
        let nodes = match self.content() {
            Content::Machine(nodes) => nodes,
            Content::Host(_) => {
                return Ok(self.device().upload(&self.download()?.to_csr_with_offsets::<O>()?)?);
            }
        };
        let (rows, columns, values) = self.coordinates(nodes)?;
        let row_offsets = transpose::column_offsets(&rows, self.nrows())?;
        let pattern = DevicePattern::canonical(self.nrows(), self.ncols(), row_offsets, columns);
        Ok(DeviceCsr::from_valid(pattern, values))
    }

    /// Converts an m x n matrix to m x n COO, sorted by row, with transposition and scale applied. Otherwise like
    /// [`to_csr`](Self::to_csr).
    ///
    /// ```
    /// use evenpath::{Csr, Device, hisparse};
    ///
    /// let a = Csr::from_triplets(2, 300, [(0, 0, 1.0), (1, 299, 3.0)])?;
    /// let tree = Device::best()?.upload(&a)?.to_hisparse::<64>(hisparse::Options::default())?;
    /// assert_eq!(tree.transpose().to_coo()?.download()?.shape(), (300, 2));
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`to_csr`](Self::to_csr).
    pub fn to_coo(&self) -> Result<DeviceCoo<V>, OpError> {
        self.device().refuse_in_graph("a matrix is converted")?;
        let nodes = match self.content() {
            Content::Machine(nodes) => nodes,
            Content::Host(_) => return Ok(self.device().upload(&self.download()?.to_coo()?)?),
        };
        let (rows, columns, values) = self.coordinates(nodes)?;
        Ok(DeviceCoo::from_valid(self.shape(), rows, columns, values)?)
    }

    /// Returns the matrix with a nonzero number as scale: if it has none, a copy whose values are multiplied.
    ///
    /// # Errors
    ///
    /// The same as for [`to_csr`](Self::to_csr), if there is a copy, and for building a tree from it.
    pub(super) fn with_number_as_scale(&self) -> Result<Cow<'_, Self>, OpError> {
        if self.factor().is_nonzero_number() {
            return Ok(Cow::Borrowed(self));
        }
        Ok(Cow::Owned(self.to_csr_with_offsets::<u64>()?.to_hisparse(Options::default())?))
    }

    /// Multiplies values, already multiplied by the number of the matrix's factor, by the rest of the factor.
    pub(super) fn finish_scaling(&self, values: &mut DeviceSlice<V>) -> Result<(), DeviceError> {
        if self.factor().is_zero() {
            return values.set_zero();
        }
        let (_, power) = self.factor().number_and_power();
        scale(power, values)?;
        scale(power, values)
    }

    /// The entries, sorted by row, then column.
    fn coordinates(&self, nodes: &Nodes) -> Result<Coordinates<V>, OpError> {
        let device = self.device();
        let Ok(len) = u32::try_from(self.nnz()) else {
            let what = "sorting the entries of a tree by row";
            return Err(OpError::TooLong { what, len: self.nnz(), limit: u32::MAX as usize });
        };
        device.prepare(kernels::<V>)?;
        let (rows, columns, values) = self.listed(nodes)?;
        let numbers = vector::iota(device, len)?;
        // Leaves are ordered by the digits of rows and columns. So those of one row are ordered by column,
        // and those of one column by row, with or without transposition, and so are the entries within a
        // leaf.
        let (rows, order) = sort::pairs(Pairs::new(&rows, &numbers), transpose::by_column(self.nrows()))?;
        // SAFETY: the order is a permutation of the entries' indices, and each entry has a column and a value; all are on
        // this device.
        let (columns, values) =
            unsafe { (vector::gather_indices(&columns, &order)?, vector::gather(&values, &order)?) };
        Ok((rows, columns, values))
    }

    /// The entries in the order of the tree.
    fn listed(&self, nodes: &Nodes) -> Result<Coordinates<V>, OpError> {
        let (device, len) = (self.device(), self.nnz());
        let leaves = LeafList::find::<D>(nodes)?;
        let counts = if V::SIZE == 4 {
            count_entries::<u32, D>(nodes, &leaves)
        } else {
            count_entries::<u64, D>(nodes, &leaves)
        }?;
        let ends = scan::values(&counts, ScanOptions::inclusive(Operator::Sum))?;
        let (mut rows, mut cols) = (device.uninitialized(len)?, device.uninitialized(len)?);
        let mut values = device.uninitialized::<V>(len)?;
        let launch = device.kernel().warps(leaves.len())?;
        let (factor, _) = self.factor().number_and_power();
        let kernel = HiSparseListEntries {
            leaves: leaves.view(nodes, D.ilog2()),
            leaf_rows: leaves.rows.as_global(),
            leaf_columns: leaves.cols.as_global(),
            ends: ends.as_global(),
            row_indices: rows.as_global_mut(),
            column_indices: cols.as_global_mut(),
            values: values.as_global_mut(),
            is_transposed: u32::from(self.is_transposed()),
            is_scaled: u32::from(factor != V::ONE),
            factor,
        };
        // SAFETY: the tree is valid, the leaves are its own, and the outputs have an element for each of their entries, at
        // the position that the scan of the counts gives. All are on this device, and buffers are freed in the stream's
        // order.
        unsafe { launch.launch(kernel) }?;
        self.finish_scaling(&mut values)?;
        Ok((rows, cols, values))
    }
}

/// The kernels that list the entries by row, for compilation ahead of use.
fn kernels<V: Value>() -> Kernels {
    let kernels = leaves::kernels()
        .and_all(pair_kernels::<u32, u32>())
        .and::<HiSparseListEntries<V>>()
        .and::<Iota>()
        .and::<GatherIndices>()
        .and::<Gather<V>>();
    if V::SIZE == 4 {
        kernels.and::<HiSparseCountEntries<u32>>()
    } else {
        kernels.and::<HiSparseCountEntries<u64>>()
    }
}

/// The number of entries of each leaf.
fn count_entries<T: Word, const D: usize>(
    nodes: &Nodes,
    leaves: &LeafList,
) -> Result<DeviceVec<u32>, OpError> {
    let device = nodes.pool.device();
    let mut counts = device.uninitialized(leaves.len())?;
    let launch = device.kernel().warps(leaves.len())?;
    let kernel =
        HiSparseCountEntries::<T> { leaves: leaves.view(nodes, D.ilog2()), counts: counts.as_global_mut() };
    // SAFETY: the tree is valid, the leaves are its own, and there is a count for each; all are on this device.
    unsafe { launch.launch(kernel) }?;
    Ok(counts)
}
