//! The published figures, and evenpath's of one type.

use evenpath::spmv::SpmvMethod;

use super::results::{BLOCK_SIZES, CSR_ADAPTIVE, LIGHT, PUBLISHED, Results, VECTOR, name};
use super::row_blocks::{self, LIMITS};
use super::stand_ins::STAND_INS;
use crate::results::Row;
use crate::study::each::Measured;
use crate::study::figures::{
    SPREAD, cusparse_ms, method_ms, nonzeros_per_row, quotient, spread, spread_note, widest,
};
use crate::study::name::Study;
use crate::study::published::ADAPTIVE;
use crate::study::table::{Cell, Table};

/// The source's choice of threads per block for its other results.
const CHOSEN: u32 = BLOCK_SIZES[2];

/// The results with all matrices in f32 and f64.
type All = [Measured<[Results; 2]>];

/// Table 2, and values derived from it.
pub(super) fn published() -> Table {
    let rows: Vec<_> = ADAPTIVE.iter().flat_map(|matrix| [(matrix, 0, "f32"), (matrix, 1, "f64")]).collect();
    let mut table = Table::over(
        Study::CsrAdaptive,
        "Published: CSR-Adaptive and LightSpMV on a GTX 1050 Ti",
        "Tables 1 and 2; milliseconds are the CPU's time by the published ratios.",
        &rows,
    )
    .column("matrix", |(matrix, ..)| matrix.name)
    .column("rows", |(matrix, ..)| matrix.rows)
    .column("nonzeros per row", |(matrix, ..)| matrix.nonzeros_per_row)
    .column("type", |&(_, _, value)| value)
    .column("CPU, 8 threads, ms", |&(matrix, at, _)| 1e3 * matrix.cpu_seconds[at])
    .column("CSR-Adaptive, ms", |&(matrix, at, _)| 1e3 * matrix.cpu_seconds[at] / matrix.over_adaptive[at])
    .column("LightSpMV, ms", |&(matrix, at, _)| 1e3 * matrix.cpu_seconds[at] / matrix.over_light[at])
    .column("CSR-Adaptive over LightSpMV", |&(matrix, at, _)| {
        matrix.over_light[at] / matrix.over_adaptive[at]
    })
    .column("CPU over CSR-Adaptive", |&(matrix, at, _)| matrix.over_adaptive[at])
    .column("CPU over LightSpMV", |&(matrix, at, _)| matrix.over_light[at])
    .column("largest difference", |&(matrix, at, _)| matrix.difference[at])
    .done();
    table.note(
        "by its own account, the source's LightSpMV is wrong in single precision for two of the matrices",
    );
    table
}

/// The tables of a type. `index` is that of the type in the published tables: f32, f64.
pub(super) fn of_type(all: &All, index: usize, value: &str) -> [Table; 3] {
    let tables = [block_sizes(all, index, value), limits(all, index, value), methods(all, index, value)];
    tables.map(|mut table| {
        table.note(spread_note());
        table
    })
}

/// GB/s of a contender if every array is counted once.
fn rate(row: &Row, name: &str) -> Option<f64> {
    Some(row.figures()?.bytes as f64 / row.own_ms(name)? / 1e6)
}

/// The rows by blocks.
fn blocks(all: &All, index: usize) -> Vec<(&str, &[Row; 2])> {
    all.iter().filter_map(|matrix| Some((matrix.name.as_str(), matrix[index].blocks.as_ref()?))).collect()
}

fn block_sizes(all: &All, index: usize, value: &str) -> Table {
    let rows = blocks(all, index);
    let mut table = Table::over(
        Study::CsrAdaptive,
        &format!("Both methods by threads per block, GB/s, {value}"),
        "Figures 1 and 2, 128 to 1024 threads; the source has only plots, in which both methods are slower with 1024 threads \
         than with 512. Its rates with 512 follow from Table 2.",
        &rows,
    )
    .column("matrix", |(name, _)| *name)
    .column("nonzeros per row", |(_, [row, _])| nonzeros_per_row(row));
    for (_, method) in PUBLISHED {
        for threads in BLOCK_SIZES {
            table = table
                .column(format!("{method}, {threads}"), |(_, [row, _])| rate(row, &name(method, threads)));
        }
    }
    for (_, method) in PUBLISHED {
        table = table.column(format!("{method}, 1024 over {CHOSEN}"), |(_, [row, _])| {
            quotient(rate(row, &name(method, 1024)), rate(row, &name(method, CHOSEN)))
        });
    }
    for (at, (_, method)) in PUBLISHED.into_iter().enumerate() {
        table = table.column(format!("published {method}, {CHOSEN}"), |(name, [row, _])| {
            Some(published_rates(name, index, row.figures()?.bytes)?[at])
        });
    }
    let mut table = table.column(SPREAD, |(_, [row, _])| spread([row])).done();
    table.check(rows.iter().map(|(_, [row, _])| row));
    table.note("as in the source, a row block of CSR-Adaptive has as many nonzeros as the block has threads");
    table.note("rates count every array once, as the source does");
    table
}

/// The published rates of both methods: `bytes` by the times of Table 2. Other matrices have none.
fn published_rates(name: &str, index: usize, bytes: u64) -> Option<[f64; 2]> {
    let matrix = ADAPTIVE.iter().find(|matrix| matrix.name == name)?;
    let rate = |over: [f64; 2]| bytes as f64 * over[index] / matrix.cpu_seconds[index] / 1e9;
    Some([matrix.over_adaptive, matrix.over_light].map(rate))
}

fn limits(all: &All, index: usize, value: &str) -> Table {
    let rows = blocks(all, index);
    let mut table = Table::over(
        Study::CsrAdaptive,
        &format!("CSR-Adaptive by nonzeros per row block, GB/s, {value}"),
        "With 128 threads per block. In the source, a block has as many threads as its row block has nonzeros: see the \
         table by threads per block.",
        &rows,
    )
    .column("matrix", |(name, _)| *name)
    .column("nonzeros per row", |(_, [_, row])| nonzeros_per_row(row));
    for limit in LIMITS {
        table = table.column(limit.to_string(), |(_, [_, row])| {
            Some(row.more("effective bytes")? / row.own_ms(&row_blocks::name(limit))? / 1e6)
        });
    }
    let mut table = table.column(SPREAD, |(_, [_, row])| spread([row])).done();
    table.check(rows.iter().map(|(_, [_, row])| row));
    table
}

fn methods(all: &All, index: usize, value: &str) -> Table {
    let results: Vec<_> = all.iter().map(|matrix| (matrix.name.as_str(), &matrix[index])).collect();
    let [adaptive, light] =
        [CSR_ADAPTIVE, LIGHT].map(|method| move |of: &(&str, &Results)| method_ms(&of.1.methods, method));
    let cpu = |of: &(&str, &Results)| of.1.cpu.right_ms();
    let mut table = Table::over(
        Study::CsrAdaptive,
        &format!("Methods, milliseconds, {value}"),
        "Table 2, on a GTX 1050 Ti beside 8 threads; its figures are above.",
        &results,
    )
    .column("matrix", |of| of.0)
    .column("nonzeros per row", |of| nonzeros_per_row(&of.1.methods))
    .column("CSR-Adaptive", adaptive)
    .column("LightSpMV", light)
    .column("CSR-Adaptive over LightSpMV", |of| quotient(adaptive(of), light(of)))
    .column("CPU, all threads", cpu)
    .column("CPU over CSR-Adaptive", |of| quotient(cpu(of), adaptive(of)))
    .column("CPU over LightSpMV", |of| quotient(cpu(of), light(of)))
    .column("largest difference, CSR-Adaptive", |of| largest_difference(&of.1.methods, CSR_ADAPTIVE))
    .column("largest difference, LightSpMV", |of| largest_difference(&of.1.methods, LIGHT))
    .column("vector", |of| method_ms(&of.1.methods, VECTOR))
    .column("scalar", |of| method_ms(&of.1.methods, SpmvMethod::Scalar))
    .column("ELL", |of| of.1.methods.own_ms("ELL"))
    .column("automatic", |of| method_ms(&of.1.methods, SpmvMethod::Auto))
    .column("cuSPARSE CSR", |of| cusparse_ms(&of.1.methods))
    .column(SPREAD, |of| widest(of.1.methods.ours().iter().chain([&of.1.cpu])))
    .done();
    table.check(results.iter().map(|of| &of.1.methods));
    table.check_contenders(results.iter().map(|of| (of.0, &of.1.cpu)));
    for stand_in in STAND_INS {
        table.note(stand_in.to_string());
    }
    table.note("the difference is that of the result in the table's type to a product computed in f64");
    table
}

/// The largest difference of a method's result to the product in f64; empty if the device does not have the method.
fn largest_difference(row: &Row, method: SpmvMethod) -> Cell {
    match row.ours().iter().find(|own| own.name == method.to_string() && own.ms.is_some()) {
        None => Cell::None,
        Some(own) => own.largest_difference.map_or_else(|| "infinite".into(), Cell::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_rates_are_those_of_the_text() {
        // "49.628232 and 90.792728" GB/s with 17.96 nonzeros per row, double precision; ratios have two digits.
        let (rows, nonzeros) = (1_508_065, 27_090_195);
        let rates = published_rates("af_shell10", 1, 12 * nonzeros + 20 * rows).expect("it is published");
        for (rate, text) in rates.iter().zip([49.63, 90.79]) {
            assert!((rate / text - 1.0).abs() < 0.01, "{rate}");
        }
        assert_eq!(published_rates("a", 0, 1), None);
    }
}
