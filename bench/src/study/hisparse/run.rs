//! HiSparse: nodes, memory, products and sums over the matrices of Figure 7.1, in both types.

use std::error::Error;

use evenpath::{Csr, hisparse};

use super::tables::{Named, of_type};
use crate::operations::hisparse::{Extent, measure_tree};
use crate::operations::{Bench, Case, row};
use crate::peers::PeerValue;
use crate::results::Row;
use crate::study::each::Measured;
use crate::study::report::Report;
use crate::study::source::{Source, of_suite};
use crate::suite::Suite;

/// The types, as published first: the thesis gives means in single precision only.
const VALUES: [&str; 2] = ["f32", "f64"];

pub(in crate::study) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    run_all(bench, of_suite(Suite::Figure7)?, report)
}

/// Measures what the report does not have yet, one matrix after the other; then makes the tables of all.
fn run_all(bench: &Bench<'_>, sources: Vec<Source>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    let (all, notes): (Vec<Measured<[Row; 2]>>, _) =
        bench.each("both types", sources, report, |name, matrix| {
            let double = measure(bench, name, &matrix);
            Ok([measure::<f32>(bench, name, &matrix.into_values()), double])
        })?;
    for (index, value) in VALUES.into_iter().enumerate() {
        let rows: Vec<Named<'_>> = all.iter().map(|matrix| (matrix.name.as_str(), &matrix[index])).collect();
        for mut table in of_type(&rows, value) {
            table.notes.extend(notes.iter().cloned());
            report.table(table)?;
        }
    }
    Ok(())
}

/// Measures a matrix in a type. If it does not fit in memory, the row says so.
fn measure<V: PeerValue>(bench: &Bench<'_>, name: &str, matrix: &Csr<V>) -> Row {
    row(Case::Hisparse(128).key("-", name, V::NAME), matrix, || {
        let tree = bench.device.upload(matrix)?.to_hisparse::<128>(hisparse::Options::default())?;
        measure_tree(bench, matrix, &tree, Extent::Figures)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use evenpath::Device;
    use evenpath::device::SimulatedOptions;
    use evenpath::generate::Kind;

    use super::*;
    use crate::peers::Peers;
    use crate::results::Setting;
    use crate::study::file::StudyFile;
    use crate::study::name::Study;
    use crate::study::table::{Cell, Table};

    /// Runs the study of some small matrices into a file. Returns its tables.
    fn run_into(path: &Path, device: &Device, kinds: &[Kind]) -> Vec<Table> {
        let peers = Peers::default();
        let bench = Bench::unlimited(device, &peers, 1);
        let setting = Setting::new(device, 1.0, &[], String::new());
        let mut tables = Vec::new();
        let mut print = |table: &Table| {
            tables.push(table.clone());
            Ok(())
        };
        let mut report = Report::new(Study::Hisparse, setting, &mut print).into_file(path).expect("a file");
        run_all(&bench, kinds.iter().map(|&kind| kind.into()).collect(), &mut report).expect("measured");
        drop(report);
        tables
    }

    #[test]
    fn cases_are_written_as_they_are_measured_and_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("study-hisparse.jsonl");
        let device = Device::simulated(SimulatedOptions::default());
        let (small, large) = (Kind::Stencil5 { side: 9 }, Kind::PowerLaw { rows: 200 });
        let one = run_into(&path, &device, &[small]);
        let first = StudyFile::read(&path).expect("read");
        assert_eq!((first.cases.len(), first.tables), (1, one));
        // The tables are made anew; cases that are there stay as they are.
        let both = run_into(&path, &device, &[small, large]);
        let second = StudyFile::read(&path).expect("read");
        assert_eq!((second.cases.len(), &second.cases[..1]), (2, &first.cases[..]));
        assert_eq!(second.tables, both);
        let again = run_into(&path, &device, &[small, large]);
        assert_eq!(again, both, "nothing is measured again");
        for (index, table) in both.iter().enumerate() {
            assert_eq!(table.wrong, Vec::<String>::new());
            assert!(table.title.ends_with(VALUES[index / 5]), "{}", table.title);
        }
        let means = &both[4];
        assert_eq!(means.rows[0][1], Cell::Number(2.0), "{means:?}");
        let [Cell::Number(mean), Cell::Number(deviation)] = &means.rows[0][2..4] else { panic!("{means:?}") };
        let times = both[2].rows.iter().map(|row| match row[1] {
            Cell::Number(ms) => ms,
            _ => f64::NAN,
        });
        let times: Vec<f64> = times.collect();
        assert!((mean - f64::midpoint(times[0], times[1])).abs() < 1e-12, "{means:?}");
        assert!((deviation - (times[0] - times[1]).abs() / 2.0).abs() < 1e-12, "{means:?}");
        assert_eq!(both[9].rows[0][7], Cell::None, "no figures are published in f64");
    }
}
