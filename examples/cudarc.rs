//! Vectors of `cudarc` times a matrix of evenpath: the memory moves from `cudarc` to evenpath and back, and
//! is never copied.
//!
//! ```sh
//! cargo run --release --features cudarc --example cudarc -- stencil5:300
//! ```
//!
//! `cudarc` supports neither the CPU nor simulated GPUs: without a GPU the example reports this.

mod support;

use std::error::Error;
use std::process::ExitCode;

use cudarc::driver::CudaContext;
use evenpath::device::DeviceKind;
use evenpath::spmv::SpmvOptions;
use evenpath::{Csr, Device, DeviceVec};

fn main() -> ExitCode {
    support::on_matrix("stencil5:200", product)
}

fn product(device: &Device, a: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let DeviceKind::Cuda(ordinal) = device.kind() else {
        println!("{device} is not a GPU: there is nothing to share with cudarc");
        return Ok(true);
    };
    let device = Device::cuda_primary(ordinal)?;
    let stream = CudaContext::new(ordinal as usize)?.new_stream()?;

    let x: Vec<f64> = (0..a.ncols()).map(|col| (col * 7 % 11) as f64 - 5.0).collect();
    let theirs = stream.clone_htod(&x)?;
    let ours = DeviceVec::from_cudarc(&device, theirs)?;
    let mut y = device.zeros::<f64>(a.nrows())?;
    device.upload(a)?.plan_spmv(SpmvOptions::default())?.run(1.0, &ours, 0.0, &mut y)?;

    let lent = y.into_cudarc(&stream)?;
    let result = stream.clone_dtoh(&lent.as_view())?;
    let y = lent.into_vec()?;
    println!("{device}: {} elements by cudarc's copy, {} by ours", result.len(), y.len());

    let mut expected = vec![0.0; a.nrows()];
    a.spmv(1.0, &x, 0.0, &mut expected)?;
    let is_close = |(own, expected): (&f64, &f64)| (own - expected).abs() <= 1e-9 * expected.abs().max(1.0);
    Ok(result == y.download()? && result.iter().zip(&expected).all(is_close))
}
