//! Graphs in the formats of the DIMACS implementation challenges.

use std::path::Path;

use rayon::slice::ParallelSliceMut;

use super::cursor::Cursor;
use super::edge_list::check_vertices;
use super::error::quote;
use super::graph_options::GraphOptions;
use super::lines::parse_lines;
use super::source::TextSource;
use super::{MatrixMarketError, MatrixMarketErrorKind as Kind};
use crate::matrix::check_dimensions;
use crate::{Coo, Csr, Offset, Value};

/// Reads a graph in a DIMACS format, plain or compressed with gzip, as its adjacency matrix:
///
/// | problem | lines | matrix |
/// |---|---|---|
/// | `p sp n m`, shortest paths (9th challenge) | m lines `a u v w` | w in row u and column v |
/// | `p edge n m` or `p col n m`, coloring and cliques (2nd challenge) | m lines `e u v` | 1 in row u and column v, and in row v and column u |
///
/// Lines that begin with the word `c` are comments. Vertices count from 1 in the file, and from 0 in the matrix. Parallel arcs are
/// treated as [`ReadOptions::duplicates`](super::ReadOptions::duplicates) says; by default their weights are added up. An edge
/// that is there twice, in either direction, counts once, and m may count every edge twice, as in files in use. Of the options,
/// [`undirected`](GraphOptions::undirected) and [`vertices`](GraphOptions::vertices) have no effect.
///
/// ```
/// use evenpath::Csr;
/// use evenpath::io::{self, GraphOptions};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("graph.gr");
/// std::fs::write(&path, "c roads\np sp 3 2\na 1 2 17\na 2 3 10\n")?;
/// let graph: Csr<f64> = io::read_dimacs(&path, &GraphOptions::default())?;
/// assert_eq!(graph.to_dense()?, [0.0, 17.0, 0.0, 0.0, 0.0, 10.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the file cannot be read, has another problem, another number of edges, or an invalid line; the error names the file and the line.
/// If a limit of [`ReadOptions`](super::ReadOptions) is exceeded, or there are parallel arcs and the options refuse duplicates.
pub fn read_dimacs<V: Value, O: Offset>(
    path: impl AsRef<Path>,
    options: &GraphOptions,
) -> Result<Csr<V, O>, MatrixMarketError> {
    let path = path.as_ref();
    let source = TextSource::read(path, &options.read, |_| Ok(()));
    source.and_then(|source| parse(source, options)).map_err(|error| error.in_file(Some(path)))
}

/// Reads the contents of a file like [`read_dimacs`].
///
/// ```
/// use evenpath::Csr;
/// use evenpath::io::{GraphOptions, parse_dimacs};
///
/// let graph: Csr<f32> = parse_dimacs(b"p edge 3 2\ne 1 2\ne 3 2\n", &GraphOptions::default())?;
/// assert_eq!(graph.to_dense()?, [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The same as for [`read_dimacs`].
pub fn parse_dimacs<V: Value, O: Offset>(
    bytes: &[u8],
    options: &GraphOptions,
) -> Result<Csr<V, O>, MatrixMarketError> {
    parse(TextSource::Borrowed(bytes), options)
}

/// The problem line.
#[derive(Clone, Copy)]
struct Problem {
    has_weights: bool,
    vertices: usize,
    edges: usize,
}

fn parse<V: Value, O: Offset>(
    source: TextSource<'_>,
    options: &GraphOptions,
) -> Result<Csr<V, O>, MatrixMarketError> {
    let text = source.decompressed(&options.read, |_| Ok(()))?;
    let mut cursor = Cursor::new(&text);
    cursor.skip_byte_order_mark();
    cursor.skip_to_line(is_comment);
    let line = cursor.line();
    let problem = problem(&mut cursor).map_err(|kind| MatrixMarketError::at_line(line, kind))?;
    cursor.skip_line();
    check_vertices(problem.vertices, text.len(), options)?;

    let bound = problem.vertices;
    let kind: (&[u8], &'static str) = if problem.has_weights { (b"a", "`a`") } else { (b"e", "`e`") };
    let chunks = parse_lines(&text, cursor.position(), &options.read, is_comment, |cursor| {
        let word = cursor.word();
        if word != kind.0 {
            return Err(Kind::Expected { expected: kind.1, found: quote(word) });
        }
        let source = cursor.index("vertex", "a vertex", bound)?;
        let target = cursor.index("vertex", "a vertex", bound)?;
        let weight = if problem.has_weights { cursor.real()? } else { V::ONE };
        Ok((source, target, weight))
    })?;
    let edges: Vec<(u32, u32, V)> = chunks.into_iter().flatten().collect();
    check_count(problem, edges.len())?;
    let edges = if problem.has_weights { edges } else { both_directions(edges) };
    let rows = edges.iter().map(|edge| edge.0).collect();
    let columns = edges.iter().map(|edge| edge.1).collect();
    let values = edges.into_iter().map(|edge| edge.2).collect();
    let matrix = Coo::from_valid(bound, bound, rows, columns, values);
    Ok(matrix.to_csr_with_offsets(options.read.duplicates)?)
}

fn is_comment(line: &[u8]) -> bool {
    line[0] == b'c' && line.get(1).is_none_or(u8::is_ascii_whitespace)
}

fn problem(cursor: &mut Cursor<'_>) -> Result<Problem, Kind> {
    let word = cursor.word();
    if word != b"p" {
        let found = if word.is_empty() { "the end of the file".into() } else { quote(word) };
        return Err(Kind::Expected { expected: "the problem line, `p`", found });
    }
    let has_weights = match cursor.word() {
        b"sp" => true,
        b"edge" | b"col" => false,
        word => {
            let expected = "the problem `sp`, `edge` or `col`";
            return Err(Kind::Expected { expected, found: quote(word) });
        }
    };
    let vertices = cursor.size("the number of vertices")?;
    let edges = cursor.size("the number of edges")?;
    cursor.end_of_line()?;
    check_dimensions(vertices, vertices)?;
    Ok(Problem { has_weights, vertices, edges })
}

fn check_count(problem: Problem, found: usize) -> Result<(), MatrixMarketError> {
    let expected = problem.edges as u128;
    let counts_twice = !problem.has_weights && 2 * found as u128 == expected;
    if found as u128 > expected {
        return Err(Kind::TooManyEntries { expected }.into());
    }
    if (found as u128) < expected && !counts_twice {
        return Err(Kind::Truncated { expected, found }.into());
    }
    Ok(())
}

/// Each edge once in each direction, and loops once.
fn both_directions<V: Value>(mut edges: Vec<(u32, u32, V)>) -> Vec<(u32, u32, V)> {
    for edge in &mut edges {
        (edge.0, edge.1) = (edge.0.min(edge.1), edge.0.max(edge.1));
    }
    edges.par_sort_unstable_by_key(|&(source, target, _)| (source, target));
    edges.dedup_by_key(|&mut (source, target, _)| (source, target));
    let opposite = |&(source, target, one): &(u32, u32, V)| (target, source, one);
    let opposites: Vec<_> = edges.iter().filter(|edge| edge.0 != edge.1).map(opposite).collect();
    edges.extend(opposites);
    edges
}
