//! One matrix in every format: bytes, padding, time of y = Ax, and a check of each result.

use std::error::Error;

use crate::arguments::{MatrixArguments, RunArguments, ValueType};
use crate::input::random_vector;
use crate::measure::{median, times_ms};
use crate::report::Report;
use crate::operations::spmv::check;
use evenpath::device::DeviceKind;
use evenpath::ell::{EllR, PaddingLimit, SlicedEllOptions};
use evenpath::error::OpError;
use evenpath::generate::Kind;
use evenpath::hyb::HybOptions;
use evenpath::spmv::SpmvOptions;
use evenpath::{Csr, Device, DeviceVec, Value};
use serde_json::json;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: MatrixArguments,
    #[command(flatten)]
    run: RunArguments,
    /// Type of the values.
    #[arg(long, value_enum, default_value = "f64")]
    value: ValueType,
    /// Limit on padding: a padded format may take this many times the memory of the nonzeros.
    #[arg(long, value_name = "TIMES", default_value_t = 3)]
    padding: u32,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Report, Box<dyn Error>> {
    match arguments.value {
        ValueType::F32 => formats::<f32>(arguments),
        ValueType::F64 => formats::<f64>(arguments),
    }
}

fn formats<V: Value>(Arguments { input, run, padding, .. }: &Arguments) -> Result<Report, Box<dyn Error>> {
    let device = run.device.open()?;
    let input = input.load::<V, u32>(default_matrix(&device), run.seed)?;
    let a = &input.matrix;
    let mut report = Report::new(run.json, Ok(()));
    report.matrix(&input.name, a);
    report.device(&device);
    let x = random_vector(a.cols(), run.seed);
    let mut beside = SideBySide {
        matrix: a,
        device_x: device.upload(&x)?,
        x,
        iterations: run.iterations(&device),
        report,
    };
    let (one, zero) = (V::ONE, V::ZERO);
    let limit = PaddingLimit::Times(*padding);

    let plan = device.upload(a)?.plan_spmv(SpmvOptions::default())?;
    beside.measure("CSR", a.nnz(), csr_bytes(a), |x, y| plan.run(one, x, zero, y))?;
    drop(plan);

    let coo = device.upload(&a.to_coo()?)?;
    beside.measure("COO", a.nnz(), coo_bytes(a), |x, y| coo.spmv(one, x, zero, y))?;
    drop(coo);

    match a.to_ell(limit) {
        Err(refused) => beside.refuse("ELL", &refused),
        Ok(ell) => {
            let (slots, bytes) = (ell.values().len(), ell.bytes());
            let on_device = device.upload(&ell)?;
            beside.measure("ELL", slots, bytes, |x, y| on_device.spmv(one, x, zero, y))?;
            let on_device = device.upload(&EllR(&ell))?;
            let bytes = bytes + 4 * a.rows() as u64;
            beside.measure("ELL-R", slots, bytes, |x, y| on_device.spmv(one, x, zero, y))?;
        }
    }

    for (name, sorting_scope) in [("sliced ELL", 1), ("SELL-32-512", 512), ("SELL-32-all", usize::MAX)] {
        match a.to_sliced_ell(
            SlicedEllOptions::default()
                .with_slice_height(32)
                .with_sorting_scope(sorting_scope)
                .with_limit(limit),
        ) {
            Err(refused) => beside.refuse(name, &refused),
            Ok(sliced) => {
                let on_device = device.upload(&sliced)?;
                let (slots, bytes) = (sliced.values().len(), sliced.bytes());
                beside.measure(name, slots, bytes, |x, y| on_device.spmv(one, x, zero, y))?;
            }
        }
    }

    let hyb = a.to_hyb(HybOptions::default().with_limit(limit))?;
    let on_device = device.upload(&hyb)?;
    let slots = hyb.ell().values().len() + hyb.coo().nnz();
    beside.measure("HYB", slots, hyb.bytes(), |x, y| on_device.spmv(one, x, zero, y))?;
    Ok(beside.report)
}

/// A matrix that takes well under a second; on a GPU, larger than its cache.
fn default_matrix(device: &Device) -> Kind {
    let side = match device.kind() {
        DeviceKind::Cuda(_) => 2000,
        DeviceKind::Cpu => 300,
        DeviceKind::Simulated => 40,
    };
    Kind::Stencil5 { side }
}

fn csr_bytes<V: Value>(a: &Csr<V>) -> u64 {
    (a.nnz() * (4 + size_of::<V>()) + 4 * (a.rows() + 1)) as u64
}

fn coo_bytes<V: Value>(a: &Csr<V>) -> u64 {
    (a.nnz() * (8 + size_of::<V>())) as u64
}

/// A matrix, the vector x, and the report so far.
struct SideBySide<'a, V: Value> {
    matrix: &'a Csr<V>,
    x: Vec<V>,
    device_x: DeviceVec<V>,
    iterations: usize,
    report: Report,
}

impl<V: Value> SideBySide<'_, V> {
    fn measure(
        &mut self,
        format: &str,
        slots: usize,
        bytes: u64,
        spmv: impl Fn(&DeviceVec<V>, &mut DeviceVec<V>) -> Result<(), OpError>,
    ) -> Result<(), Box<dyn Error>> {
        let device = self.device_x.device();
        let mut y = device.upload(&vec![V::from_f64(f64::NAN); self.matrix.rows()])?; // an element that is not written stays NaN
        let ms = median(&times_ms(device, self.iterations, || spmv(&self.device_x, &mut y))?);
        let right = check(self.matrix, &self.x, &y.download()?);
        self.report.check(right.map_err(|difference| format!("{format}: {difference}")));
        let slots_per_nonzero = slots as f64 / self.matrix.nnz().max(1) as f64;
        let vectors = ((self.matrix.rows() + self.matrix.cols()) * size_of::<V>()) as u64;
        let gbps = (bytes + vectors) as f64 / ms / 1e6;
        let gflops = 2.0 * self.matrix.nnz() as f64 / ms / 1e6;
        self.report.line(
            "format",
            format_args!(
                "{format:<12}{ms:>9.4} ms, {gflops:>7.2} GFLOP/s, {gbps:>7.1} GB/s; {:>8.2} MB, {slots_per_nonzero:.3} slots per nonzero",
                bytes as f64 / 1e6
            ),
            json!({ format: { "ms": ms, "gflops": gflops, "gbps": gbps, "bytes": bytes, "slots": slots } }),
        );
        Ok(())
    }

    fn refuse(&mut self, format: &str, why: &evenpath::error::MatrixError) {
        self.report.line("format", format_args!("{format:<12}{why}"), json!({ format: why.to_string() }));
    }
}
