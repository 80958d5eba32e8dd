//! What the examples on sequences share: arguments, set-up, and their report.

use std::time::{Duration, Instant};

use evenpath::Device;
use evenpath::device::DeviceKind;
use evenpath::error::{DeviceError, OpError};
use serde_json::json;

use crate::arguments::{OpenDeviceError, RunArguments};
use crate::measure::{copy_rate, median, times_ms};
use crate::report::Report;

/// What an example on sequences takes.
#[derive(Debug, Clone, clap::Args)]
pub struct SequenceArguments {
    /// Elements of each sequence. [default: what suits the device]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=1 << 30))]
    len: Option<u32>,
    #[command(flatten)]
    run: RunArguments,
}

/// An example under way.
#[derive(Debug)]
pub struct Example {
    /// Where it runs.
    pub device: Device,
    /// Elements of each sequence.
    pub len: usize,
    /// Seed of everything that is random.
    pub seed: u64,
    iterations: usize,
    copy_gbps: f64,
    opening: Duration,
    report: Report,
}

/// Why an example does not start.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum StartError {
    /// The device cannot be used.
    Open(#[from] OpenDeviceError),
    /// The device does not even copy.
    Device(#[from] DeviceError),
}

impl SequenceArguments {
    /// Opens the device, and measures its copy rate.
    ///
    /// # Errors
    ///
    /// If there is no such device, or it cannot be used.
    pub fn start(&self) -> Result<Example, StartError> {
        let start = Instant::now();
        let device = self.run.device.open()?;
        let opening = start.elapsed();
        let len = self.len.map_or_else(|| default_len(&device), |len| len as usize);
        Ok(Example {
            len,
            seed: self.run.seed,
            iterations: self.run.iterations(&device),
            copy_gbps: copy_rate(&device)?,
            opening,
            report: Report::new(self.run.json, Ok(())),
            device,
        })
    }
}

/// As much as the device can do in a moment.
fn default_len(device: &Device) -> usize {
    match device.kind() {
        DeviceKind::Cuda(_) => 1 << 24,
        DeviceKind::Cpu => 1 << 20,
        DeviceKind::Simulated => 5000,
    }
}

impl Example {
    /// Says what the sequences are.
    pub fn input(&mut self, text: &str, mut fields: serde_json::Value) {
        fields["len"] = json!(self.len);
        self.report.line("input", text, fields);
        self.report.device(&self.device);
    }

    /// Says that the first result is on the host; `start` is when copying to the device began.
    pub fn first_result(&mut self, start: Instant) {
        self.report.first_result(self.opening, self.opening + start.elapsed());
    }

    /// Milliseconds of each of as many runs as are asked for.
    ///
    /// # Errors
    ///
    /// The first error of a run, or of the device.
    pub fn times_ms<E: From<DeviceError>>(&self, run: impl FnMut() -> Result<(), E>) -> Result<Vec<f64>, E> {
        times_ms(&self.device, self.iterations, run)
    }

    /// Says how long it takes to do something to `elements` elements, and with it to move `bytes` bytes, each array
    /// counted once.
    pub fn measured(&mut self, what: &str, times_ms: &[f64], elements: usize, bytes: usize) {
        let (ms, count) = (median(times_ms), times_ms.len());
        let (gkeys_s, gbps) = (elements as f64 / ms / 1e6, bytes as f64 / ms / 1e6);
        let copy_share = gbps / self.copy_gbps;
        self.report.line(
            "time",
            format_args!(
                "{what}: {ms:.4} ms, median of {count}; {gkeys_s:.2} Gkeys/s, {gbps:.1} GB/s, {copy_share:.3} of the copy rate"
            ),
            json!({ what: { "ms": ms, "gkeys_s": gkeys_s, "gbps": gbps, "copy_share": copy_share } }),
        );
    }

    /// Says whether a result is right and how long it takes to get it anew; otherwise as [`measured`](Self::measured).
    ///
    /// # Errors
    ///
    /// The first error of a run, of the check's copying, or of the device.
    pub fn check_and_measure<R>(
        &mut self,
        what: &str,
        elements: usize,
        bytes: usize,
        mut run: impl FnMut() -> Result<R, OpError>,
        check: impl FnOnce(R) -> Result<Result<(), String>, DeviceError>,
    ) -> Result<(), OpError> {
        self.check(what, check(run()?)?);
        let times = self.times_ms(|| run().map(drop))?;
        self.measured(what, &times, elements, bytes);
        Ok(())
    }

    /// Takes in whether a result is right; `what` it is.
    pub fn check(&mut self, what: &str, checked: Result<(), String>) {
        self.report.check(checked.map_err(|difference| format!("{what}: {difference}")));
    }

    /// What was said.
    pub fn finish(self) -> Report {
        self.report
    }
}
