//! Reads arbitrary bytes as an edge list and as a DIMACS graph: the readers do not panic, and accepted graphs are valid.
#![no_main]

use evenpath::Csr;
use evenpath::coo::Duplicates;
use evenpath::io::{GraphOptions, ReadOptions, Vertices, parse_dimacs, parse_edge_list};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let read = ReadOptions::default()
        .with_duplicates(Duplicates::Keep)
        .with_row_limit(1 << 16)
        .with_decompressed_limit(1 << 20);
    let options = GraphOptions::default().with_read(read);
    if let Ok(graph) = parse_dimacs::<f64, u32>(bytes, &options) {
        check(graph);
    }
    let undirected = options.clone().with_undirected(true);
    if let Ok(graph) = parse_edge_list::<f32, u64>(bytes, &undirected) {
        assert!(graph.ids.is_empty());
        let (rows, cols) = graph.matrix.shape();
        assert_eq!(rows, cols);
    }
    let relabeled = options.with_vertices(Vertices::Relabeled);
    if let Ok(graph) = parse_edge_list::<f64, u32>(bytes, &relabeled) {
        assert!(graph.ids.is_sorted_by(|a, b| a < b));
        assert_eq!(graph.ids.len(), graph.matrix.nrows());
        check(graph.matrix);
    }
});

/// Checks the arrays of a graph.
fn check(graph: Csr<f64>) {
    let (rows, cols) = graph.shape();
    assert_eq!(rows, cols);
    let (row_offsets, column_indices, values) = graph.into_parts();
    Csr::try_new(rows, cols, row_offsets, column_indices, values).unwrap();
}
