//! The pretest that made the thesis choose nodes of 128 x 128: bytes, and y = Ax by its method.

use super::over::Named;
use crate::operations::hisparse::{BY_ROW, NODE_SIZES, QUEUE, of_size};
use crate::results::Row;
use crate::statistics::{geometric_mean, mean_and_deviation};
use crate::study::figures::quotient;
use crate::study::name::Study;
use crate::study::table::{Cell, Table};

/// Bytes over those of CSR, and milliseconds of y = Ax, of a matrix with nodes of every size.
struct Measured {
    over_csr: [f64; NODE_SIZES.len()],
    ms: [f64; NODE_SIZES.len()],
}

impl Measured {
    /// The figures of a way to multiply, if all sizes have them.
    fn new(row: &Row, way: &str) -> Option<Self> {
        let (mut over_csr, mut ms) = ([0.0; NODE_SIZES.len()], [0.0; NODE_SIZES.len()]);
        for (index, node) in NODE_SIZES.into_iter().enumerate() {
            over_csr[index] = quotient(row.more(&of_size("hisparse bytes", node)), row.more("csr bytes"))?;
            ms[index] = row.more(&of_size(&format!("spmv ms, {way}"), node))?;
        }
        Some(Self { over_csr, ms })
    }

    fn is_fastest(&self, index: usize) -> bool {
        self.ms.iter().all(|&ms| self.ms[index] <= ms)
    }
}

pub(super) fn sizes(rows: &[Named<'_>], value: &str) -> Table {
    let of_way = |way: &str| rows.iter().filter_map(|(_, row)| Measured::new(row, way)).collect::<Vec<_>>();
    // The CPU has no queue scheduler.
    let (mut product, mut all) = ("queue scheduler", of_way(QUEUE));
    if all.is_empty() {
        (product, all) = ("leaves by row, CPU", of_way(BY_ROW));
    }
    let source = "Chapter 7 says that nodes of 128 x 128 were best in pretests, without figures.";
    let time = format!("SpMV by {product}, ms");
    let columns = [
        "rows and columns of a node",
        "matrices",
        "bytes over CSR",
        &time,
        "standard deviation",
        "over the time with 128, geometric mean",
        "fastest with",
    ];
    let mut table = Table::new(Study::Hisparse, &format!("Sizes of nodes, means, {value}"), source, &columns);
    let usual = NODE_SIZES.iter().position(|&node| node == 128).unwrap_or(0);
    for (index, node) in NODE_SIZES.into_iter().enumerate() {
        let moments = |of: &dyn Fn(&Measured) -> f64| {
            mean_and_deviation(&all.iter().map(of).collect::<Vec<f64>>()).unzip()
        };
        let (mean, deviation) = moments(&|one| one.ms[index]);
        table.row([
            Cell::from(node),
            all.len().into(),
            moments(&|one| one.over_csr[index]).0.into(),
            mean.into(),
            deviation.into(),
            geometric_mean(all.iter().map(|one| one.ms[index] / one.ms[usual])).into(),
            all.iter().filter(|one| one.is_fastest(index)).count().into(),
        ]);
    }
    table.note("means over the matrices that have a time with every size");
    table
}
