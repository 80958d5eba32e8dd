//! Matrices, and the systems that are solved with them.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use evenpath::error::MatrixError;
use evenpath::{Csr, Device, DeviceCsr, DeviceVec, Value};
use evenpath_solvers::CsrOperator;

use crate::scale::{Problem, Rows};

/// The source of a matrix.
pub(super) enum Source {
    /// A Matrix Market file.
    File(PathBuf),
    /// The Laplacian of a grid, zero on the boundary.
    Grid(Problem),
}

impl Source {
    /// Reads or generates the matrix, with the columns of each row in order.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is not square.
    pub(super) fn load(&self) -> Result<Csr<f64>, Box<dyn Error>> {
        let mut a: Csr<f64> = match self {
            Self::File(path) => evenpath::io::read_matrix_market(path)?,
            Self::Grid(grid) => laplacian(*grid)?,
        };
        if a.nrows() != a.ncols() {
            return Err(
                format!("{self}: the matrix must be square, but is {} x {}", a.nrows(), a.ncols()).into()
            );
        }
        a.canonicalize();
        Ok(a)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Grid(grid) => grid.fmt(f),
        }
    }
}

fn laplacian(grid: Problem) -> Result<Csr<f64>, MatrixError> {
    let rows = grid.nrows() as usize;
    let (mut offsets, mut columns, mut values) = (vec![0_u64], Vec::new(), Vec::new());
    let mut row_entries: Vec<(u64, f64)> = Vec::new();
    for row in 0..rows {
        row_entries.clear();
        grid.row(row as u64, &mut row_entries);
        row_entries.sort_unstable_by_key(|entry| entry.0);
        columns.extend(row_entries.iter().map(|entry| entry.0 as u32));
        values.extend(row_entries.iter().map(|entry| entry.1));
        offsets.push(values.len() as u64);
    }
    Ok(Csr::try_new(rows, rows, offsets, columns, values)?.try_into_offsets()?)
}

/// A matrix on the host and on a device, and a right-hand side.
pub(super) struct System<V: Value> {
    host: Csr<V>,
    b: Vec<V>,
    /// A on the device.
    pub(super) a: DeviceCsr<V>,
    /// Products with A.
    pub(super) operator: CsrOperator<V>,
    /// b on the device.
    pub(super) b_on_device: DeviceVec<V>,
    /// Near-null vectors for multigrid; none stand for the constant.
    pub(super) near_null: Vec<DeviceVec<V>>,
}

/// A right-hand side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RightSide {
    /// b = A·1.
    OfOnes,
    /// b = 1.
    Ones,
    /// Numbers without a pattern, from −1 to 1.
    Mixed,
}

/// Parts of a system that not all need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    /// The right-hand side.
    pub(super) right_side: RightSide,
    /// Products with Aᵀ.
    pub(super) transpose: bool,
}

impl<V: Value> System<V> {
    /// Uploads a square matrix, rounded to V.
    ///
    /// # Errors
    ///
    /// If there is too little memory, or the device was lost.
    pub(super) fn new(device: &Device, matrix: &Csr<f64>, parts: Parts) -> Result<Self, Box<dyn Error>> {
        let host: Csr<V> = matrix.clone().into_values();
        let ones = vec![V::ONE; host.ncols()];
        let b = match parts.right_side {
            RightSide::OfOnes => (&host * &ones)?,
            RightSide::Ones => ones,
            RightSide::Mixed => {
                (0..host.nrows()).map(|at| V::from_f64(((at * 37 + 11) % 101) as f64 / 50.0 - 1.0)).collect()
            }
        };
        let a = device.upload(&host)?;
        let operator = CsrOperator::new(&a)?;
        let operator = if parts.transpose { operator.with_transpose()? } else { operator };
        let b_on_device = device.upload(&b)?;
        Ok(Self { host, b, a, operator, b_on_device, near_null: Vec::new() })
    }

    /// ‖b − Ax‖ / ‖b‖ in f64, row by row on the host; ‖b − Ax‖ if b is zero.
    pub(super) fn residual(&self, x: &[V]) -> f64 {
        let (offsets, columns, values) =
            (self.host.row_offsets(), self.host.column_indices(), self.host.values());
        let mut squares = 0.0;
        for (ends, b) in offsets.windows(2).zip(&self.b) {
            let entries = ends[0] as usize..ends[1] as usize;
            let product: f64 = entries.map(|at| values[at].to_f64() * x[columns[at] as usize].to_f64()).sum();
            squares += (b.to_f64() - product).powi(2);
        }
        let norm_b = self.b.iter().map(|b| b.to_f64().powi(2)).sum::<f64>().sqrt();
        squares.sqrt() / if norm_b > 0.0 { norm_b } else { 1.0 }
    }
}
