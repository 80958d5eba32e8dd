//! Figure 3.2: bytes per nonzero.

use super::nodes::published;
use super::over::{Named, over_each};
use crate::random::PublishedTree;
use crate::results::Row;
use crate::statistics::mean_and_deviation;
use crate::study::figures::quotient;
use crate::study::published::{HISPARSE_OVER_COO, HISPARSE_OVER_CSR};
use crate::study::table::{Cell, Table};

pub(super) fn bytes(rows: &[Named<'_>], value: &str, is_published: bool) -> Table {
    let per_nonzero =
        |row: &Row, name: &str| row.more(name).map(|bytes| bytes / row.nonzeros().max(1) as f64);
    let over_csr = |row: &Row| quotient(row.more("hisparse bytes"), row.more("csr bytes"));
    let over_coo = |row: &Row| quotient(row.more("hisparse bytes"), row.more("coo bytes"));
    let by_nodes = |name: &str, of: fn(&PublishedTree) -> f64| {
        let tree = published(name).filter(|_| is_published)?;
        Some(tree_bytes(tree) / of(tree))
    };
    let thesis_csr = |name: &str| by_nodes(name, csr_bytes);
    let thesis_coo = |name: &str| by_nodes(name, coo_bytes);
    let source = "Figure 3.2; the thesis gives the average savings in single precision.";
    let mut table = over_each(rows, "Bytes per nonzero", value, source)
        .column("HiSparse", |(_, row)| per_nonzero(row, "hisparse bytes"))
        .column("CSR", |(_, row)| per_nonzero(row, "csr bytes"))
        .column("COO", |(_, row)| per_nonzero(row, "coo bytes"))
        .column("over CSR", |(_, row)| over_csr(row))
        .column("by published nodes", |(name, _)| thesis_csr(name))
        .column("over COO", |(_, row)| over_coo(row))
        .column("by published nodes", |(name, _)| thesis_coo(name))
        .done();
    let mean = |of: &dyn Fn(&Named<'_>) -> Option<f64>| {
        let ratios: Vec<f64> = rows.iter().filter_map(of).collect();
        Cell::from(mean_and_deviation(&ratios).map(|(mean, _)| mean))
    };
    let mut add = |name: &str, ratios: [Cell; 4]| {
        table.row([name.into(), Cell::None, Cell::None, Cell::None].into_iter().chain(ratios));
    };
    let means = [
        mean(&|(_, row)| over_csr(row)),
        mean(&|(name, _)| thesis_csr(name)),
        mean(&|(_, row)| over_coo(row)),
        mean(&|(name, _)| thesis_coo(name)),
    ];
    add("mean", means);
    if is_published {
        let (csr, coo) = (HISPARSE_OVER_CSR.into(), HISPARSE_OVER_COO.into());
        add("published mean, about", [csr, Cell::None, coo, Cell::None]);
        table.note(
            "by published nodes: the bytes that Section 3.1 counts for the nodes of Figure 7.1, without padding, over those of \
             CSR and COO",
        );
    }
    table
}

/// Bytes of the nodes of Figure 7.1 in single precision: a count for each sparse node, and 6 bytes for each of its entries
/// (Section 3.1); 4 for each slot of a dense one.
fn tree_bytes(tree: &PublishedTree) -> f64 {
    let sparse_leaves = tree.leaves.sparse as f64;
    let in_leaves = sparse_leaves * (tree.leaves.mean + 1.0);
    let dense = (tree.leaves.dense * 128 * 128 * 4) as f64;
    let inner = tree.inner.all() as f64;
    let children = tree.leaves.all() as f64 + inner - 1.0;
    6.0 * (in_leaves + children) + 4.0 * (sparse_leaves + inner) + dense
}

fn csr_bytes(tree: &PublishedTree) -> f64 {
    let rows = tree.rows();
    8.0 * rows.nonzeros as f64 + 4.0 * (rows.shape.0 as f64 + 1.0)
}

fn coo_bytes(tree: &PublishedTree) -> f64 {
    12.0 * tree.rows().nonzeros as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_nodes_have_the_published_savings() {
        let mean = |of: fn(&PublishedTree) -> f64| {
            let all = PublishedTree::all();
            all.iter().map(|tree| tree_bytes(tree) / of(tree)).sum::<f64>() / all.len() as f64
        };
        let (csr, coo) = (mean(csr_bytes), mean(coo_bytes));
        // The formula has no padding, and the thesis rounds.
        assert!(
            (csr - HISPARSE_OVER_CSR).abs() < 0.1 && (coo - HISPARSE_OVER_COO).abs() < 0.05,
            "{csr} {coo}"
        );
    }
}
