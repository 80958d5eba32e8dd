//! Sparse matrix times dense matrix, C = AB: many vectors at once, so that A is read once for all of them.
//!
//! ```sh
//! cargo run --release --example spmm -- a.mtx.gz
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::spmm::SpmmOptions;
use evenpath::{Csr, Device, DeviceDense, Layout};

/// Number of columns of B and C.
const COLUMNS: usize = 8;

fn main() -> ExitCode {
    support::on_matrix("stencil5:60", spmm)
}

fn spmm(device: &Device, a: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let b: Vec<f64> = (0..a.ncols() * COLUMNS).map(|i| 1.0 / (i + 1) as f64).collect();
    let device_b = DeviceDense::try_new(device.upload(&b)?, a.ncols(), COLUMNS, Layout::RowMajor)?;
    let mut c = device.zeros_dense(a.nrows(), COLUMNS, Layout::RowMajor)?;

    // The plan is made for a number of columns, and serves any number of products.
    let plan = device.upload(a)?.plan_spmm(SpmmOptions::default().with_columns(COLUMNS))?;
    plan.run(1.0, &device_b, 0.0, &mut c)?;
    println!("{device}: {COLUMNS} columns, {}", plan.info()?);

    // Row by row on the host. The order changes a sum of n products by at most n rounding errors.
    let c = c.into_vec().download()?;
    Ok(a.iter_rows().zip(c.chunks(COLUMNS)).all(|(row, c)| {
        (0..COLUMNS).all(|column| {
            let (mut sum, mut magnitude) = (0.0, 0.0);
            for (k, value) in row.iter() {
                let product = value * b[k as usize * COLUMNS + column];
                sum += product;
                magnitude += product.abs();
            }
            (c[column] - sum).abs() <= (row.len() + 1) as f64 * f64::EPSILON * magnitude
        })
    }))
}
