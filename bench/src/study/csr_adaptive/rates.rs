//! Rates by the nonzeros per row.

use super::results::{ADAPTIVE_OF_SOURCE, CHOSEN, LIGHT_OF_SOURCE, Results, name};
use crate::results::Row;
use crate::study::each::Measured;
use crate::study::figures::{GBPS_NOTE, gbps, gflops, nonzeros_per_row};
use crate::study::name::Study;
use crate::study::published::{ADAPTIVE_CPU_GBPS, adaptive_ms};
use crate::study::table::Table;

/// The headings, in the order of [`adaptive_ms`].
const CONTENDERS: [&str; 3] = ["CPU", ADAPTIVE_OF_SOURCE, LIGHT_OF_SOURCE];

/// A matrix with its results in double precision.
type Named<'a> = (&'a str, &'a Results);

/// Milliseconds of a contender.
fn own_ms((_, results): &Named<'_>, contender: usize) -> Option<f64> {
    match contender {
        0 => results.cpu.right_ms(),
        other => results.methods.own_ms(&name(CONTENDERS[other], CHOSEN)),
    }
}

/// Figures 3 and 4: double precision, by nonzeros per row.
pub(super) fn rates(all: &[Measured<[Results; 2]>]) -> Table {
    let mut rows: Vec<Named<'_>> = all.iter().map(|matrix| (matrix.name.as_str(), &matrix[1])).collect();
    let mean = |(_, results): &Named<'_>| nonzeros_per_row(&results.methods);
    rows.sort_by(|a, b| mean(a).unwrap_or_default().total_cmp(&mean(b).unwrap_or_default()));
    let mut table = Table::over(
        Study::CsrAdaptive,
        "Rates by nonzeros per row, f64",
        "Figures 3 and 4, which are plots; the published rates follow from Table 2. The source's configurations, with blocks of \
         512 threads.",
        &rows,
    )
    .column("nonzeros per row", mean)
    .column("matrix", |(name, _)| *name);
    let gb = |row: &Row, ms| gbps(row, ms);
    let gflop = |row: &Row, ms| gflops(row.shape?.nnz, ms);
    for (unit, rate) in [("GB/s", &gb as &dyn Fn(&Row, Option<f64>) -> Option<f64>), ("GFLOP/s", &gflop)] {
        for (contender, title) in CONTENDERS.into_iter().enumerate() {
            table = table
                .column(format!("{title}, {unit}"), |row| rate(&row.1.methods, own_ms(row, contender)))
                .column(format!("published {title}, {unit}"), |row| {
                    rate(&row.1.methods, Some(adaptive_ms(row.0, 1)?[contender]))
                });
        }
    }
    let mut table = table.done();
    table.note(GBPS_NOTE);
    table.note(format!(
        "the source's text has {ADAPTIVE_CPU_GBPS} GB/s for its CPU with af_shell10, which are 97 MB per product; its rates of the \
         GPU count the 355 MB of all arrays"
    ));
    table
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::results::{Figures, Key, Op, Outcome, Shape};
    use crate::study::published::ADAPTIVE;

    /// The product with the published `af_shell10` in double precision.
    fn row() -> Row {
        let (rows, nnz) = (ADAPTIVE[0].rows, 27_090_195);
        let bytes = (12 * nnz + 20 * rows + 4) as u64;
        Row {
            key: Key {
                op: Op::Spmv,
                variant: String::new(),
                suite: "-".into(),
                matrix: "af_shell10".into(),
                value: "f64".into(),
            },
            shape: Some(Shape { rows, cols: rows, nnz }),
            structure: None,
            outcome: Outcome::Measured(Box::new(Figures::new(
                (nnz as u64, 2 * nnz as u64, bytes),
                Vec::new(),
                Vec::new(),
                BTreeMap::new(),
            ))),
        }
    }

    #[test]
    fn published_rates_are_those_of_the_text() {
        // "49.628232 and 90.792728 for GB/s", "7.564493 and 13.847355 for GFLOP/s", and 1.891488 GFLOP/s of the CPU; ratios have
        // two digits.
        let ms = adaptive_ms("af_shell10", 1).expect("it is published");
        let texts = [(None, 1.891_488), (Some(49.628_232), 7.564_493), (Some(90.792_728), 13.847_355)];
        for (ms, (gb, gflop)) in ms.into_iter().zip(texts) {
            let off = |ours: Option<f64>, text: f64| (ours.expect("a rate") / text - 1.0).abs();
            assert!(off(gflops(27_090_195, Some(ms)), gflop) < 0.01, "{ms}");
            assert!(gb.is_none_or(|text| off(gbps(&row(), Some(ms)), text) < 0.01), "{ms}");
        }
        // The CPU's bytes in the source: 97 MB.
        assert!((ADAPTIVE_CPU_GBPS * ms[0] - 96.6).abs() < 0.1, "{}", ADAPTIVE_CPU_GBPS * ms[0]);
        assert_eq!(adaptive_ms("a", 0), None);
    }
}
