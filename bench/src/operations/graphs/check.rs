//! Checks of results on undirected graphs, by plain algorithms on the host.

use std::fmt::Display;

use evenpath::graph::{Bfs, NO_VERTEX, Pagerank, PagerankOptions};
use evenpath::{Csr, Value};
use rayon::prelude::*;

fn neighbors<V: Value>(edges: &Csr<V>, vertex: usize) -> &[u32] {
    edges.row(vertex).map_or(&[], |row| row.columns())
}

/// Compares results of vertices.
fn same<T: PartialEq + Display>(name: &str, found: &[T], expected: &[T]) -> Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!("{} {name}s of {} vertices", found.len(), expected.len()));
    }
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        None => Ok(()),
        Some(at) => Err(format!("the {name} of vertex {at} is {}, not {}", found[at], expected[at])),
    }
}

/// The expected levels and parents of a search.
pub(super) struct Levels {
    levels: Vec<u32>,
    parents: Vec<u32>,
}

impl Levels {
    pub(super) fn new<V: Value>(edges: &Csr<V>, source: usize) -> Self {
        let mut levels = vec![NO_VERTEX; edges.nrows()];
        let mut parents = levels.clone();
        (levels[source], parents[source]) = (0, source as u32);
        let mut frontier = vec![source as u32];
        for level in 1.. {
            let mut next = Vec::new();
            for &vertex in &frontier {
                for &other in neighbors(edges, vertex as usize) {
                    if levels[other as usize] == NO_VERTEX {
                        levels[other as usize] = level;
                        next.push(other);
                    }
                    if levels[other as usize] == level {
                        let parent = &mut parents[other as usize];
                        *parent = vertex.min(*parent);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            frontier = next;
        }
        Self { levels, parents }
    }

    pub(super) fn check(&self, found: &Bfs) -> Result<(), String> {
        same("level", &found.levels, &self.levels)?;
        same("parent", &found.parents, &self.parents)
    }
}

/// The distance of each vertex is the least sum, rounded, of a neighbor's and the length of the edge.
pub(super) fn distances<V: Value>(edges: &Csr<V>, source: usize, found: &[V]) -> Result<(), String> {
    if found.len() != edges.nrows() {
        return Err(format!("{} distances of {} vertices", found.len(), edges.nrows()));
    }
    let infinity = V::from_f64(f64::INFINITY);
    let least = |vertex: usize| {
        if vertex == source {
            return V::ZERO;
        }
        let sums = edges.row(vertex).into_iter().flat_map(|row| row.iter());
        let sums = sums.map(|(from, length)| found[from as usize] + length);
        sums.fold(infinity, |least, sum| if sum < least { sum } else { least })
    };
    let expected: Vec<V> = (0..edges.nrows()).into_par_iter().map(least).collect();
    same("distance", found, &expected)
}

pub(super) fn components<V: Value>(edges: &Csr<V>, found: &[u32]) -> Result<(), String> {
    let mut least = vec![NO_VERTEX; edges.nrows()];
    for root in 0..edges.nrows() {
        if least[root] != NO_VERTEX {
            continue;
        }
        least[root] = root as u32;
        let mut stack = vec![root];
        while let Some(vertex) = stack.pop() {
            for &other in neighbors(edges, vertex) {
                if least[other as usize] == NO_VERTEX {
                    least[other as usize] = root as u32;
                    stack.push(other as usize);
                }
            }
        }
    }
    same("component", found, &least)
}

/// Counts triangles by their vertices in the order of degrees.
pub(super) fn triangles<V: Value>(edges: &Csr<V>, found: u64) -> Result<(), String> {
    let rank = |vertex: u32| (neighbors(edges, vertex as usize).len(), vertex);
    let after = |vertex: u32| {
        neighbors(edges, vertex as usize).iter().copied().filter(move |&other| rank(other) > rank(vertex))
    };
    let later: Vec<Vec<u32>> =
        (0..edges.nrows() as u32).into_par_iter().map(|vertex| after(vertex).collect()).collect();
    let of_vertex = |marks: &mut Vec<u32>, vertex: usize| {
        later[vertex].iter().for_each(|&other| marks[other as usize] = vertex as u32);
        let thirds = later[vertex].iter().flat_map(|&other| &later[other as usize]);
        thirds.filter(|&&third| marks[third as usize] == vertex as u32).count() as u64
    };
    let marks = || vec![NO_VERTEX; edges.nrows()];
    let expected: u64 = (0..edges.nrows()).into_par_iter().map_init(marks, of_vertex).sum();
    if found == expected { Ok(()) } else { Err(format!("{found} triangles, not {expected}")) }
}

/// Removes vertices of the least degree, one after the other.
pub(super) fn core_numbers<V: Value>(edges: &Csr<V>, found: &[u32]) -> Result<(), String> {
    let mut degrees: Vec<usize> = edges.iter_rows().map(|row| row.len()).collect();
    let mut by_degree = vec![Vec::new(); degrees.iter().max().map_or(0, |&most| most + 1)];
    for (vertex, &degree) in degrees.iter().enumerate() {
        by_degree[degree].push(vertex);
    }
    let mut cores = vec![NO_VERTEX; edges.nrows()];
    for core in 0..by_degree.len() {
        while let Some(vertex) = by_degree[core].pop() {
            if cores[vertex] != NO_VERTEX || degrees[vertex] != core {
                continue;
            }
            cores[vertex] = core as u32;
            for &other in neighbors(edges, vertex) {
                let other = other as usize;
                if cores[other] == NO_VERTEX && degrees[other] > core {
                    degrees[other] -= 1;
                    by_degree[degrees[other]].push(other);
                }
            }
        }
    }
    same("core number", found, &cores)
}

/// One more step changes ranks by the tolerance at most, beside rounding, and their sum is 1.
pub(super) fn ranks<V: Value>(
    edges: &Csr<V>,
    options: PagerankOptions,
    found: &Pagerank<V>,
) -> Result<(), String> {
    let pages = edges.nrows() as f64;
    let ranks: Vec<f64> = found.ranks.iter().map(|rank| rank.to_f64()).collect();
    let mut jumps = 0.0;
    let mut change: Vec<f64> = ranks.iter().map(|rank| -rank).collect();
    for (links, rank) in edges.iter_rows().zip(&ranks) {
        jumps += if links.is_empty() { *rank } else { (1.0 - options.damping) * rank };
        let followed = options.damping * rank / links.len() as f64;
        links.columns().iter().for_each(|&to| change[to as usize] += followed);
    }
    let norm = |terms: &mut dyn Iterator<Item = f64>| terms.map(|term| term * term).sum::<f64>().sqrt();
    let moved = norm(&mut change.iter().map(|change| change + jumps / pages));
    let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let bound = options.tolerance + 100.0 * epsilon * norm(&mut ranks.iter().copied());
    let sum: f64 = ranks.iter().sum();
    // Not `>`, because NaN must fail.
    let is_right = !found.converged || moved <= bound;
    if is_right && (sum - 1.0).abs() <= 1000.0 * epsilon {
        Ok(())
    } else {
        Err(format!("another step moves the ranks by {moved:.1e}, and their sum is {sum}"))
    }
}

#[cfg(test)]
mod tests {
    use evenpath::graph::{self, BfsOptions};
    use evenpath::{Device, DeviceCsr};

    use super::*;

    /// A triangle with a tail of two vertices, and a vertex alone.
    fn edges() -> Csr<f64> {
        let edges = [(0, 1, 1.0), (1, 2, 2.0), (0, 2, 4.0), (2, 3, 1.0), (3, 4, 0.5)];
        let both = edges.iter().flat_map(|&(u, v, length)| [(u, v, length), (v, u, length)]);
        Csr::from_triplets(6, 6, both).unwrap()
    }

    #[test]
    fn results_by_hand_pass_and_others_fail() {
        let (edges, none) = (edges(), NO_VERTEX);
        let search = |levels: [u32; 6], parents: [u32; 6]| {
            let device: DeviceCsr<f64> = Device::cpu().upload(&edges).unwrap();
            let mut found = graph::bfs(&device, 0, BfsOptions::default()).unwrap();
            (found.levels, found.parents) = (levels.into(), parents.into());
            Levels::new(&edges, 0).check(&found)
        };
        assert_eq!(search([0, 1, 1, 2, 3, none], [0, 0, 0, 2, 3, none]), Ok(()));
        assert!(search([0, 1, 1, 2, 3, 4], [0, 0, 0, 2, 3, none]).is_err());
        assert!(search([0, 1, 1, 2, 3, none], [0, 0, 1, 2, 3, none]).is_err());
        assert_eq!(distances(&edges, 0, &[0.0, 1.0, 3.0, 4.0, 4.5, f64::INFINITY]), Ok(()));
        assert!(distances(&edges, 0, &[0.0, 1.0, 4.0, 5.0, 5.5, f64::INFINITY]).is_err());
        assert!(distances(&edges, 0, &[0.0, 1.0, 3.0, 4.0, f64::NAN, f64::INFINITY]).is_err());
        assert_eq!(components(&edges, &[0, 0, 0, 0, 0, 5]), Ok(()));
        assert!(components(&edges, &[0; 6]).is_err());
        assert_eq!(triangles(&edges, 1), Ok(()));
        assert!(triangles(&edges, 2).is_err());
        assert_eq!(core_numbers(&edges, &[2, 2, 2, 1, 1, 0]), Ok(()));
        assert!(core_numbers(&edges, &[2, 2, 2, 1, 0, 0]).is_err());
        assert!(core_numbers(&edges, &[2, 2, 2]).unwrap_err().contains("3 core numbers of 6"));
    }

    #[test]
    fn ranks_must_not_move() {
        let edges = edges();
        let options = PagerankOptions::default();
        let device = Device::cpu().upload(&edges).unwrap();
        let mut found = graph::pagerank(&device, options).unwrap();
        assert_eq!(ranks(&edges, options, &found), Ok(()));
        found.ranks.swap(0, 4);
        assert!(ranks(&edges, options, &found).is_err());
        found.ranks.fill(f64::NAN);
        assert!(ranks(&edges, options, &found).is_err());
    }
}
