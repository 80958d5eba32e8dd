//! Rows sorted by length: if each thread of a warp computes a row, the longest of 32 rows determines the time
//! of the warp. After sorting, neighboring rows have similar lengths; y is still in the order of the matrix.
//!
//! ```sh
//! cargo run --release --example row_sorting -- fem:100000
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::ell::{EllR, PaddingLimit};
use evenpath::{Csr, Device};

fn main() -> ExitCode {
    support::on_matrix("fem:500", row_sorting)
}

fn row_sorting(device: &Device, a: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let (sorted, order) = a.sort_rows_by_length();
    let longest = order.longest_rows(a)?;
    println!(
        "longest row of a warp, on average: {:.2} before sorting, {:.2} after",
        longest.mean_before(),
        longest.mean_after()
    );

    // ELL-R of the sorted rows. With the row order, results are written at the original rows.
    let ell = sorted.to_ell(PaddingLimit::Times(3))?;
    let order = device.upload(&order)?;
    let sorted = device.upload(&EllR(&ell))?.with_row_order(&order)?;
    let x: Vec<f64> = (0..a.ncols()).map(|col| 1.0 / (col + 1) as f64).collect();
    let device_x = device.upload(&x)?;
    let mut y = device.zeros(a.nrows())?;
    sorted.spmv(1.0, &device_x, 0.0, &mut y)?;
    println!("{device}: y = Ax by ELL-R of {} slots", ell.values().len());

    // Row by row on the host. The order changes a sum of n products by at most n rounding errors.
    Ok(a.iter_rows().zip(y.download()?).all(|(row, y)| {
        let (mut sum, mut magnitude) = (0.0, 0.0);
        for (col, value) in row.iter() {
            let product = value * x[col as usize];
            sum += product;
            magnitude += product.abs();
        }
        (y - sum).abs() <= (row.len() + 1) as f64 * f64::EPSILON * magnitude
    }))
}
