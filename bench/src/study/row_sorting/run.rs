//! All tables of the study.

use std::error::Error;

use evenpath::ell::PaddingLimit;

use super::features::WHOLE_PER_ROW;
use super::synthetic::{self, Synthetic};
use super::{options, stand_ins, synthetic_tables, tables};
use crate::operations::row_sorting::{self, Variants};
use crate::operations::{Bench, row};
use crate::results::{Key, Op, Row};
use crate::study::each::{All, Measured};
use crate::study::published::{SYNTHETIC_BY_DENSITY, SYNTHETIC_BY_SHORT_ROWS, SyntheticTimes};
use crate::study::report::Report;
use crate::study::source::Source;

/// More slots per nonzero than this are not stored; circuit has 63.
const PADDING: PaddingLimit = PaddingLimit::Times(64);

/// A synthetic matrix, its name, and its published times.
type Case = (Synthetic, String, &'static SyntheticTimes);

pub(in crate::study) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    let (all, notes) = measure(bench, report, stand_ins::sources(), &options::of_stand_ins())?;
    for mut table in tables::of_stand_ins(&all) {
        table.notes.extend(notes.iter().cloned());
        report.table(table)?;
    }
    let by_density = SYNTHETIC_BY_DENSITY.iter().map(|(order, percent, times)| {
        (synthetic::with_density(*order, *percent), synthetic_tables::density_name(*order, *percent), times)
    });
    let by_density = synthetic(
        bench,
        report,
        ("Synthetic matrices by density", synthetic_tables::DENSITY_SOURCE),
        by_density.collect(),
    )?;
    report.table(synthetic_tables::best_blocks(&by_density))?;
    let by_short_rows = SYNTHETIC_BY_SHORT_ROWS.iter().map(|(percent, times)| {
        (synthetic::with_short_rows(16_384, *percent), format!("16384 with {percent} % short rows"), times)
    });
    let titles =
        ("Synthetic matrices by share of rows with up to 32 nonzeros", synthetic_tables::SHORT_SOURCE);
    synthetic(bench, report, titles, by_short_rows.collect())?;
    Ok(())
}

/// Measures synthetic matrices and reports their table.
fn synthetic(
    bench: &Bench<'_>,
    report: &mut Report<'_>,
    (title, source): (&str, &str),
    cases: Vec<Case>,
) -> Result<Vec<Measured<Row>>, Box<dyn Error>> {
    let published: Vec<_> = cases.iter().map(|(_, name, times)| (name.clone(), *times)).collect();
    let sources = cases.into_iter().map(|(matrix, name, _)| matrix.source(name));
    let (all, notes) = measure(bench, report, sources, &options::of_synthetic())?;
    let mut table = synthetic_tables::of_synthetic(title, source, &all, &published);
    table.notes.extend(notes);
    report.table(table)?;
    Ok(all)
}

/// Measures matrices in single precision.
pub(super) fn measure(
    bench: &Bench<'_>,
    report: &mut Report<'_>,
    sources: impl IntoIterator<Item = Source>,
    variants: &Variants,
) -> Result<All<Row>, Box<dyn Error>> {
    bench.each("f32", sources, report, |name, matrix| {
        let whole_per_row = matrix.nnz() as f64 / matrix.nrows().max(1) as f64;
        let matrix = stand_ins::as_studied(name, matrix)?.into_values::<f32>();
        let (variant, suite, matrix_name) = ("row sorting".into(), "-".into(), name.into());
        let key = Key { op: Op::Spmv, variant, suite, matrix: matrix_name, value: "f32".into() };
        Ok(row(key, &matrix, || {
            let mut figures = row_sorting::measure(bench, &matrix, PADDING, variants)?;
            figures.more.insert(WHOLE_PER_ROW.into(), whole_per_row);
            Ok(figures)
        }))
    })
}
