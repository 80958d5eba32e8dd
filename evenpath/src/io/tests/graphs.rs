//! Edge lists and DIMACS graphs.

use super::helpers::gzip;
use crate::io::{
    GraphOptions, MatrixMarketError, MatrixMarketErrorKind, ReadOptions, Vertices, parse_dimacs,
    parse_edge_list, read_dimacs, read_edge_list,
};
use crate::{Csr, Duplicates};

type Triplets = Vec<(usize, usize, f64)>;

fn edges(text: &str, options: &GraphOptions) -> Result<Triplets, MatrixMarketError> {
    Ok(parse_edge_list::<f64, u32>(text.as_bytes(), options)?.matrix.iter().collect())
}

fn dimacs(text: &str) -> Result<Csr<f64>, MatrixMarketError> {
    parse_dimacs(text.as_bytes(), &GraphOptions::default())
}

fn with_duplicates(duplicates: Duplicates) -> GraphOptions {
    GraphOptions::default().with_read(ReadOptions::default().with_duplicates(duplicates))
}

#[test]
fn edge_lists_as_they_are_in_use() {
    let plain = GraphOptions::default();
    let text = "\u{feff}# Directed graph\n# FromNodeId\tToNodeId\n2\t0\r\n0 1\n\n% more\n  1   2\t\n";
    assert_eq!(edges(text, &plain).unwrap(), [(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0)]);
    assert_eq!(edges("0 1 -2.5D0\n1 0 3", &plain).unwrap(), [(0, 1, -2.5), (1, 0, 3.0)]);
    for empty in ["", "# nothing\n", "\n\n"] {
        assert_eq!(parse_edge_list::<f64, u64>(empty.as_bytes(), &plain).unwrap().matrix.shape(), (0, 0));
    }
    let undirected = GraphOptions::default().with_undirected(true);
    assert_eq!(edges("0 2 4\n1 1 5\n", &undirected).unwrap(), [(0, 2, 4.0), (1, 1, 5.0), (2, 0, 4.0)]);
    let twice = "0 1\n0 1\n";
    assert_eq!(edges(twice, &plain).unwrap(), [(0, 1, 2.0)]);
    assert_eq!(edges(twice, &with_duplicates(Duplicates::Keep)).unwrap().len(), 2);
    assert!(edges(twice, &with_duplicates(Duplicates::Refuse)).is_err());
}

#[test]
fn vertices_are_relabeled_in_order() {
    let options = GraphOptions::default().with_vertices(Vertices::Relabeled);
    let large = u64::MAX - 1;
    let graph =
        parse_edge_list::<f64, u32>(format!("{large} 5\n7 {large}\n5 7\n").as_bytes(), &options).unwrap();
    assert_eq!(graph.ids, [5, 7, large]);
    assert_eq!(graph.matrix.iter().collect::<Triplets>(), [(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0)]);
    assert_eq!(parse_edge_list::<f64, u32>(b"", &options).unwrap().ids, []);
}

#[test]
fn invalid_edges_are_named() {
    let refusal = |text: &str| edges(text, &GraphOptions::default()).unwrap_err().to_string();
    assert_eq!(refusal("# a\n0 1\n0 x\n"), "line 3: expected a vertex, found `x`");
    assert_eq!(refusal("0 -1\n"), "line 1: expected a vertex, found `-1`");
    assert_eq!(refusal("0\n"), "line 1: expected a vertex, found the end of the line");
    assert_eq!(refusal("0 1\n1 2 3\n"), "line 2: expected the end of the line, found `3`");
    assert_eq!(refusal("0 1 1.5\n1 2\n"), "line 2: expected a number, found the end of the line");
    assert_eq!(refusal("0 1 1.5 4\n"), "line 1: expected the end of the line, found `4`");
    assert!(refusal("0 4294967295\n").starts_with("line 1: vertex 4294967295 is too large"));
    assert!(refusal("0 99999999999999999999\n").starts_with("line 1: `99999999999999999999` is too large"));
    assert!(refusal("0 4000000000\n").contains("4000000001 rows in a file of 13 bytes"));
    // The first of several chunks' errors.
    let long = "1 2\n".repeat(400_000) + "bad\n" + &"1 2\n".repeat(200_000) + "worse\n";
    assert_eq!(refusal(&long), "line 400001: expected a vertex, found `bad`");
}

#[test]
fn dimacs_graphs() {
    let roads = "c 9th challenge\nc\np sp 3 3\na 1 2 17\nc a\na 2 3 1.5\na 3 1 2\n";
    let expected = [(0, 1, 17.0), (1, 2, 1.5), (2, 0, 2.0)];
    assert_eq!(dimacs(roads).unwrap().iter().collect::<Triplets>(), expected);
    // Each edge in both directions, loops once; twice in the file, or counted twice.
    let expected = [(0, 1, 1.0), (1, 0, 1.0), (2, 2, 1.0)];
    for text in [
        "p edge 3 2\ne 2 1\ne 3 3\n",
        "p col 3 3\ne 1 2\ne 3 3\ne 2 1",
        "p edge 3 4\ne 1 2\ne 3 3\n",
        "\u{feff}c\r\np edge 3 2\r\ne 1 2\r\ne 3 3\r\n",
    ] {
        assert_eq!(dimacs(text).unwrap().iter().collect::<Triplets>(), expected, "{text}");
    }
    assert_eq!(dimacs("p sp 5 0\n").unwrap().shape(), (5, 5));
    let parallel = "p sp 2 2\na 1 2 3\na 1 2 4\n";
    assert_eq!(dimacs(parallel).unwrap().values(), [7.0]);
    let kept: Csr<f64> = parse_dimacs(parallel.as_bytes(), &with_duplicates(Duplicates::Keep)).unwrap();
    assert_eq!(kept.values(), [3.0, 4.0]);
}

#[test]
fn invalid_dimacs_graphs_are_named() {
    let refusal = |text: &str| dimacs(text).unwrap_err().to_string();
    assert_eq!(refusal(""), "line 1: expected the problem line, `p`, found the end of the file");
    assert_eq!(refusal("c x\na 1 2 3\n"), "line 2: expected the problem line, `p`, found `a`");
    assert_eq!(refusal("p max 3 1\n"), "line 1: expected the problem `sp`, `edge` or `col`, found `max`");
    assert_eq!(refusal("p sp 3\n"), "line 1: expected the number of edges, found the end of the line");
    assert_eq!(refusal("p sp 3 1 1\n"), "line 1: expected the end of the line, found `1`");
    assert_eq!(refusal("p sp 3 1\ne 1 2\n"), "line 2: expected `a`, found `e`");
    assert_eq!(refusal("p sp 3 1\na 1 4 1\n"), "line 2: vertex 4 is out of range: expected 1 to 3");
    assert_eq!(refusal("p edge 3 1\ne 0 1\n"), "line 2: vertex 0 is out of range: expected 1 to 3");
    assert_eq!(refusal("p sp 3 1\na 1 2\n"), "line 2: expected a number, found the end of the line");
    assert_eq!(refusal("p sp 3 2\na 1 2 1\n"), "the file ends after 1 of 2 entries");
    assert_eq!(refusal("p sp 3 1\na 1 2 1\na 1 2 1\n"), "more entries than the 1 announced");
    assert!(refusal("p sp 4000000000 0\n").contains("4000000000 rows in a file of"));
}

#[test]
fn files_may_be_compressed_and_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let options = GraphOptions::default();
    let path = write("a.txt.gz", &gzip(b"# x\n0 1\n"));
    assert_eq!(read_edge_list::<f32, u32>(&path, &options).unwrap().matrix.nnz(), 1);
    let path = write("a.gr.gz", &gzip(b"p sp 2 1\na 1 2 3\n"));
    assert_eq!(read_dimacs::<f32, u64>(&path, &options).unwrap().nnz(), 1);
    let path = write("bad.txt", b"0 1\n0 y\n");
    let error = read_edge_list::<f64, u32>(&path, &options).unwrap_err();
    assert_eq!((error.path(), error.line()), (Some(&*path), Some(2)));
    let limited = GraphOptions::default().with_read(ReadOptions::default().with_file_limit(5));
    let error = read_edge_list::<f64, u32>(&path, &limited).unwrap_err();
    assert!(matches!(error.kind(), MatrixMarketErrorKind::FileLimit { limit: 5 }), "{error}");
    assert!(read_dimacs::<f64, u32>(folder.path().join("none"), &options).is_err());
}
