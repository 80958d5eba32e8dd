//! Merge-based SpMV: consistency, circuit5M, and threads of the CPU.

use std::error::Error;

use evenpath::device::DeviceKind;
use evenpath::generate::{Kind, Published};
use evenpath::spmv::SpmvMethod;

use super::figures::{
    SPREAD, correlation, cusparse_ms, gflops, measure_spmv, method_ms, right_ms, spread_note, spreads,
    widest_percent,
};
use super::name::Study;
use super::published::{CIRCUIT5M, CIRCUIT5M_NONZEROS};
use super::report::Report;
use super::table::{Cell, Table};
use crate::generated::Generated;
use crate::operations::Bench;
use crate::operations::threads::spmv_on_threads;
use crate::suite::{Source, Suite, SuiteOptions};

pub(super) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    consistency(bench, report)?;
    report.table(circuit(bench)?)?;
    report.table(threads(bench)?)
}

/// The merge method, and the row-based methods of the device.
fn methods(kind: DeviceKind) -> Vec<SpmvMethod> {
    let all = [
        SpmvMethod::MergePath,
        SpmvMethod::Scalar,
        SpmvMethod::Vector { lanes: None },
        SpmvMethod::RowParallel,
    ];
    all.into_iter().filter(|method| method.runs_on(kind)).collect()
}

/// Time per nonzero and row, over Table II and the generated matrices.
fn consistency(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    let methods = methods(bench.device.kind());
    let names: Vec<String> = methods.iter().map(SpmvMethod::to_string).collect();
    let columns = ["matrix", "nonzeros and rows"].into_iter().chain(names.iter().map(String::as_str));
    let columns: Vec<&str> = columns.chain(["cuSPARSE CSR", SPREAD]).collect();
    let mut table = Table::new(
        Study::MergeSpmv,
        "CsrMV: nanoseconds per thousand nonzeros and rows, f64",
        "The abstract: row-based methods vary by an order of magnitude over matrices of similar size; merging does not.",
        &columns,
    );
    let generated =
        Suite::Generated.sources(SuiteOptions::default())?.into_iter().filter_map(|source| match source {
            Source::Generated(Generated::Kind(kind)) => Some(kind),
            _ => None,
        });
    let kinds = evenpath_lab::table2().map(|matrix| Kind::Like { matrix }).chain(generated);
    let mut times: Vec<Vec<(f64, f64)>> = vec![Vec::new(); methods.len() + 1];
    let mut notes = Vec::new();
    bench.each_matrix(kinds, &mut notes, |name, matrix| {
        let record = measure_spmv(bench, &matrix, &methods)?;
        let work = (matrix.nnz() + matrix.nrows()) as f64;
        let mut found: Vec<Option<f64>> =
            methods.iter().map(|&method| method_ms(&record, method, name, &mut table)).collect();
        found.push(cusparse_ms(&record));
        for (times, ms) in times.iter_mut().zip(&found) {
            times.extend(ms.map(|ms| (work, ms)));
        }
        let cells = found.into_iter().map(|ms| Cell::from(ms.map(|ms| ms * 1e9 / work)));
        let spread = Cell::from(widest_percent(spreads(&record)));
        table.row([Cell::from(name), work.into()].into_iter().chain(cells).chain([spread]));
        Ok(())
    })?;
    table.notes = notes;
    table.note(spread_note());
    report.table(table)?;
    let mut summary = Table::new(
        Study::MergeSpmv,
        "CsrMV: correlation of time with nonzeros and rows",
        "As above; the README has no numbers.",
        &["method", "matrices", "correlation", "longest over shortest time per nonzero or row"],
    );
    let peers = ["cuSPARSE CSR".to_owned()];
    for (name, times) in names.iter().chain(&peers).zip(&times) {
        let of_one = || times.iter().map(|(work, ms)| ms / work);
        let (least, most) = (of_one().fold(f64::INFINITY, f64::min), of_one().fold(0.0, f64::max));
        let spread = (!times.is_empty()).then_some(most / least);
        summary.row([name.as_str().into(), times.len().into(), correlation(times).into(), spread.into()]);
    }
    report.table(summary)
}

/// circuit5M, for which the README shows sample output.
fn circuit(bench: &Bench<'_>) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        Study::MergeSpmv,
        "CsrMV with circuit5M, f64",
        "The sample output in the README. Evenpath's figures are for a stand-in.",
        &["", "ms", "GFLOP/s"],
    );
    let row = |name: String, nonzeros: usize, ms: Option<f64>, table: &mut Table| {
        table.row([Cell::Text(name), ms.into(), gflops(nonzeros, ms).into()]);
    };
    let mut notes = Vec::new();
    let kinds = Published::all().filter(|matrix| matrix.name() == "circuit5m");
    let kinds: Vec<Kind> = kinds.map(|matrix| Kind::Like { matrix }).collect();
    bench.each_matrix(kinds, &mut notes, |name, matrix| {
        let methods = methods(bench.device.kind());
        let record = measure_spmv(bench, &matrix, &methods)?;
        for method in methods {
            let ms = method_ms(&record, method, name, &mut table);
            row(format!("{method}, {}", bench.device.name()), matrix.nnz(), ms, &mut table);
        }
        if bench.peers.has_cusparse() {
            let name = format!("cuSPARSE CSR, {}", bench.device.name());
            row(name, matrix.nnz(), cusparse_ms(&record), &mut table);
        }
        Ok(())
    })?;
    for (name, ms) in CIRCUIT5M {
        row(format!("published: {name}"), CIRCUIT5M_NONZEROS, Some(ms), &mut table);
    }
    table.notes = notes;
    Ok(table)
}

/// The merge method on the CPU, by number of threads.
fn threads(bench: &Bench<'_>) -> Result<Table, Box<dyn Error>> {
    let all = std::thread::available_parallelism()?.get();
    let mut counts: Vec<usize> =
        std::iter::successors(Some(1), |count| Some(2 * count)).take_while(|&count| count < all).collect();
    counts.push(all);
    let mut table = Table::new(
        Study::MergeSpmv,
        "CsrMV on the CPU by threads, f64, milliseconds",
        "The README runs 48 threads; it has no sweep.",
        &["matrix", "threads", "merge path", "one task per row"],
    );
    let wanted = ["economics", "webbase", "lp"];
    let kinds = evenpath_lab::table2().filter(|matrix| wanted.contains(&matrix.name()));
    let kinds: Vec<Kind> = kinds.map(|matrix| Kind::Like { matrix }).collect();
    let mut notes = Vec::new();
    bench.each_matrix(kinds, &mut notes, |name, matrix| {
        let repetitions = bench.repetitions;
        for &count in &counts {
            let mut ms = |method| -> Result<Option<f64>, Box<dyn Error>> {
                let own = spmv_on_threads(count, &matrix, method, repetitions)?;
                Ok(right_ms(&own, &format!("{name}, {count} threads"), &mut table))
            };
            let (merge, rows) = (ms(SpmvMethod::MergePath)?, ms(SpmvMethod::RowParallel)?);
            table.row([name.into(), count.into(), merge.into(), rows.into()]);
        }
        Ok(())
    })?;
    table.notes = notes;
    Ok(table)
}
