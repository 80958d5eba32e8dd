use super::SpmvMethod;
use crate::device::DeviceError;
use crate::matrix::MatrixError;

/// Why an operation was refused or failed. An operation that is refused has written nothing.
///
/// ```
/// use evenpath::{Csr, OpError};
///
/// let a: Csr<f64> = Csr::from_triplets(2, 3, [(0, 2, 1.0)])?;
/// let error = (&a * &[1.0, 2.0]).unwrap_err();
/// assert!(matches!(error, OpError::VectorLength { operand: "x", len: 2, needed: 3, .. }));
/// # Ok::<(), evenpath::MatrixError>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// A vector has not the length that the matrix asks for.
    #[error("{operand} has {len} elements, and the matrix of {rows} x {cols} needs {needed}")]
    VectorLength {
        /// Which operand, such as `x`.
        operand: &'static str,
        /// Its length.
        len: usize,
        /// The length it should have.
        needed: usize,
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        cols: usize,
    },
    /// A dense matrix has not the shape that the sparse matrix asks for.
    #[error("{operand} is {rows} x {cols}, and must be {needed_rows} x {needed_cols}")]
    DenseShape {
        /// Which operand, such as `B`.
        operand: &'static str,
        /// Its rows.
        rows: usize,
        /// Its columns.
        cols: usize,
        /// The rows it should have.
        needed_rows: usize,
        /// The columns it should have.
        needed_cols: usize,
    },
    /// Not as many values as the matrix has nonzeros.
    #[error("{len} values for a matrix of {nonzeros} nonzeros")]
    ValueCount {
        /// Values given.
        len: usize,
        /// Nonzeros of the matrix.
        nonzeros: usize,
    },
    /// Two operands that must have one length do not.
    #[error("{what} have {left} and {right} elements")]
    Lengths {
        /// Which operands.
        what: &'static str,
        /// Length of the first.
        left: usize,
        /// Length of the second.
        right: usize,
    },
    /// An operand has more elements than the operation counts.
    #[error("{what} of {len} elements; the limit is {limit}")]
    TooLong {
        /// Which operation.
        what: &'static str,
        /// Elements.
        len: usize,
        /// The largest number of elements.
        limit: usize,
    },
    /// A row has more nonzeros than the method's kernels count.
    #[error("a row of {len} nonzeros is too long for the method {method}; merge-path takes it")]
    RowTooLong {
        /// The method.
        method: String,
        /// Nonzeros of the longest row.
        len: u64,
    },
    /// The matrix has more rows and nonzeros than one launch can handle.
    #[error("{rows} rows and {nonzeros} nonzeros make {tiles} tiles, and a grid has at most {limit} blocks")]
    TooManyTiles {
        /// Rows of the matrix.
        rows: usize,
        /// Nonzeros of the matrix.
        nonzeros: usize,
        /// Tiles they make.
        tiles: u64,
        /// Blocks of a grid.
        limit: u64,
    },
    /// The device has not the method that was asked for.
    #[error("{device} has no SpMV by `{method}`; it has {usable}")]
    UnsupportedMethod {
        /// The method.
        method: SpmvMethod,
        /// The device.
        device: String,
        /// The methods that it has.
        usable: String,
    },
    /// Lanes a row that the method does not take.
    #[error(
        "{lanes} lanes a row by `{method}`: `vector` and `light` take 1, 2, 4, 8, 16 or 32, other methods none"
    )]
    Lanes {
        /// Lanes asked for.
        lanes: u32,
        /// The method.
        method: SpmvMethod,
    },
    /// An output is too short for the result, or, where lengths must agree, too long.
    #[error("{output} has {len} elements, and the result has {needed}")]
    OutputLength {
        /// Which output, such as `keys`.
        output: &'static str,
        /// Its length.
        len: usize,
        /// Elements of the result.
        needed: usize,
    },
    /// Keys are not sorted.
    #[error("{input} is not sorted: the key at {index} is less than the one before it")]
    Unsorted {
        /// Which input, such as `a`.
        input: &'static str,
        /// The first key that is less than the one before it.
        index: usize,
    },
    /// There are no row offsets; of no rows there would be one.
    #[error("there are no row offsets, of which a matrix has one more than rows")]
    NoRowOffsets,
    /// Row offsets do not span the values.
    #[error("row offsets from {first} to {last} for {values} values")]
    RowOffsetEnds {
        /// The first, which should be 0.
        first: u64,
        /// The last, which should be the number of values.
        last: u64,
        /// Values given.
        values: usize,
    },
    /// Not as many values as keys.
    #[error("{values} values for {keys} keys")]
    KeyValueCount {
        /// Keys given.
        keys: usize,
        /// Values given.
        values: usize,
    },
    /// A range of bits that keys do not have.
    #[error("bits {begin}..{end} are no range of bits of a key, which has {width}")]
    BitRange {
        /// The lowest bit.
        begin: u32,
        /// One more than the highest.
        end: u32,
        /// Bits of a key.
        width: u32,
    },
    /// Two matrices that must have one shape do not.
    #[error("A is {rows} x {cols} and B is {b_rows} x {b_cols}: they must have one shape")]
    Shapes {
        /// Rows of A.
        rows: usize,
        /// Columns of A.
        cols: usize,
        /// Rows of B.
        b_rows: usize,
        /// Columns of B.
        b_cols: usize,
    },
    /// The columns of a row do not increase.
    #[error(
        "{operand} is not canonical: in row {row}, column {column} comes after column {previous}; \
         Csr::canonicalize sorts rows and adds up duplicates"
    )]
    NotCanonical {
        /// Which matrix, `A` or `B`.
        operand: &'static str,
        /// The first such row.
        row: usize,
        /// The column before.
        previous: u32,
        /// The first column that is not greater than the one before it.
        column: u32,
    },
    /// Matrices that cannot be multiplied, because one has not a row for each column of the other.
    #[error("a matrix of {a_rows} x {a_cols} cannot be multiplied with one of {b_rows} x {b_cols}")]
    ProductShape {
        /// Rows of the left one.
        a_rows: usize,
        /// Its columns.
        a_cols: usize,
        /// Rows of the right one.
        b_rows: usize,
        /// Its columns.
        b_cols: usize,
    },
    /// A mask has not the product's shape.
    #[error("the mask is {rows} x {cols}, and the product {needed_rows} x {needed_cols}")]
    MaskShape {
        /// The mask's rows.
        rows: usize,
        /// Its columns.
        cols: usize,
        /// The product's rows.
        needed_rows: usize,
        /// The product's columns.
        needed_cols: usize,
    },
    /// The result has more nonzeros than its row offsets count.
    #[error("the result has {nonzeros} nonzeros, more than its row offsets count; {remedy}")]
    OffsetOverflow {
        /// Nonzeros of the result.
        nonzeros: u64,
        /// What to do about it.
        remedy: &'static str,
    },
    /// A product takes more memory than it may.
    #[error(
        "{what} of a matrix product would take the memory that it needs to {needed} bytes, and the limit is {limit}"
    )]
    ProductMemory {
        /// What would go over the limit: the workspace, or the result.
        what: &'static str,
        /// Bytes needed, with what is taken already.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// A matrix that cannot be made.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The device failed, or an operand is on another one. A product whose result is written by several launches may then
    /// have written some of it, if it was a launch that failed: SpMV by `flat`, of coordinates and HYB, and with the
    /// transpose unless that is copied, and SpMM. Other operations have written nothing.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
