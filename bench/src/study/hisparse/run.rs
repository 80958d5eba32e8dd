//! HiSparse: nodes, memory, products and sums over the matrices of Figure 7.1, in both types.

use std::error::Error;

use evenpath::{Csr, hisparse};

use super::over::Named;
use super::tables::of_type;
use crate::operations::hisparse::{Extent, measure_tree};
use crate::operations::{Bench, Case, row};
use crate::peers::PeerValue;
use crate::random::{PublishedTree, TreeMatrix};
use crate::results::Row;
use crate::study::each::Measured;
use crate::study::report::Report;
use crate::study::source::Source;

/// The types, as published first: the thesis gives means in single precision only.
const VALUES: [&str; 2] = ["f32", "f64"];

/// Measures stand-ins of this fraction of the published sizes.
pub(in crate::study) fn run(
    bench: &Bench<'_>,
    scale: f64,
    report: &mut Report<'_>,
) -> Result<(), Box<dyn Error>> {
    let trees = PublishedTree::all().iter().map(|tree| Ok(TreeMatrix::new(tree).with_scale(scale)?.into()));
    run_all(bench, trees.collect::<Result<_, Box<dyn Error>>>()?, report)
}

/// Measures what the report does not have yet, one matrix after the other; then makes the tables of all.
fn run_all(bench: &Bench<'_>, sources: Vec<Source>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    let (all, notes): (Vec<Measured<[Row; 2]>>, _) =
        bench.each("f32 and f64", sources, report, |name, matrix| {
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
        run_sources(path, device, kinds.iter().map(|&kind| kind.into()).collect())
    }

    fn run_sources(path: &Path, device: &Device, sources: Vec<Source>) -> Vec<Table> {
        let peers = Peers::default();
        let bench = Bench::unlimited(device, &peers, 1);
        let setting = Setting::new(device, 1.0, &[], String::new());
        let mut tables = Vec::new();
        let mut print = |table: &Table| {
            tables.push(table.clone());
            Ok(())
        };
        let mut report = Report::new(Study::Hisparse, setting, &mut print).into_file(path).expect("a file");
        run_all(&bench, sources, &mut report).expect("measured");
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
        for table in &both {
            assert_eq!(table.wrong, Vec::<String>::new());
            assert!(VALUES.iter().any(|value| table.title.ends_with(value)), "{}", table.title);
        }
        let means = titled(&both, "Means over the matrices, milliseconds, f32");
        assert_eq!(
            (cell(means, 0, "matrices"), cell(means, 0, "HiSparse by")),
            ("2".into(), "queue scheduler".into())
        );
        let [Cell::Number(mean), Cell::Number(deviation)] = &means.rows[0][3..5] else { panic!("{means:?}") };
        let products = titled(&both, "SpMV, milliseconds, f32");
        let column = column(products, "queue scheduler");
        let times = products.rows.iter().map(|row| match row[column] {
            Cell::Number(ms) => ms,
            _ => f64::NAN,
        });
        let times: Vec<f64> = times.collect();
        assert!((mean - f64::midpoint(times[0], times[1])).abs() < 1e-12, "{means:?}");
        assert!((deviation - (times[0] - times[1]).abs() / 2.0).abs() < 1e-12, "{means:?}");
        let double = titled(&both, "Means over the matrices, milliseconds, f64");
        assert_eq!(cell(double, 0, "published HiSparse"), "-", "no figures are published in f64");
        // Three operations per nonzero.
        let rates = titled(&both, "SpMV, GFLOP/s, f32");
        let Cell::Number(rate) = rates.rows[0][column] else { panic!("{rates:?}") };
        let Cell::Number(nonzeros) = titled(&both, "Nodes of the trees, 128 x 128, f32").rows[0][1] else {
            panic!()
        };
        assert!((rate * times[0] * 1e6 / (3.0 * nonzeros) - 1.0).abs() < 1e-12, "{rates:?}");
        let sums = titled(&both, "Sums, milliseconds, f64");
        assert!(
            cell(sums, 0, "A + Aᵀ: queue scheduler") != "-"
                && cell(sums, 0, "A + Aᵀ: default, by levels") != "-"
        );
        let sizes = titled(&both, "Sizes of nodes, means, f64");
        assert_eq!(
            (sizes.rows.len(), cell(sizes, 2, "over the time with 128, geometric mean")),
            (4, "1".into())
        );
    }

    #[test]
    fn the_cpu_names_what_it_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("study-hisparse.jsonl");
        let tables = run_into(&path, &Device::cpu(), &[Kind::Stencil5 { side: 9 }]);
        let columns: Vec<&String> = tables.iter().flat_map(|table| &table.columns).collect();
        assert!(columns.iter().any(|column| *column == "leaves by row, CPU"), "{columns:?}");
        assert!(!columns.iter().any(|column| column.contains("queue scheduler")), "{columns:?}");
        let means = titled(&tables, "Means over the matrices, milliseconds, f32");
        let by: Vec<String> = (0..5).map(|row| cell(means, row, "HiSparse by")).collect();
        assert_eq!((by[0].as_str(), by[4].as_str()), ("leaves by row, CPU", "levels, CPU"));
    }

    #[test]
    fn published_figures_are_those_of_stand_ins_of_full_size() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("study-hisparse.jsonl");
        let trees = ["tree:poisson3da", "tree:cage12:0.1"]
            .map(|name| name.parse::<TreeMatrix>().expect("a name").into());
        let tables = run_sources(&path, &Device::cpu(), trees.into());
        let nodes = titled(&tables, "Nodes beside Figure 7.1, f32");
        for (column, name) in nodes.columns.iter().enumerate().filter(|(_, name)| *name == "ratio") {
            let Cell::Number(ratio) = nodes.rows[0][column] else { continue };
            assert!((ratio - 1.0).abs() < 0.05, "{name} {column}: {nodes:?}");
            assert_eq!(nodes.rows[1][column], Cell::None);
        }
        let bytes = titled(&tables, "Bytes per nonzero, f32");
        let Cell::Number(over_csr) = bytes.rows[0][4] else { panic!("{bytes:?}") };
        let Cell::Number(by_nodes) = bytes.rows[0][5] else { panic!("{bytes:?}") };
        assert!((over_csr / by_nodes - 1.0).abs() < 0.1, "{bytes:?}");
    }

    fn titled<'t>(tables: &'t [Table], title: &str) -> &'t Table {
        tables.iter().find(|table| table.title == title).unwrap_or_else(|| panic!("no table {title}"))
    }

    fn column(table: &Table, heading: &str) -> usize {
        table
            .columns
            .iter()
            .position(|column| column == heading)
            .unwrap_or_else(|| panic!("{:?}", table.columns))
    }

    fn cell(table: &Table, row: usize, heading: &str) -> String {
        table.rows[row][column(table, heading)].to_string()
    }
}
