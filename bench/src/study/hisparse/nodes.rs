//! Figure 7.1: rows and nodes, as they are and beside the published ones; and the pretest of node sizes.

use super::over::{Named, over, over_each};
use crate::operations::hisparse::{BY_ROW, NODE_SIZES, NODES, Nodes, QUEUE, of_size};
use crate::random::PublishedTree;
use crate::results::Row;
use crate::statistics::{geometric_mean, mean_and_deviation};
use crate::study::figures::quotient;
use crate::study::name::Study;
use crate::study::table::{Cell, Over, Table};

/// Slots of a dense node.
const SLOTS: f64 = 128.0 * 128.0;

pub(super) fn nodes(rows: &[Named<'_>], value: &str) -> Table {
    let source = "Figure 7.1 has the original matrices; these are stand-ins.";
    let mut table = over(rows, "Nodes of the trees, 128 x 128", value, source)
        .column("nonzeros", |(_, row)| row.nonzeros());
    for (nodes, heading, entries) in
        [(NODES[0], "inner nodes", "children per node"), (NODES[1], "leaves", "nonzeros per leaf")]
    {
        table = table
            .column(heading, |(_, row)| row.more(nodes.all))
            .column("of them dense", |(_, row)| row.more(nodes.dense))
            .column(entries, |(_, row)| quotient(row.more(nodes.entries), row.more(nodes.all)));
    }
    table.done()
}

/// The published figures of a stand-in of full size.
pub(super) fn published(name: &str) -> Option<&'static PublishedTree> {
    PublishedTree::all().iter().find(|tree| tree.name == name)
}

/// Adds a figure of ours, the published one, and the ratio.
fn beside<'r>(
    table: Over<'r, Named<'r>>,
    heading: &str,
    ours: impl Fn(&Row) -> Option<f64>,
    thesis: impl Fn(&PublishedTree) -> f64,
) -> Over<'r, Named<'r>> {
    let thesis = |name: &str| published(name).map(&thesis);
    table
        .column(heading, |(_, row)| ours(row))
        .column("published", |(name, _)| thesis(name))
        .column("ratio", |(name, row)| quotient(ours(row), thesis(name).filter(|figure| *figure > 0.0)))
}

pub(super) fn rows_beside_figure(rows: &[Named<'_>], value: &str) -> Table {
    let table = over_each(rows, "Rows beside Figure 7.1", value, "Figure 7.1.");
    let table = beside(table, "rows", |row| Some(row.shape?.rows as f64), |tree| tree.rows().shape.0 as f64);
    let table =
        beside(table, "columns", |row| Some(row.shape?.cols as f64), |tree| tree.rows().shape.1 as f64);
    let table =
        beside(table, "nonzeros", |row| Some(row.nonzeros() as f64), |tree| tree.rows().nonzeros as f64);
    let deviation = |row: &Row| row.more("deviation of row lengths");
    let table = beside(table, "deviation of row lengths", deviation, |tree| tree.rows().deviation);
    let longest = |tree: &PublishedTree| tree.rows().longest as f64;
    let mut table = beside(table, "longest row", |row| row.more("longest row"), longest).done();
    table.note(
        "figures that the thesis rounds are published with the digits of the originals; lp is rail4284",
    );
    table
}

/// The mean number of entries of inner nodes, as the thesis counts.
fn thesis_children(row: &Row) -> Option<f64> {
    let [Nodes { all: inner, entries: children, .. }, Nodes { dense, .. }] = NODES;
    let dense = row.more(dense)?;
    Some((row.more(children)? + SLOTS * dense) / (row.more(inner)? + dense) - 1.0)
}

/// The mean number of nonzeros of sparse leaves, as the thesis counts.
fn thesis_nonzeros(row: &Row) -> Option<f64> {
    let leaves = NODES[1];
    let in_sparse = row.more(leaves.entries)? - row.more(leaves.dense_entries)?;
    Some(in_sparse / sparse_leaves(row)? - 1.0)
}

fn sparse_leaves(row: &Row) -> Option<f64> {
    Some(row.more(NODES[1].all)? - row.more(NODES[1].dense)?)
}

pub(super) fn nodes_beside_figure(rows: &[Named<'_>], value: &str) -> Table {
    let table = over_each(rows, "Nodes beside Figure 7.1", value, "Figure 7.1.");
    let table = beside(table, "inner nodes", |row| row.more(NODES[0].all), |tree| tree.inner.all() as f64);
    let table = beside(table, "their mean entries", thesis_children, |tree| tree.inner.mean);
    let table = beside(table, "sparse leaves", sparse_leaves, |tree| tree.leaves.sparse as f64);
    let table = beside(table, "their mean nonzeros", thesis_nonzeros, |tree| tree.leaves.mean);
    let mut table =
        beside(table, "dense leaves", |row| row.more(NODES[1].dense), |tree| tree.leaves.dense as f64).done();
    table.note(
        "means as the thesis counts: one less than the quotient of the totals, and for inner nodes over these and the dense \
         leaves, of which each counts 128² entries; its totals for circuit5m exclude its mean of inner nodes",
    );
    table
}

/// The pretest that made the thesis choose nodes of 128 x 128: bytes, and y = Ax by its method.
pub(super) fn sizes(rows: &[Named<'_>], value: &str) -> Table {
    let source = "Chapter 7 says that nodes of 128 x 128 were best in pretests, without figures.";
    let columns = [
        "rows and columns of a node",
        "matrices",
        "bytes over CSR, mean",
        "SpMV by queue, ms, mean",
        "standard deviation",
        "over that of 128, geometric mean",
        "fastest with",
    ];
    let mut table = Table::new(Study::Hisparse, &format!("Sizes of nodes, {value}"), source, &columns);
    let way = [QUEUE, BY_ROW].into_iter().find(|way| rows.iter().any(|(_, row)| ms(row, way, 128).is_some()));
    let way = way.unwrap_or(QUEUE);
    if way == BY_ROW {
        table.columns[3] = "SpMV, leaves by row on the CPU, ms, mean".into();
    }
    // Means are over the same matrices for all sizes.
    let all: Vec<&Row> = rows.iter().map(|(_, row)| *row).collect();
    let all: Vec<&Row> =
        all.into_iter().filter(|row| NODE_SIZES.iter().all(|&node| ms(row, way, node).is_some())).collect();
    for node in NODE_SIZES {
        let of = |figure: &dyn Fn(&Row) -> Option<f64>| {
            all.iter().filter_map(|row| figure(row)).collect::<Vec<f64>>()
        };
        let over_csr =
            |row: &Row| quotient(row.more(&of_size("hisparse bytes", node)), row.more("csr bytes"));
        let (mean, deviation) = mean_and_deviation(&of(&|row| ms(row, way, node))).unzip();
        let relative = of(&|row| quotient(ms(row, way, node), ms(row, way, 128)));
        let is_fastest = |row: &&&Row| {
            let best = NODE_SIZES.into_iter().min_by(|a, b| {
                let time = |size: &usize| ms(row, way, *size).unwrap_or(f64::INFINITY);
                time(a).total_cmp(&time(b))
            });
            best == Some(node)
        };
        table.row([
            Cell::from(node),
            all.len().into(),
            mean_and_deviation(&of(&over_csr)).map(|(mean, _)| mean).into(),
            mean.into(),
            deviation.into(),
            geometric_mean(relative).into(),
            all.iter().filter(is_fastest).count().into(),
        ]);
    }
    table
}

/// Milliseconds of y = Ax with nodes of a size.
fn ms(row: &Row, way: &str, node: usize) -> Option<f64> {
    row.more(&of_size(&format!("spmv ms, {way}"), node))
}
