//! Graphs to search.

use evenpath::generate::{Kind, generate};
use evenpath::{Csr, Offset};
use petgraph::Graph;
use petgraph::graph::NodeIndex;

/// Matrices of graphs of all kinds, with lengths of edges as values.
pub(super) fn graphs<O: Offset>() -> Vec<(&'static str, Csr<f64, O>)> {
    let edges = |vertices: usize, edges: Vec<(usize, usize)>| {
        let entries = edges.into_iter().map(|(from, to)| (from, to, ((from * 7 + to * 3) % 11) as f64 * 0.3));
        Csr::from_triplets(vertices, vertices, entries).expect("inside")
    };
    let star = (1..700).map(|to| (0, to)).chain((1..700).filter(|to| to % 3 == 0).map(|from| (from, 0)));
    // Columns that descend, loops and duplicates.
    let unsorted =
        Csr::try_new(3, 3, vec![0, 4, 6, 6], vec![2, 1, 1, 0, 2, 0], vec![5.0, 3.0, 1.0, 1.0, 0.5, 1.0]);
    let power_law = |rows, seed| {
        let mut a: Csr<f64> = generate(Kind::PowerLaw { rows }, seed).expect("small");
        a.values_mut().iter_mut().for_each(|value| *value = value.abs());
        a
    };
    let graphs = vec![
        ("one vertex", edges(1, vec![])),
        ("a loop", edges(1, vec![(0, 0)])),
        ("no edges", edges(300, vec![])),
        ("a path", edges(40, (0..39).map(|at| (at, at + 1)).collect())),
        ("a path to the left", edges(40, (0..39).map(|at| (at + 1, at)).collect())),
        ("a star", edges(700, star.collect())),
        ("unsorted", unsorted.expect("a valid matrix")),
        ("power law", power_law(300, 5)),
        ("sparse power law", power_law(90, 8)),
    ];
    graphs.into_iter().map(|(name, graph)| (name, graph.try_into_offsets().expect("few"))).collect()
}

/// The same edges in both directions, each once, without loops.
pub(super) fn undirected<O: Offset>(a: &Csr<f64, O>) -> Csr<f64, O> {
    let both = a
        .iter()
        .filter(|&(from, to, _)| from != to)
        .flat_map(|(from, to, length)| [(from, to, length), (to, from, length)]);
    let summed = Csr::from_triplets(a.nrows(), a.ncols(), both).expect("inside");
    summed.try_into_offsets().expect("few")
}

/// The graph for petgraph.
pub(super) fn petgraph<O: Offset>(a: &Csr<f64, O>) -> Graph<(), f64> {
    let mut graph = Graph::new();
    for _ in 0..a.nrows() {
        graph.add_node(());
    }
    for (from, to, length) in a.iter() {
        graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), length);
    }
    graph
}
