//! Reverse Cuthill–McKee: an order of rows and columns that brings nonzeros close to the diagonal.

use super::RowOrder;
use super::graph::{Graph, Search};
use crate::matrix::{Csr, CsrView, MatrixError};
use crate::{Offset, Storage, parallel};

/// Maximum number of searches for a start in each part of the graph.
const MOST_SEARCHES: usize = 8;

impl<V: Storage, O: Offset> Csr<V, O> {
    /// Returns the reverse Cuthill–McKee order of the pattern of A + Aᵀ, for a square matrix A. [`permute`](Self::permute) applies it:
    /// the nonzeros of the result are closer to the diagonal, so that its [`bandwidth`](Self::bandwidth) is usually smaller, and products
    /// read neighboring elements of x.
    ///
    /// Rows are nodes of a graph whose edges are the nonzeros off the diagonal. Breadth-first searches number the nodes, those of one
    /// level in the order of their neighbors before them, and of equal ones those of fewer edges first; then the numbers are reversed
    /// (Cuthill–McKee: *Reducing the bandwidth of sparse symmetric matrices*, 1969; George and Liu, *Computer Solution of
    /// Large Sparse Positive Definite Systems*, 1981, chapter 4). A search starts at a node that is far from another, found by up
    /// to 8 searches (George and Liu, *An implementation of a pseudoperipheral node finder*, 1979). Parts of the graph that are not
    /// connected follow each other. Values do not matter.
    ///
    /// Runs on one thread, in linear time, with 16 bytes per nonzero and about 40 per row of temporary memory.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// // A path through the nodes 0, 3, 1, 4, 2.
    /// let edges = [(0, 3), (3, 1), (1, 4), (4, 2)];
    /// let both = edges.iter().flat_map(|&(i, j)| [(i, j, 1.0), (j, i, 1.0)]);
    /// let a = Csr::from_triplets(5, 5, both)?;
    /// let order = a.reverse_cuthill_mckee()?;
    /// assert_eq!(order.order(), [0, 3, 1, 4, 2]);
    /// assert_eq!((a.bandwidth(), a.permute(&order)?.bandwidth()), ((3, 3), (1, 1)));
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix is not square, or there is not enough memory.
    pub fn reverse_cuthill_mckee(&self) -> Result<RowOrder, MatrixError> {
        self.view().reverse_cuthill_mckee()
    }

    /// Returns the lower and the upper bandwidth: the most that a nonzero's row exceeds its column, and the most that its column exceeds
    /// its row; 0 if there is no such nonzero. Stored zeros count.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(4, 4, [(0, 0, 1.0), (0, 1, 2.0), (3, 1, 3.0)])?;
    /// assert_eq!(a.bandwidth(), (2, 1));
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    pub fn bandwidth(&self) -> (usize, usize) {
        self.view().bandwidth()
    }
}

impl<V: Storage, O: Offset> CsrView<'_, V, O> {
    /// Returns the reverse Cuthill–McKee order: see [`Csr::reverse_cuthill_mckee`].
    ///
    /// # Errors
    ///
    /// The same as for [`Csr::reverse_cuthill_mckee`].
    pub fn reverse_cuthill_mckee(&self) -> Result<RowOrder, MatrixError> {
        let (rows, cols) = self.shape();
        if rows != cols {
            return Err(MatrixError::NotSquare { rows, cols });
        }
        let out_of_memory = |()| MatrixError::OutOfMemory { rows, nnz: self.nnz() };
        let mut order = cuthill_mckee(*self).map_err(out_of_memory)?;
        order.reverse();
        Ok(RowOrder::inverted(order))
    }

    /// Returns the lower and the upper bandwidth: see [`Csr::bandwidth`].
    pub fn bandwidth(&self) -> (usize, usize) {
        let of_row = |row: usize| {
            let columns = &self.column_indices()[self.range(row)];
            let first = columns.iter().min().map_or(row, |&column| column as usize);
            let last = columns.iter().max().map_or(row, |&column| column as usize);
            (row.saturating_sub(first), last.saturating_sub(row))
        };
        let larger = |a: (usize, usize), b: (usize, usize)| (a.0.max(b.0), a.1.max(b.1));
        parallel::reduce(self.nrows(), 1 << 12, (0, 0), |rows| rows.map(of_row).fold((0, 0), larger), larger)
    }
}

/// Numbers the nodes of the graph.
fn cuthill_mckee<V: Storage, O: Offset>(matrix: CsrView<'_, V, O>) -> Result<Vec<u32>, ()> {
    let graph = Graph::symmetric(matrix)?;
    let by_degree = graph.nodes_by_degree()?;
    let graph = graph.sorted_by(&by_degree)?;
    let mut order: Vec<u32> = Vec::new();
    order.try_reserve_exact(graph.nodes()).map_err(drop)?;
    let mut is_numbered: Vec<bool> = Vec::new();
    is_numbered.try_reserve_exact(graph.nodes()).map_err(drop)?;
    is_numbered.resize(graph.nodes(), false);
    let mut search = Search::new(&graph)?;
    for &first in &by_degree {
        if is_numbered[first as usize] {
            continue;
        }
        let start = far_node(&graph, &mut search, first);
        // The search visits nodes in the order of their numbers.
        search.run(start);
        for &node in search.nodes() {
            is_numbered[node as usize] = true;
        }
        order.extend_from_slice(search.nodes());
    }
    Ok(order)
}

/// Finds a node that is far from another, in the part of the graph that `start` is in.
fn far_node(graph: &Graph, search: &mut Search<'_>, start: u32) -> u32 {
    let mut found = start;
    let mut depth = search.run(found);
    for _ in 1..MOST_SEARCHES {
        let least = search.last_level().iter().min_by_key(|&&node| graph.degree(node));
        let Some(&next) = least else { break };
        let next_depth = search.run(next);
        found = next;
        if next_depth <= depth {
            break;
        }
        depth = next_depth;
    }
    found
}
