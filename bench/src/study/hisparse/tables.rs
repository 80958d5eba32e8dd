//! Figures 7.1, 3.2, 7.2 and 7.3, and the means of Tables 7.1 and 7.2.

use crate::operations::hisparse::NODES;
use crate::results::Row;
use crate::statistics::mean_and_deviation;
use crate::study::figures::quotient;
use crate::study::name::Study;
use crate::study::published::{HISPARSE_MEANS, HISPARSE_OVER_COO, HISPARSE_OVER_CSR, HisparseMean};
use crate::study::table::{Cell, Over, Table};

/// The libraries, as figures and as tables call them.
const LIBRARIES: [(&str, &str); 2] = [("cusparse", "cuSPARSE"), ("mkl", "MKL")];

/// The name of a matrix, and its row in the type of the tables.
pub(super) type Named<'r> = (&'r str, &'r Row);

/// The tables of a type.
pub(super) fn of_type(rows: &[Named<'_>], value: &str) -> Vec<Table> {
    // The thesis has figures of this type, and only plots of the other.
    let is_published = value == "f32";
    let mut tables = vec![
        nodes(rows, value),
        bytes(rows, value, is_published),
        products(rows, value),
        sums(rows, value),
        means(rows, value, LIBRARIES[0], is_published),
    ];
    if rows.iter().any(|(_, row)| row.more("spmv ms, mkl").is_some()) {
        tables.extend([beside_mkl(rows, value), means(rows, value, LIBRARIES[1], is_published)]);
    }
    tables
}

/// Begins a table with the names of the matrices.
fn over<'r>(rows: &'r [Named<'r>], title: &str, value: &str, source: &str) -> Over<'r, Named<'r>> {
    let table = Table::over(Study::Hisparse, &format!("{title}, {value}"), source, rows);
    table.column("matrix", |(name, _)| *name)
}

/// A table with columns of further figures, by heading and name.
fn with_figures<'r>(table: Over<'r, Named<'r>>, columns: &[(&str, &str)]) -> Over<'r, Named<'r>> {
    columns.iter().fold(table, |table, (heading, name)| table.column(*heading, |(_, row)| row.more(name)))
}

fn nodes(rows: &[Named<'_>], value: &str) -> Table {
    let source = "Figure 7.1 has the original matrices; these are stand-ins.";
    let mut table = over(rows, "Nodes of the trees, 128 x 128", value, source)
        .column("nonzeros", |(_, row)| row.nonzeros());
    for (nodes, heading, entries) in
        [(NODES[0], "inner nodes", "children per node"), (NODES[1], "leaves", "nonzeros per leaf")]
    {
        table = table
            .column(heading, |(_, row)| row.more(nodes.all))
            .column("of them dense", |(_, row)| row.more(nodes.dense))
            .column(entries, |(_, row)| quotient(row.more(nodes.entries), row.more(nodes.all)));
    }
    table.done()
}

fn bytes(rows: &[Named<'_>], value: &str, is_published: bool) -> Table {
    let per_nonzero =
        |row: &Row, name: &str| row.more(name).map(|bytes| bytes / row.nonzeros().max(1) as f64);
    let over_csr = |row: &Row| quotient(row.more("hisparse bytes"), row.more("csr bytes"));
    let over_coo = |row: &Row| quotient(row.more("hisparse bytes"), row.more("coo bytes"));
    let source = "Figure 3.2; the thesis gives the average savings in single precision.";
    let mut table = over(rows, "Bytes per nonzero", value, source)
        .column("HiSparse", |(_, row)| per_nonzero(row, "hisparse bytes"))
        .column("CSR", |(_, row)| per_nonzero(row, "csr bytes"))
        .column("COO", |(_, row)| per_nonzero(row, "coo bytes"))
        .column("over CSR", |(_, row)| over_csr(row))
        .column("over COO", |(_, row)| over_coo(row))
        .done();
    let mean = |of: &dyn Fn(&Row) -> Option<f64>| {
        let ratios: Vec<f64> = rows.iter().filter_map(|(_, row)| of(row)).collect();
        mean_and_deviation(&ratios).map(|(mean, _)| mean)
    };
    let mut add = |name: &str, ratios: [Cell; 2]| {
        table.row([name.into(), Cell::None, Cell::None, Cell::None].into_iter().chain(ratios));
    };
    add("mean", [mean(&over_csr).into(), mean(&over_coo).into()]);
    if is_published {
        add("published mean, about", [HISPARSE_OVER_CSR.into(), HISPARSE_OVER_COO.into()]);
    }
    table
}

fn products(rows: &[Named<'_>], value: &str) -> Table {
    let source = "Figure 7.2; the thesis has only a plot. The queue is the thesis's scheduler.";
    let table = over(rows, "SpMV, milliseconds", value, source);
    let columns = [
        ("queue", "spmv ms, queue"),
        ("frozen", "spmv ms, frozen"),
        ("copied", "spmv ms, copied"),
        ("CSR", "spmv ms, csr"),
        ("cuSPARSE CSR", "spmv ms, cusparse csr"),
        ("transposed: queue", "spmv_transposed ms, queue"),
        ("frozen", "spmv_transposed ms, frozen"),
        ("copied", "spmv_transposed ms, copied"),
        ("CSR", "spmv_transposed ms, csr"),
        ("cuSPARSE CSR", "spmv_transposed ms, cusparse csr"),
    ];
    let mut table = with_figures(table, &columns).done();
    table.check(rows.iter().map(|(_, row)| *row));
    table
}

fn sums(rows: &[Named<'_>], value: &str) -> Table {
    let table = over(rows, "Sums, milliseconds", value, "Figure 7.3; the thesis has only a plot.");
    let columns = [
        ("A + A", "add ms"),
        ("CSR", "add ms, csr"),
        ("cuSPARSE", "add ms, cusparse"),
        ("A + Aᵀ", "add_transposed ms"),
        ("CSR", "add_transposed ms, csr"),
        ("cuSPARSE", "add_transposed ms, cusparse"),
        ("csr2csc", "add_transposed ms, cusparse's transpose"),
    ];
    with_figures(table, &columns).done()
}

fn beside_mkl(rows: &[Named<'_>], value: &str) -> Table {
    let source = "Figures 7.2 and 7.3; the thesis has only plots.";
    let table = over(rows, "Products and sums beside MKL, milliseconds", value, source);
    let columns = [
        ("SpMV: HiSparse", "spmv ms, frozen"),
        ("CSR", "spmv ms, csr"),
        ("MKL", "spmv ms, mkl"),
        ("transposed: HiSparse", "spmv_transposed ms, frozen"),
        ("CSR", "spmv_transposed ms, csr"),
        ("MKL", "spmv_transposed ms, mkl"),
        ("A + A: HiSparse", "add ms"),
        ("CSR", "add ms, csr"),
        ("MKL", "add ms, mkl"),
        ("A + Aᵀ: HiSparse", "add_transposed ms"),
        ("CSR", "add_transposed ms, csr"),
        ("MKL", "add_transposed ms, mkl"),
        ("MKL's transpose", "add_transposed ms, mkl's transpose"),
    ];
    let mut table = with_figures(table, &columns).done();
    table.note("MKL runs on all cores of the CPU, the rest on the device; SpMV with HiSparse has the frozen schedule");
    table
}

/// The figure of HiSparse for a published mean, and those of a library, which are added.
fn figures(index: usize, library: &str) -> (&'static str, Vec<String>) {
    let csr = if library == "cusparse" { " csr" } else { "" };
    match index {
        0 => ("spmv ms, queue", vec![format!("spmv ms, {library}{csr}")]),
        1 => ("spmv_transposed ms, queue", vec![format!("spmv_transposed ms, {library}{csr}")]),
        2 => ("add ms", vec![format!("add ms, {library}")]),
        3 => ("add_transposed ms", vec![format!("add_transposed ms, {library}")]),
        _ => {
            let parts = [
                format!("add_transposed ms, {library}"),
                format!("add_transposed ms, {library}'s transpose"),
            ];
            ("add_transposed ms", parts.to_vec())
        }
    }
}

/// The means beside those of a library.
fn means(rows: &[Named<'_>], value: &str, (key, library): (&str, &str), is_published: bool) -> Table {
    let published = |mean: &HisparseMean| if key == "mkl" { mean.mkl } else { mean.cusparse };
    let all = HISPARSE_MEANS.iter().enumerate().map(|(index, mean)| {
        let (own, parts) = figures(index, key);
        let measured: Vec<&Row> =
            rows.iter().map(|(_, row)| *row).filter(|row| row.more(own).is_some()).collect();
        let own: Vec<f64> = measured.iter().filter_map(|row| row.more(own)).collect();
        let sum = |row: &&Row| parts.iter().map(|part| row.more(part)).sum::<Option<f64>>();
        let peers: Option<Vec<f64>> = measured.iter().map(sum).collect();
        let peers = peers.and_then(|peers| mean_and_deviation(&peers)).unzip();
        (mean, own.len(), mean_and_deviation(&own).unzip(), peers)
    });
    let all: Vec<_> = all.collect();
    let title = if key == "mkl" { " beside MKL" } else { "" };
    let if_published = |figure: f64| is_published.then_some(figure);
    let mut means = Table::over(
        Study::Hisparse,
        &format!("Means over the matrices{title}, milliseconds, {value}"),
        "Tables 7.1 and 7.2, GTX 1080, single precision. Evenpath's products use the queue scheduler, as in the thesis.",
        &all,
    )
    .column("", |(mean, ..)| mean.name)
    .column("matrices", |(_, count, ..)| *count)
    .column("HiSparse", |(_, _, own, _)| own.0)
    .column("standard deviation", |(_, _, own, _)| own.1)
    .column(library, |(.., peer)| peer.0)
    .column("standard deviation", |(.., peer)| peer.1)
    .column("ratio", |(_, _, own, peer)| quotient(peer.0, own.0))
    .column("published HiSparse", |(mean, ..)| if_published(mean.hisparse.0))
    .column("standard deviation", |(mean, ..)| if_published(mean.hisparse.1))
    .column(format!("published {library}"), |(mean, ..)| if_published(published(mean).0))
    .column("standard deviation", |(mean, ..)| if_published(published(mean).1))
    .column("ratio", |(mean, ..)| if_published(published(mean).0 / mean.hisparse.0))
    .done();
    means.note(format!(
        "{library} has a mean only if it has a time for every matrix; A + Aᵀ takes square matrices"
    ));
    means.note("the deviation is that of all matrices, not of a sample");
    means
}
