//! Coordinates of a plan's triplets, and their sort.

use evenpath_kernels::assembly::TripletKeys;

use super::fixed::Fixed;
use crate::MatrixError;
use crate::cpu::{TripletIndices, TripletPart};
use crate::device::{Device, DeviceSlice, DeviceVec};
use crate::matrix::check_dimensions;
use crate::operand::check::{check_countable, check_len};
use crate::operand::{OpError, Pairs};
use crate::sequence::sort::{self, SortOptions, index_bits};

/// Rows and columns of triplets: with indices of their own, or of the entries of dense element matrices.
#[derive(Clone, Copy)]
pub(super) struct Triplets<'a> {
    pub(super) shape: (usize, usize),
    row_indices: &'a DeviceSlice<u32>,
    column_indices: &'a DeviceSlice<u32>,
    /// Nodes per element; zero for triplets with indices of their own.
    degrees: usize,
    pub(super) len: usize,
}

/// Bits of keys.
#[derive(Clone, Copy)]
pub(super) enum SortedBy {
    Row,
    RowAndColumn,
}

/// Keys of the triplets of a part, ascending, with their positions. Triplets that do not take part, and one more element, have the
/// key of the row after the last one, and are at the end.
pub(super) struct SortedTriplets {
    pub(super) keys: DeviceVec<u64>,
    pub(super) positions: DeviceVec<u32>,
}

impl<'a> Triplets<'a> {
    pub(super) fn new(
        shape: (usize, usize),
        row_indices: &'a DeviceSlice<u32>,
        column_indices: &'a DeviceSlice<u32>,
    ) -> Result<Self, OpError> {
        check_dimensions(shape.0, shape.1)?;
        row_indices.device().check_same(column_indices.device())?;
        let len = row_indices.len();
        check_len("column indices of triplets", column_indices.len(), len)?;
        Ok(Self { shape, row_indices, column_indices, degrees: 0, len })
    }

    /// Entries of one matrix of `degrees` rows and columns per element, whose nodes are consecutive.
    pub(super) fn of_elements(
        nodes: usize,
        degrees: usize,
        element_nodes: &'a DeviceSlice<u32>,
    ) -> Result<Self, OpError> {
        check_dimensions(nodes, nodes)?;
        let len = element_nodes.len();
        if !len.is_multiple_of(degrees) {
            return Err(OpError::ElementNodes { len, degrees });
        }
        let entries = len.saturating_mul(degrees);
        let (row_indices, column_indices) = (element_nodes, element_nodes);
        Ok(Self { shape: (nodes, nodes), row_indices, column_indices, degrees, len: entries })
    }

    pub(super) fn device(&self) -> &'a Device {
        self.row_indices.device()
    }

    /// Bits of a column in a key.
    pub(super) fn column_bits(&self) -> u32 {
        index_bits(self.shape.1)
    }

    /// Sorts the triplets of a part: those in free rows, and in free or fixed columns. Equal keys keep their order. Waits for the
    /// device, to check the indices.
    pub(super) fn sorted(
        &self,
        fixed: &Fixed<'_>,
        part: u32,
        by: SortedBy,
    ) -> Result<SortedTriplets, OpError> {
        let column_bits = self.column_bits();
        let keys = self.keys(fixed, part)?;
        let begin = match by {
            SortedBy::Row => column_bits,
            SortedBy::RowAndColumn => 0,
        };
        let bits = begin..column_bits + index_bits(self.shape.0 + 1);
        let (keys, positions) =
            sort::pairs(Pairs::new(&keys.keys, &keys.positions), SortOptions::default().with_bits(bits))?;
        Ok(SortedTriplets { keys, positions })
    }

    /// Keys in the order of the triplets.
    fn keys(&self, fixed: &Fixed<'_>, part: u32) -> Result<SortedTriplets, OpError> {
        let len = self.len.saturating_add(fixed.len()).saturating_add(1);
        check_countable("assembly of triplets and fixed unknowns", len)?;
        let device = self.device();
        let (mut keys, mut positions) = (device.uninitialized(len)?, device.uninitialized(len)?);
        let on_host = (self.host(), fixed.host(), keys.host_slice_mut(), positions.host_slice_mut());
        if let (Some(indices), Some((list, is_fixed)), Some(keys), Some(positions)) = on_host {
            let (rows, cols) = self.shape;
            if let Some((triplet, is_row)) = indices.first_outside(rows, cols) {
                return Err(self.outside(triplet, is_row)?);
            }
            let column_bits = self.column_bits();
            let last_key = (rows as u64) << column_bits;
            TripletPart { fixed: list, is_fixed, mark: part, column_bits, last_key }
                .write_keys(indices, keys, positions);
        } else {
            self.write_keys(fixed, part, &mut keys, &mut positions)?;
        }
        Ok(SortedTriplets { keys, positions })
    }

    /// Writes the keys and positions on a device with kernels.
    fn write_keys(
        &self,
        fixed: &Fixed<'_>,
        part: u32,
        keys: &mut DeviceSlice<u64>,
        positions: &mut DeviceSlice<u32>,
    ) -> Result<(), OpError> {
        let (device, (rows, cols)) = (self.device(), self.shape);
        let launch = device.kernel().threads(keys.len())?;
        let mut outside = device.upload(&[u64::MAX; 2])?;
        let (list, is_fixed) = fixed.views();
        let kernel = TripletKeys {
            row_indices: self.row_indices.as_global(),
            column_indices: self.column_indices.as_global(),
            fixed: list,
            is_fixed,
            keys: keys.as_global_mut(),
            positions: positions.as_global_mut(),
            outside: outside.as_global_mut(),
            triplets: self.len as u32,
            fixed_len: fixed.len() as u32,
            rows: rows as u32,
            cols: cols as u32,
            degrees: self.degrees as u32,
            column_bits: self.column_bits(),
            part,
        };
        // SAFETY: there are keys and positions for all triplets, fixed unknowns and one more, an index or an element for each triplet,
        // and a mark for each unknown, as many as rows, and columns, if any is fixed; fixed unknowns are checked; all are on
        // this device.
        unsafe { launch.launch(kernel) }?;
        let [row, column] = outside.first::<2>()?;
        if row.min(column) != u64::MAX {
            return Err(self.outside(row.min(column) as usize, row <= column)?);
        }
        Ok(())
    }

    fn host(&self) -> Option<TripletIndices<'a>> {
        let (rows, columns) = (self.row_indices.host_slice()?, self.column_indices.host_slice()?);
        Some(TripletIndices { rows, columns, degrees: self.degrees, len: self.len })
    }

    /// The error for a triplet outside the matrix.
    fn outside(&self, triplet: usize, is_row: bool) -> Result<OpError, OpError> {
        let (rows, cols) = self.shape;
        if self.degrees == 0 {
            let row = self.row_indices.get(triplet)? as usize;
            if is_row {
                return Ok(MatrixError::RowOutOfRange { position: triplet, row, rows }.into());
            }
            let column = self.column_indices.get(triplet)? as usize;
            return Ok(MatrixError::ColumnOutOfRange { row, position: triplet, column, cols }.into());
        }
        let row = triplet / self.degrees;
        let (element, column) = (row / self.degrees, triplet % self.degrees);
        let place = if is_row { row % self.degrees } else { column };
        let node = self.row_indices.get(element * self.degrees + place)? as usize;
        Ok(OpError::NodeOutOfRange { element, place, node, nodes: rows })
    }
}
