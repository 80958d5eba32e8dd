//! Matrices in BSR: square blocks that have nonzeros, stored whole, row by row.

use evenpath::Csr;
use rayon::prelude::*;

use super::call::{Descriptor, describe};
use super::functions::{BASE_ZERO, INDEX_32};
use super::version::Version;
use crate::peers::cuda::{Buffer, Runtime};
use crate::peers::{PeerError, PeerValue};

/// The rows of a block that are tried.
const SIZES: std::ops::RangeInclusive<usize> = 2..=8;
/// `CUSPARSE_ORDER_ROW`.
const ROW_ORDER: i32 = 2;

/// A matrix on the GPU.
pub(super) struct Blocks<V> {
    block_rows: usize,
    block_cols: usize,
    /// Rows of a block.
    size: usize,
    count: usize,
    row_offsets: Buffer<u32>,
    column_indices: Buffer<u32>,
    values: Buffer<V>,
}

impl<V: PeerValue> Blocks<V> {
    /// Copies a matrix, in blocks of the size that takes the fewest bytes.
    pub(super) fn upload(runtime: Runtime, matrix: &Csr<V>) -> Result<Self, PeerError> {
        let host = HostBlocks::new(matrix)?;
        Ok(Self {
            block_rows: matrix.nrows() / host.size,
            block_cols: matrix.ncols() / host.size,
            size: host.size,
            count: host.column_indices.len(),
            row_offsets: runtime.upload(&host.row_offsets)?,
            column_indices: runtime.upload(&host.column_indices)?,
            values: runtime.upload(&host.values)?,
        })
    }

    pub(super) fn describe(&self, version: &Version) -> Result<Descriptor, PeerError> {
        let functions = version.optional.bsr.ok_or_else(|| PeerError::Absent {
            library: "cuSPARSE",
            reason: "this version has no BSR".into(),
        })?;
        let Self { block_rows, block_cols, size, count, row_offsets, column_indices, values } = self;
        let [rows, cols, count, size] = [*block_rows, *block_cols, *count, *size].map(|number| number as i64);
        // SAFETY: the arrays are those of a valid matrix of this size and outlive the descriptor.
        unsafe {
            describe! {
                version, functions, cusparseCreateBsr(
                    rows, cols, count, size, size, row_offsets, column_indices, values,
                    INDEX_32, INDEX_32, BASE_ZERO, V::CUDA_TYPE, ROW_ORDER
                ), cusparseDestroySpMat
            }
        }
    }
}

/// A matrix on the host.
struct HostBlocks<V> {
    size: usize,
    row_offsets: Vec<u32>,
    column_indices: Vec<u32>,
    values: Vec<V>,
}

impl<V: PeerValue> HostBlocks<V> {
    fn new(matrix: &Csr<V>) -> Result<Self, PeerError> {
        let (rows, cols) = matrix.shape();
        let bytes = |rows: usize, indices: usize, values: usize| {
            (rows + 1 + indices) * size_of::<u32>() + values * size_of::<V>()
        };
        let sizes = SIZES.filter(|size| rows.is_multiple_of(*size) && cols.is_multiple_of(*size));
        let of_size = |size: usize| {
            let blocks =
                (0..rows / size).into_par_iter().map(|row| block_columns(matrix, size, row).len()).sum();
            (bytes(rows / size, blocks, blocks * size * size), size, blocks)
        };
        let least = sizes.map(of_size).min();
        let csr_bytes = bytes(rows, matrix.nnz(), matrix.nnz());
        match least {
            Some((bytes, size, blocks)) if bytes < csr_bytes => Self::of_size(matrix, size, blocks),
            _ => Err(PeerError::Unsuitable("in blocks of 2 to 8 rows it would take no fewer bytes".into())),
        }
    }

    fn of_size(matrix: &Csr<V>, size: usize, blocks: usize) -> Result<Self, PeerError> {
        if i32::try_from(blocks * size * size).is_err() {
            return Err(PeerError::Unsuitable(format!(
                "{blocks} blocks have more elements than 32 bits can count"
            )));
        }
        let block_rows = 0..matrix.nrows() / size;
        let parts: Vec<_> = block_rows.into_par_iter().map(|row| block_row(matrix, size, row)).collect();
        let mut row_offsets = vec![0];
        let (mut column_indices, mut values) = (Vec::with_capacity(blocks), Vec::new());
        values.reserve_exact(blocks * size * size);
        for (columns, elements) in parts {
            column_indices.extend(columns);
            values.extend(elements);
            row_offsets.push(column_indices.len() as u32);
        }
        Ok(Self { size, row_offsets, column_indices, values })
    }
}

/// The columns and elements of the blocks in a row of them.
fn block_row<V: PeerValue>(matrix: &Csr<V>, size: usize, block_row: usize) -> (Vec<u32>, Vec<V>) {
    let columns = block_columns(matrix, size, block_row);
    let mut elements = vec![V::ZERO; columns.len() * size * size];
    for row in 0..size {
        for (column, value) in entries(matrix, block_row * size + row) {
            let Ok(block) = columns.binary_search(&(column / size as u32)) else {
                unreachable!("each entry is in a block")
            };
            elements[(block * size + row) * size + column as usize % size] += value;
        }
    }
    (columns, elements)
}

/// The columns and values of a row.
fn entries<V: PeerValue>(matrix: &Csr<V>, row: usize) -> impl Iterator<Item = (u32, V)> {
    let nonzeros = matrix.row_offsets()[row] as usize..matrix.row_offsets()[row + 1] as usize;
    let columns = &matrix.column_indices()[nonzeros.clone()];
    columns.iter().copied().zip(matrix.values()[nonzeros].iter().copied())
}

/// The columns of blocks in a row of them, ascending.
fn block_columns<V: PeerValue>(matrix: &Csr<V>, size: usize, block_row: usize) -> Vec<u32> {
    let offsets = matrix.row_offsets();
    let nonzeros = offsets[block_row * size] as usize..offsets[(block_row + 1) * size] as usize;
    let columns = &matrix.column_indices()[nonzeros];
    let mut columns: Vec<u32> = columns.iter().map(|column| column / size as u32).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole blocks of this size on the diagonal, and one in the first row's last column.
    fn blocks(size: usize, count: usize) -> Csr<f64> {
        let whole = |row: usize, col: usize| {
            let places = (0..size).flat_map(move |i| (0..size).map(move |j| (i, j)));
            places.map(move |(i, j)| (row * size + i, col * size + j, (10 * i + j + 1) as f64))
        };
        let entries = (0..count).flat_map(|at| whole(at, at)).chain(whole(0, count - 1));
        Csr::from_triplets(count * size, count * size, entries).unwrap()
    }

    #[test]
    fn blocks_are_stored_row_by_row() {
        let made = HostBlocks::new(&blocks(3, 4)).unwrap();
        assert_eq!((made.size, &made.row_offsets[..]), (3, &[0, 2, 3, 4, 5][..]));
        assert_eq!(made.column_indices, [0, 3, 1, 2, 3]);
        let one = [1.0, 2.0, 3.0, 11.0, 12.0, 13.0, 21.0, 22.0, 23.0];
        assert_eq!(made.values, one.repeat(5));
    }

    #[test]
    fn entries_of_one_place_are_added() {
        let mut entries: Vec<_> = (0..2).flat_map(|row| (0..2).map(move |col| (row, col, 1.0))).collect();
        entries.push((1, 0, 4.0));
        let made = HostBlocks::new(&Csr::<f64>::from_triplets(2, 2, entries).unwrap()).unwrap();
        assert_eq!((made.size, &made.values[..]), (2, &[1.0, 1.0, 5.0, 1.0][..]));
    }

    #[test]
    fn what_has_no_blocks_is_refused() {
        let refused =
            |matrix: &Csr<f64>| HostBlocks::new(matrix).map(|made| made.size).unwrap_err().to_string();
        let diagonal: Csr<f64> = Csr::from_triplets(8, 8, (0..8).map(|at| (at, at, 1.0))).unwrap();
        assert!(refused(&diagonal).contains("blocks of 2 to 8 rows"));
        // Blocks must divide the matrix.
        let odd: Csr<f64> = Csr::from_triplets(11, 8, (0..88).map(|at| (at / 8, at % 8, 1.0))).unwrap();
        assert!(refused(&odd).contains("blocks of 2 to 8 rows"));
    }
}
