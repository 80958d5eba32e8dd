use crate::device::DeviceError;
use crate::matrix::MatrixError;

/// Error of an operation that was refused or failed. An operation that is refused has written nothing.
///
/// ```
/// use evenpath::error::OpError;
/// use evenpath::Csr;
///
/// let a = Csr::from_triplets(2, 3, [(0, 2, 1.0)])?;
/// let error = (&a * &[1.0, 2.0]).unwrap_err();
/// assert!(matches!(error, OpError::Length { operand: "x", len: 2, needed: 3 }));
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// A vector or a list of values does not have the length that the other operands require.
    #[error("{operand} has length {len}, but {needed} is needed")]
    Length {
        /// Name of the operand, such as `x`.
        operand: &'static str,
        /// Its length.
        len: usize,
        /// Its required length or minimum length.
        needed: usize,
    },
    /// A matrix does not have the shape that the other operands require.
    #[error("{operand} is {rows} x {cols}, but must be {needed_rows} x {needed_cols}")]
    Shape {
        /// Name of the operand, such as `B`.
        operand: &'static str,
        /// Its number of rows.
        rows: usize,
        /// Its number of columns.
        cols: usize,
        /// The required number of rows.
        needed_rows: usize,
        /// The required number of columns.
        needed_cols: usize,
    },
    /// An operand has more elements than the operation supports.
    #[error("{what} of {len} elements exceeds the limit of {limit}")]
    TooLong {
        /// Name of the operation.
        what: &'static str,
        /// Number of elements.
        len: usize,
        /// Maximum number of elements.
        limit: usize,
    },
    /// A row has more nonzeros than the method's kernels support.
    #[error("a row of {len} nonzeros is too long for the method `{method}`; use `merge-path`")]
    RowTooLong {
        /// The method.
        method: String,
        /// Nonzeros of the longest row.
        len: u64,
    },
    /// A scan does not support an initial value.
    #[error("only exclusive scans of all elements take an initial value, but this one is {}", if *.is_segmented { "of segments" } else { "inclusive" })]
    InitialValue {
        /// True if the scan is of segments; otherwise it is inclusive.
        is_segmented: bool,
    },
    /// The device does not support the requested method.
    #[error("{device} does not support SpMV by `{method}`; it supports {usable}")]
    UnsupportedMethod {
        /// The name of the method.
        method: &'static str,
        /// The device.
        device: String,
        /// The supported methods.
        usable: String,
    },
    /// The method does not support the type of the matrix's values.
    #[error("SpMV by `{method}` does not support values of {value}; {usable} does")]
    MethodOfType {
        /// The name of the method.
        method: &'static str,
        /// The type.
        value: &'static str,
        /// The name of the method for this type.
        usable: &'static str,
    },
    /// The method of SpMV with the transpose does not support the type of the matrix's values.
    #[error("SpMV with the transpose by `{method}` does not support values of {value}; `{usable}` does")]
    TransposedMethodOfType {
        /// The name of the method.
        method: &'static str,
        /// The type.
        value: &'static str,
        /// The name of the method for this type.
        usable: &'static str,
    },
    /// The method of sparse products does not support the type of the matrices' values.
    #[error("SpGEMM by `{method}` does not support values of {value}; `{usable}` does")]
    SpgemmMethodOfType {
        /// The name of the method.
        method: &'static str,
        /// The type.
        value: &'static str,
        /// The name of the method for this type.
        usable: &'static str,
    },
    /// The method does not support vectors of a wider type than the matrix's values, or complex values.
    #[error("SpMV by `{method}` does not support values of {values} with vectors of {vectors}; {usable}")]
    MethodOfVectors {
        /// The name of the method.
        method: &'static str,
        /// The type of the values.
        values: &'static str,
        /// The type of the vectors.
        vectors: &'static str,
        /// The names of the methods for these types, with a verb.
        usable: String,
    },
    /// The method does not support this number of lanes per row.
    #[error("method `{method}` does not support {lanes} lanes per row; it supports 1, 2, 4, 8, 16 and 32")]
    Lanes {
        /// The requested number of lanes.
        lanes: u32,
        /// The name of the method.
        method: &'static str,
    },
    /// No kernel has this number of threads per block.
    #[error("{name} has no kernel with {block_size} threads per block for these types and options: {}", numbers(.supported))]
    BlockSize {
        /// The method or format.
        name: &'static str,
        /// The requested number of threads per block.
        block_size: u32,
        /// The supported numbers.
        supported: Vec<u32>,
    },
    /// Keys are not sorted.
    #[error("{input} is not sorted: the key at {index} is less than its predecessor")]
    Unsorted {
        /// Name of the input, such as `a`.
        input: &'static str,
        /// Index of the first key that is less than its predecessor.
        index: usize,
    },
    /// Positions to add at are not distinct.
    #[error("position {position} occurs more than once, so sums would depend on their order")]
    RepeatedPosition {
        /// The smallest such position.
        position: u32,
    },
    /// The range of bits is invalid for the key type.
    #[error("bit range {begin}..{end} is invalid for a {width}-bit key")]
    BitRange {
        /// The lowest bit.
        begin: u32,
        /// The highest bit plus one.
        end: u32,
        /// Number of bits in a key.
        width: u32,
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
        /// The previous column.
        previous: u32,
        /// The first column that is not greater than its predecessor.
        column: u32,
    },
    /// A row of a triangular system has no entry on the diagonal.
    #[error("{operand} has no entry on the diagonal in row {row}")]
    MissingDiagonal {
        /// Name of the matrix, `A`.
        operand: &'static str,
        /// The first such row.
        row: usize,
    },
    /// An entry on the diagonal of a triangular system is zero.
    #[error("the entry of {operand} on the diagonal is zero in row {row}")]
    ZeroPivot {
        /// Name of the matrix, `A`.
        operand: &'static str,
        /// The first such row.
        row: usize,
    },
    /// A factorization has no valid pivot in a row: it is zero or, of a Cholesky factorization, not positive.
    #[error(
        "the factorization breaks down in row {row}: its pivot is not valid; a shift of the diagonal may help"
    )]
    Breakdown {
        /// The first such row.
        row: usize,
    },
    /// A block on the diagonal has no inverse.
    #[error("the block on the diagonal is singular: there is no pivot in row {row}")]
    Singular {
        /// The first such row of the matrix.
        row: usize,
    },
    /// The shift of a factorization is negative, infinite or no number.
    #[error("the shift of the diagonal is {shift}, but must be finite and not negative")]
    Shift {
        /// The shift.
        shift: f64,
    },
    /// A matrix does not have the pattern that a plan was made for.
    #[error(
        "{operand} does not have the pattern of the plan, which takes only matrices that share it, such as copies"
    )]
    PatternOfPlan {
        /// Name of the matrix, such as `A`.
        operand: &'static str,
    },
    /// A result would overwrite the values that it is computed from.
    #[error("the factors have the values of A itself: make a copy of it for them")]
    SameValues,
    /// A vertex does not exist.
    #[error("vertex {vertex} is out of range: the graph has {vertices} vertices")]
    VertexOutOfRange {
        /// The vertex.
        vertex: usize,
        /// Number of vertices.
        vertices: usize,
    },
    /// An edge has a negative length.
    #[error("an edge has the length {least}, but shortest paths need lengths that are not negative")]
    NegativeLength {
        /// The least length.
        least: f64,
    },
    /// The damping of PageRank is no probability.
    #[error("the damping is {damping}, but must be from 0 to 1")]
    Damping {
        /// The damping.
        damping: f64,
    },
    /// A list of the nodes of elements does not have the same number for each.
    #[error("{len} nodes are not a whole number of elements with {degrees} nodes each")]
    ElementNodes {
        /// Length of the list.
        len: usize,
        /// Nodes per element.
        degrees: usize,
    },
    /// A node of an element does not exist.
    #[error("node {place} of element {element} is {node}, which is out of range: there are {nodes} nodes")]
    NodeOutOfRange {
        /// Number of the element, from 0.
        element: usize,
        /// Place of the node in the element, from 0.
        place: usize,
        /// The node.
        node: usize,
        /// Number of nodes.
        nodes: usize,
    },
    /// A fixed unknown does not exist.
    #[error("fixed unknown {unknown} at position {position} is out of range: there are {unknowns} unknowns")]
    FixedOutOfRange {
        /// Position in the list of fixed unknowns.
        position: usize,
        /// The unknown.
        unknown: usize,
        /// Number of unknowns.
        unknowns: usize,
    },
    /// A matrix that is to be assembled again was not made by the plan.
    #[error(
        "the matrix does not have the plan's pattern: only matrices that the plan made can be assembled again"
    )]
    NotOfPlan,
    /// The values of a matrix cannot change, because a [`CsrValues`](crate::csr::CsrValues) borrows them.
    #[error(
        "the values of a matrix cannot be changed while they are borrowed: drop what `DeviceCsr::values` returned"
    )]
    ValuesBorrowed,
    /// A product exceeds its memory limit.
    #[error(
        "{what} of a matrix product would raise the memory in use to {needed} bytes, but the limit is {limit}"
    )]
    ProductMemory {
        /// The part that exceeds the limit: the workspace, or the result.
        what: &'static str,
        /// Bytes needed, including those already in use.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// A matrix or its row offsets are invalid.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The device failed, or an operand is on another device. If a launch failed, a product whose result is
    /// written by several launches may have written part of it: SpMV by `flat`, without a plan, of coordinates
    /// and HYB, and with the transpose unless that is copied, and SpMM. Other operations have written nothing.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

evenpath_simt::debug_as_message!(OpError);

/// Describes the supported values of an option.
fn numbers(numbers: &[u32]) -> String {
    match numbers {
        [] => "the number cannot be chosen".into(),
        _ => format!(
            "supported numbers are {}",
            numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
        ),
    }
}
