//! Products with one matrix, before and after its rows are sorted.

use std::error::Error;
use std::time::Instant;

use evenpath::device::DeviceKind;
use evenpath::ell::{DeviceEll, DeviceEllR, EllOptions, EllR, PaddingLimit};
use evenpath::error::OpError;
use evenpath::hyb::HybOptions;
use evenpath::row_order::RowOrder;
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, DeviceVec};

use crate::input::random_vector;
use crate::measure::{Repetitions, Times, median, times_ms};
use crate::operations::spmv::Reference;
use crate::statistics::spread;
use crate::study::cpu::on_threads;
use crate::study::{Bench, widest_percent};

/// More slots per nonzero than this are not stored; circuit has 63.
const PADDING: PaddingLimit = PaddingLimit::Times(64);

/// A matrix in both orders, with x, and what was found.
pub(super) struct Runs<'b> {
    bench: &'b Bench<'b>,
    name: &'b str,
    matrix: &'b Csr<f32>,
    sorted: Csr<f32>,
    order: RowOrder,
    host_x: Vec<f32>,
    x: DeviceVec<f32>,
    reference: Reference,
    spreads: Vec<f64>,
    /// Wrong results.
    pub(super) wrong: Vec<String>,
}

/// A matrix in ELL and ELL-R on the device.
pub(super) struct EllMatrices {
    ell: DeviceEll<f32>,
    ell_r: DeviceEllR<f32>,
    sorted: DeviceEllR<f32>,
}

/// Milliseconds with ELL and ELL-R; none where padding exceeds the limit.
#[derive(Default)]
pub(super) struct EllTimes {
    pub(super) ell: Option<f64>,
    pub(super) ell_r: Option<f64>,
    pub(super) sorted: Option<f64>,
    /// ELL-R, reading the first elements of x instead of those of the columns.
    pub(super) in_sequence: Option<f64>,
    pub(super) sorted_in_sequence: Option<f64>,
}

impl<'b> Runs<'b> {
    pub(super) fn new(
        bench: &'b Bench<'b>,
        name: &'b str,
        matrix: &'b Csr<f32>,
    ) -> Result<Self, Box<dyn Error>> {
        let (sorted, order) = matrix.sort_rows_by_length();
        let host_x = random_vector::<f32>(matrix.cols(), 1);
        Ok(Self {
            bench,
            name,
            matrix,
            sorted,
            order,
            x: bench.device.upload(&host_x)?,
            reference: Reference::new(matrix, &host_x)?,
            host_x,
            spreads: Vec::new(),
            wrong: Vec::new(),
        })
    }

    /// The order of the sorted rows.
    pub(super) fn order(&self) -> &RowOrder {
        &self.order
    }

    /// The number of times so far.
    pub(super) fn count(&self) -> usize {
        self.spreads.len()
    }

    /// The widest spread in percent, but for the first `count` times.
    pub(super) fn spread_percent(&self, count: usize) -> Option<f64> {
        widest_percent(self.spreads[count..].iter().copied())
    }

    /// Milliseconds to sort the rows on the host.
    pub(super) fn sort_ms(&mut self) -> f64 {
        let times = host_times_ms(self.bench.repetitions, || drop(self.matrix.sort_rows_by_length()));
        self.spreads.push(spread(&times));
        median(&times)
    }

    /// Milliseconds of a run. The result is checked if it is a product in the original row order.
    fn ms(
        &mut self,
        what: &str,
        is_product: bool,
        mut run: impl FnMut(&DeviceVec<f32>, &mut DeviceVec<f32>) -> Result<(), OpError>,
    ) -> Result<f64, Box<dyn Error>> {
        let mut y = self.bench.device.upload(&vec![f32::NAN; self.matrix.rows()])?;
        let times = times_ms(self.bench.device, self.bench.repetitions, || run(&self.x, &mut y))?;
        if is_product && let Err(difference) = self.reference.check(&y.download()?) {
            self.wrong.push(format!("{}, {what}: {difference}", self.name));
        }
        self.spreads.push(spread(&times));
        Ok(median(&times))
    }

    /// The matrix in ELL and ELL-R; `None`, with a note, if padding exceeds the limit.
    pub(super) fn ell_matrices(
        &self,
        notes: &mut Vec<String>,
    ) -> Result<Option<EllMatrices>, Box<dyn Error>> {
        let (plain, sorted) = match (self.matrix.to_ell(PADDING), self.sorted.to_ell(PADDING)) {
            (Ok(plain), Ok(sorted)) => (plain, sorted),
            (Err(error), _) | (_, Err(error)) => {
                notes.push(format!("{}: {error}", self.name));
                return Ok(None);
            }
        };
        let device = self.bench.device;
        let order = device.upload(&self.order)?;
        Ok(Some(EllMatrices {
            ell: device.upload(&plain)?,
            ell_r: device.upload(&EllR(&plain))?,
            sorted: device.upload(&EllR(&sorted))?.with_row_order(&order)?,
        }))
    }

    /// ELL, ELL-R and sorted ELL-R, one thread per row.
    pub(super) fn ell_with(
        &mut self,
        matrices: &EllMatrices,
        options: EllOptions,
    ) -> Result<[f64; 3], Box<dyn Error>> {
        let EllMatrices { ell, ell_r, sorted } = matrices;
        let what = |format| format!("{format}, {options:?}");
        Ok([
            self.ms(&what("ELL"), true, |x, y| ell.spmv_with(options, 1.0, x, 0.0, y))?,
            self.ms(&what("ELL-R"), true, |x, y| ell_r.spmv_with(options, 1.0, x, 0.0, y))?,
            self.ms(&what("ELL-R sorted"), true, |x, y| sorted.spmv_with(options, 1.0, x, 0.0, y))?,
        ])
    }

    /// ELL and ELL-R, one thread per row.
    pub(super) fn ell(&mut self, matrices: Option<&EllMatrices>) -> Result<EllTimes, Box<dyn Error>> {
        let Some(matrices) = matrices else { return Ok(EllTimes::default()) };
        let [ell, ell_r, sorted] = self.ell_with(matrices, EllOptions::default())?.map(Some);
        let mut in_sequence = |matrix: &DeviceEllR<f32>| {
            self.ms("", false, |x, y| matrix.spmv_with_x_in_sequence(1.0, x, 0.0, y)).map(Some)
        };
        let (unsorted, sorted_in_sequence) = (in_sequence(&matrices.ell_r)?, in_sequence(&matrices.sorted)?);
        Ok(EllTimes { ell, ell_r, sorted, in_sequence: unsorted, sorted_in_sequence })
    }

    /// HYB, unsorted and sorted; the latter leaves y in the order of the sorted rows.
    pub(super) fn hyb(&mut self) -> Result<[f64; 2], Box<dyn Error>> {
        let device = self.bench.device;
        let hyb = device.upload(&self.matrix.to_hyb(HybOptions::default())?)?;
        let sorted = device.upload(&self.sorted.to_hyb(HybOptions::default())?)?;
        Ok([
            self.ms("HYB", true, |x, y| hyb.spmv(1.0, x, 0.0, y))?,
            self.ms("", false, |x, y| sorted.spmv(1.0, x, 0.0, y))?,
        ])
    }

    /// CSR with one thread per row (on the CPU, one task), unsorted and sorted; the latter leaves y in the order of the
    /// sorted rows.
    pub(super) fn csr(&mut self) -> Result<[f64; 2], Box<dyn Error>> {
        let device = self.bench.device;
        let is_cpu = device.kind() == DeviceKind::Cpu;
        let method = if is_cpu { SpmvMethod::RowParallel } else { SpmvMethod::Scalar };
        let options = SpmvOptions::default().with_method(method);
        let plan = device.upload(self.matrix)?.plan_spmv(options)?;
        let sorted = device.upload(&self.sorted)?.plan_spmv(options)?;
        Ok([
            self.ms("CSR", true, |x, y| plan.run(1.0, x, 0.0, y))?,
            self.ms("", false, |x, y| sorted.run(1.0, x, 0.0, y))?,
        ])
    }

    /// CSR with a warp per row; `None` on the CPU.
    pub(super) fn warp(&mut self) -> Result<Option<f64>, Box<dyn Error>> {
        let device = self.bench.device;
        if !SpmvMethod::Warp.runs_on(device.kind()) {
            return Ok(None);
        }
        let options = SpmvOptions::default().with_method(SpmvMethod::Warp);
        let plan = device.upload(self.matrix)?.plan_spmv(options)?;
        self.ms("warp per row", true, |x, y| plan.run(1.0, x, 0.0, y)).map(Some)
    }

    /// CSR on one thread of the CPU.
    pub(super) fn cpu(&mut self) -> Result<f64, Box<dyn Error>> {
        let (matrix, x, repetitions) = (self.matrix, &self.host_x, self.bench.repetitions);
        let (times, y) = on_threads(1, |device| {
            let options = SpmvOptions::default().with_method(SpmvMethod::RowParallel);
            let plan = device.upload(matrix)?.plan_spmv(options)?;
            let (x, mut y) = (device.upload(x)?, device.zeros::<f32>(matrix.rows())?);
            let times = times_ms(device, repetitions, || plan.run(1.0, &x, 0.0, &mut y))?;
            Ok((times, y.download()?))
        })?;
        if let Err(difference) = self.reference.check(&y) {
            self.wrong.push(format!("{}, one CPU thread: {difference}", self.name));
        }
        self.spreads.push(spread(&times));
        Ok(median(&times))
    }
}

/// Milliseconds of each run on the host.
fn host_times_ms(repetitions: Repetitions, mut run: impl FnMut()) -> Times {
    let timed = |runs| {
        let start = Instant::now();
        (0..runs).for_each(|_| run());
        Ok::<_, std::convert::Infallible>(start.elapsed().as_secs_f64() * 1e3)
    };
    let Ok(times) = repetitions.times(timed);
    times
}
