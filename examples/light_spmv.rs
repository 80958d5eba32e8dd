//! LightSpMV, y = Ax: while the kernel runs, groups of lanes fetch their next row from a shared counter, so
//! that a long row delays only its own lanes. Only GPUs support it, real and simulated ones.
//!
//! ```sh
//! cargo run --release --example light_spmv -- power-law:2000000
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, Device};

fn main() -> ExitCode {
    support::on_matrix_with_kernels("power-law:2000", light_spmv)
}

fn light_spmv(device: &Device, a: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let x: Vec<f64> = (0..a.ncols()).map(|col| 1.0 / (col + 1) as f64).collect();
    let device_x = device.upload(&x)?;
    let mut y = device.zeros(a.nrows())?;

    // The plan chooses the lanes per row from the mean row length.
    let method = SpmvMethod::Light { lanes: None, block_size: None };
    let plan = device.upload(a)?.plan_spmv(SpmvOptions::default().with_method(method))?;
    plan.run(1.0, &device_x, 0.0, &mut y)?;
    println!("{device}: {}", plan.info()?);

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
