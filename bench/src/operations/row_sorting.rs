//! Products with one matrix, before and after its rows are sorted by length.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;

use evenpath::device::DeviceKind;
use evenpath::ell::{DeviceEllR, EllR, PaddingLimit};
use evenpath::error::OpError;
use evenpath::hyb::HybOptions;
use evenpath::row_order::RowOrder;
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, DeviceVec};
use evenpath_lab::{EllOptions, EllVariants, LanesInBlocks, XInSequence};

use super::bench::{Bench, Measured};
use super::spmv::{Reference, work};
use super::threads::spmv_on_threads;
use crate::input::random_vector;
use crate::measure::{median, times_ms};
use crate::peers::PeerValue;
use crate::results::{Contender, Figures, OWN_NAME};

/// Names of the further figures.
pub(crate) const SORTING_MS: &str = "sorting ms";
pub(crate) const LONGEST_BEFORE: &str = "longest row of a warp, before";
pub(crate) const LONGEST_AFTER: &str = "longest row of a warp, after";

/// Bytes that warps load, one row per thread, of those in the original order: with all rows sorted, and with rows sorted within
/// windows for the fewest bytes.
pub(crate) const SORTED_BYTES: &str = "bytes of sorted rows";
pub(crate) const FEWEST_BYTES: &str = "bytes in the order with the fewest";
/// Sectors of x of all warps, before and after all rows are sorted.
pub(crate) const SECTORS_BEFORE: &str = "sectors of x, before";
pub(crate) const SECTORS_AFTER: &str = "sectors of x, after";
/// The product in the order with the fewest bytes, and the end of the names of its figures.
pub(crate) const FOR_WARPS: &str = "ELL-R sorted for warps";

/// Shares of the rows, in percent, whose greatest length is reported.
pub(crate) const LENGTH_PERCENTS: [usize; 7] = [0, 10, 25, 50, 75, 90, 99];

/// The name of the figure: the length that this share of the rows has at most.
pub(crate) fn length_at(percent: usize) -> String {
    format!("row length, {percent} %")
}

/// Options for the formats with one thread per row, and the end of the names of what they are measured with.
pub(crate) type NamedOptions = (String, EllOptions);

/// Variants to measure on GPUs besides the library's own.
#[derive(Default)]
pub(crate) struct Variants {
    /// Options of ELL and ELL-R.
    pub(crate) ell: Vec<NamedOptions>,
    /// Threads per block of CSR with a thread or a warp per row.
    pub(crate) csr: Vec<u32>,
    /// Threads per block of ELL-R that reads x in sequence.
    pub(crate) in_sequence: Vec<u32>,
}

/// The names of CSR with a warp per row, and of ELL-R that reads x in sequence.
pub(crate) const WARP_PER_ROW: &str = "warp per row";
pub(crate) const IN_SEQUENCE: &str = ", x in sequence";

/// The end of the name of a variant with this many threads per block.
pub(crate) fn in_blocks(threads: u32) -> String {
    format!(", {threads} threads")
}

/// Measures, in both orders of the rows: CSR with one thread per row (on the CPU, one task), HYB, ELL and ELL-R; and CSR with a warp
/// per row and on one thread of the CPU. On GPUs also in all variants. Without a sorted
/// product that restores the order of y, the result of one is not checked, nor is that of a product that reads x in sequence
/// instead of by column.
///
/// # Errors
///
/// If there is not enough memory, or the device was lost. Padding beyond the limit gives contenders without a time.
pub(crate) fn measure<V: PeerValue>(
    bench: &Bench<'_>,
    matrix: &Csr<V>,
    limit: PaddingLimit,
    variants: &Variants,
) -> Measured {
    let (sorted, order) = matrix.sort_rows_by_length();
    let host_x = random_vector::<V>(matrix.ncols(), 1);
    let x = bench.device.upload(&host_x)?;
    let reference = Reference::new(matrix, &host_x)?;
    let rows = order.longest_rows(matrix)?;
    let loads = order.warp_loads(matrix)?;
    let for_warps = matrix.sort_rows_for_warps();
    let fewest = for_warps.1.warp_loads(matrix)?;
    let lengths = LENGTH_PERCENTS.map(|percent| (length_at(percent), row_length(&sorted, percent)));
    let mut runs = Runs { bench, matrix, sorted, order, x, reference, ours: Vec::new() };
    runs.csr()?;
    runs.hyb()?;
    if bench.device.kind() == DeviceKind::Cpu {
        runs.ell(limit, &[], &[])?;
    } else {
        runs.warp()?;
        runs.csr_in_blocks(&variants.csr)?;
        runs.ell(limit, &variants.ell, &variants.in_sequence)?;
    }
    runs.for_warps(&for_warps, limit)?;
    runs.ours.push(Contender {
        name: "one CPU thread".into(),
        ..spmv_on_threads(1, matrix, SpmvMethod::RowParallel, bench.repetitions)?
    });
    let statistics = matrix.statistics();
    let more = [
        (SORTING_MS, runs.sorting_ms()),
        (LONGEST_BEFORE, rows.mean_before()),
        (LONGEST_AFTER, rows.mean_after()),
        (SORTED_BYTES, loads.ratio()),
        (FEWEST_BYTES, fewest.ratio()),
        (SECTORS_BEFORE, loads.before.sectors as f64),
        (SECTORS_AFTER, loads.after.sectors as f64),
        ("longest row", statistics.row_length_max as f64),
        ("deviation of row lengths", statistics.row_length_std_dev),
    ];
    let more: BTreeMap<_, _> =
        more.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(lengths).collect();
    let work = work(matrix);
    Ok(Figures::new((matrix.nnz() as u64, work.operations, work.bytes), runs.ours, Vec::new(), more))
}

/// The length that a share of the rows, in percent, has at most; the rows are sorted, the longest first.
fn row_length<V: PeerValue>(sorted: &Csr<V>, percent: usize) -> f64 {
    let row = (sorted.nrows().max(1) - 1) * (100 - percent) / 100;
    sorted.row(row).map_or(0, |row| row.columns().len()) as f64
}

/// A matrix in both orders, with x, and what was measured.
struct Runs<'b, V: PeerValue> {
    bench: &'b Bench<'b>,
    matrix: &'b Csr<V>,
    sorted: Csr<V>,
    order: RowOrder,
    x: DeviceVec<V>,
    reference: Reference,
    ours: Vec<Contender>,
}

impl<V: PeerValue> Runs<'_, V> {
    /// Milliseconds to sort the rows on the host.
    fn sorting_ms(&self) -> f64 {
        let timed = |runs| {
            let start = Instant::now();
            (0..runs).for_each(|_| drop(self.matrix.sort_rows_by_length()));
            Ok::<_, std::convert::Infallible>(start.elapsed().as_secs_f64() * 1e3)
        };
        let Ok(times) = self.bench.repetitions.times(timed);
        median(&times)
    }

    /// Measures runs. The result is checked if it is a product in the original row order.
    fn run(
        &mut self,
        name: &str,
        is_product: bool,
        mut run: impl FnMut(&DeviceVec<V>, &mut DeviceVec<V>) -> Result<(), OpError>,
    ) -> Result<(), Box<dyn Error>> {
        let mut y = self.bench.device.upload(&vec![V::from_f64(f64::NAN); self.matrix.nrows()])?;
        let times = times_ms(self.bench.device, self.bench.repetitions, || run(&self.x, &mut y))?;
        let checked = if is_product { self.reference.check(&y.download()?) } else { Ok(()) };
        self.ours.push(Contender::ran(OWN_NAME, name, &times, checked));
        Ok(())
    }

    /// CSR, and restoring the order of y after a product with sorted rows.
    fn csr(&mut self) -> Result<(), Box<dyn Error>> {
        let device = self.bench.device;
        let is_cpu = device.kind() == DeviceKind::Cpu;
        let method = if is_cpu { SpmvMethod::RowParallel } else { SpmvMethod::Scalar };
        let options = SpmvOptions::default().with_method(method);
        let plan = device.upload(self.matrix)?.plan_spmv(options)?;
        let sorted = device.upload(&self.sorted)?.plan_spmv(options)?;
        self.run("CSR", true, |x, y| plan.run(V::ONE, x, V::ZERO, y))?;
        self.run("CSR sorted", false, |x, y| sorted.run(V::ONE, x, V::ZERO, y))?;
        let order = device.upload(&self.order)?;
        let mut permuted = device.zeros(self.matrix.nrows())?;
        sorted.run(V::ONE, &self.x, V::ZERO, &mut permuted)?;
        self.run("restore", true, |_, y| order.restore(V::ONE, &permuted, V::ZERO, y))
    }

    fn hyb(&mut self) -> Result<(), Box<dyn Error>> {
        let device = self.bench.device;
        let hyb = device.upload(&self.matrix.to_hyb(HybOptions::default())?)?;
        let sorted = device.upload(&self.sorted.to_hyb(HybOptions::default())?)?;
        self.run("HYB", true, |x, y| hyb.spmv(V::ONE, x, V::ZERO, y))?;
        self.run("HYB sorted", false, |x, y| sorted.spmv(V::ONE, x, V::ZERO, y))
    }

    /// CSR with a warp per row.
    fn warp(&mut self) -> Result<(), Box<dyn Error>> {
        let options = SpmvOptions::default().with_method(SpmvMethod::Warp);
        let plan = self.bench.device.upload(self.matrix)?.plan_spmv(options)?;
        self.run(WARP_PER_ROW, true, |x, y| plan.run(V::ONE, x, V::ZERO, y))
    }

    /// CSR with a thread and with a warp per row, by threads per block.
    fn csr_in_blocks(&mut self, block_sizes: &[u32]) -> Result<(), Box<dyn Error>> {
        let device = self.bench.device;
        let (matrix, sorted) = (device.upload(self.matrix)?, device.upload(&self.sorted)?);
        for &threads in block_sizes {
            for (name, matrix, lanes, is_product) in [
                ("CSR", &matrix, 1, true),
                ("CSR sorted", &sorted, 1, false),
                (WARP_PER_ROW, &matrix, 32, true),
            ] {
                let plan = matrix.plan_lanes_in_blocks(lanes, threads)?;
                let name = format!("{name}{}", in_blocks(threads));
                self.run(&name, is_product, |x, y| plan.run(V::ONE, x, V::ZERO, y))?;
            }
        }
        Ok(())
    }

    /// ELL, ELL-R and sorted ELL-R by the default options and the others; and ELL-R with x in sequence, with the default blocks and
    /// those of these sizes.
    fn ell(
        &mut self,
        limit: PaddingLimit,
        options: &[NamedOptions],
        block_sizes: &[u32],
    ) -> Result<(), Box<dyn Error>> {
        let (plain, sorted) = match (self.matrix.to_ell(limit), self.sorted.to_ell(limit)) {
            (Ok(plain), Ok(sorted)) => (plain, sorted),
            (Err(error), _) | (_, Err(error)) => {
                self.ours.push(Contender::refused(OWN_NAME, "ELL", &error));
                return Ok(());
            }
        };
        let device = self.bench.device;
        let order = device.upload(&self.order)?;
        let ell = device.upload(&plain)?;
        let ell_r = device.upload(&EllR(&plain))?;
        let sorted = device.upload(&EllR(&sorted))?.with_row_order(&order)?;
        for (end, options) in [&[(String::new(), EllOptions::default())], options].concat() {
            let name = |format| format!("{format}{end}");
            self.run(&name("ELL"), true, |x, y| ell.spmv_with(options, V::ONE, x, V::ZERO, y))?;
            self.run(&name("ELL-R"), true, |x, y| ell_r.spmv_with(options, V::ONE, x, V::ZERO, y))?;
            self.run(&name("ELL-R sorted"), true, |x, y| sorted.spmv_with(options, V::ONE, x, V::ZERO, y))?;
        }
        self.in_sequence("ELL-R", &ell_r, block_sizes)?;
        self.in_sequence("ELL-R sorted", &sorted, block_sizes)
    }

    /// ELL-R with x in sequence, with the default blocks and those of these sizes.
    fn in_sequence(
        &mut self,
        name: &str,
        matrix: &DeviceEllR<V>,
        block_sizes: &[u32],
    ) -> Result<(), Box<dyn Error>> {
        let own = format!("{name}{IN_SEQUENCE}");
        self.run(&own, false, |x, y| matrix.spmv_with_x_in_sequence(V::ONE, x, V::ZERO, y))?;
        for &threads in block_sizes {
            let name = format!("{name}{}{IN_SEQUENCE}", in_blocks(threads));
            self.run(&name, false, |x, y| {
                matrix.spmv_in_blocks_with_x_in_sequence(threads, V::ONE, x, V::ZERO, y)
            })?;
        }
        Ok(())
    }

    /// Sorted ELL-R with the row order that loads the fewest bytes.
    fn for_warps(
        &mut self,
        (matrix, order): &(Csr<V>, RowOrder),
        limit: PaddingLimit,
    ) -> Result<(), Box<dyn Error>> {
        let Ok(matrix) = matrix.to_ell(limit) else { return Ok(()) };
        let device = self.bench.device;
        let matrix = device.upload(&EllR(&matrix))?.with_row_order(&device.upload(order)?)?;
        self.run(FOR_WARPS, true, |x, y| matrix.spmv(V::ONE, x, V::ZERO, y))
    }
}
