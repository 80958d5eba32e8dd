//! Does it pay to sort rows by length? The experiment of Prata, Muranho and Gomes, *Impact of row sorting on the sparse
//! matrix-vector product on GPU*: one thread a row, with and without sorting, with x read by column and in sequence, and
//! the longest row of each warp.
//!
//! ```sh
//! cargo run --release --example row_sorting
//! cargo run --release --example row_sorting -- --device simulated
//! cargo run --release --example row_sorting -- --generate fem:1000000 --value f32
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use evenpath::device::DeviceKind;
use evenpath::ell::{DeviceEllR, EllR, PaddingLimit};
use evenpath::error::{MatrixError, OpError};
use evenpath::generate::Kind;
use evenpath::row_order::{DeviceRowOrder, LongestRows};
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, Device, DeviceVec, Value};
use evenpath_bench::arguments::{MatrixArguments, RunArguments, ValueType};
use evenpath_bench::input::random_vector;
use evenpath_bench::measure::{median, times_ms};
use evenpath_bench::program;
use evenpath_bench::report::Report;
use evenpath_bench::spmv::check;
use serde_json::json;

/// y = Ax with one thread a row, with and without sorting the rows by length: times, the longest row of each warp, and
/// whether results are right. Without a matrix it makes one like the study's: rows of 1% to 20% of the columns.
///
/// Exit code: 0 if every result is right, 1 if one is wrong, 2 if there is none.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    input: MatrixArguments,
    #[command(flatten)]
    run: RunArguments,
    /// Type of the values.
    #[arg(long, value_enum, default_value = "f32")]
    value: ValueType,
    /// Rows and columns of the matrix that is made where none is named. [default: what suits the device]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=1 << 16), conflicts_with_all = ["matrix", "generate"])]
    order: Option<u32>,
    /// How many times the memory of the nonzeros ELL may take.
    #[arg(long, value_name = "TIMES", default_value_t = 3)]
    padding: u32,
}

fn main() -> ExitCode {
    program::run(|arguments: &Arguments| match arguments.value {
        ValueType::F32 => row_sorting::<f32>(arguments),
        ValueType::F64 => row_sorting::<f64>(arguments),
    })
}

fn row_sorting<V: Value>(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    let Arguments { input, run, order, padding, .. } = arguments;
    let device = run.device.open()?;
    let (name, a) = if input.matrix.is_some() || input.generate.is_some() {
        let input = input.load::<V, u32>(Kind::Fem { rows: 1000 }, run.seed)?;
        (input.name, input.matrix)
    } else {
        let order = order.map_or_else(|| default_order(&device), |order| order as usize);
        (format!("rows of 1% to 20% of {order} columns, from seed {}", run.seed), synthetic(order, run.seed)?)
    };
    let limit = PaddingLimit::Times(*padding);
    let ell = a.to_ell(limit)?;

    let start = Instant::now();
    let (sorted, order) = a.sort_rows_by_length();
    let sorting_ms = start.elapsed().as_secs_f64() * 1e3;

    let mut report = Report::new(run.json, Ok(()));
    report.matrix(&name, &a);
    report.device(&device);
    report.line(
        "sorting",
        format_args!("{sorting_ms:.1} ms on the host"),
        json!({ "sorting_ms": sorting_ms }),
    );
    longest_rows(&mut report, &order.longest_rows(&a)?);

    let x = random_vector(a.cols(), run.seed);
    let order = device.upload(&order)?;
    let mut experiment = Experiment {
        matrix: &a,
        device_x: device.upload(&x)?,
        x,
        iterations: run.iterations(&device),
        report,
    };

    let (one, zero) = (V::ONE, V::ZERO);
    // A thread a row, of which the CPU has fewer than rows.
    let method = if device.kind() == DeviceKind::Cpu { SpmvMethod::RowParallel } else { SpmvMethod::Scalar };
    let options = SpmvOptions::default().with_method(method);
    let plan = device.upload(&a)?.plan_spmv(options)?;
    let sorted_plan = device.upload(&sorted)?.plan_spmv(options)?;
    experiment.compare(
        &format!("CSR, {method}"),
        |x, y| plan.run(one, x, zero, y),
        |x, y| sorted_plan.run(one, x, zero, y),
        Order::AsStored(&order),
    )?;
    drop((plan, sorted_plan));

    let plain = device.upload(&ell)?;
    let ell_r = device.upload(&EllR(&ell))?;
    let sorted_ell = sorted.to_ell(limit)?;
    let sorted_ell_r: DeviceEllR<V> = device.upload(&EllR(&sorted_ell))?.with_row_order(&order)?;
    experiment.time("ELL", |x, y| plain.spmv(one, x, zero, y), Order::Original)?;
    experiment.compare(
        "ELL-R",
        |x, y| ell_r.spmv(one, x, zero, y),
        |x, y| sorted_ell_r.spmv(one, x, zero, y),
        Order::Original,
    )?;
    experiment.compare(
        "ELL-R, x in sequence",
        |x, y| ell_r.spmv_with_x_in_sequence(one, x, zero, y),
        |x, y| sorted_ell_r.spmv_with_x_in_sequence(one, x, zero, y),
        Order::NoProduct,
    )?;
    Ok(experiment.report)
}

/// The study's 16384 on a GPU, as much as takes a moment elsewhere.
fn default_order(device: &Device) -> usize {
    match device.kind() {
        DeviceKind::Cuda(_) => 16384,
        DeviceKind::Cpu => 2048,
        DeviceKind::Simulated => 256,
    }
}

/// The study's synthetic matrix (section V.B): each row has a random 1% to 20% of the columns, spread at random.
fn synthetic<V: Value>(order: usize, seed: u64) -> Result<Csr<V>, MatrixError> {
    let chance: Vec<f64> = random_vector(order, seed);
    let lengths = chance.iter().map(|chance| ((0.105 + 0.095 * chance) * order as f64) as usize);
    let triplets = lengths.enumerate().flat_map(|(row, length)| {
        let within: Vec<f64> = random_vector(2 * length, seed + 1 + row as u64);
        (0..length).map(move |i| {
            // One column in each of as many stretches as there are columns to draw.
            let column = (i as f64 + 0.5 + 0.5 * within[2 * i]) * order as f64 / length as f64;
            (row, (column as usize).min(order - 1), V::from_f64(within[2 * i + 1]))
        })
    });
    Csr::from_triplets(order, order, triplets)
}

fn longest_rows(report: &mut Report, rows: &LongestRows) {
    let (before, after, ratio) = (rows.mean_before(), rows.mean_after(), rows.ratio());
    report.line(
        "warps",
        format_args!(
            "longest row of a warp, on average {before:.2} before sorting, {after:.2} after: {:.1}%",
            100.0 * ratio
        ),
        json!({ "longest_row_of_warp": { "before": before, "after": after, "ratio": ratio } }),
    );
}

/// In which order a method has the elements of y.
#[derive(Clone, Copy)]
enum Order<'a> {
    /// That of the matrix.
    Original,
    /// That of the sorted rows, where they are sorted.
    AsStored(&'a DeviceRowOrder),
    /// What it computes is no product.
    NoProduct,
}

/// A matrix, x, and what was found out.
struct Experiment<'a, V: Value> {
    matrix: &'a Csr<V>,
    x: Vec<V>,
    device_x: DeviceVec<V>,
    iterations: usize,
    report: Report,
}

impl<V: Value> Experiment<'_, V> {
    /// Times a method without and with sorted rows.
    fn compare(
        &mut self,
        method: &str,
        unsorted: impl Fn(&DeviceVec<V>, &mut DeviceVec<V>) -> Result<(), OpError>,
        sorted: impl Fn(&DeviceVec<V>, &mut DeviceVec<V>) -> Result<(), OpError>,
        order: Order<'_>,
    ) -> Result<(), Box<dyn Error>> {
        let unsorted_order = if let Order::AsStored(_) = order { Order::Original } else { order };
        let before = self.time(method, unsorted, unsorted_order)?;
        let after = self.time(&format!("{method}, sorted"), sorted, order)?;
        let ratio = after / before;
        self.report.line(
            "ratio",
            format_args!("{method}: sorted / unsorted {:.1}%", 100.0 * ratio),
            json!({ format!("{method}: sorted / unsorted"): ratio }),
        );
        Ok(())
    }

    /// Times a method, and checks its result.
    fn time(
        &mut self,
        method: &str,
        spmv: impl Fn(&DeviceVec<V>, &mut DeviceVec<V>) -> Result<(), OpError>,
        order: Order<'_>,
    ) -> Result<f64, Box<dyn Error>> {
        let device = self.device_x.device();
        let mut y = device.upload(&vec![V::from_f64(f64::NAN); self.matrix.rows()])?; // shows what is not written
        let ms = median(&times_ms(device, self.iterations, || spmv(&self.device_x, &mut y))?);
        let gflops = 2.0 * self.matrix.nnz() as f64 / ms / 1e6;
        if let Order::AsStored(order) = order {
            let permuted = y;
            y = device.uninitialized(self.matrix.rows())?;
            let restoring =
                times_ms(device, self.iterations, || order.restore(V::ONE, &permuted, V::ZERO, &mut y))?;
            let ms = median(&restoring);
            self.report.line(
                "time",
                format_args!("{ms:>9.4} ms to put y into the matrix's order"),
                json!({ "restore_ms": ms }),
            );
        }
        if !matches!(order, Order::NoProduct) {
            let right = check(self.matrix, &self.x, &y.download()?);
            self.report.check(right.map_err(|difference| format!("{method}: {difference}")));
        }
        self.report.line(
            "time",
            format_args!("{ms:>9.4} ms, {gflops:>7.2} GFLOP/s: {method}"),
            json!({ method: { "ms": ms, "gflops": gflops } }),
        );
        Ok(ms)
    }
}
