//! Multiplies two Matrix Market files: `multiply a.mtx b.mtx ab.mtx`.

use evenpath::io::{WriteOptions, read_matrix_market, write_matrix_market};
use evenpath::spgemm::SpgemmOptions;
use evenpath::{Csr, Device};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<_> = std::env::args_os().skip(1).collect();
    let [a, b, product] = &paths[..] else { return Err("usage: multiply A B PRODUCT".into()) };
    let device = Device::best()?; // the first NVIDIA GPU, or the CPU
    let (a, b): (Csr<f64>, Csr<f64>) = (read_matrix_market(a)?, read_matrix_market(b)?);
    let c = device.upload(&a)?.spgemm(&device.upload(&b)?, SpgemmOptions::default())?;
    Ok(write_matrix_market(product, c.download()?.view(), WriteOptions::default())?)
}
