//! Measures whole calls, with the copies of their results to the host.

use std::collections::BTreeMap;

use evenpath::error::OpError;
use evenpath::graph::{self, BfsOptions, NO_VERTEX, PagerankOptions};
use evenpath::{Csr, DeviceCsr, Value};

use super::algorithm::Algorithm;
use super::check;
use crate::measure::single_times_ms;
use crate::operations::bench::{Bench, Measured};
use crate::operations::edges::undirected;
use crate::peers::PeerValue;
use crate::results::{Contender, Figures, OWN_NAME};

/// Measures an algorithm on the graph of the nonzeros, in both directions, of a square matrix. Its operations are edges, each direction
/// counted once; its bytes are those of the matrix.
///
/// # Errors
///
/// If the matrix is not square or has no rows, there is not enough device memory, or the device was lost.
pub(crate) fn measure<V: PeerValue>(bench: &Bench<'_>, matrix: &Csr<V>, algorithm: Algorithm) -> Measured {
    let Graph { edges: host, source } = Graph::new(matrix)?;
    let problem = Problem { bench, host: &host, edges: bench.device.upload(&host)?, source };
    let mut more = BTreeMap::from([("source".to_owned(), source as f64)]);
    let ours = problem.measure(algorithm, &mut more)?;
    let edges = host.nnz() as u64;
    let bytes = edges * (size_of::<V>() + size_of::<u32>()) as u64 + 4 * (host.nrows() as u64 + 1);
    more.insert("edges".to_owned(), edges as f64);
    let mut figures = Figures::new((edges, edges, bytes), ours, Vec::new(), more);
    if let Some(ms) = figures.ms {
        figures.more.insert("10^9 edges/s".to_owned(), edges as f64 / ms / 1e6);
    }
    Ok(figures)
}

/// The graph of a matrix, and where searches begin.
pub(crate) struct Graph<V: Value> {
    /// Both directions of each edge.
    pub(crate) edges: Csr<V>,
    /// The first vertex of most edges.
    pub(crate) source: usize,
}

impl<V: Value> Graph<V> {
    /// The graph of the nonzeros of a square matrix.
    ///
    /// # Errors
    ///
    /// Those of [`undirected`], or if there are no rows.
    pub(crate) fn new(matrix: &Csr<V>) -> Result<Self, String> {
        let edges = undirected(matrix)?;
        let degree = |&vertex: &usize| (edges.row(vertex).map_or(0, |row| row.len()), usize::MAX - vertex);
        let source = (0..edges.nrows()).max_by_key(degree).ok_or("the graph has no vertices")?;
        Ok(Self { edges, source })
    }
}

/// A graph on the host and on the device.
struct Problem<'p, V: PeerValue> {
    bench: &'p Bench<'p>,
    host: &'p Csr<V>,
    edges: DeviceCsr<V>,
    source: usize,
}

impl<V: PeerValue> Problem<'_, V> {
    /// The ways of an algorithm. Adds further figures.
    fn measure(
        &self,
        algorithm: Algorithm,
        more: &mut BTreeMap<String, f64>,
    ) -> Result<Vec<Contender>, OpError> {
        let Self { host, edges, source, .. } = self;
        let name = algorithm.name();
        Ok(match algorithm {
            Algorithm::Bfs => {
                let expected = check::Levels::new(host, *source);
                let mut ours = Vec::new();
                for (name, symmetric) in [("forward", false), ("forward and backward", true)] {
                    let options = BfsOptions::default().with_symmetric(symmetric);
                    let call = || graph::bfs(edges, *source, options);
                    ours.push(self.contender(name, call, |found| {
                        let reached = found.levels.iter().filter(|&&level| level != NO_VERTEX);
                        let levels = reached.max().map_or(0, |&last| last + 1);
                        more.insert("levels".to_owned(), f64::from(levels));
                        expected.check(found)
                    })?);
                }
                ours
            }
            Algorithm::Sssp => {
                let check = |found: &Vec<V>| check::distances(host, *source, found);
                vec![self.contender(name, || graph::sssp(edges, *source), check)?]
            }
            Algorithm::Components => {
                let check = |found: &Vec<u32>| check::components(host, found);
                vec![self.contender(name, || graph::connected_components(edges), check)?]
            }
            Algorithm::Triangles => {
                let check = |found: &u64| check::triangles(host, *found);
                vec![self.contender(name, || graph::count_triangles(edges), check)?]
            }
            Algorithm::KCore => {
                let check = |found: &Vec<u32>| check::core_numbers(host, found);
                vec![self.contender(name, || graph::k_core(edges), check)?]
            }
            Algorithm::Pagerank => {
                let options = PagerankOptions::default();
                vec![self.contender(
                    name,
                    || graph::pagerank(edges, options),
                    |found| {
                        more.insert("steps".to_owned(), found.steps as f64);
                        check::ranks(host, options, found)
                    },
                )?]
            }
        })
    }

    fn contender<R>(
        &self,
        name: &str,
        call: impl Fn() -> Result<R, OpError>,
        check: impl FnOnce(&R) -> Result<(), String>,
    ) -> Result<Contender, OpError> {
        let Bench { device, repetitions, .. } = *self.bench;
        let checked = check(&call()?);
        let times = single_times_ms(device, repetitions, || call().map(drop))?;
        Ok(Contender::ran(OWN_NAME, name, &times, checked))
    }
}
