//! Figure 7.1: rows and nodes, as they are and beside the published ones.

use super::over::{Named, over, over_each};
use crate::operations::hisparse::{NODES, Nodes};
use crate::random::PublishedTree;
use crate::results::Row;
use crate::study::figures::quotient;
use crate::study::table::{Over, Table};

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
