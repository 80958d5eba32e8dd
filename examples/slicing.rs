//! Parts, scales and norms of a matrix, as of `scipy.sparse`: each is a call, and nothing leaves the device.
//!
//! ```sh
//! cargo run --release --example slicing -- a.mtx.gz
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::csr::{Filter, Reduction};
use evenpath::vector::{self, Map};
use evenpath::{Csr, Device};

fn main() -> ExitCode {
    support::on_matrix("stencil5:60", slicing)
}

fn slicing(device: &Device, host: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let a = device.upload(host)?;
    let (lower, strictly_upper) = (a.tril(0)?, a.triu(1)?);
    let band = a.filter(Filter::Band { lower: -1, upper: 1 })?;
    println!("{device}: {} nonzeros on and below the diagonal, {} above", lower.nnz(), strictly_upper.nnz());
    println!("{} nonzeros on three diagonals", band.nnz());

    let even: Vec<u32> = (0..host.nrows() as u32).step_by(2).collect();
    let selected = a.select_rows(&device.upload(&even)?)?;
    println!("{} nonzeros in every second row", selected.nnz());

    // R^-1/2 A C^-1/2, where R and C have the sums of absolute values of rows and columns: R = C if A is symmetric.
    let scaled = a.filter(Filter::Nonzero)?;
    let mut rows = scaled.reduce_rows(Reduction::AbsSum)?;
    let mut columns = scaled.reduce_columns(Reduction::AbsSum)?;
    for sums in [&mut rows, &mut columns] {
        vector::map(Map::Sqrt, sums)?;
        vector::map(Map::Reciprocal, sums)?; // infinite for empty rows and columns
    }
    scaled.scale_rows(&rows)?;
    scaled.scale_columns(&columns)?;

    let norms = scaled.reduce_rows(Reduction::Norm2)?;
    if let Some(row) = vector::argmax(&norms)? {
        println!("scaled, row {row} has the largest norm, {:.6}", norms.get(row)?);
    }

    // The same by plain loops, up to rounding.
    let (mut row_sums, mut column_sums) = (vec![0.0; host.nrows()], vec![0.0; host.ncols()]);
    for (i, j, value) in host.iter() {
        row_sums[i] += value.abs();
        column_sums[j] += value.abs();
    }
    let mut squares = vec![0.0; host.nrows()];
    host.iter().filter(|(_, _, value)| *value != 0.0).for_each(|(i, j, value)| {
        squares[i] += value * value / (row_sums[i] * column_sums[j]);
    });
    let is_near = |(found, squares): (f64, f64)| (found - squares.sqrt()).abs() <= 1e-12 * (1.0 + found);
    Ok(lower.nnz() + strictly_upper.nnz() == host.nnz()
        && selected.nnz() == host.iter_rows().step_by(2).map(|row| row.len()).sum::<usize>()
        && band.nnz() == host.iter().filter(|&(i, j, _)| i.abs_diff(j) <= 1).count()
        && norms.download()?.into_iter().zip(squares).all(is_near))
}
