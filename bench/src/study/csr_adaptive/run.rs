//! CSR-Adaptive and LightSpMV beside the CPU and by threads per block, and CSR-Adaptive by nonzeros per row block.

use std::error::Error;

use evenpath::Csr;
use evenpath::device::DeviceKind;

use super::stand_ins::{self, STAND_INS};
use super::{block_sizes, methods, sweep};
use crate::operations::Bench;
use crate::peers::PeerValue;
use crate::study::figures::spread_note;
use crate::study::name::Study;
use crate::study::published::ADAPTIVE;
use crate::study::report::Report;
use crate::study::table::Table;

pub(in crate::study) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    report.table(published())?;
    let mut tables = ["f32", "f64"].map(Tables::new);
    let mut notes = Vec::new();
    bench.each(stand_ins::sources(), &mut notes, |name, matrix| {
        let [single, double] = &mut tables;
        double.measure(bench, name, &matrix, 1)?;
        single.measure(bench, name, &matrix.into_values::<f32>(), 0)
    })?;
    for tables in tables {
        for table in tables.finish(bench, &notes) {
            report.table(table)?;
        }
    }
    Ok(())
}

/// The tables of a type.
struct Tables {
    block_sizes: Table,
    sweep: Table,
    methods: Table,
}

impl Tables {
    fn new(value: &str) -> Self {
        Self {
            block_sizes: block_sizes::table(value),
            sweep: sweep::table(value),
            methods: methods::table(value),
        }
    }

    /// Measures everything with a matrix. `index` is that of the type in the published tables: f32, f64.
    fn measure<V: PeerValue>(
        &mut self,
        bench: &Bench<'_>,
        name: &str,
        matrix: &Csr<V>,
        index: usize,
    ) -> Result<(), Box<dyn Error>> {
        methods::measure(bench, name, matrix, &mut self.methods)?;
        sweep::measure(bench, name, matrix, &mut self.sweep)?;
        block_sizes::measure(bench, name, matrix, index, &mut self.block_sizes)
    }

    fn finish(self, bench: &Bench<'_>, notes: &[String]) -> [Table; 3] {
        let Self { mut block_sizes, mut sweep, mut methods } = self;
        for table in [&mut block_sizes, &mut sweep, &mut methods] {
            if bench.device.kind() == DeviceKind::Cpu {
                table.note(
                    "the CPU has no row blocks: neither CSR-Adaptive nor the other methods of GPUs run there",
                );
            }
        }
        for stand_in in STAND_INS {
            methods.note(stand_in.to_string());
        }
        methods.note("the difference is that of the result in the table's type to a product computed in f64");
        for table in [&mut block_sizes, &mut sweep, &mut methods] {
            table.note(spread_note());
            table.notes.extend(notes.iter().cloned());
        }
        [block_sizes, sweep, methods]
    }
}

/// Table 2, and values derived from it.
fn published() -> Table {
    let mut table = Table::new(
        Study::CsrAdaptive,
        "Published: CSR-Adaptive and LightSpMV on a GTX 1050 Ti",
        "Tables 1 and 2; milliseconds are the CPU's time by the published ratios.",
        &[
            "matrix",
            "rows",
            "nonzeros per row",
            "type",
            "CPU, 8 threads, ms",
            "CSR-Adaptive, ms",
            "LightSpMV, ms",
            "CSR-Adaptive over LightSpMV",
            "CPU over CSR-Adaptive",
            "CPU over LightSpMV",
            "largest difference",
        ],
    );
    for matrix in ADAPTIVE {
        for (index, value) in ["f32", "f64"].into_iter().enumerate() {
            let cpu_ms = 1e3 * matrix.cpu_seconds[index];
            let (adaptive, light) = (matrix.over_adaptive[index], matrix.over_light[index]);
            table.row([
                matrix.name.into(),
                matrix.rows.into(),
                matrix.nonzeros_per_row.into(),
                value.into(),
                cpu_ms.into(),
                (cpu_ms / adaptive).into(),
                (cpu_ms / light).into(),
                (light / adaptive).into(),
                adaptive.into(),
                light.into(),
                matrix.difference[index].into(),
            ]);
        }
    }
    table.note(
        "by its own account, the source's LightSpMV is wrong in single precision for two of the matrices",
    );
    table
}
