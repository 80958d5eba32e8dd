//! What the examples of SpMV share: arguments, set-up, and their report.

use std::error::Error;
use std::time::{Duration, Instant};

use evenpath::device::DeviceKind;
use evenpath::error::DeviceError;
use evenpath::generate::Kind;
use evenpath::spmv::SpmvPlanInfo;
use evenpath::{Csr, Device, Offset, Value};
use serde_json::json;

use crate::arguments::{DeviceChoice, MatrixArguments, OffsetType, RunArguments, ValueType};
use crate::input::random_vector;
use crate::measure::{Measurement, copy_rate, times_ms};
use crate::report::Report;
use crate::spmv::{check, work};

/// What an example of SpMV takes.
#[derive(Debug, Clone, clap::Args)]
pub struct SpmvArguments {
    #[command(flatten)]
    input: MatrixArguments,
    #[command(flatten)]
    run: RunArguments,
    /// Type of the values.
    #[arg(long, value_enum, default_value = "f64")]
    pub value: ValueType,
    /// Type of the row offsets.
    #[arg(long, value_enum, default_value = "u32")]
    pub offset: OffsetType,
}

/// An example under way.
#[derive(Debug)]
pub struct SpmvExample<V: Value, O: Offset> {
    /// Where it runs.
    pub device: Device,
    /// The matrix.
    pub matrix: Csr<V, O>,
    /// The vector that it multiplies.
    pub x: Vec<V>,
    name: String,
    run: RunArguments,
    opening: Duration,
    first_result: Option<Duration>,
    verdict: Result<(), String>,
}

impl SpmvArguments {
    /// Opens the device, reads or generates the matrix, makes x.
    ///
    /// # Errors
    ///
    /// If the device cannot be used, or there is no matrix.
    pub fn start<V: Value, O: Offset>(&self) -> Result<SpmvExample<V, O>, Box<dyn Error>> {
        self.start_on(DeviceChoice::open)
    }

    /// [`start`](Self::start) on a device that runs kernels: where the best one is the CPU, which runs none, on the
    /// simulated GPU.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start). The CPU is opened if it is asked for.
    pub fn start_for_kernels<V: Value, O: Offset>(&self) -> Result<SpmvExample<V, O>, Box<dyn Error>> {
        self.start_on(|choice| match choice.open() {
            Ok(device) if choice == DeviceChoice::Best && device.kind() == DeviceKind::Cpu => {
                DeviceChoice::Simulated.open()
            }
            other => other,
        })
    }

    fn start_on<V: Value, O: Offset, E: Error + 'static>(
        &self,
        open: impl FnOnce(DeviceChoice) -> Result<Device, E>,
    ) -> Result<SpmvExample<V, O>, Box<dyn Error>> {
        let start = Instant::now();
        let device = open(self.run.device)?;
        let opening = start.elapsed();
        let input = self.input.load::<V, O>(default_matrix(&device), self.run.seed)?;
        let x = random_vector(input.matrix.cols(), self.run.seed);
        let (name, matrix, run) = (input.name, input.matrix, self.run.clone());
        Ok(SpmvExample { device, matrix, x, name, run, opening, first_result: None, verdict: Ok(()) })
    }
}

/// As large as the device can do in a moment; on a GPU, larger than its cache.
fn default_matrix(device: &Device) -> Kind {
    let side = match device.kind() {
        DeviceKind::Cuda(_) => 2000,
        DeviceKind::Cpu => 1000,
        DeviceKind::Simulated => 60,
    };
    Kind::Stencil5 { side }
}

impl<V: Value, O: Offset> SpmvExample<V, O> {
    /// Says that the first result is on the host; `start` is when copying to the device began.
    pub fn first_result(&mut self, start: Instant) {
        self.first_result.get_or_insert(self.opening + start.elapsed());
    }

    /// Takes in whether `y` is Ax.
    pub fn check(&mut self, y: &[V]) {
        if self.verdict.is_ok() {
            self.verdict = check(&self.matrix, &self.x, y);
        }
    }

    /// Milliseconds of each of as many runs as are asked for.
    ///
    /// # Errors
    ///
    /// The first error of a run, or of the device.
    pub fn times_ms<E: From<DeviceError>>(&self, run: impl FnMut() -> Result<(), E>) -> Result<Vec<f64>, E> {
        times_ms(&self.device, self.run.iterations(&self.device), run)
    }

    /// What was found out, beside the device's copy rate, which takes memory for two large buffers.
    ///
    /// # Errors
    ///
    /// If there is no memory for them, or the device was lost.
    pub fn finish(self, info: &SpmvPlanInfo, times_ms: &[f64]) -> Result<Report, DeviceError> {
        let Self { device, matrix, name, run, opening, .. } = &self;
        let mut report = Report::new(run.json, self.verdict.clone());
        report.matrix(name, matrix);
        report.device(device);
        report.line("plan", info, plan_fields(info));
        report.measurement(device, &Measurement::new(work(matrix), times_ms), copy_rate(device)?);
        if let Some(first_result) = self.first_result {
            report.first_result(*opening, first_result);
        }
        if run.device == DeviceChoice::Best && device.kind() == DeviceKind::Simulated {
            report.remark("there is no GPU: this is the simulated one");
        }
        Ok(report)
    }
}

fn plan_fields(info: &SpmvPlanInfo) -> serde_json::Value {
    let tile = info
        .tile
        .map(|tile| json!({ "block_size": tile.block_size, "items_per_thread": tile.items_per_thread }));
    let figures: serde_json::Map<_, _> =
        info.figures.iter().map(|&(name, figure)| (name.to_string(), json!(figure))).collect();
    json!({ "plan": {
        "method": info.method.to_string(),
        "reason": info.reason,
        "tile": tile,
        "tiles": info.tiles,
        "figures": figures,
        "lanes": info.lanes,
        "workspace_bytes": info.workspace_bytes,
        "analysis_ms": info.analysis_ms,
    } })
}
