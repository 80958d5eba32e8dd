//! Merge-based SpMV: consistency, circuit5M, and threads of the CPU.

use std::error::Error;

use evenpath::device::DeviceKind;
use evenpath::generate::{Kind, Published};
use evenpath::spmv::SpmvMethod;

use super::each::Measured;
use super::figures::{SPREAD, correlation, cusparse_ms, gflops, mkl_ms, spread, spread_note};
use super::name::Study;
use super::published::{CIRCUIT5M, CIRCUIT5M_NONZEROS};
use super::report::Report;
use super::source::of_suite;
use super::table::{Cell, Table};
use crate::operations::Bench;
use crate::operations::spmv::Way;
use crate::operations::threads::spmv_on_threads;
use crate::results::{Contender, Row};
use crate::suite::Suite;

/// The methods on the CPU.
const ON_CPU: [SpmvMethod; 2] = [SpmvMethod::MergePath, SpmvMethod::RowParallel];

pub(super) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    consistency(bench, report)?;
    circuit(bench, report)?;
    threads(bench, report)
}

/// The merge method with and without a plan, the row-based methods of the device, and HYB.
fn ways(kind: DeviceKind) -> Vec<Way> {
    let row_based = [SpmvMethod::Scalar, SpmvMethod::Vector { lanes: None }, SpmvMethod::RowParallel];
    let on_device = row_based.into_iter().filter(|method| method.runs_on(kind)).map(Way::method);
    let merge = [Way::method(SpmvMethod::MergePath), Way::unplanned()];
    merge.into_iter().chain(on_device).chain([Way::hyb()]).collect()
}

/// Milliseconds of a way or a library with a matrix.
type Time = Box<dyn Fn(&Row) -> Option<f64>>;

/// The times in tables, by name: those of the ways, and of the publication's library for the device, if libraries are measured.
fn times(bench: &Bench<'_>) -> Vec<(String, Time)> {
    let kind = bench.device.kind();
    let of_way = |way: Way| {
        let name = way.name().to_owned();
        let time: Time = Box::new(move |row| row.own_ms(way.name()));
        (name, time)
    };
    let (library, ms): (&str, fn(&Row) -> Option<f64>) =
        if kind == DeviceKind::Cpu { ("MKL CSR", mkl_ms) } else { ("cuSPARSE CSR", cusparse_ms) };
    let of_library = (!bench.peers.versions().is_empty()).then(|| (library.to_owned(), Box::new(ms) as Time));
    ways(kind).into_iter().map(of_way).chain(of_library).collect()
}

/// Stand-ins for published matrices, by their names.
fn like(names: &[&str]) -> Vec<Kind> {
    let wanted = Published::all().filter(|matrix| names.contains(&matrix.name()));
    wanted.map(|matrix| Kind::Like { matrix }).collect()
}

/// Nonzeros and rows.
fn work(row: &Row) -> f64 {
    row.shape.map_or(0.0, |shape| (shape.nnz + shape.rows) as f64)
}

/// Time per nonzero and row, over Table II and the generated matrices.
fn consistency(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    let kind = bench.device.kind();
    let sources = of_suite(Suite::Table2)?.into_iter().chain(of_suite(Suite::Generated)?);
    let (rows, notes): (Vec<Measured<Row>>, _) =
        bench.each("consistency", sources, report, |name, matrix| {
            Ok(bench.spmv_in(name, &matrix, ways(kind)))
        })?;
    let series = |of: &dyn Fn(&Row) -> Option<f64>| -> Vec<(f64, f64)> {
        rows.iter().filter_map(|row| Some((work(row), of(row)?))).collect()
    };
    let mut table = Table::over(
        Study::MergeSpmv,
        "CsrMV: nanoseconds per thousand nonzeros and rows, f64",
        "The abstract: row-based methods vary by an order of magnitude over matrices of similar size; merging does not.",
        &rows,
    )
    .column("matrix", |row| row.name.as_str())
    .column("nonzeros and rows", |row| work(row));
    let mut summary = Table::new(
        Study::MergeSpmv,
        "CsrMV: correlation of time with nonzeros and rows",
        "As above; the README has no numbers.",
        &["method", "matrices", "correlation", "longest over shortest time per nonzero or row"],
    );
    let mut add = |name: &str, times: &[(f64, f64)]| {
        let of_one = || times.iter().map(|(work, ms)| ms / work);
        let (least, most) = (of_one().fold(f64::INFINITY, f64::min), of_one().fold(0.0, f64::max));
        let spread = (!times.is_empty()).then_some(most / least);
        summary.row([name.into(), times.len().into(), correlation(times).into(), spread.into()]);
    };
    let per_work = |row: &Row, ms: Option<f64>| ms.map(|ms| ms * 1e9 / work(row));
    for (name, ms) in times(bench) {
        add(&name, &series(&ms));
        table = table.column(name, |row| per_work(row, ms(row)));
    }
    let mut table = table.column(SPREAD, |row| spread([&**row])).done();
    table.check(rows.iter().map(|row| &**row));
    table.notes.extend(notes);
    table.note(spread_note());
    report.table(table)?;
    report.table(summary)
}

/// circuit5M, for which the README shows sample output.
fn circuit(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    let mut table = Table::new(
        Study::MergeSpmv,
        "CsrMV with circuit5M, f64",
        "The sample output in the README. Evenpath's figures are for a stand-in.",
        &["", "ms", "GFLOP/s"],
    );
    let kind = bench.device.kind();
    let (rows, notes): (Vec<Measured<Row>>, _) =
        bench.each("circuit", like(&["circuit5m"]), report, |name, matrix| {
            Ok(bench.spmv_in(name, &matrix, ways(kind)))
        })?;
    let device = bench.device.name();
    let mut add = |name: String, nonzeros: usize, ms: Option<f64>| {
        table.row([Cell::Text(name), ms.into(), gflops(nonzeros, ms).into()]);
    };
    for row in &rows {
        for (name, ms) in times(bench) {
            add(format!("{name}, {device}"), row.nonzeros(), ms(row));
        }
    }
    for (name, ms) in CIRCUIT5M {
        add(format!("published: {name}"), CIRCUIT5M_NONZEROS, Some(ms));
    }
    table.check(rows.iter().map(|row| &**row));
    table.notes.extend(notes);
    report.table(table)
}

/// The merge method on the CPU, by number of threads.
fn threads(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
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
    let kinds = like(&["economics", "webbase", "lp"]);
    let (found, notes) = bench.each("threads", kinds, report, |_, matrix| {
        let mut found: Vec<(usize, [Contender; ON_CPU.len()])> = Vec::new();
        for &count in &counts {
            let [merge, rows] =
                ON_CPU.map(|method| spmv_on_threads(count, &matrix, method, bench.repetitions));
            found.push((count, [merge?, rows?]));
        }
        Ok(found)
    })?;
    for matrix in &found {
        for (count, contenders) in matrix.iter() {
            let wrong = contenders.iter().filter(|one| one.is_wrong());
            table.wrong.extend(wrong.map(|one| format!("{}, {count} threads: {}", matrix.name, one.name)));
            let [merge, rows] = contenders.each_ref().map(Contender::right_ms);
            table.row([matrix.name.as_str().into(), (*count).into(), merge.into(), rows.into()]);
        }
    }
    table.notes = notes;
    report.table(table)
}
