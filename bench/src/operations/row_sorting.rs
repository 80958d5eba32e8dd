//! Products with one matrix, before and after its rows are sorted.

use std::error::Error;
use std::time::Instant;

use evenpath::device::DeviceKind;
use evenpath::ell::{DeviceEll, DeviceEllR, EllR, PaddingLimit};
use evenpath::error::OpError;
use evenpath::hyb::HybOptions;
use evenpath::row_order::RowOrder;
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, DeviceVec};
use evenpath_lab::{EllOptions, EllVariants, XInSequence};

use super::bench::Bench;
use super::spmv::Reference;
use super::threads::spmv_on_threads;
use crate::input::random_vector;
use crate::measure::{Repetitions, Times, median, times_ms};
use crate::peers::PeerValue;
use crate::statistics::spread;

/// A matrix in both orders, with x, and what was found.
pub(crate) struct Runs<'b, V: PeerValue> {
    bench: &'b Bench<'b>,
    name: &'b str,
    matrix: &'b Csr<V>,
    sorted: Csr<V>,
    order: RowOrder,
    x: DeviceVec<V>,
    reference: Reference,
    spreads: Vec<f64>,
    /// Wrong results.
    pub(crate) wrong: Vec<String>,
}

/// A matrix in ELL and ELL-R on the device.
pub(crate) struct EllMatrices<V: PeerValue> {
    ell: DeviceEll<V>,
    ell_r: DeviceEllR<V>,
    sorted: DeviceEllR<V>,
}

/// Milliseconds with ELL and ELL-R; none where padding exceeds the limit.
#[derive(Default)]
pub(crate) struct EllTimes {
    pub(crate) ell: Option<f64>,
    pub(crate) ell_r: Option<f64>,
    pub(crate) sorted: Option<f64>,
    /// ELL-R, reading the first elements of x instead of those of the columns.
    pub(crate) in_sequence: Option<f64>,
    pub(crate) sorted_in_sequence: Option<f64>,
}

impl<'b, V: PeerValue> Runs<'b, V> {
    pub(crate) fn new(
        bench: &'b Bench<'b>,
        name: &'b str,
        matrix: &'b Csr<V>,
    ) -> Result<Self, Box<dyn Error>> {
        let (sorted, order) = matrix.sort_rows_by_length();
        let host_x = random_vector::<V>(matrix.ncols(), 1);
        Ok(Self {
            bench,
            name,
            matrix,
            sorted,
            order,
            x: bench.device.upload(&host_x)?,
            reference: Reference::new(matrix, &host_x)?,
            spreads: Vec::new(),
            wrong: Vec::new(),
        })
    }

    /// The order of the sorted rows.
    pub(crate) fn order(&self) -> &RowOrder {
        &self.order
    }

    /// The number of times so far.
    pub(crate) fn count(&self) -> usize {
        self.spreads.len()
    }

    /// The widest spread in percent, but for the first `count` times.
    pub(crate) fn spread_percent(&self, count: usize) -> Option<f64> {
        self.spreads[count..].iter().map(|spread| 100.0 * spread).max_by(f64::total_cmp)
    }

    /// Milliseconds to sort the rows on the host.
    pub(crate) fn sort_ms(&mut self) -> f64 {
        let times = host_times_ms(self.bench.repetitions, || drop(self.matrix.sort_rows_by_length()));
        self.spreads.push(spread(&times));
        median(&times)
    }

    /// Milliseconds of a run. The result is checked if it is a product in the original row order.
    fn ms(
        &mut self,
        what: &str,
        is_product: bool,
        mut run: impl FnMut(&DeviceVec<V>, &mut DeviceVec<V>) -> Result<(), OpError>,
    ) -> Result<f64, Box<dyn Error>> {
        let mut y = self.bench.device.upload(&vec![V::from_f64(f64::NAN); self.matrix.nrows()])?;
        let times = times_ms(self.bench.device, self.bench.repetitions, || run(&self.x, &mut y))?;
        if is_product && let Err(difference) = self.reference.check(&y.download()?) {
            self.wrong.push(format!("{}, {what}: {difference}", self.name));
        }
        self.spreads.push(spread(&times));
        Ok(median(&times))
    }

    /// The matrix in ELL and ELL-R.
    ///
    /// # Errors
    ///
    /// If padding exceeds the limit, or there is not enough memory.
    pub(crate) fn ell_matrices(&self, limit: PaddingLimit) -> Result<EllMatrices<V>, Box<dyn Error>> {
        let (plain, sorted) = (self.matrix.to_ell(limit)?, self.sorted.to_ell(limit)?);
        let device = self.bench.device;
        let order = device.upload(&self.order)?;
        Ok(EllMatrices {
            ell: device.upload(&plain)?,
            ell_r: device.upload(&EllR(&plain))?,
            sorted: device.upload(&EllR(&sorted))?.with_row_order(&order)?,
        })
    }

    /// ELL, ELL-R and sorted ELL-R, one thread per row.
    pub(crate) fn ell_with(
        &mut self,
        matrices: &EllMatrices<V>,
        options: EllOptions,
    ) -> Result<[f64; 3], Box<dyn Error>> {
        let EllMatrices { ell, ell_r, sorted } = matrices;
        let what = |format| format!("{format}, {options:?}");
        Ok([
            self.ms(&what("ELL"), true, |x, y| ell.spmv_with(options, V::ONE, x, V::ZERO, y))?,
            self.ms(&what("ELL-R"), true, |x, y| ell_r.spmv_with(options, V::ONE, x, V::ZERO, y))?,
            self.ms(&what("ELL-R sorted"), true, |x, y| sorted.spmv_with(options, V::ONE, x, V::ZERO, y))?,
        ])
    }

    /// ELL and ELL-R, one thread per row.
    pub(crate) fn ell(&mut self, matrices: Option<&EllMatrices<V>>) -> Result<EllTimes, Box<dyn Error>> {
        let Some(matrices) = matrices else { return Ok(EllTimes::default()) };
        let [ell, ell_r, sorted] = self.ell_with(matrices, EllOptions::default())?.map(Some);
        let mut in_sequence = |matrix: &DeviceEllR<V>| {
            self.ms("", false, |x, y| matrix.spmv_with_x_in_sequence(V::ONE, x, V::ZERO, y)).map(Some)
        };
        let (unsorted, sorted_in_sequence) = (in_sequence(&matrices.ell_r)?, in_sequence(&matrices.sorted)?);
        Ok(EllTimes { ell, ell_r, sorted, in_sequence: unsorted, sorted_in_sequence })
    }

    /// HYB, unsorted and sorted; the latter leaves y in the order of the sorted rows.
    pub(crate) fn hyb(&mut self) -> Result<[f64; 2], Box<dyn Error>> {
        let device = self.bench.device;
        let hyb = device.upload(&self.matrix.to_hyb(HybOptions::default())?)?;
        let sorted = device.upload(&self.sorted.to_hyb(HybOptions::default())?)?;
        Ok([
            self.ms("HYB", true, |x, y| hyb.spmv(V::ONE, x, V::ZERO, y))?,
            self.ms("", false, |x, y| sorted.spmv(V::ONE, x, V::ZERO, y))?,
        ])
    }

    /// CSR with one thread per row (on the CPU, one task), unsorted and sorted; the latter leaves y in the order of the
    /// sorted rows.
    pub(crate) fn csr(&mut self) -> Result<[f64; 2], Box<dyn Error>> {
        let (device, options) = (self.bench.device, self.csr_options());
        let plan = device.upload(self.matrix)?.plan_spmv(options)?;
        let sorted = device.upload(&self.sorted)?.plan_spmv(options)?;
        Ok([
            self.ms("CSR", true, |x, y| plan.run(V::ONE, x, V::ZERO, y))?,
            self.ms("", false, |x, y| sorted.run(V::ONE, x, V::ZERO, y))?,
        ])
    }

    fn csr_options(&self) -> SpmvOptions {
        let is_cpu = self.bench.device.kind() == DeviceKind::Cpu;
        let method = if is_cpu { SpmvMethod::RowParallel } else { SpmvMethod::Scalar };
        SpmvOptions::default().with_method(method)
    }

    /// CSR with a warp per row; `None` on the CPU.
    pub(crate) fn warp(&mut self) -> Result<Option<f64>, Box<dyn Error>> {
        let device = self.bench.device;
        if !SpmvMethod::Warp.runs_on(device.kind()) {
            return Ok(None);
        }
        let options = SpmvOptions::default().with_method(SpmvMethod::Warp);
        let plan = device.upload(self.matrix)?.plan_spmv(options)?;
        self.ms("warp per row", true, |x, y| plan.run(V::ONE, x, V::ZERO, y)).map(Some)
    }

    /// CSR on one thread of the CPU.
    pub(crate) fn cpu(&mut self) -> Result<f64, Box<dyn Error>> {
        let own = spmv_on_threads(1, self.matrix, SpmvMethod::RowParallel, self.bench.repetitions)?;
        if let Some(error) = &own.error {
            self.wrong.push(format!("{}, one CPU thread: {error}", self.name));
        }
        self.spreads.extend(own.timing.map(|timing| timing.spread));
        Ok(own.ms.ok_or("no time")?)
    }

    /// Restoring the order of y after a product with sorted rows in CSR.
    pub(crate) fn restore(&mut self) -> Result<f64, Box<dyn Error>> {
        let device = self.bench.device;
        let order = device.upload(&self.order)?;
        let sorted = device.upload(&self.sorted)?.plan_spmv(self.csr_options())?;
        let mut permuted = device.zeros(self.matrix.nrows())?;
        sorted.run(V::ONE, &self.x, V::ZERO, &mut permuted)?;
        self.ms("CSR, sorted and restored", true, |_, y| order.restore(V::ONE, &permuted, V::ZERO, y))
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
