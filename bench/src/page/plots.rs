//! The plots of one operation.

use super::hisparse;
use super::rows::{Rows, distinct, libraries, name, of_case};
use crate::plot::{Axis, Mark, Plot, Series};
use crate::results::{Figures, Op, Row};
use crate::statistics::correlation;

/// A plot and the end of its file name.
pub(super) struct NamedPlot {
    pub(super) name: &'static str,
    pub(super) plot: Plot,
}

/// The plots of an operation that have points.
pub(super) fn of_operation(op: Op, rows: &Rows<'_>) -> Vec<NamedPlot> {
    let of_tree: Vec<_> = rows.iter().copied().filter(|(_, row)| hisparse::is_of_tree(row)).collect();
    let plots = [
        ("roofline", Some(roofline(op, &of_tree))),
        ("speedup", speedup(op, rows)),
        ("time", Some(time(op, &of_tree))),
        ("memory", memory(op, &of_tree)),
    ];
    let named = plots.into_iter().filter_map(|(name, plot)| Some(NamedPlot { name, plot: plot? }));
    named.filter(|named| named.plot.series.iter().any(|series| !series.points.is_empty())).collect()
}

/// The rows of a value type that have a time.
fn timed<'r>(rows: &Rows<'r>, value: &str) -> Vec<(&'r Row, &'r Figures, f64)> {
    let of_value = rows.iter().filter(|(_, row)| row.key.value == value);
    of_value
        .filter_map(|(_, row)| row.figures().and_then(|figures| Some((*row, figures, figures.ms?))))
        .collect()
}

fn values<'r>(rows: &Rows<'r>) -> Vec<&'r str> {
    distinct(rows.iter().map(|(_, row)| row.key.value.as_str()))
}

fn dots(name: String, points: Vec<(f64, f64)>) -> Series {
    Series { name, mark: Mark::Dots, points }
}

/// Operations per second by operations per byte; a copy at the device's rate lies on the line.
fn roofline(op: Op, rows: &Rows<'_>) -> Plot {
    let mut series = Vec::new();
    for value in values(rows) {
        let points = timed(rows, value).into_iter().map(|(_, figures, ms)| {
            let operations = figures.operations as f64;
            (operations / figures.bytes as f64, operations / ms / 1e6)
        });
        series.push(dots(value.into(), points.collect()));
    }
    let intensities =
        || series.iter().flat_map(|series| &series.points).map(|point| point.0).filter(|x| *x > 0.0);
    let (first, last) = (intensities().fold(f64::INFINITY, f64::min), intensities().fold(0.0, f64::max));
    if let (Some((setting, _)), true) = (rows.first(), first <= last) {
        let line = [first, last].map(|intensity| (intensity, intensity * setting.copy_gbps));
        let name = format!("copy rate, {:.0} GB/s", setting.copy_gbps);
        series.push(Series { name, mark: Mark::Line, points: line.to_vec() });
    }
    Plot {
        title: format!("{}: rate by arithmetic intensity", name(op)),
        x: Axis::log("operations per byte, every array counted once"),
        y: Axis::log("GFLOP/s"),
        series,
    }
}

/// Ratios to the libraries, sorted.
fn speedup(op: Op, rows: &Rows<'_>) -> Option<Plot> {
    let libraries = libraries(rows);
    if libraries.is_empty() {
        return None;
    }
    let mut series = Vec::new();
    let mut add = |case: &str, rows: &Rows<'_>| {
        for library in &libraries {
            for value in values(rows) {
                let ratio = |(_, figures, _): (_, &Figures, _)| figures.ratio.get(library).copied();
                let ratios: Vec<f64> = timed(rows, value).into_iter().filter_map(ratio).collect();
                if !ratios.is_empty() {
                    series.push(dots(format!("{case}{library}, {value}"), sorted(ratios)));
                }
            }
        }
    };
    if op == Op::Hisparse {
        for case in distinct(rows.iter().map(|(_, row)| row.key.variant.as_str())) {
            add(&format!("{case}: "), &of_case(rows, case));
        }
    } else {
        add("", rows);
    }
    series.push(Series { name: "equal".into(), mark: Mark::Line, points: vec![(0.0, 1.0), (100.0, 1.0)] });
    Some(Plot {
        title: format!("{}: the library's time over evenpath's, sorted", name(op)),
        x: Axis::linear("percent of the measurements"),
        y: Axis::log("ratio, above 1 evenpath is faster"),
        series,
    })
}

/// Ratios in ascending order, each at its percentile.
pub(super) fn sorted(mut ratios: Vec<f64>) -> Vec<(f64, f64)> {
    ratios.sort_by(f64::total_cmp);
    let share = 100.0 / ratios.len().max(1) as f64;
    ratios.iter().enumerate().map(|(rank, &ratio)| ((rank as f64 + 0.5) * share, ratio)).collect()
}

/// Time by work, with their correlation.
fn time(op: Op, rows: &Rows<'_>) -> Plot {
    let mut series = Vec::new();
    let mut add = |name: String, points: Vec<(f64, f64)>| {
        let correlation = correlation(&points).filter(|_| points.len() > 2);
        let found = correlation.map_or(String::new(), |found| format!(", correlation {found:.3}"));
        series.push(dots(format!("{name}{found}"), points));
    };
    for value in values(rows) {
        let timed = timed(rows, value);
        let own = timed.iter().map(|(_, figures, ms)| (figures.work as f64, *ms)).collect();
        add(format!("evenpath, {value}"), own);
        for library in libraries(rows) {
            let points = timed
                .iter()
                .filter_map(|(_, figures, _)| Some((figures.work as f64, figures.best_peer(&library)?.1)));
            add(format!("{library}, {value}"), points.collect());
        }
    }
    let work = match op {
        Op::Spmv | Op::SpmvTransposed | Op::Hisparse => "nonzeros",
        Op::Spmm => "nonzeros times columns of B",
        Op::Sddmm => "nonzeros times columns of A",
        Op::Spadd => "nonzeros of A and B",
        Op::Spgemm | Op::Masked => "products",
        Op::Graphs => "edges",
        Op::Assembly => "entries of elements",
        Op::Triangular => "entries of the matrix or triangle",
    };
    Plot { title: format!("{}: time by work", name(op)), x: Axis::log(work), y: Axis::log("ms"), series }
}

/// Memory per nonzero: the peak of sparse products, and the size of formats.
fn memory(op: Op, rows: &Rows<'_>) -> Option<Plot> {
    match op {
        Op::Spgemm => Some(memory_of_products(rows)),
        Op::Hisparse => Some(memory_of_formats(rows)),
        _ => None,
    }
}

fn memory_of_products(rows: &Rows<'_>) -> Plot {
    let mut series = Vec::new();
    for value in values(rows) {
        let timed = timed(rows, value);
        let points = |bytes: &dyn Fn(&Figures) -> Option<u64>| {
            let point = |(_, figures, _): &(&Row, &Figures, f64)| {
                let nonzeros = *figures.more.get("nonzeros of C")?;
                Some((nonzeros, bytes(figures)? as f64 / nonzeros))
            };
            timed.iter().filter_map(point).filter(|point| point.0 > 0.0).collect::<Vec<_>>()
        };
        series.push(dots(format!("evenpath, {value}"), points(&|figures| figures.counted()?.bytes)));
        for library in libraries(rows) {
            let name = format!("{library}, fastest algorithm, {value}");
            series.push(dots(name, points(&|figures| figures.best_peer(&library)?.0.bytes)));
        }
    }
    Plot {
        title: "SpGEMM: peak memory beside A and B, including C".into(),
        x: Axis::log("nonzeros of C"),
        y: Axis::log("bytes per nonzero of C"),
        series,
    }
}

fn memory_of_formats(rows: &Rows<'_>) -> Plot {
    let mut series = Vec::new();
    for value in values(rows) {
        for format in ["hisparse", "csr", "coo"] {
            let points = timed(rows, value).into_iter().filter_map(|(row, figures, _)| {
                let nonzeros = row.shape?.nnz as f64;
                Some((nonzeros, figures.more.get(&format!("{format} bytes"))? / nonzeros))
            });
            series.push(dots(format!("{format}, {value}"), points.filter(|point| point.0 > 0.0).collect()));
        }
    }
    Plot {
        title: "Memory by format".into(),
        x: Axis::log("nonzeros"),
        y: Axis::log("bytes per nonzero"),
        series,
    }
}
