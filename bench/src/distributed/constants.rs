//! The constants of the model, measured on one rank and on two.

use std::error::Error;

use evenpath::Device;
use evenpath::device::DeviceKind;
use evenpath::spmv::SpmvOptions;
use evenpath_distributed::error::Result;
use evenpath_distributed::{Cluster, DistributedCsr, DistributedVec, Rank, RowPartition};

use super::measure::timed;
use crate::measure::copy_rate;
use crate::scale::{Machine, Points, Problem, Rows};
use crate::statistics::median;

/// Bytes of an element.
const ELEMENT: f64 = 8.0;

/// Measures the constants on clusters of one rank and of two, if `cluster` makes one.
pub(crate) fn measure_constants(
    cluster: impl Fn(u32) -> Result<Option<Cluster>, Box<dyn Error>>,
) -> Result<[Machine; 2], Box<dyn Error>> {
    let mut one = Machine {
        latency: 0.0,
        bandwidth: f64::INFINITY,
        memory_rate: f64::INFINITY,
        product_rate: None,
        launch: 0.0,
        dot: 0.0,
    };
    if let Some(mut alone) = cluster(1)? {
        let found = alone
            .run(|rank| Ok::<_, evenpath_distributed::Error>((copy_rate(rank.device())?, small(rank)?)))?;
        if let Some(&(memory_rate, Small { plain, dot, .. })) = found.first() {
            one = Machine { memory_rate, launch: plain, dot, ..one };
        }
    }
    let mut two = one;
    if let Some(mut pair) = cluster(2)? {
        let found = pair.run(|rank| Ok::<_, evenpath_distributed::Error>((small(rank)?, large(rank)?)))?;
        if let Some(&(Small { product, dot, .. }, (elements, us))) = found.first() {
            // Packing, the non-local product and its addition come before and after the exchange.
            two.latency = (product - 3.0 * one.launch).max(0.0);
            two.dot = dot;
            let memory = elements * (20.0 + 20.0 + 40.0) / (one.memory_rate * 1e3);
            let exchange = us - product - memory;
            two.bandwidth = elements * ELEMENT / 1e3 / if exchange > 0.0 { exchange } else { us };
        }
    }
    Ok([one, two])
}

/// µs of operations that have next to nothing to do.
#[derive(Debug, Clone, Copy)]
struct Small {
    product: f64,
    dot: f64,
    /// The product with the rank's local matrix alone.
    plain: f64,
}

/// Measures with a grid of 32 x 32 points.
fn small(rank: &Rank) -> Result<Small> {
    let problem = Problem::Stencil { points: Points::Five, side: 32 };
    let rows = problem.nrows();
    let a = DistributedCsr::from_fn(rank, rows, rows, |row, entries| problem.row(row, entries))?;
    let x = DistributedVec::from_fn(rank, a.col_partition(), |_| 1.0_f64)?;
    let mut y = DistributedVec::zeros(rank, a.row_partition())?;
    let plan = a.plan_spmv(SpmvOptions::default())?;
    // Rounds, and runs in each.
    let repeated = if rank.device().kind() == DeviceKind::Simulated { (3, 3) } else { (9, 50) };
    let product = timed(rank, repeated, |_| plan.run(1.0, &x, 0.0, &mut y))?;
    let dot = timed(rank, repeated, |_| x.dot(&x).map(|_| ()))?;
    let local = a.local().plan_spmv(SpmvOptions::default())?;
    let plain = timed(rank, repeated, |_| Ok(local.run(1.0, x.local(), 0.0, y.local_mut())?))?;
    Ok(Small { product: median(&product.us), dot: median(&dot.us), plain: median(&plain.us) })
}

/// A product for which every element goes to the other rank: how many each sends, and the µs.
fn large(rank: &Rank) -> Result<(f64, f64)> {
    let elements = elements(rank.device());
    let rows = 2 * elements;
    let even = RowPartition::even(rows, rank.size())?;
    let a = DistributedCsr::from_fn_on(rank, &even, &even, |row, entries| {
        entries.push(((row + elements) % rows, 1.0_f64));
    })?;
    let x = DistributedVec::from_fn(rank, &even, |_| 1.0)?;
    let mut y = DistributedVec::zeros(rank, &even)?;
    let plan = a.plan_spmv(SpmvOptions::default())?;
    let times = timed(rank, (5, 4), |_| plan.run(1.0, &x, 0.0, &mut y))?;
    Ok((elements as f64, median(&times.us)))
}

/// A number of elements that takes a GPU long compared with the latency.
fn elements(device: &Device) -> u64 {
    match device.kind() {
        DeviceKind::Cuda(_) => 1 << 24,
        DeviceKind::Cpu => 1 << 17,
        DeviceKind::Simulated => 1 << 9,
    }
}
