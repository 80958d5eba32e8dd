//! Tables 7.1 and 7.2: means over the matrices.

use super::over::Named;
use crate::operations::hisparse::{BY_ROW, COPIED, QUEUE, QUEUES};
use crate::results::Row;
use crate::statistics::mean_and_deviation;
use crate::study::figures::quotient;
use crate::study::name::Study;
use crate::study::published::{HISPARSE_MEANS, HisparseMean};
use crate::study::table::Table;

/// The libraries, as figures and as tables call them.
pub(super) const CUSPARSE: (&str, &str) = ("cusparse", "cuSPARSE");
pub(super) const MKL: (&str, &str) = ("mkl", "MKL");

/// A mean and a standard deviation, each if there is one.
type Moments = (Option<f64>, Option<f64>);

/// A row of the table.
struct Mean {
    published: &'static HisparseMean,
    matrices: usize,
    /// The way that was measured, and its mean.
    by: Option<&'static str>,
    own: Moments,
    /// By the default of evenpath, where that is another way.
    default: Option<f64>,
    peer: Moments,
}

/// Operation of a published mean.
fn operation(index: usize) -> &'static str {
    ["spmv", "spmv_transposed", "add"].get(index).copied().unwrap_or("add_transposed")
}

/// Ways of evenpath, each with the name of its milliseconds: those of the thesis, those of the CPU, and the default of a GPU.
fn ways(operation: &str) -> [(&'static str, String); 3] {
    if operation.starts_with("add") {
        let levels = format!("{operation} ms");
        return [
            ("queue scheduler", format!("{operation} ms, {QUEUES}")),
            ("levels, CPU", levels.clone()),
            ("default", levels),
        ];
    }
    let ms = |way: &str| format!("{operation} ms, {way}");
    [("queue scheduler", ms(QUEUE)), ("leaves by row, CPU", ms(BY_ROW)), ("default", ms(COPIED))]
}

/// The figures of a library for a published mean, which are added.
fn peer_figures(index: usize, library: &str) -> Vec<String> {
    let operation = operation(index);
    match index {
        0 | 1 if library == CUSPARSE.0 => vec![format!("{operation} ms, {library} csr")],
        0..4 => vec![format!("{operation} ms, {library}")],
        _ => vec![format!("{operation} ms, {library}"), format!("{operation} ms, {library}'s transpose")],
    }
}

/// The means of one row.
fn mean(rows: &[Named<'_>], index: usize, published: &'static HisparseMean, library: &str) -> Mean {
    let [queue, on_cpu, default] = ways(operation(index));
    let with = |name: &str| -> Vec<&Row> {
        rows.iter().map(|(_, row)| *row).filter(|row| row.more(name).is_some()).collect()
    };
    // Only a GPU has the queue scheduler.
    let is_queued = !with(&queue.1).is_empty();
    let (by, own) = if is_queued { &queue } else { &on_cpu };
    let measured = with(own);
    let of = |name: &str| -> Vec<f64> { measured.iter().filter_map(|row| row.more(name)).collect() };
    let parts = peer_figures(index, library);
    let sum = |row: &&Row| parts.iter().map(|part| row.more(part)).sum::<Option<f64>>();
    let peers: Option<Vec<f64>> = measured.iter().map(sum).collect();
    let default = mean_and_deviation(&of(&default.1)).map(|(mean, _)| mean);
    Mean {
        published,
        matrices: measured.len(),
        by: (!measured.is_empty()).then_some(*by),
        own: mean_and_deviation(&of(own)).unzip(),
        default: default.filter(|_| is_queued),
        peer: peers.and_then(|peers| mean_and_deviation(&peers)).unzip(),
    }
}

/// The means beside those of a library.
pub(super) fn means(
    rows: &[Named<'_>],
    value: &str,
    (key, library): (&str, &str),
    is_published: bool,
) -> Table {
    let published = |mean: &Mean| if key == MKL.0 { mean.published.mkl } else { mean.published.cusparse };
    let all = HISPARSE_MEANS.iter().enumerate().map(|(index, published)| mean(rows, index, published, key));
    let all: Vec<Mean> = all.collect();
    let title = if key == MKL.0 { " beside MKL" } else { "" };
    let if_published = |figure: f64| is_published.then_some(figure);
    let mut means = Table::over(
        Study::Hisparse,
        &format!("Means over the matrices{title}, milliseconds, {value}"),
        "Tables 7.1 and 7.2, GTX 1080, single precision. The thesis's HiSparse multiplies and adds by its queue scheduler.",
        &all,
    )
    .column("", |mean| mean.published.name)
    .column("matrices", |mean| mean.matrices)
    .column("HiSparse by", |mean| mean.by)
    .column("HiSparse", |mean| mean.own.0)
    .column("standard deviation", |mean| mean.own.1);
    if all.iter().any(|mean| mean.default.is_some()) {
        means = means.column("default: CSR copy, levels", |mean| mean.default);
    }
    let mut means = means
        .column(library, |mean| mean.peer.0)
        .column("standard deviation", |mean| mean.peer.1)
        .column("ratio", |mean| quotient(mean.peer.0, mean.own.0))
        .column("published HiSparse", |mean| if_published(mean.published.hisparse.0))
        .column("standard deviation", |mean| if_published(mean.published.hisparse.1))
        .column(format!("published {library}"), |mean| if_published(published(mean).0))
        .column("standard deviation", |mean| if_published(published(mean).1))
        .column("ratio", |mean| if_published(published(mean).0 / mean.published.hisparse.0))
        .done();
    means.note(format!(
        "{library} has a mean only if it has a time for every matrix; A + Aᵀ takes square matrices"
    ));
    means.note("the deviation is that of all matrices, not of a sample");
    if means.columns.iter().any(|column| column.starts_with("default")) {
        means.note("default: products from the CSR copy of a plan, and sums by levels");
    }
    means
}
