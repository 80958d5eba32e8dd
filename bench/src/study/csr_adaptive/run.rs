//! CSR-Adaptive and LightSpMV beside the CPU and by threads per block, and CSR-Adaptive by nonzeros per row block.

use std::error::Error;

use evenpath::device::DeviceKind;

use super::results::Results;
use super::stand_ins::sources;
use super::{rates, tables};
use crate::operations::Bench;
use crate::study::report::Report;
use crate::study::source::Source;

/// The types, as published first.
const VALUES: [&str; 2] = ["f32", "f64"];

pub(in crate::study) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    run_over(sources(), bench, report)
}

fn run_over(
    sources: impl Iterator<Item = Source>,
    bench: &Bench<'_>,
    report: &mut Report<'_>,
) -> Result<(), Box<dyn Error>> {
    let (all, notes) = bench.each("both types", sources, report, |name, matrix| {
        let double = Results::new(bench, name, &matrix)?;
        Ok([Results::single(bench, name, &matrix.into_values::<f32>())?, double])
    })?;
    report.table(tables::of_source())?;
    let by_type = VALUES.into_iter().enumerate();
    let by_type = by_type.flat_map(|(index, value)| tables::of_type(&all, index, value));
    for mut table in by_type.chain([rates::rates(&all)]) {
        if bench.device.kind() == DeviceKind::Cpu {
            table.note(
                "the CPU has no row blocks: neither CSR-Adaptive nor the other methods of GPUs run there",
            );
        }
        table.notes.extend(notes.iter().cloned());
        report.table(table)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath::device::SimulatedOptions;
    use evenpath::generate::Kind;

    use super::*;
    use crate::peers::Peers;
    use crate::results::Setting;
    use crate::study::name::Study;
    use crate::study::table::{Cell, Table};

    /// The tables of small matrices, all of whose results are right.
    fn measured(device: &Device, kinds: &[Kind]) -> Vec<Table> {
        let peers = Peers::default();
        let bench = Bench::unlimited(device, &peers, 2);
        let setting = Setting::new(device, 1.0, &[], String::new());
        let mut tables = Vec::new();
        let mut print = |table: &Table| {
            tables.push(table.clone());
            Ok(())
        };
        let mut report = Report::new(Study::CsrAdaptive, setting, &mut print);
        run_over(kinds.iter().map(|&kind| kind.into()), &bench, &mut report).unwrap();
        drop(report);
        assert!(tables.iter().all(|table| table.wrong.is_empty()), "{tables:?}");
        tables
    }

    /// Every cell is a number, except in columns with one of these parts in their headings.
    fn is_complete(table: &Table, missing: &[&str]) {
        for row in &table.rows {
            for (heading, cell) in table.columns.iter().zip(row) {
                let is_missing = missing.iter().any(|part| heading.contains(part));
                assert_eq!(*cell == Cell::None, is_missing, "{heading}: {table:?}");
                if let (true, Cell::Number(difference)) = (heading.starts_with("largest"), cell) {
                    let bound = if table.title.ends_with("f32") { 4e-6 } else { 8e-15 };
                    assert!(*difference < bound, "{table:?}");
                }
            }
        }
    }

    #[test]
    fn tables_have_what_the_device_has() {
        let gpu = Device::simulated(SimulatedOptions::default());
        // Rows of at most five terms of at most 1.
        let tables = measured(&gpu, &[Kind::Stencil5 { side: 30 }]);
        assert_eq!(tables.len(), 8);
        for table in &tables[1..] {
            assert_eq!(table.rows.len(), 1, "{table:?}");
            is_complete(table, &["cuSPARSE", "published"]);
        }
        let tables = measured(&Device::cpu(), &[Kind::Stencil5 { side: 30 }]);
        assert_eq!(tables.iter().map(|table| table.rows.len()).collect::<Vec<_>>(), [6, 0, 0, 1, 0, 0, 1, 1]);
        let missing = ["cuSPARSE", "CSR-Adaptive", "LightSpMV", "published", "vector", "scalar"];
        is_complete(&tables[6], &missing);
        is_complete(&tables[7], &missing);
    }

    #[test]
    fn other_shapes_are_right_too() {
        let gpu = Device::simulated(SimulatedOptions::default());
        measured(&gpu, &[Kind::PowerLaw { rows: 500 }, Kind::Dense { rows: 3, cols: 3000 }]);
    }
}
