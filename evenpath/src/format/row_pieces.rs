//! Rows that are cut into pieces, for kernels with a group of lanes for each row.

use evenpath_kernels::pieces::{AddPieces, AddPiecesOfColumns, CutRows, Pieces};
use evenpath_kernels::update::Update;

use crate::device::{Device, DeviceError, DeviceVec};
use crate::{Offset, Value};

/// Number of equal parts of all entries that bounds the length of a piece: about as many warps as the largest GPU runs at once. The
/// same for all devices, since the positions of cuts determine how sums are rounded.
const PARTS: usize = 1 << 13;

/// Minimum length of a piece.
const LEAST: usize = 64;

/// Maximum length of a piece; longer ones would not be counted in 32 bits.
const MOST: usize = 1 << 28;

/// The rows of a matrix that are cut, in a GPU's memory. Rows up to two pieces long are not.
pub(crate) struct RowPieces {
    /// The row of each piece, and its first entry.
    piece_rows: DeviceVec<u32>,
    begins: DeviceVec<u64>,
    /// The rows that are cut, and the first piece of each and the number of pieces.
    rows: DeviceVec<u32>,
    first_pieces: DeviceVec<u32>,
    len: usize,
}

impl RowPieces {
    /// Cuts the rows with these offsets. On the CPU, there are none.
    pub(crate) fn cut<O: Offset>(device: &Device, row_offsets: &[O]) -> Result<Self, DeviceError> {
        let len = piece_len(row_offsets.last().map_or(0, |end| end.to_usize()));
        let (mut piece_rows, mut begins) = (Vec::new(), Vec::new());
        let (mut rows, mut first_pieces) = (Vec::new(), Vec::new());
        if device.kind() != crate::DeviceKind::Cpu {
            for (row, pair) in row_offsets.windows(2).enumerate() {
                let (begin, end) = (pair[0].to_usize(), pair[1].to_usize());
                if end - begin > 2 * len {
                    rows.push(row as u32);
                    first_pieces.push(piece_rows.len() as u32);
                    for piece in (begin..end).step_by(len) {
                        piece_rows.push(row as u32);
                        begins.push(piece as u64);
                    }
                }
            }
        }
        first_pieces.push(piece_rows.len() as u32);
        Ok(Self {
            piece_rows: device.upload(&piece_rows)?,
            begins: device.upload(&begins)?,
            rows: device.upload(&rows)?,
            first_pieces: device.upload(&first_pieces)?,
            len,
        })
    }

    /// Number of pieces.
    pub(crate) fn count(&self) -> usize {
        self.piece_rows.len()
    }

    /// The pieces as a kernel argument, with memory for their sums.
    pub(crate) fn view<V: Value>(&self, sums: &mut DeviceVec<V>) -> Pieces<V> {
        Pieces {
            rows: self.piece_rows.as_global(),
            begins: self.begins.as_global(),
            sums: sums.as_global_mut(),
            count: self.count() as u32,
            len: self.len as u32,
            longest: 2 * self.len as u32,
        }
    }

    /// The rows that are cut as a kernel argument, with `height` sums for each piece.
    fn cut_rows<V: Value>(&self, sums: &DeviceVec<V>, height: usize, y_rows: usize) -> CutRows<V> {
        CutRows {
            rows: self.rows.as_global(),
            first_pieces: self.first_pieces.as_global(),
            sums: sums.as_global(),
            count: self.rows.len() as u32,
            height: height as u32,
            y_rows: y_rows as u32,
        }
    }

    /// Adds the sums of pieces, `height` for each, to the rows that are cut of a vector of `y_rows` elements.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    ///
    /// # Safety
    ///
    /// `update` is of a vector of `y_rows` elements on this device, `sums` has `height` for each piece, and the last row that is
    /// cut begins inside the vector.
    pub(crate) unsafe fn add<V: Value>(
        &self,
        sums: &DeviceVec<V>,
        (height, y_rows): (usize, usize),
        update: Update<V>,
    ) -> Result<(), DeviceError> {
        if self.count() == 0 {
            return Ok(());
        }
        let launch = sums.device().kernel().warps(self.rows.len() * height)?;
        let kernel = AddPieces { cut_rows: self.cut_rows(sums, height, y_rows), update };
        // SAFETY: guaranteed by the caller; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }
    }

    /// Adds the sums of pieces, `height` in each of `columns` columns, to the rows that are cut of a dense matrix of `rows` rows, whose
    /// rows and columns are `strides` elements apart.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    ///
    /// # Safety
    ///
    /// `update` is of such a matrix on this device, `sums` has `height * columns` for each piece, and the last row that is cut
    /// begins inside the matrix.
    pub(crate) unsafe fn add_columns<V: Value>(
        &self,
        sums: &DeviceVec<V>,
        (height, rows): (usize, usize),
        update: Update<V>,
        (columns, strides): (usize, (usize, usize)),
    ) -> Result<(), DeviceError> {
        if self.count() == 0 {
            return Ok(());
        }
        let launch = sums.device().kernel().threads(self.rows.len() * height * columns)?;
        let kernel = AddPiecesOfColumns {
            cut_rows: self.cut_rows(sums, height, rows),
            update,
            columns: columns as u32,
            row_stride: strides.0 as u64,
            column_stride: strides.1 as u64,
        };
        // SAFETY: guaranteed by the caller; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }
    }
}

/// Length of the pieces of a matrix with `entries` entries.
fn piece_len(entries: usize) -> usize {
    (entries / PARTS).clamp(LEAST, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_an_even_share_of_the_work() {
        assert_eq!([0, 1 << 18, 1 << 23, usize::MAX].map(piece_len), [64, 64, 1 << 10, 1 << 28]);
    }
}
