//! Other libraries to compare with, opened at run time: nothing is linked, and what is not installed is named.

mod cuda;
pub mod cusparse;
mod host;
mod library;
pub mod mkl;
pub mod sprs;

use ::sprs::MulAcc;
use evenpath::{Csr, Value};
use num_traits::Zero;
use thiserror::Error;

/// Why a peer cannot be compared with.
#[derive(Debug, Error)]
pub enum PeerError {
    /// The library is not there, or lacks what is needed of it.
    #[error("{library} cannot be used: {reason}")]
    Absent {
        /// The library.
        library: &'static str,
        /// Why.
        reason: String,
    },
    /// A function of it failed.
    #[error("{function}: {reason} ({code})")]
    Call {
        /// The function.
        function: &'static str,
        /// What it answered.
        code: i32,
        /// What the library says that this means.
        reason: String,
    },
    /// The operands are not what the library, or the format, takes.
    #[error("{0}")]
    Unsuitable(String),
}

/// What a peer's algorithm did with one problem.
#[derive(Debug)]
pub struct PeerRun<V> {
    /// The algorithm, as the library calls it; with `+ preprocess` where it had analyzed the matrix before.
    pub algorithm: String,
    /// The format of the matrix: `csr`, or one that it must be brought into.
    pub format: &'static str,
    /// Milliseconds of each timed run, or why there are none.
    pub outcome: Result<PeerTimes<V>, PeerError>,
}

/// Times and result of a peer's algorithm.
#[derive(Debug)]
pub struct PeerTimes<V> {
    /// Milliseconds of each run.
    pub times_ms: Vec<f64>,
    /// Milliseconds of the analysis, the same one having been made before; 0 where there is none.
    pub preprocessing_ms: f64,
    /// Bytes that the library asked for beside the operands.
    pub workspace_bytes: usize,
    /// The result of the last run.
    pub result: Vec<V>,
}

/// What is done with the sparse matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It is taken as it is.
    Direct,
    /// Its transpose is taken, without being made.
    Transposed,
}

impl Operation {
    /// Of a matrix of so many rows and columns, those that the operation sees.
    pub fn shape(self, rows: usize, cols: usize) -> (usize, usize) {
        match self {
            Self::Direct => (rows, cols),
            Self::Transposed => (cols, rows),
        }
    }

    fn check_x<V: Value>(self, matrix: &Csr<V>, x: &[V]) -> Result<(), PeerError> {
        let (_, cols) = self.shape(matrix.rows(), matrix.cols());
        if x.len() == cols {
            return Ok(());
        }
        Err(PeerError::Unsuitable(format!("x has {} elements and not {cols}", x.len())))
    }
}

/// A value type that the peers know.
pub trait PeerValue: Value + MulAcc + Zero {
    /// `cudaDataType` of NVIDIA's libraries, which also compute in it.
    const CUDA_TYPE: i32;
}

impl PeerValue for f32 {
    const CUDA_TYPE: i32 = 0;
}

impl PeerValue for f64 {
    const CUDA_TYPE: i32 = 1;
}
