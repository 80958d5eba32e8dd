//! A program's own operation on a tree, with the queue scheduler: the largest magnitude in each column.
//!
//! The operation is in `examples/kernels/`, a separate crate, because it is also compiled for GPUs: `cargo
//! xtask ptx` does that, and docs/toolchain.md explains how to do it elsewhere. The simulated GPU runs it
//! unchanged, and checks every access.
//!
//! ```sh
//! cargo run --release --example queue_operation -- rmat:10
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;

use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::{Csr, Device};
use evenpath_example_kernels::ColumnMaxima;

/// The kernel for GPUs of compute capability 7.5 and later.
const PTX: [(u32, &str); 1] = [(75, include_str!("kernels/ptx/sm_75/column_maxima.ptx"))];

fn main() -> ExitCode {
    support::on_matrix_with_kernels("stencil5:40", column_maxima)
}

fn column_maxima(device: &Device, csr: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let entries = csr.iter().map(|(row, col, value)| (row, col, value as f32));
    let csr: Csr<f32> = Csr::from_triplets(csr.nrows(), csr.ncols(), entries)?;
    let a: DeviceHiSparse<f32, 64> = device.upload(&csr)?.to_hisparse(hisparse::Options::default())?;

    device.add_kernel::<ColumnMaxima>(&PTX)?; // once per device
    let mut maxima = device.zeros::<u32>(a.ncols())?;
    let view = maxima.as_global_mut();
    let kernel = |tree, queues| ColumnMaxima { tree, queues, maxima: view };
    // SAFETY: there is an element for each column, and the vector is not used until the kernel has ended.
    unsafe { a.traverse(hisparse::QueuedOptions::default(), kernel) }?;
    let maxima: Vec<f32> = maxima.download()?.into_iter().map(f32::from_bits).collect();

    let largest = maxima.iter().copied().fold(0.0, f32::max);
    println!("{device}: the largest magnitude of {} columns is {largest}", a.ncols());
    let mut expected = vec![0.0_f32; csr.ncols()];
    for (_, col, value) in csr.iter() {
        expected[col] = expected[col].max(value.abs());
    }
    Ok(maxima == expected)
}
