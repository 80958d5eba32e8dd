//! The published figures, and evenpath's of one type.

use evenpath::spmv::SpmvMethod;

use super::blocks::{block_sizes, limits};
use super::results::{
    ADAPTIVE_OF_SOURCE, CHOSEN, CSR_ADAPTIVE, LIGHT, LIGHT_OF_SOURCE, Results, VECTOR, name,
};
use super::stand_ins::STAND_INS;
use crate::results::{Contender, Row};
use crate::study::each::Measured;
use crate::study::figures::{
    SPREAD, cusparse_ms, method_ms, nonzeros_per_row, quotient, spread_note, widest,
};
use crate::study::name::Study;
use crate::study::published::{ADAPTIVE, adaptive_ms};
use crate::study::table::{Cell, Table};

/// The results with all matrices in f32 and f64.
type All = [Measured<[Results; 2]>];

/// Table 2, and values derived from it.
pub(super) fn of_source() -> Table {
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
    .column("CPU, 8 threads, ms", |&(matrix, at, _)| matrix.ms(at)[0])
    .column("CSR-Adaptive, ms", |&(matrix, at, _)| matrix.ms(at)[1])
    .column("LightSpMV, ms", |&(matrix, at, _)| matrix.ms(at)[2])
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

/// The type of values of which the CPU's product is measured in mixed precision, too.
const SINGLE: &str = "f32";

fn methods(all: &All, index: usize, value: &str) -> Table {
    let results: Vec<_> = all.iter().map(|matrix| (matrix.name.as_str(), &matrix[index])).collect();
    let [adaptive, light] = [ADAPTIVE_OF_SOURCE, LIGHT_OF_SOURCE]
        .map(|method| move |of: &(&str, &Results)| of.1.methods.own_ms(&name(method, CHOSEN)));
    let [own_adaptive, own_light] =
        [CSR_ADAPTIVE, LIGHT].map(|method| move |of: &(&str, &Results)| method_ms(&of.1.methods, method));
    let cpu = |of: &(&str, &Results)| of.1.cpu.right_ms();
    // The published quotient of two of the times.
    let published = |above: usize, below: usize| {
        move |of: &(&str, &Results)| adaptive_ms(of.0, index).map(|ms| ms[above] / ms[below])
    };
    let difference =
        |method| move |of: &(&str, &Results)| largest_difference(&of.1.methods, &name(method, CHOSEN));
    let mut table = Table::over(
        Study::CsrAdaptive,
        &format!("Methods, milliseconds, {value}"),
        "Table 2, on a GTX 1050 Ti beside 8 threads. CSR-Adaptive and LightSpMV have the source's configurations: 512 threads per \
         block; row blocks of 512 nonzeros, and a block for every 512 rows. The library's own are in columns of their own.",
        &results,
    )
    .column("matrix", |of| of.0)
    .column("nonzeros per row", |of| nonzeros_per_row(&of.1.methods))
    .column("CSR-Adaptive", adaptive)
    .column("LightSpMV", light)
    .column("CSR-Adaptive over LightSpMV", |of| quotient(adaptive(of), light(of)))
    .column("published CSR-Adaptive over LightSpMV", published(1, 2))
    .column("CPU, all threads", cpu)
    .column("CPU over CSR-Adaptive", |of| quotient(cpu(of), adaptive(of)))
    .column("published CPU over CSR-Adaptive", published(0, 1))
    .column("CPU over LightSpMV", |of| quotient(cpu(of), light(of)))
    .column("published CPU over LightSpMV", published(0, 2));
    if value == SINGLE {
        let mixed = |of: &(&str, &Results)| of.1.mixed.as_ref().and_then(Contender::right_ms);
        table = table
            .column("CPU, y in f64", mixed)
            .column("CPU, y in f64, over CSR-Adaptive", |of| quotient(mixed(of), adaptive(of)))
            .column("CPU, y in f64, over LightSpMV", |of| quotient(mixed(of), light(of)));
    }
    let mut table = table
        .column("largest difference, CSR-Adaptive", difference(ADAPTIVE_OF_SOURCE))
        .column("largest difference, LightSpMV", difference(LIGHT_OF_SOURCE))
        .column("own tile, CSR-Adaptive", own_adaptive)
        .column("own grid, LightSpMV", own_light)
        .column("own CSR-Adaptive over own LightSpMV", |of| quotient(own_adaptive(of), own_light(of)))
        .column("vector", |of| method_ms(&of.1.methods, VECTOR))
        .column("scalar", |of| method_ms(&of.1.methods, SpmvMethod::Scalar))
        .column("ELL", |of| of.1.methods.own_ms("ELL"))
        .column("automatic", |of| method_ms(&of.1.methods, SpmvMethod::Auto))
        .column("cuSPARSE CSR", |of| cusparse_ms(&of.1.methods))
        .column(SPREAD, |of| widest(of.1.methods.ours().iter().chain([&of.1.cpu])))
        .done();
    table.check(results.iter().map(|of| &of.1.methods));
    table.check_contenders(results.iter().map(|of| (of.0, &of.1.cpu)));
    table.check_contenders(results.iter().filter_map(|of| Some((of.0, of.1.mixed.as_ref()?))));
    for stand_in in STAND_INS {
        table.note(stand_in.to_string());
    }
    if value == SINGLE {
        table.note("CPU, y in f64: values in single precision; x, y and sums in double precision, the mixed precision of the source");
    }
    table.note("the difference is that of the result in the table's type to a product computed in f64");
    table.note(
        "the library's own tile of CSR-Adaptive has several nonzeros for each thread; its own grid of LightSpMV has as many blocks \
         as run at once",
    );
    table
}

/// The largest difference of a contender's result to the product in f64; empty if it did not run.
fn largest_difference(row: &Row, name: &str) -> Cell {
    match row.ours().iter().find(|own| own.name == name && own.ms.is_some()) {
        None => Cell::None,
        Some(own) => own.largest_difference.map_or_else(|| "infinite".into(), Cell::from),
    }
}
