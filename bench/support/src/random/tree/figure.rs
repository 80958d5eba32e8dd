//! Figure 7.1 of the thesis.

use evenpath::generate::Published;

use super::target::Target;

/// A matrix of Figure 7.1, and what it prints of the tree of 128 x 128 nodes in single precision.
///
/// ```
/// use evenpath_bench_support::random::PublishedTree;
///
/// let special = PublishedTree::all().iter().find(|tree| tree.name == "special").expect("one of all");
/// assert_eq!((special.inner.all(), special.leaves.all()), (192, 806_400));
/// ```
#[derive(Debug, PartialEq)]
pub struct PublishedTree {
    /// The name of the [`Published`] matrix with the same size and row lengths, or `dense`. The thesis calls `lp` rail4284.
    pub name: &'static str,
    /// Inner nodes.
    pub inner: PublishedNodes,
    /// Leaves.
    pub leaves: PublishedNodes,
    /// Consecutive columns of a row in a leaf. Not published: unknowns per node of finite elements, or an estimate.
    run: usize,
}

/// Printed figures of nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PublishedNodes {
    /// Sparse nodes.
    pub sparse: u64,
    /// Dense nodes.
    pub dense: u64,
    /// Mean number of entries, as printed, which is one below the quotient of the totals. Of leaves, that of the sparse ones; of
    /// inner nodes, the mean over these and the dense leaves, each of which counts 128² entries.
    pub mean: f64,
}

impl PublishedNodes {
    /// Sparse and dense nodes.
    pub fn all(&self) -> u64 {
        self.sparse + self.dense
    }
}

/// Rows and columns of the full matrix.
const DENSE: usize = 5000;

const fn nodes(sparse: u64, dense: u64, mean: f64) -> PublishedNodes {
    PublishedNodes { sparse, dense, mean }
}

const fn tree(
    name: &'static str,
    inner: PublishedNodes,
    leaves: PublishedNodes,
    run: usize,
) -> PublishedTree {
    PublishedTree { name, inner, leaves, run }
}

/// Figure 7.1, left column first.
const TREES: &[PublishedTree] = &[
    tree("asia-osm", nodes(236_500, 3, 6.6), nodes(1_600_000, 0, 15.2), 1),
    tree("bone010", nodes(182, 0, 496.0), nodes(90_300, 0, 792.8), 3),
    tree("circuit5m", nodes(2500, 0, 210.9), nodes(327_300, 36, 179.7), 1),
    tree("dense", nodes(1, 0, 16_373.3), nodes(79, 1521, 1010.9), 128),
    tree("in-2004", nodes(4300, 0, 787.9), nodes(143_300, 209, 96.7), 4),
    tree("asic-320k", nodes(387, 0, 363.1), nodes(140_500, 0, 17.8), 1),
    tree("cage12", nodes(49, 0, 461.1), nodes(22_600, 0, 89.0), 1),
    tree("cont11-l", nodes(390, 0, 158.8), nodes(61_900, 0, 85.9), 1),
    tree("fullchip", nodes(2800, 0, 182.0), nodes(510_800, 0, 51.1), 1),
    tree("kkt-power", nodes(920, 0, 829.9), nodes(763_500, 0, 18.1), 1),
    tree("ldoor", nodes(2100, 0, 130.8), nodes(278_600, 0, 166.0), 7),
    tree("parabolic-fem", nodes(448, 0, 170.6), nodes(76_400, 0, 47.1), 1),
    tree("lp", nodes(68, 0, 3474.8), nodes(236_300, 0, 46.8), 1),
    tree("rucci1", nodes(848, 0, 1049.1), nodes(889_600, 0, 7.8), 1),
    tree("special", nodes(183, 9, 4199.9), nodes(806_400, 0, 63.8), 16),
    tree("mip1", nodes(20, 0, 15_843.4), nodes(6000, 575, 425.5), 1),
    tree("poisson3da", nodes(1, 0, 10_793.0), nodes(10_800, 0, 31.7), 1),
    tree("rajat31", nodes(2300, 0, 120.3), nodes(271_000, 0, 74.0), 1),
    tree("sme3dc", nodes(6, 4, 10_344.7), nodes(103_400, 0, 29.4), 3),
    tree("webbase", nodes(2300, 0, 65.5), nodes(151_500, 0, 19.5), 1),
];

/// Rows, columns, nonzeros, and moments of the row length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PublishedRows {
    /// Rows and columns.
    pub shape: (usize, usize),
    /// Nonzeros.
    pub nonzeros: usize,
    /// Standard deviation of the row length.
    pub deviation: f64,
    /// Nonzeros of the longest row.
    pub longest: usize,
}

impl PublishedTree {
    /// Returns all twenty matrices.
    pub fn all() -> &'static [Self] {
        TREES
    }

    /// Place in the figure.
    pub(super) fn number(&self) -> u64 {
        TREES.iter().take_while(|tree| tree.name != self.name).count() as u64
    }

    /// The figures of the rows.
    pub fn rows(&self) -> PublishedRows {
        let full =
            PublishedRows { shape: (DENSE, DENSE), nonzeros: DENSE * DENSE, deviation: 0.0, longest: DENSE };
        Published::all().find(|matrix| matrix.name() == self.name).map_or(full, |matrix| PublishedRows {
            shape: matrix.shape(),
            nonzeros: matrix.nonzeros(),
            deviation: matrix.deviation(),
            longest: matrix.longest(),
        })
    }

    /// Figures to generate a matrix for.
    pub(super) fn target(&self) -> Target {
        let PublishedRows { shape: (rows, cols), nonzeros, deviation, longest } = self.rows();
        Target {
            rows,
            cols,
            nonzeros,
            deviation,
            longest,
            inner: self.inner.all() as usize,
            leaves: self.leaves.sparse as usize,
            dense_leaves: self.leaves.dense as usize,
            mean_leaf: self.leaves.mean + 1.0,
            run: self.run,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_means_are_one_below_the_quotients_of_the_totals() {
        for tree in TREES {
            let rows = tree.rows();
            let in_dense = rows.nonzeros as f64 - (tree.leaves.mean + 1.0) * tree.leaves.sparse as f64;
            // Totals are printed with two digits or more.
            let error = 0.04 * rows.nonzeros as f64;
            let most = (tree.leaves.dense * 128 * 128) as f64;
            assert!((-error..=most + error).contains(&in_dense), "{}: {in_dense}", tree.name);

            // The printed totals of circuit5M exclude its printed mean.
            if tree.name != "circuit5m" {
                let children = (tree.leaves.all() + tree.inner.all() - 1) as f64;
                let nodes = (tree.inner.all() + tree.leaves.dense) as f64;
                let mean = (children + most) / nodes - 1.0;
                assert!((mean / tree.inner.mean - 1.0).abs() < 0.03, "{}: {mean}", tree.name);
            }
        }
    }
}
