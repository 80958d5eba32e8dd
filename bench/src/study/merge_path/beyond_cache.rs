//! Correlation of time with work where caches do not hold the matrices.

use std::error::Error;

use evenpath::generate::Kind;
use evenpath::spmv::SpmvMethod;

use super::correlations::{self, Operations};
use super::measure::{BALANCED, GLOBAL, control, sum_to_measure};
use crate::operations::Bench;
use crate::operations::spadd::MERGE_PATH;
use crate::results::Row;
use crate::study::each::Measured;
use crate::study::figures::{SPREAD, best_cusparse_ms, cusparse_ms, method_ms, spread, spread_note};
use crate::study::name::Study;
use crate::study::report::Report;
use crate::study::table::Table;

/// The least bytes of values and columns of each structure's matrices, in multiples of the second-level cache.
const MULTIPLES: [u64; 3] = [3, 6, 12];

const METHODS: [SpmvMethod; 2] = [SpmvMethod::Flat, SpmvMethod::MergePath];

/// Matrices of several structures and sizes, whose values and columns alone are larger than a cache of `l2_bytes`.
fn kinds(l2_bytes: u64) -> impl Iterator<Item = Kind> {
    MULTIPLES.into_iter().flat_map(move |multiple| {
        let nonzeros = multiple * l2_bytes / (size_of::<f64>() + size_of::<u32>()) as u64 + 1;
        let rows = |mean: u64| nonzeros.div_ceil(mean) as usize;
        // Borders take 4 √rows entries of a 5-point stencil; a 27-point one has (3 side - 2)³.
        let square = (rows(5) as f64).sqrt() as usize + 2;
        let cube = ((nonzeros as f64).cbrt() / 3.0) as usize + 2;
        [
            Kind::Stencil5 { side: square },
            Kind::Stencil27 { side: cube },
            Kind::Fem { rows: rows(40) },
            Kind::Uniform { rows: rows(16) },
            Kind::PowerLaw { rows: rows(10) },
        ]
    })
}

/// The times, and their correlation with work. Both tables have only a note if the device does not report its cache.
pub(super) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<[Table; 2], Box<dyn Error>> {
    let l2_bytes = bench.device.properties().l2_bytes;
    let kinds: Vec<Kind> = l2_bytes.into_iter().flat_map(kinds).collect();
    let (rows, notes): (Vec<Measured<[Row; 3]>>, _) =
        bench.each("beyond the cache", kinds, report, |name, matrix| {
            let sum = bench.row(&sum_to_measure(), name, &matrix);
            Ok([bench.spmv(name, &matrix, &METHODS), sum, control(bench, name, &matrix)?])
        })?;
    let mut times = Table::over(
        Study::MergePath,
        "SpMV and SpAdd of matrices larger than the second-level cache, milliseconds, f64",
        "Not in the source, whose GPU has 1.5 MB of this cache: beside Figures 5 to 8.",
        &rows,
    )
    .column("matrix", |row| row.name.as_str())
    .column("nonzeros", |row| row[0].nonzeros())
    .column("SpMV's bytes over the cache's", |row| {
        row[0].figures().zip(l2_bytes).map(|(figures, bytes)| figures.bytes as f64 / bytes as f64)
    })
    .column("SpMV, flat", |row| method_ms(&row[0], METHODS[0]))
    .column("SpMV, flat, columns in sequence", |row| method_ms(&row[2], METHODS[0]))
    .column("SpMV, merge path", |row| method_ms(&row[0], METHODS[1]))
    .column("SpMV, cuSPARSE CSR", |row| cusparse_ms(&row[0]))
    .column("A + A, balanced path, COO", |row| row[1].own_ms(BALANCED))
    .column("A + A, global sort, COO", |row| row[1].own_ms(GLOBAL))
    .column("A + A, merge path, CSR", |row| row[1].own_ms(MERGE_PATH))
    .column("A + A, cuSPARSE", |row| best_cusparse_ms(&row[1]))
    .column(SPREAD, |row| spread(row.iter()))
    .done();
    times.check(rows.iter().flat_map(|row| row.iter()));
    times.notes.extend(notes);
    times.note(if l2_bytes.is_some() {
        spread_note()
    } else {
        "the device does not report the size of its second-level cache".into()
    });
    let operations = Operations {
        spmv: rows.iter().map(|row| &row[0]).collect(),
        control: rows.iter().map(|row| &row[2]).collect(),
        spadd: rows.iter().map(|row| &row[1]).collect(),
        spgemm: Vec::new(),
    };
    let title = "Correlation of time with work, matrices larger than the second-level cache";
    let mut correlations = correlations::table(title, &operations);
    correlations.note(
        "many matrices of Table II fit in the cache of a newer GPU, where the time depends on what stays there from run to \
         run, too; these do not",
    );
    correlations
        .note("SpGEMM is not measured here: its products take far more memory than a cache has anyway");
    Ok([times, correlations])
}

#[cfg(test)]
mod tests {
    use evenpath::device::SimulatedOptions;
    use evenpath::generate::generate;
    use evenpath::{Csr, Device};

    use super::*;
    use crate::peers::Peers;
    use crate::results::Setting;
    use crate::study::table::Cell;

    #[test]
    fn every_matrix_is_larger_than_the_cache() {
        for l2_bytes in [24_000, 100_000, 1 << 20] {
            assert_eq!(kinds(l2_bytes).count(), 15);
            for (kind, index) in kinds(l2_bytes).zip(0..) {
                let mut matrix: Csr<f64> = generate(kind, 1).unwrap();
                matrix.canonicalize();
                let bytes = 12 * matrix.nnz() as u64;
                assert!(bytes > MULTIPLES[index / 5] * l2_bytes, "{kind}: {bytes} bytes for {l2_bytes}");
            }
        }
    }

    fn tables_of(device: &Device) -> [Table; 2] {
        let peers = Peers::default();
        let setting = Setting::new(device, 1.0, &[], String::new());
        let mut print = |_: &Table| Ok(());
        let mut report = Report::new(Study::MergePath, setting, &mut print);
        let tables = run(&Bench::unlimited(device, &peers, 1), &mut report).unwrap();
        let again = run(&Bench::unlimited(device, &peers, 1), &mut report).unwrap();
        assert_eq!(again, tables, "nothing is measured again");
        tables
    }

    #[test]
    fn sizes_follow_the_cache() {
        let options = SimulatedOptions::default().with_l2_bytes(24_000);
        let [times, correlations] = tables_of(&Device::simulated(options));
        assert_eq!((times.rows.len(), &times.wrong), (15, &Vec::new()));
        for row in &times.rows {
            assert!(matches!(row[2], Cell::Number(times) if times > 3.0), "{row:?}");
            assert!(matches!((&row[3], &row[7]), (Cell::Number(_), Cell::Number(_))), "{row:?}");
        }
        assert!(matches!(correlations.rows[0][2], Cell::Number(_)), "{correlations:?}");
        let [times, _] = tables_of(&Device::cpu());
        assert!(times.rows.is_empty() && times.notes[0].contains("second-level cache"), "{times:?}");
    }
}
