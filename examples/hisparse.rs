//! HiSparse, a tree of small dense and sparse nodes: transposed in O(1), so that Ax, Aᵀx and A + Aᵀ need one copy of A.
//!
//! ```sh
//! cargo run --release --example hisparse -- rmat:12
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::{Csr, Device};

fn main() -> ExitCode {
    support::on_matrix("stencil5:60", hisparse)
}

fn hisparse(device: &Device, csr: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    // Nodes of 128 x 128 entries or children; the device builds the tree.
    let a: DeviceHiSparse<f64, 128> = device.upload(csr)?.to_hisparse(hisparse::Options::default())?;
    println!("{device}: {}", a.download()?.statistics());

    let ax = multiply(&a)?;
    let mut is_right = is_row_sums(csr, &ax);
    let transposed = multiply(&a.transpose())?;
    is_right &= is_row_sums(&csr.transpose()?, &transposed);

    if a.nrows() == a.ncols() {
        let sum: Csr<f64> =
            a.spadd(&a.transpose(), hisparse::SpaddOptions::default())?.to_csr()?.download()?;
        println!("A + Aᵀ has {} nonzeros", sum.nnz());
        // If both have an entry, their sum rounds once.
        let both = csr.iter().flat_map(|(row, col, value)| [(row, col, value), (col, row, value)]);
        is_right &= sum == Csr::from_triplets(csr.nrows(), csr.ncols(), both)?;
    }
    Ok(is_right)
}

/// A times a vector of ones.
fn multiply(a: &DeviceHiSparse<f64, 128>) -> Result<Vec<f64>, evenpath::error::OpError> {
    let x = a.device().upload(&vec![1.0; a.ncols()])?;
    let mut y = a.device().zeros(a.nrows())?;
    let plan = a.plan_spmv(hisparse::SpmvOptions::default())?; // once per matrix
    plan.run(1.0, &x, 0.0, &mut y)?;
    Ok(y.download()?)
}

/// Returns whether y has the sums of the rows: the order changes a sum of n values by at most n rounding
/// errors.
fn is_row_sums(a: &Csr<f64>, y: &[f64]) -> bool {
    a.iter_rows().zip(y).all(|(row, y)| {
        let sum: f64 = row.values().iter().sum();
        let magnitude: f64 = row.values().iter().map(|value| value.abs()).sum();
        (y - sum).abs() <= (row.len() + 1) as f64 * f64::EPSILON * magnitude
    })
}
