use std::error::Error;

use evenpath::device::DeviceKind;
use evenpath::ell::{EllR, PaddingLimit};
use evenpath::error::OpError;
use evenpath::generate::{Kind, Published};
use evenpath::hyb::HybOptions;
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use evenpath::{Csr, DeviceVec};

use super::published::{SORTED, SortedMatrix};
use super::{Bench, Cell, Report, Study, Table, quotient};
use crate::input::random_vector;
use crate::measure::{median, times_ms};
use crate::spmv::Reference;

const STUDY: Study = Study::RowSorting;

pub(super) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    let mut longest = Table::new(
        STUDY,
        "Longest row of a warp, mean over warps",
        "Table 5. Stand-ins are not samples of the matrices; they have the same sizes and deviations.",
        &["matrix", "before", "after", "ratio", "published before", "published after", "published ratio"],
    );
    let mut times = Table::new(
        STUDY,
        "One thread per row, with and without sorting, milliseconds, f32",
        "Tables 7 and 8, GTX 590. Ratios are of sorted to unsorted rows.",
        &[
            "matrix",
            "ELL",
            "ELL-R",
            "ELL-R sorted",
            "ratio",
            "published",
            "in sequence: ELL-R",
            "sorted",
            "ratio",
            "published",
            "HYB",
            "HYB sorted",
            "CSR, scalar",
            "sorted",
        ],
    );
    let mut notes = Vec::new();
    let kinds = SORTED.iter().filter_map(|sorted| {
        let matrix = Published::all().find(|matrix| matrix.name() == sorted.name)?;
        Some(Kind::Like { matrix })
    });
    bench.each_matrix(kinds, &mut notes, |name, matrix| {
        let Some(published) = SORTED.iter().find(|sorted| sorted.name == name) else {
            return Err("no published figures".into());
        };
        let matrix = matrix.into_values::<f32>();
        let (_, order) = matrix.sort_rows_by_length();
        let rows = order.longest_rows(&matrix)?;
        longest.row([
            name.into(),
            rows.mean_before().into(),
            rows.mean_after().into(),
            rows.ratio().into(),
            published.longest.0.into(),
            published.longest.1.into(),
            (published.longest.1 / published.longest.0).into(),
        ]);
        measure(bench, name, &matrix, published, &mut times)
    })?;
    times.notes.extend(notes.iter().cloned());
    times.note("reading x in sequence does not give the product; it shows the effect of balance alone");
    longest.notes = notes;
    report(longest)?;
    report(times)
}

/// A matrix with x, and the list of errors of the table.
struct Runs<'b> {
    bench: &'b Bench<'b>,
    x: DeviceVec<f32>,
    reference: Reference,
    rows: usize,
    name: &'b str,
    wrong: Vec<String>,
}

impl Runs<'_> {
    /// Milliseconds of a run. The result is checked if it is a product in the original row order.
    fn ms(
        &mut self,
        what: &str,
        is_product: bool,
        mut run: impl FnMut(&DeviceVec<f32>, &mut DeviceVec<f32>) -> Result<(), OpError>,
    ) -> Result<f64, Box<dyn Error>> {
        let mut y = self.bench.device.upload(&vec![f32::NAN; self.rows])?;
        let times = times_ms(self.bench.device, self.bench.repetitions, || run(&self.x, &mut y))?;
        if is_product && let Err(difference) = self.reference.check(&y.download()?) {
            self.wrong.push(format!("{}, {what}: {difference}", self.name));
        }
        Ok(median(&times))
    }
}

fn measure(
    bench: &Bench<'_>,
    name: &str,
    matrix: &Csr<f32>,
    published: &SortedMatrix,
    table: &mut Table,
) -> Result<(), Box<dyn Error>> {
    let device = bench.device;
    let (sorted, order) = matrix.sort_rows_by_length();
    let order = device.upload(&order)?;
    let x = random_vector::<f32>(matrix.cols(), 1);
    let reference = Reference::new(matrix, &x)?;
    let (x, rows) = (device.upload(&x)?, matrix.rows());
    let mut runs = Runs { bench, x, reference, rows, name, wrong: Vec::new() };
    let mut ell_times = [None; 5];
    match (matrix.to_ell(PaddingLimit::Times(20)), sorted.to_ell(PaddingLimit::Times(20))) {
        (Ok(plain), Ok(sorted_ell)) => {
            let ell = device.upload(&plain)?;
            let ell_r = device.upload(&EllR(&plain))?;
            let sorted_r = device.upload(&EllR(&sorted_ell))?.with_row_order(&order)?;
            ell_times = [
                runs.ms("ELL", true, |x, y| ell.spmv(1.0, x, 0.0, y))?,
                runs.ms("ELL-R", true, |x, y| ell_r.spmv(1.0, x, 0.0, y))?,
                runs.ms("ELL-R sorted", true, |x, y| sorted_r.spmv(1.0, x, 0.0, y))?,
                runs.ms("", false, |x, y| ell_r.spmv_with_x_in_sequence(1.0, x, 0.0, y))?,
                runs.ms("", false, |x, y| sorted_r.spmv_with_x_in_sequence(1.0, x, 0.0, y))?,
            ]
            .map(Some);
        }
        (Err(error), _) | (_, Err(error)) => table.note(format!("{name}: {error}")),
    }
    let hyb = device.upload(&matrix.to_hyb(HybOptions::default())?)?;
    let sorted_hyb = device.upload(&sorted.to_hyb(HybOptions::default())?)?;
    let hyb = runs.ms("HYB", true, |x, y| hyb.spmv(1.0, x, 0.0, y))?;
    // y is in the order of the sorted rows.
    let sorted_hyb = runs.ms("", false, |x, y| sorted_hyb.spmv(1.0, x, 0.0, y))?;
    let method = if device.kind() == DeviceKind::Cpu { SpmvMethod::RowParallel } else { SpmvMethod::Scalar };
    let plan = device.upload(matrix)?.plan_spmv(SpmvOptions::default().with_method(method))?;
    let sorted_plan = device.upload(&sorted)?.plan_spmv(SpmvOptions::default().with_method(method))?;
    let csr = runs.ms("CSR", true, |x, y| plan.run(1.0, x, 0.0, y))?;
    let sorted_csr = runs.ms("", false, |x, y| sorted_plan.run(1.0, x, 0.0, y))?;
    let [ell, ell_r, sorted_r, sequence, sorted_sequence] = ell_times;
    let [_, published_r, published_sorted] = published.best_ms;
    let [published_sequence, published_sorted_sequence] = published.sequence_ms;
    table.row([
        Cell::from(name),
        ell.into(),
        ell_r.into(),
        sorted_r.into(),
        quotient(sorted_r, ell_r).into(),
        (published_sorted / published_r).into(),
        sequence.into(),
        sorted_sequence.into(),
        quotient(sorted_sequence, sequence).into(),
        (published_sorted_sequence / published_sequence).into(),
        hyb.into(),
        sorted_hyb.into(),
        csr.into(),
        sorted_csr.into(),
    ]);
    table.wrong.extend(runs.wrong);
    Ok(())
}
