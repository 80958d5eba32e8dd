//! CSR-Adaptive and LightSpMV beside the CPU and by threads per block, and CSR-Adaptive by nonzeros per row block.

use std::error::Error;

use evenpath::Csr;
use evenpath::device::DeviceKind;
use evenpath::ell::PaddingLimit;
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use serde::{Deserialize, Serialize};

use super::stand_ins::sources;
use super::{row_blocks, tables};
use crate::operations::spmv::{Product, Way};
use crate::operations::threads::spmv_on_threads;
use crate::operations::{Bench, Case, row};
use crate::peers::{PeerValue, Peers};
use crate::results::{Contender, Row};
use crate::study::report::Report;
use crate::study::source::Source;

/// The types, as published first.
const VALUES: [&str; 2] = ["f32", "f64"];

/// Threads per block, as in the source.
pub(super) const BLOCK_SIZES: [u32; 4] = [128, 256, 512, 1024];

/// The methods of the source.
pub(super) const CSR_ADAPTIVE: SpmvMethod = SpmvMethod::CsrAdaptive { block_size: None };
pub(super) const LIGHT: SpmvMethod = SpmvMethod::Light { lanes: None, block_size: None };
pub(super) const VECTOR: SpmvMethod = SpmvMethod::Vector { lanes: None };

/// The methods of the source, by threads per block.
pub(super) const PUBLISHED: [(fn(u32) -> SpmvMethod, &str); 2] = [
    (|threads| SpmvMethod::CsrAdaptive { block_size: Some(threads) }, "CSR-Adaptive"),
    (|threads| SpmvMethod::Light { lanes: None, block_size: Some(threads) }, "LightSpMV"),
];

/// All methods.
const METHODS: [SpmvMethod; 5] = [CSR_ADAPTIVE, LIGHT, VECTOR, SpmvMethod::Scalar, SpmvMethod::Auto];

/// The results with a matrix in a type.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Results {
    pub(super) methods: Row,
    /// On all threads of the CPU.
    pub(super) cpu: Contender,
    /// Results by threads per block, and by nonzeros per row block. The CPU has neither.
    pub(super) blocks: Option<[Row; 2]>,
}

/// The name of a method with this many threads per block.
pub(super) fn name(method: &str, threads: u32) -> String {
    format!("{method}, {threads} threads")
}

impl Results {
    fn new<V: PeerValue>(bench: &Bench<'_>, name: &str, matrix: &Csr<V>) -> Result<Self, Box<dyn Error>> {
        let methods = METHODS.into_iter().filter(|method| method.runs_on(bench.device.kind()));
        let ways = methods.map(Way::method).chain([Way::ell(PaddingLimit::default())]).collect();
        let threads = std::thread::available_parallelism()?.get();
        let has_blocks = bench.device.kind() != DeviceKind::Cpu;
        Ok(Self {
            methods: bench.row(&Case::Spmv(Product::direct(ways)), name, matrix),
            cpu: Contender {
                name: "CPU".into(),
                ..spmv_on_threads(threads, matrix, SpmvMethod::Auto, bench.repetitions)?
            },
            blocks: has_blocks.then(|| Self::blocks(bench, name, matrix)),
        })
    }

    fn blocks<V: PeerValue>(bench: &Bench<'_>, matrix_name: &str, matrix: &Csr<V>) -> [Row; 2] {
        let way = |(method, title): (fn(u32) -> SpmvMethod, &str), threads| {
            let options = SpmvOptions::default().with_method(method(threads));
            Way::direct(name(title, threads), options)
        };
        let ways = PUBLISHED.into_iter().flat_map(|method| BLOCK_SIZES.map(|threads| way(method, threads)));
        let (alone, case) =
            (Bench { peers: &Peers::default(), ..*bench }, Case::Spmv(Product::direct(ways.collect())));
        let key = case.key("-", matrix_name, V::NAME);
        [alone.row(&case, matrix_name, matrix), row(key, matrix, || row_blocks::measure(&alone, matrix))]
    }
}

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
        Ok([Results::new(bench, name, &matrix.into_values::<f32>())?, double])
    })?;
    report.table(tables::published())?;
    for (index, value) in VALUES.into_iter().enumerate() {
        for mut table in tables::of_type(&all, index, value) {
            if bench.device.kind() == DeviceKind::Cpu {
                table.note(
                    "the CPU has no row blocks: neither CSR-Adaptive nor the other methods of GPUs run there",
                );
            }
            table.notes.extend(notes.iter().cloned());
            report.table(table)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use evenpath::Device;
    use evenpath::device::SimulatedOptions;
    use evenpath::generate::Kind;

    use super::*;
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
        assert_eq!(tables.len(), 7);
        for table in &tables[1..] {
            assert_eq!(table.rows.len(), 1, "{table:?}");
            is_complete(table, &["cuSPARSE", "published"]);
        }
        let tables = measured(&Device::cpu(), &[Kind::Stencil5 { side: 30 }]);
        assert_eq!(tables.iter().map(|table| table.rows.len()).collect::<Vec<_>>(), [6, 0, 0, 1, 0, 0, 1]);
        let missing = ["cuSPARSE", "CSR-Adaptive", "LightSpMV", "vector", "scalar"];
        is_complete(&tables[6], &missing);
    }

    #[test]
    fn other_shapes_are_right_too() {
        let gpu = Device::simulated(SimulatedOptions::default());
        measured(&gpu, &[Kind::PowerLaw { rows: 500 }, Kind::Dense { rows: 3, cols: 3000 }]);
    }
}
