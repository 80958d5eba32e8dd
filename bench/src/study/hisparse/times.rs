//! Figures 7.2 and 7.3: products and sums.

use super::over::{Named, over, with_figures};
use crate::operations::hisparse::{BY_ROW, COPIED, FROZEN, QUEUE, QUEUES};
use crate::results::Row;
use crate::study::table::Table;

/// Operations that the thesis counts for a nonzero: products with x and with the scale, and the addition to y.
const OPERATIONS: f64 = 3.0;

/// Ways to multiply with a tree: heading and name.
const WAYS: [(&str, &str); 4] = [
    ("queue scheduler", QUEUE),
    ("leaves", FROZEN),
    ("default: CSR copy", COPIED),
    ("leaves by row, CPU", BY_ROW),
];

/// Products in both directions, by heading and name of their milliseconds.
fn product_columns() -> Vec<(String, String)> {
    let others = [("CSR", "csr"), ("cuSPARSE CSR", "cusparse csr")];
    let of = |(operation, prefix): (&'static str, &'static str)| {
        let all = WAYS.into_iter().chain(others);
        all.map(move |(heading, way)| (format!("{prefix}{heading}"), format!("{operation} ms, {way}")))
    };
    [("spmv", ""), ("spmv_transposed", "transposed: ")].into_iter().flat_map(of).collect()
}

fn of_products<'r>(
    rows: &'r [Named<'r>],
    (title, source): (&str, &str),
    value: &str,
    cell: impl Fn(&Row, Option<f64>) -> Option<f64>,
) -> Table {
    let columns = product_columns();
    let columns: Vec<(&str, String)> =
        columns.iter().map(|(heading, name)| (heading.as_str(), name.clone())).collect();
    with_figures(rows, over(rows, title, value, source), &columns, cell).done()
}

pub(super) fn products(rows: &[Named<'_>], value: &str) -> Table {
    let source = "Figure 7.2 as times; the thesis has only a plot, of its queue scheduler.";
    let mut table = of_products(rows, ("SpMV, milliseconds", source), value, |_, ms| ms);
    table.check(rows.iter().map(|(_, row)| *row));
    table
}

pub(super) fn rates(rows: &[Named<'_>], value: &str) -> Table {
    let source = "Figure 7.2; the thesis has only a plot, of its queue scheduler. As in the thesis, a nonzero counts three operations.";
    of_products(rows, ("SpMV, GFLOP/s", source), value, |row, ms| {
        Some(OPERATIONS * row.nonzeros() as f64 / ms? / 1e6)
    })
}

/// A sum, by headings and names of milliseconds.
fn sum_columns(heading: &'static str, operation: &str) -> [(String, String); 4] {
    [
        (format!("{heading}: queue scheduler"), format!("{operation} ms, {QUEUES}")),
        (format!("{heading}: default, by levels"), format!("{operation} ms")),
        (format!("{heading}: CSR"), format!("{operation} ms, csr")),
        (format!("{heading}: cuSPARSE"), format!("{operation} ms, cusparse")),
    ]
}

pub(super) fn sums(rows: &[Named<'_>], value: &str) -> Table {
    let source = "Figure 7.3; the thesis has only a plot, of sums by its queue scheduler (chapter 6).";
    let table = over(rows, "Sums, milliseconds", value, source);
    let transpose = ("csr2csc".to_owned(), "add_transposed ms, cusparse's transpose".to_owned());
    let columns = sum_columns("A + A", "add").into_iter().chain(sum_columns("A + Aᵀ", "add_transposed"));
    let columns: Vec<(String, String)> = columns.chain([transpose]).collect();
    let columns: Vec<(&str, String)> =
        columns.iter().map(|(heading, name)| (heading.as_str(), name.clone())).collect();
    with_figures(rows, table, &columns, |_, ms| ms).done()
}

pub(super) fn beside_mkl(rows: &[Named<'_>], value: &str) -> Table {
    let source = "Figures 7.2 and 7.3; the thesis has only plots.";
    let table = over(rows, "Products and sums beside MKL, milliseconds", value, source);
    let columns = [
        ("SpMV: leaves", format!("spmv ms, {FROZEN}")),
        ("SpMV: leaves by row, CPU", format!("spmv ms, {BY_ROW}")),
        ("CSR", "spmv ms, csr".into()),
        ("MKL", "spmv ms, mkl".into()),
        ("transposed: leaves", format!("spmv_transposed ms, {FROZEN}")),
        ("transposed: leaves by row, CPU", format!("spmv_transposed ms, {BY_ROW}")),
        ("CSR", "spmv_transposed ms, csr".into()),
        ("MKL", "spmv_transposed ms, mkl".into()),
        ("A + A: by levels", "add ms".into()),
        ("CSR", "add ms, csr".into()),
        ("MKL", "add ms, mkl".into()),
        ("A + Aᵀ: by levels", "add_transposed ms".into()),
        ("CSR", "add_transposed ms, csr".into()),
        ("MKL", "add_transposed ms, mkl".into()),
        ("MKL's transpose", "add_transposed ms, mkl's transpose".into()),
    ];
    let mut table = with_figures(rows, table, &columns, |_, ms| ms).done();
    table.note("MKL runs on all cores of the CPU, the rest on the device");
    table
}
