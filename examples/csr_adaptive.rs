//! CSR-Adaptive, y = Ax by blocks of rows: short rows go through shared memory together, long rows are shared
//! by a block. Only GPUs support it, real and simulated ones.
//!
//! ```sh
//! cargo run --release --example csr_adaptive -- rmat:16
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, Device};

fn main() -> ExitCode {
    support::on_matrix_with_kernels("rmat:8", csr_adaptive)
}

fn csr_adaptive(device: &Device, a: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let x: Vec<f64> = (0..a.ncols()).map(|col| 1.0 / (col + 1) as f64).collect();
    let device_x = device.upload(&x)?;
    let mut y = device.zeros(a.nrows())?;

    // The plan divides the rows into blocks by their lengths. It serves any number of products.
    let method = SpmvMethod::CsrAdaptive { block_size: None };
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
