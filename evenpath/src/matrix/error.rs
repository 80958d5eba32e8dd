//! Errors about matrices.

use thiserror::Error;

use super::limits::{MAX_BLOCK_SIZE, MAX_DIMENSION};
use super::node_fault::InvalidNode;
use crate::Offset;

/// Reason why a matrix was refused. Rows, columns and positions count from 0.
///
/// ```
/// use evenpath::error::MatrixError;
/// use evenpath::Csr;
///
/// let error = Csr::<f64>::from_triplets(2, 2, [(0, 5, 1.0)]).unwrap_err();
/// assert!(matches!(error, MatrixError::ColumnOutOfRange { column: 5, cols: 2, .. }));
/// ```
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum MatrixError {
    #[error("{rows} rows: a matrix has at most {MAX_DIMENSION}")]
    TooManyRows { rows: usize },
    #[error("{cols} columns: a matrix has at most {MAX_DIMENSION}")]
    TooManyColumns { cols: usize },
    #[error("{rows} x {cols}: with this index type {library} has at most {limit} rows and columns")]
    TooLargeElsewhere { rows: usize, cols: usize, library: &'static str, limit: usize },
    #[error("row_offsets has length {found}: {rows} rows need {rows} + 1")]
    RowOffsetsLength { rows: usize, found: usize },
    #[error("row_offsets starts with {found} instead of 0")]
    FirstRowOffset { found: u64 },
    #[error("row_offsets decreases from {start} to {end} at row {row}")]
    RowOffsetsDecrease { row: usize, start: u64, end: u64 },
    #[error("row_offsets ends with {found}, but there are {nnz} nonzeros")]
    LastRowOffset { found: u64, nnz: usize },
    #[error("column_indices has length {columns}, but values has length {values}")]
    ValuesLength { columns: usize, values: usize },
    #[error("row_indices has length {rows}, but column_indices has length {columns}")]
    IndicesLength { rows: usize, columns: usize },
    #[error(
        "column {column} at position {position}, in row {row}, is out of range: the matrix has {cols} columns"
    )]
    ColumnOutOfRange { row: usize, position: usize, column: usize, cols: usize },
    #[error("row {row} at position {position} is out of range: the matrix has {rows} rows")]
    RowOutOfRange { position: usize, row: usize, rows: usize },
    #[error(
        "column {column} at position {position} of the list is out of range: the matrix has {cols} columns"
    )]
    ListedColumn { position: usize, column: usize, cols: usize },
    #[error("{what} {begin}..{end} are out of range: the matrix has {len}")]
    BlockRange { what: &'static str, begin: usize, end: usize, len: usize },
    #[error("a matrix of blocks needs at least one block")]
    NoBlocks,
    #[error("row {row} of the blocks has {found} of them, but row 0 has {needed}")]
    BlockCount { row: usize, found: usize, needed: usize },
    #[error("no block of {what} {index} of the blocks is a matrix, so its size is unknown")]
    EmptyBlocks { what: &'static str, index: usize },
    #[error("block ({row}, {column}) has {found} rows, but one before it has {needed}")]
    BlockRows { row: usize, column: usize, found: usize, needed: usize },
    #[error("block ({row}, {column}) has {found} columns, but one before it has {needed}")]
    BlockColumns { row: usize, column: usize, found: usize, needed: usize },
    #[error("a {rows} x {cols} matrix is not square: rows and columns are permuted alike")]
    NotSquare { rows: usize, cols: usize },
    #[error("row {row} is not canonical: column {column} comes after column {previous}")]
    NotCanonical { row: usize, previous: u32, column: u32 },
    #[error("row {row} has column {column} more than once")]
    Duplicate { row: usize, column: u32 },
    #[error("{nnz} nonzeros are more than {offset} row offsets can count: {remedy}")]
    OffsetOverflow { nnz: u64, offset: &'static str, remedy: &'static str },
    #[error("leading dimension {leading_dimension}: a {rows} x {cols} matrix needs at least {needed}")]
    LeadingDimension { rows: usize, cols: usize, leading_dimension: usize, needed: usize },
    #[error("{len} elements cannot hold a {rows} x {cols} matrix with leading dimension {leading_dimension}")]
    DenseLength { rows: usize, cols: usize, leading_dimension: usize, len: usize },
    #[error("{rows} x {cols} dense values do not fit in memory")]
    DenseTooLarge { rows: usize, cols: usize },
    #[error("{found} factors are not one for each of the {needed} {what}")]
    Factors { what: &'static str, needed: usize, found: usize },
    #[error("{}", crate::threads::FORKED)]
    Forked,
    #[error("{rows} rows with {nnz} nonzeros do not fit in memory")]
    OutOfMemory { rows: usize, nnz: usize },
    #[error("{rows} rows padded to up to {width} nonzeros take {bytes} bytes: the limit is {limit}")]
    PaddingTooLarge { rows: usize, width: usize, bytes: u64, limit: u64 },
    #[error("row {row} has {nonzeros} nonzeros: padded rows have at most {}", u32::MAX)]
    RowTooLong { row: usize, nonzeros: usize },
    #[error("column_indices has length {found}: {rows} rows of {width} slots need {rows} * {width}")]
    SlotCount { rows: usize, width: usize, found: usize },
    #[error("row {row} has a column in slot {slot}, after padding")]
    ColumnBehindPadding { row: usize, slot: usize },
    #[error("row {row} has a column, but the matrix has {rows} rows")]
    RowTooMany { row: usize, rows: usize },
    #[error("the slice height is 0")]
    NoSliceHeight,
    #[error("slice_offsets has length {found}: {slices} slices need {slices} + 1")]
    SliceOffsetsLength { slices: usize, found: usize },
    #[error("slice_offsets runs from {first} to {last} instead of from 0 to {slots}")]
    SliceOffsetEnds { first: u64, last: u64, slots: usize },
    #[error(
        "slice {slice} runs from {start} to {end}, which is not a whole number of slots for each of {height} rows"
    )]
    SliceOffset { slice: usize, start: u64, end: u64, height: u32 },
    #[error("row {row} at position {position} of the row order is a duplicate or not below {rows}")]
    NotAnOrder { position: usize, row: usize, rows: usize },
    #[error("the row order has {found} rows, but the matrix has {rows}")]
    RowOrderLength { rows: usize, found: usize },
    #[error("the ELL part is {} x {}, the COO part {} x {}", ell.0, ell.1, coo.0, coo.1)]
    PartShapes { ell: (usize, usize), coo: (usize, usize) },
    #[error("block size {size} is not from 1 to {MAX_BLOCK_SIZE}")]
    BlockSize { size: usize },
    #[error("blocks of {size} x {size}: {error}")]
    InBlocks { size: usize, error: Box<MatrixError> },
    #[error(
        "values has length {found}: {blocks} blocks of {size} x {size} values need {blocks} * {size} * {size}"
    )]
    BlockValues { blocks: usize, size: usize, found: usize },
    #[error("the pool has {bytes} bytes: its length must be a positive multiple of 16")]
    PoolLength { bytes: usize },
    #[error("leaves occur at {leaves} positions: the limit is {limit}")]
    TooManyLeaves { leaves: u64, limit: u64 },
    #[error(
        "{entries} entries, counting shared nodes at every position, exceed the limit of {limit}; raise it with HiSparse::try_from_pool_with_limit"
    )]
    TooManyEntries { entries: u64, limit: u64 },
    #[error("the nodes do not fit into {limit} bytes, the most that references can address")]
    PoolTooLarge { limit: u64 },
    #[error(transparent)]
    HiSparseNode(Box<InvalidNode>),
}

evenpath_simt::debug_as_message!(MatrixError);

impl MatrixError {
    /// Error for more nonzeros than `O` can count.
    pub(crate) fn offset_overflow<O: Offset>(nnz: usize) -> Self {
        Self::OffsetOverflow { nnz: nnz as u64, offset: O::NAME, remedy: "use u64 offsets" }
    }
}
