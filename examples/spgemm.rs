//! Sparse matrix times sparse matrix, C = A·Aᵀ: the overlap of any two rows of A.
//!
//! ```sh
//! cargo run --release --example spgemm -- a.mtx.gz
//! ```

mod support;

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;

use evenpath::spgemm::SpgemmOptions;
use evenpath::{Csr, Device};

fn main() -> ExitCode {
    support::on_matrix("stencil5:60", spgemm)
}

fn spgemm(device: &Device, a: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let b = a.transpose()?;
    let (device_a, device_b) = (device.upload(a)?, device.upload(&b)?);

    // A single product.
    let c = device_a.spgemm(&device_b, SpgemmOptions::default())?;

    // Many products of matrices with the same patterns: a plan keeps the pattern of C.
    let plan = device_a.plan_spgemm(&device_b, SpgemmOptions::default())?;
    let same = plan.run()?;
    println!("{device}: {}", plan.info()?);

    let c: Csr<f64> = c.download()?;
    let is_right = c.iter_rows().zip(a.iter_rows()).all(|(found, row)| {
        // Gustavson's algorithm: a row of C is the sum of the rows of B that a row of A selects, scaled. The
        // order changes a sum of n products by at most n rounding errors.
        let mut expected: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for (k, left) in row.iter() {
            for (col, right) in b.row(k as usize).into_iter().flat_map(|row| row.iter()) {
                let (sum, magnitude) = expected.entry(col).or_default();
                *sum += left * right;
                *magnitude += (left * right).abs();
            }
        }
        let bound = (row.len() + 1) as f64 * f64::EPSILON;
        found.len() == expected.len()
            && found.iter().zip(expected).all(|((col, found), (expected_col, (sum, magnitude)))| {
                col == expected_col && (found - sum).abs() <= bound * magnitude
            })
    });
    Ok(is_right && c.nrows() == a.nrows() && same.download()? == c)
}
