//! Parts, scales and norms of a matrix, as of `scipy.sparse`: each is a call, and nothing leaves the device.
//!
//! ```sh
//! cargo run --release --example slicing -- a.mtx.gz
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::csr::{Filter, Reduction};
use evenpath::error::OpError;
use evenpath::vector::{self, Map};
use evenpath::{Csr, Device, DeviceCsr};

fn main() -> ExitCode {
    support::on_matrix("stencil5:60", slicing)
}

fn slicing(device: &Device, host: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let a = device.upload(host)?;
    let even: Vec<u32> = (0..host.nrows() as u32).step_by(2).collect();
    let even = device.upload(&even)?;
    let ([lower, upper, band, selected], norms) = support::timed(device, || {
        let parts =
            [a.tril(0)?, a.triu(1)?, a.filter(Filter::Band { lower: -1, upper: 1 })?, a.select_rows(&even)?];
        Ok::<_, OpError>((parts.map(|part| part.nnz()), scaled(&a)?.reduce_rows(Reduction::Norm2)?))
    })?;
    println!("{device}: {lower} nonzeros on and below the diagonal, {upper} above");
    println!("{band} nonzeros on three diagonals");
    println!("{selected} nonzeros in every second row");
    if let Some(row) = vector::argmax(&norms)? {
        println!("scaled, row {row} has the largest norm, {:.6}", norms.get(row)?);
    }
    Ok(lower + upper == host.nnz()
        && selected == host.iter_rows().step_by(2).map(|row| row.len()).sum::<usize>()
        && band == host.iter().filter(|&(i, j, _)| i.abs_diff(j) <= 1).count()
        && are_right(host, &norms.download()?))
}

/// Returns R^-1/2 A C^-1/2, where R and C have the sums of absolute values of rows and columns: R = C if A is symmetric.
fn scaled(a: &DeviceCsr<f64>) -> Result<DeviceCsr<f64>, OpError> {
    let scaled = a.filter(Filter::Nonzero)?;
    let mut rows = scaled.reduce_rows(Reduction::AbsSum)?;
    let mut columns = scaled.reduce_columns(Reduction::AbsSum)?;
    for sums in [&mut rows, &mut columns] {
        vector::map(Map::Sqrt, sums)?;
        vector::map(Map::Reciprocal, sums)?; // infinite for empty rows and columns
    }
    scaled.scale_rows(&rows)?;
    scaled.scale_columns(&columns)?;
    Ok(scaled)
}

/// Returns whether the norms are those of plain loops, up to rounding.
fn are_right(host: &Csr<f64>, norms: &[f64]) -> bool {
    let (mut row_sums, mut column_sums) = (vec![0.0; host.nrows()], vec![0.0; host.ncols()]);
    for (i, j, value) in host.iter() {
        row_sums[i] += value.abs();
        column_sums[j] += value.abs();
    }
    let mut squares = vec![0.0; host.nrows()];
    host.iter().filter(|(_, _, value)| *value != 0.0).for_each(|(i, j, value)| {
        squares[i] += value * value / (row_sums[i] * column_sums[j]);
    });
    norms.iter().zip(squares).all(|(found, squares)| (found - squares.sqrt()).abs() <= 1e-12 * (1.0 + found))
}
