//! Parts that peers have in common: errors, runs, operands.

use ::sprs::MulAcc;
use evenpath::{Complex, Csr, Scalar, Value};
use num_traits::Zero;
use thiserror::Error;

use crate::measure::Times;

/// Errors in measuring a peer.
#[derive(Debug, Error)]
pub(crate) enum PeerError {
    /// The library is not installed, or lacks a function.
    #[error("{library} cannot be used: {reason}")]
    Absent { library: &'static str, reason: String },
    /// A function of the library failed.
    #[error("{function}: {reason} ({code})")]
    Call {
        function: &'static str,
        /// Its error code.
        code: i32,
        /// The library's description of the code.
        reason: String,
    },
    /// The library or the format does not support the operands.
    #[error("{0}")]
    Unsuitable(String),
}

/// A peer's algorithm for y = αAx + βy, ready to run, so that it can take turns with others.
pub(crate) trait Prepared<V> {
    /// Makes this many runs and returns their milliseconds.
    ///
    /// # Errors
    ///
    /// If a run fails.
    fn time_ms(&mut self, runs: usize) -> Result<f64, PeerError>;

    /// The result of one run on the given y.
    ///
    /// # Errors
    ///
    /// If the run fails.
    fn result(&mut self) -> Result<Vec<V>, PeerError>;
}

/// An algorithm that was prepared, and what that took.
pub(crate) struct Ready<'p, V> {
    /// Milliseconds of the analysis, excluding its first, warm-up run; 0 if there is none.
    pub(crate) preprocessing_ms: f64,
    /// Bytes of workspace that the library requested.
    pub(crate) workspace_bytes: usize,
    /// The algorithm.
    pub(crate) prepared: Box<dyn Prepared<V> + 'p>,
}

/// An algorithm of a peer on one problem.
#[derive(Debug)]
pub(crate) struct Peer<O> {
    pub(crate) library: &'static str,
    /// The version of the library, if it reports one.
    pub(crate) version: Option<String>,
    /// The algorithm, as named by the library; with `+ preprocess` if it has analyzed the matrix before.
    pub(crate) algorithm: String,
    /// The format of the matrix: `csr`, or one that it was converted to.
    pub(crate) format: &'static str,
    /// The algorithm that is ready, or its times and result; or why there is none.
    pub(crate) outcome: Result<O, PeerError>,
}

/// An algorithm that can take turns with others.
pub(crate) type PreparedPeer<'p, V> = Peer<Ready<'p, V>>;

/// The run of an algorithm.
pub(crate) type PeerRun<R> = Peer<PeerTimes<R>>;

impl<O> Peer<O> {
    /// An algorithm for CSR, of a library that does not report a version.
    pub(super) fn of_csr(library: &'static str, algorithm: &str, outcome: Result<O, PeerError>) -> Self {
        Self { library, version: None, algorithm: algorithm.into(), format: "csr", outcome }
    }

    /// The same algorithm with the outcome of a next step.
    pub(crate) fn and_then<P>(self, next: impl FnOnce(O) -> Result<P, PeerError>) -> Peer<P> {
        let Self { library, version, algorithm, format, outcome } = self;
        Peer { library, version, algorithm, format, outcome: outcome.and_then(next) }
    }
}

/// Times and result of a peer's algorithm.
#[derive(Debug)]
pub(crate) struct PeerTimes<R> {
    /// Milliseconds of a run.
    pub(crate) times: Times,
    /// Milliseconds of a run with a known pattern, if the algorithm has one.
    pub(crate) values: Option<Times>,
    /// Milliseconds of the analysis, excluding its first, warm-up run; 0 if there is none.
    pub(crate) setup_ms: f64,
    /// Bytes of workspace that the library requested; for a sparse product, of the result too.
    pub(crate) bytes: u64,
    pub(crate) result: R,
}

impl<R> PeerTimes<R> {
    /// Creates the times of an algorithm without analysis and workspace.
    pub(super) fn plain((times, result): (Times, R)) -> Self {
        Self { times, values: None, setup_ms: 0.0, bytes: 0, result }
    }
}

/// A sparse matrix as returned by a library, unchecked.
#[derive(Debug)]
pub(crate) struct PeerRows<V> {
    pub(crate) row_offsets: Vec<u32>,
    pub(crate) column_indices: Vec<u32>,
    pub(crate) values: Vec<V>,
}

impl<V: Scalar> From<Csr<V>> for PeerRows<V> {
    fn from(matrix: Csr<V>) -> Self {
        let (row_offsets, column_indices, values) = matrix.into_parts();
        Self { row_offsets, column_indices, values }
    }
}

/// The operation on the sparse matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// The matrix itself.
    Direct,
    /// Its transpose, which is not formed.
    Transposed,
}

impl Operation {
    /// The shape that the operation sees, given that of the matrix.
    pub(crate) fn shape(self, rows: usize, cols: usize) -> (usize, usize) {
        match self {
            Self::Direct => (rows, cols),
            Self::Transposed => (cols, rows),
        }
    }

    pub(super) fn check_x<V: Scalar>(self, matrix: &Csr<V>, x: &[V]) -> Result<(), PeerError> {
        let (_, cols) = self.shape(matrix.nrows(), matrix.ncols());
        if x.len() == cols {
            return Ok(());
        }
        Err(PeerError::Unsuitable(format!("x has {} elements, not {cols}", x.len())))
    }

    pub(super) fn check<V: Scalar>(
        self,
        matrix: &Csr<V>,
        operands: SpmvOperands<'_, V>,
    ) -> Result<(), PeerError> {
        self.check_x(matrix, operands.x)?;
        let (rows, _) = self.shape(matrix.nrows(), matrix.ncols());
        if operands.y.len() == rows {
            return Ok(());
        }
        Err(PeerError::Unsuitable(format!("y has {} elements, not {rows}", operands.y.len())))
    }
}

/// The operands of y = αAx + βy beside the matrix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpmvOperands<'o, V> {
    /// The factor of the product.
    pub(crate) alpha: V,
    /// One element per column of the matrix, or of its transpose if that is multiplied.
    pub(crate) x: &'o [V],
    /// The factor of y.
    pub(crate) beta: V,
    /// y before the operation, one element per row.
    pub(crate) y: &'o [V],
}

/// A value type, real or complex, of the peers' products with vectors and of sparse matrices.
pub(crate) trait PeerScalar: Scalar + MulAcc + Zero {
    /// `cudaDataType` of NVIDIA's libraries, also the type that they compute in.
    const CUDA_TYPE: i32;
}

impl PeerScalar for f32 {
    const CUDA_TYPE: i32 = 0;
}

impl PeerScalar for f64 {
    const CUDA_TYPE: i32 = 1;
}

impl PeerScalar for Complex<f32> {
    const CUDA_TYPE: i32 = 4;
}

impl PeerScalar for Complex<f64> {
    const CUDA_TYPE: i32 = 5;
}

/// A value type that all operations of the peers support.
pub(crate) trait PeerValue: PeerScalar + Value {}

impl<V: PeerScalar + Value> PeerValue for V {}
