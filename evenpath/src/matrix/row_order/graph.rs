//! The graph of a matrix's pattern, and breadth-first searches in it.

use crate::matrix::CsrView;
use crate::memory::try_zeroed;
use crate::{Offset, Storage};

/// An undirected graph, without loops: the neighbors of each node.
pub(super) struct Graph {
    starts: Vec<usize>,
    neighbors: Vec<u32>,
}

impl Graph {
    /// Makes the graph of A + Aᵀ, for a square matrix A. Fails without enough memory, like all that follows.
    pub(super) fn symmetric<V: Storage, O: Offset>(matrix: CsrView<'_, V, O>) -> Result<Self, ()> {
        let edges = || {
            let rows = 0..matrix.nrows();
            let of_row = move |row| {
                matrix.column_indices()[matrix.range(row)].iter().map(move |&column| (row, column as usize))
            };
            rows.flat_map(of_row).filter(|(row, column)| row != column)
        };
        let mut starts = try_zeroed(matrix.nrows() + 1)?;
        for (row, column) in edges() {
            starts[row] += 1;
            starts[column] += 1;
        }
        let len = to_starts(&mut starts);
        let mut neighbors = try_zeroed(len)?;
        for (row, column) in edges() {
            neighbors[take(&mut starts[row])] = column as u32;
            neighbors[take(&mut starts[column])] = row as u32;
        }
        to_starts_again(&mut starts);
        let mut graph = Self { starts, neighbors };
        graph.remove_duplicates()?;
        Ok(graph)
    }

    /// Keeps the first of equal neighbors.
    fn remove_duplicates(&mut self) -> Result<(), ()> {
        // The node that had each neighbor last, plus one.
        let mut last: Vec<u32> = try_zeroed(self.nodes())?;
        let (mut end, mut begin) = (0, 0);
        for node in 0..self.nodes() {
            let own = begin..self.starts[node + 1];
            begin = own.end;
            self.starts[node] = end;
            for at in own {
                let neighbor = self.neighbors[at];
                if std::mem::replace(&mut last[neighbor as usize], node as u32 + 1) != node as u32 + 1 {
                    self.neighbors[end] = neighbor;
                    end += 1;
                }
            }
        }
        let nodes = self.nodes();
        self.starts[nodes] = end;
        self.neighbors.truncate(end);
        Ok(())
    }

    pub(super) fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn degree(&self, node: u32) -> usize {
        self.neighbors(node).len()
    }

    fn neighbors(&self, node: u32) -> &[u32] {
        &self.neighbors[self.starts[node as usize]..self.starts[node as usize + 1]]
    }

    /// Returns the nodes, those of fewest neighbors first, stably.
    pub(super) fn nodes_by_degree(&self) -> Result<Vec<u32>, ()> {
        let nodes = 0..self.nodes() as u32;
        let most = nodes.clone().map(|node| self.degree(node)).max().unwrap_or(0);
        let mut starts = try_zeroed(most + 2)?;
        for node in nodes.clone() {
            starts[self.degree(node)] += 1;
        }
        to_starts(&mut starts);
        let mut sorted = try_zeroed(self.nodes())?;
        for node in nodes {
            sorted[take(&mut starts[self.degree(node)])] = node;
        }
        Ok(sorted)
    }

    /// Puts the neighbors of each node into the given order of all nodes.
    pub(super) fn sorted_by(self, order: &[u32]) -> Result<Self, ()> {
        let mut sorted = try_zeroed(self.neighbors.len())?;
        let mut ends: Vec<usize> = try_zeroed(self.nodes())?;
        ends.copy_from_slice(&self.starts[..self.nodes()]);
        for &node in order {
            for &neighbor in self.neighbors(node) {
                sorted[take(&mut ends[neighbor as usize])] = node;
            }
        }
        Ok(Self { neighbors: sorted, ..self })
    }
}

/// A breadth-first search, and its memory for the next.
pub(super) struct Search<'g> {
    graph: &'g Graph,
    is_found: Vec<bool>,
    /// The nodes that were found, in this order.
    found: Vec<u32>,
    last_level: usize,
}

impl<'g> Search<'g> {
    pub(super) fn new(graph: &'g Graph) -> Result<Self, ()> {
        let (mut is_found, mut found) = (Vec::new(), Vec::new());
        is_found.try_reserve_exact(graph.nodes()).map_err(drop)?;
        is_found.resize(graph.nodes(), false);
        found.try_reserve_exact(graph.nodes()).map_err(drop)?;
        Ok(Self { graph, is_found, found, last_level: 0 })
    }

    /// Finds all nodes that are connected to one, and returns the distance of the farthest.
    pub(super) fn run(&mut self, start: u32) -> usize {
        for &node in &self.found {
            self.is_found[node as usize] = false;
        }
        self.found.clear();
        self.found.push(start);
        self.is_found[start as usize] = true;
        let (mut level, mut depth) = (0..1, 0);
        loop {
            self.last_level = level.start;
            for at in level.clone() {
                for &neighbor in self.graph.neighbors(self.found[at]) {
                    if !std::mem::replace(&mut self.is_found[neighbor as usize], true) {
                        self.found.push(neighbor);
                    }
                }
            }
            level = level.end..self.found.len();
            if level.is_empty() {
                return depth;
            }
            depth += 1;
        }
    }

    /// The nodes that the last search found, nearest first.
    pub(super) fn nodes(&self) -> &[u32] {
        &self.found
    }

    /// Those of them that are farthest from its start.
    pub(super) fn last_level(&self) -> &[u32] {
        &self.found[self.last_level..]
    }
}

/// Replaces counts by sums of those before, and returns the sum of all.
fn to_starts(counts: &mut [usize]) -> usize {
    let mut sum = 0;
    for count in counts {
        sum += std::mem::replace(count, sum);
    }
    sum
}

/// Replaces ends, each of which is the start of the next, by starts; the last stays.
fn to_starts_again(ends: &mut [usize]) {
    let mut start = 0;
    for end in ends {
        start = std::mem::replace(end, start);
    }
}

/// Returns the next place, and goes to the one after it.
fn take(place: &mut usize) -> usize {
    let taken = *place;
    *place += 1;
    taken
}
