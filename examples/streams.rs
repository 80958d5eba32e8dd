//! Ten dense matrices times one sparse matrix: C = AB for each, one after the other, and with upload, product
//! and download of different ones at the same time, on streams.
//!
//! ```sh
//! cargo run --release --example streams -- stencil5:300
//! ```

mod support;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use evenpath::device::{PinnedVec, Stream};
use evenpath::error::OpError;
use evenpath::spmm::{SpmmOptions, SpmmPlan};
use evenpath::{Csr, Device, DeviceDense, Layout};

const MATRICES: usize = 10;
const COLUMNS: usize = 32;
/// One each for upload, product and download.
const STREAMS: usize = 3;
/// Number of runs of each kind, of which the second counts: the first compiles kernels.
const RUNS: usize = 2;

fn main() -> ExitCode {
    support::on_matrix("stencil5:200", pipeline)
}

/// Buffers of one stream.
struct Lane {
    stream: Stream,
    b: DeviceDense<f64>,
    c: DeviceDense<f64>,
}

impl Lane {
    fn new(device: &Device, a: &Csr<f64>) -> Result<Self, OpError> {
        let dense = |rows| device.zeros_dense(rows, COLUMNS, Layout::RowMajor);
        Ok(Self { stream: device.stream()?, b: dense(a.ncols())?, c: dense(a.nrows())? })
    }

    /// Launches one product without waiting.
    fn product(
        &mut self,
        plan: &SpmmPlan<f64>,
        b: &PinnedVec<f64>,
        c: &mut PinnedVec<f64>,
    ) -> Result<(), OpError> {
        self.stream.scope(|| {
            self.b.as_mut_slice().copy_from_pinned(b, 0)?;
            plan.run(1.0, &self.b, 0.0, &mut self.c)?;
            Ok(self.c.as_vec().copy_to_pinned(c, 0)?)
        })
    }
}

fn pipeline(device: &Device, a: &Csr<f64>) -> Result<bool, Box<dyn Error>> {
    let plan = device.upload(a)?.plan_spmm(SpmmOptions::default().with_columns(COLUMNS))?;
    let mut inputs = Vec::new();
    for matrix in 0..MATRICES {
        let mut b = device.pinned::<f64>(a.ncols() * COLUMNS)?;
        for (at, value) in b.as_mut_slice()?.iter_mut().enumerate() {
            *value = ((at * 7 + matrix) % 11) as f64 - 5.0;
        }
        inputs.push(b);
    }
    let outputs =
        || (0..MATRICES).map(|_| device.pinned::<f64>(a.nrows() * COLUMNS)).collect::<Result<Vec<_>, _>>();
    let (mut one_by_one, mut at_once) = (outputs()?, outputs()?);
    let mut lanes: Vec<Lane> = (0..STREAMS).map(|_| Lane::new(device, a)).collect::<Result<_, _>>()?;

    let (mut serial, mut overlapped) = (0.0, 0.0);
    for _ in 0..RUNS {
        let begin = Instant::now();
        for (b, c) in inputs.iter().zip(&mut one_by_one) {
            lanes[0].product(&plan, b, c)?;
            lanes[0].stream.synchronize()?;
        }
        serial = begin.elapsed().as_secs_f64() * 1e3;

        let begin = Instant::now();
        for (at, (b, c)) in inputs.iter().zip(&mut at_once).enumerate() {
            lanes[at % STREAMS].product(&plan, b, c)?;
        }
        device.synchronize()?;
        overlapped = begin.elapsed().as_secs_f64() * 1e3;
    }
    println!("{device}: {MATRICES} products with {COLUMNS} columns");
    println!("one by one: {serial:.3} ms");
    println!("by {STREAMS} streams: {overlapped:.3} ms, {:.2} of it", overlapped / serial);
    for (one, other) in one_by_one.iter().zip(&at_once) {
        if one.as_slice()? != other.as_slice()? {
            return Ok(false);
        }
    }
    Ok(true)
}
