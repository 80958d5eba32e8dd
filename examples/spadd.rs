//! Sum of sparse matrices, C = αA + βB, where B is the transpose of A, or A itself if it is not square.
//!
//! ```sh
//! cargo run --release --example spadd -- a.mtx.gz
//! ```

mod support;

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;

use evenpath::{Csr, Device};

fn main() -> ExitCode {
    support::on_matrix("stencil5:60", spadd)
}

fn spadd(device: &Device, a: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let b = if a.nrows() == a.ncols() { a.transpose()? } else { a.clone() };
    let (device_a, device_b) = (device.upload(a)?, device.upload(&b)?);

    // A single sum.
    let (alpha, beta) = (2.0, -0.5);
    let c = device_a.spadd(alpha, &device_b, beta)?;
    println!("{device}: {} + {} nonzeros make {}", a.nnz(), b.nnz(), c.nnz());

    // Many sums of matrices with the same patterns: a plan keeps the parts that do not depend on values.
    let plan = device_a.plan_spadd(&device_b)?;
    let same = plan.run(alpha, beta)?;
    println!("the plan takes {} bytes beside the result", plan.info()?.workspace_bytes);

    // C has an entry wherever A or B has one; it rounds at most three times.
    let mut expected: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
    for (factor, matrix) in [(alpha, a), (beta, &b)] {
        for (row, col, value) in matrix.iter() {
            let (sum, magnitude) = expected.entry((row, col)).or_default();
            *sum += factor * value;
            *magnitude += (factor * value).abs();
        }
    }
    let c: Csr<f64> = c.download()?;
    let is_right = c.nnz() == expected.len()
        && c.iter().zip(expected).all(|((row, col, found), (position, (sum, magnitude)))| {
            (row, col) == position && (found - sum).abs() <= 3.0 * f64::EPSILON * magnitude
        });
    Ok(is_right && same.download()? == c)
}
