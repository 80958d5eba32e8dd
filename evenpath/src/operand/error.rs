use crate::device::DeviceError;
use crate::matrix::MatrixError;

/// Why an operation was refused or failed. An operation that is refused has written nothing.
///
/// ```
/// use evenpath::error::OpError;
/// use evenpath::Csr;
///
/// let a: Csr<f64> = Csr::from_triplets(2, 3, [(0, 2, 1.0)])?;
/// let error = (&a * &[1.0, 2.0]).unwrap_err();
/// assert!(matches!(error, OpError::Length { operand: "x", len: 2, needed: 3 }));
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// A vector or a list of values does not have the length that the other operands require.
    #[error("the length of {operand} is {len}, and {needed} is needed")]
    Length {
        /// Name of the operand, such as `x`.
        operand: &'static str,
        /// Its length.
        len: usize,
        /// The length that it should have, or have at least.
        needed: usize,
    },
    /// A matrix does not have the shape that the other operands require.
    #[error("{operand} is {rows} x {cols}, and must be {needed_rows} x {needed_cols}")]
    Shape {
        /// Name of the operand, such as `B`.
        operand: &'static str,
        /// Its rows.
        rows: usize,
        /// Its columns.
        cols: usize,
        /// The rows that it should have.
        needed_rows: usize,
        /// The columns that it should have.
        needed_cols: usize,
    },
    /// An operand has more elements than the operation counts.
    #[error("{what} of {len} elements; the limit is {limit}")]
    TooLong {
        /// Name of the operation.
        what: &'static str,
        /// Elements.
        len: usize,
        /// The largest number of elements.
        limit: usize,
    },
    /// A row has more nonzeros than the method's kernels count.
    #[error("a row of {len} nonzeros is too long for the method `{method}`; use `merge-path`")]
    RowTooLong {
        /// The method.
        method: String,
        /// Nonzeros of the longest row.
        len: u64,
    },
    /// An initial value for a scan that takes none.
    #[error("an initial value goes with exclusive scans of all elements, and this one is {}", if *.is_segmented { "of segments" } else { "inclusive" })]
    InitialValue {
        /// Whether the scan is of segments; it is inclusive otherwise.
        is_segmented: bool,
    },
    /// The device does not have the method that was asked for.
    #[error("{device} has no SpMV by `{method}`; it has {usable}")]
    UnsupportedMethod {
        /// The name of the method.
        method: &'static str,
        /// The device.
        device: String,
        /// The methods that it has.
        usable: String,
    },
    /// Lanes per row that the method does not take.
    #[error(
        "{lanes} lanes per row by `{method}`: `vector` and `light` take 1, 2, 4, 8, 16 or 32, other methods none"
    )]
    Lanes {
        /// Lanes asked for.
        lanes: u32,
        /// The name of the method.
        method: &'static str,
    },
    /// A number of threads per block that no kernel has.
    #[error("{name} has no kernel of {block_size} threads per block for these types and options: {}", numbers(.supported))]
    BlockSize {
        /// The method or format.
        name: &'static str,
        /// Threads per block that were asked for.
        block_size: u32,
        /// The numbers that it takes.
        supported: Vec<u32>,
    },
    /// Keys are not sorted.
    #[error("{input} is not sorted: the key at {index} is less than the one before it")]
    Unsorted {
        /// Name of the input, such as `a`.
        input: &'static str,
        /// The first key that is less than the one before it.
        index: usize,
    },
    /// Positions to add at are not distinct.
    #[error("position {position} occurs more than once, so sums would depend on their order")]
    RepeatedPosition {
        /// The least such position.
        position: u32,
    },
    /// A range of bits that keys do not have.
    #[error("bit range {begin}..{end} is invalid for a {width}-bit key")]
    BitRange {
        /// The lowest bit.
        begin: u32,
        /// One more than the highest.
        end: u32,
        /// Bits of a key.
        width: u32,
    },
    /// A range of rows or columns that a matrix does not have.
    #[error("{what} {begin}..{end} are out of range: the matrix has {len}")]
    BlockRange {
        /// `rows` or `columns`.
        what: &'static str,
        /// The first.
        begin: usize,
        /// One more than the last.
        end: usize,
        /// Number of rows or columns of the matrix.
        len: usize,
    },
    /// The columns of a row do not increase.
    #[error(
        "{operand} is not canonical: in row {row}, column {column} comes after column {previous}; \
         Csr::canonicalize sorts rows and adds up duplicates"
    )]
    NotCanonical {
        /// Name of the matrix, `A` or `B`.
        operand: &'static str,
        /// The first such row.
        row: usize,
        /// The column before.
        previous: u32,
        /// The first column that is not greater than the one before it.
        column: u32,
    },
    /// A product takes more memory than it may.
    #[error(
        "{what} of a matrix product would raise the memory in use to {needed} bytes; the limit is {limit}"
    )]
    ProductMemory {
        /// The part that exceeds the limit: the workspace, or the result.
        what: &'static str,
        /// Bytes needed, with what is taken already.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// A matrix that cannot be made, or row offsets that are of none.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The device failed, or an operand is on another one. A product whose result is written by several launches may then
    /// have written some of it, if it was a launch that failed: SpMV by `flat`, of coordinates and HYB, and with the
    /// transpose unless that is copied, and SpMM. Other operations have written nothing.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

evenpath_simt::debug_as_message!(OpError);

/// The numbers that an option takes.
fn numbers(numbers: &[u32]) -> String {
    match numbers {
        [] => "the number cannot be given".into(),
        _ => format!("the numbers are {}", numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    }
}
