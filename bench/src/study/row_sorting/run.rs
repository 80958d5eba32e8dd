//! All tables of the study.

use std::error::Error;

use evenpath::ell::PaddingLimit;

use super::{stand_ins, synthetic, tables};
use crate::operations::row_sorting::{self, NamedOptions};
use crate::operations::{Bench, row};
use crate::results::{Key, Op, Row};
use crate::study::each::All;
use crate::study::published::{SYNTHETIC_BY_DENSITY, SYNTHETIC_BY_SHORT_ROWS};
use crate::study::report::Report;
use crate::study::source::Source;

/// More slots per nonzero than this are not stored; circuit has 63.
const PADDING: PaddingLimit = PaddingLimit::Times(64);

pub(in crate::study) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    let (all, notes) = measure(bench, report, stand_ins::sources(), &tables::options())?;
    for mut table in tables::of_stand_ins(&all) {
        table.notes.extend(notes.iter().cloned());
        report.table(table)?;
    }
    let by_density = SYNTHETIC_BY_DENSITY.iter().map(|(order, percent, times)| {
        (synthetic::with_density(*order, *percent), format!("{order} at {percent} %"), times)
    });
    let by_short_rows = SYNTHETIC_BY_SHORT_ROWS.iter().map(|(percent, times)| {
        (synthetic::with_short_rows(16_384, *percent), format!("16384 with {percent} % short rows"), times)
    });
    for (title, source, matrices) in [
        ("Synthetic matrices by density", tables::DENSITY_SOURCE, by_density.collect::<Vec<_>>()),
        (
            "Synthetic matrices by share of rows with up to 32 nonzeros",
            tables::SHORT_SOURCE,
            by_short_rows.collect(),
        ),
    ] {
        let published: Vec<_> = matrices.iter().map(|(_, name, times)| (name.clone(), *times)).collect();
        let sources = matrices.into_iter().map(|(matrix, name, _)| matrix.source(name));
        let (all, notes) = measure(bench, report, sources, &[tables::blocks_of(32)])?;
        let mut table = tables::of_synthetic(title, source, &all, &published);
        table.notes.extend(notes);
        report.table(table)?;
    }
    Ok(())
}

/// Measures matrices in single precision.
pub(super) fn measure(
    bench: &Bench<'_>,
    report: &mut Report<'_>,
    sources: impl IntoIterator<Item = Source>,
    options: &[NamedOptions],
) -> Result<All<Row>, Box<dyn Error>> {
    bench.each("f32", sources, report, |name, matrix| {
        let matrix = stand_ins::stored(name, matrix)?.into_values::<f32>();
        let (variant, suite, matrix_name) = ("row sorting".into(), "-".into(), name.into());
        let key = Key { op: Op::Spmv, variant, suite, matrix: matrix_name, value: "f32".into() };
        Ok(row(key, &matrix, || row_sorting::measure(bench, &matrix, PADDING, options)))
    })
}
