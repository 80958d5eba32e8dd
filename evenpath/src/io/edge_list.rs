//! Edge lists, as in the Stanford Large Network Dataset Collection (SNAP).

use std::path::Path;

use rayon::slice::ParallelSliceMut;

use super::cursor::Cursor;
use super::graph_options::{GraphOptions, Vertices};
use super::lines::parse_lines;
use super::source::TextSource;
use super::{MatrixMarketError, MatrixMarketErrorKind as Kind};
use crate::matrix::check_dimensions;
use crate::{Coo, Csr, Offset, Value, parallel};

/// Maximum number of vertices.
const LIMIT: usize = crate::csr::MAX_DIMENSION;

/// A graph that was read from an edge list.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EdgeList<V: Value, O: Offset = u32> {
    /// The adjacency matrix: the row is the source of an edge, the column its target, the value its weight.
    pub matrix: Csr<V, O>,
    /// The file's number of each vertex, ascending, if they are [relabeled](Vertices::Relabeled); otherwise empty.
    pub ids: Vec<u64>,
}

/// An edge with the file's numbers.
struct Edge<V> {
    source: u64,
    target: u64,
    weight: V,
}

/// Reads a graph from a file with an edge on each line: source, target and, if there is a third column, a weight; otherwise weights
/// are 1. Numbers are separated by spaces or tabs. Lines that begin with `#` or `%` are comments. The file may be compressed with gzip.
///
/// Duplicates are [added up](super::ReadOptions::duplicates) by default, also in a graph without weights.
///
/// ```
/// use evenpath::io::{self, GraphOptions};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("graph.txt");
/// std::fs::write(&path, "# Nodes: 3 Edges: 2\n# FromNodeId\tToNodeId\n0\t2\n2\t1\n")?;
/// let graph = io::read_edge_list::<f64, u32>(&path, &GraphOptions::default())?;
/// assert_eq!(graph.matrix.shape(), (3, 3));
/// assert_eq!((graph.matrix.get(0, 2), graph.matrix.get(2, 0)), (Some(1.0), None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the file cannot be read, or a line does not have as many numbers as the first; the error names the file and the line. If a vertex
/// is too large, a limit of [`ReadOptions`](super::ReadOptions) is exceeded, or there is a duplicate and the options refuse it.
pub fn read_edge_list<V: Value, O: Offset>(
    path: impl AsRef<Path>,
    options: &GraphOptions,
) -> Result<EdgeList<V, O>, MatrixMarketError> {
    let path = path.as_ref();
    let source = TextSource::read(path, &options.read, |_| Ok(()));
    source.and_then(|source| parse(source, options)).map_err(|error| error.in_file(Some(path)))
}

/// Reads the contents of a file like [`read_edge_list`].
///
/// # Errors
///
/// The same as for [`read_edge_list`].
pub fn parse_edge_list<V: Value, O: Offset>(
    bytes: &[u8],
    options: &GraphOptions,
) -> Result<EdgeList<V, O>, MatrixMarketError> {
    parse(TextSource::Borrowed(bytes), options)
}

fn parse<V: Value, O: Offset>(
    source: TextSource<'_>,
    options: &GraphOptions,
) -> Result<EdgeList<V, O>, MatrixMarketError> {
    let text = source.decompressed(&options.read, |_| Ok(()))?;
    let edges = edges(&text, options)?;
    let ids = match options.vertices {
        Vertices::Numbered => vec![],
        Vertices::Relabeled => ids(&edges),
    };
    let largest = || edges.iter().map(|edge| edge.source.max(edge.target) as usize + 1).max().unwrap_or(0);
    let vertices = if options.vertices == Vertices::Numbered { largest() } else { ids.len() };
    check_dimensions(vertices, vertices)?;
    check_vertices(vertices, text.len(), options)?;
    // Each number is there.
    let number = |vertex: u64| {
        if ids.is_empty() { vertex as u32 } else { ids.partition_point(|&id| id < vertex) as u32 }
    };
    let mut rows = parallel::map(edges.len(), 1 << 12, |edge| number(edges[edge].source));
    let mut columns = parallel::map(edges.len(), 1 << 12, |edge| number(edges[edge].target));
    let mut values: Vec<V> = edges.into_iter().map(|edge| edge.weight).collect();
    if options.undirected {
        for edge in 0..values.len() {
            if rows[edge] != columns[edge] {
                rows.push(columns[edge]);
                columns.push(rows[edge]);
                values.push(values[edge]);
            }
        }
    }
    let matrix = Coo::from_valid(vertices, vertices, rows, columns, values);
    Ok(EdgeList { matrix: matrix.to_csr_with_offsets(options.read.duplicates)?, ids })
}

/// Refuses many vertices in a short file.
pub(super) fn check_vertices(
    vertices: usize,
    bytes: usize,
    options: &GraphOptions,
) -> Result<(), MatrixMarketError> {
    let limit = options.read.row_limit;
    if vertices > limit && vertices > bytes {
        return Err(Kind::RowLimit { rows: vertices, bytes, limit }.into());
    }
    Ok(())
}

fn is_comment(line: &[u8]) -> bool {
    matches!(line[0], b'#' | b'%')
}

/// All edges, in the order of the file.
fn edges<V: Value>(text: &[u8], options: &GraphOptions) -> Result<Vec<Edge<V>>, MatrixMarketError> {
    let mut first = Cursor::new(text);
    first.skip_byte_order_mark();
    let start = first.position();
    let has_weights = first.skip_to_line(is_comment) && {
        // The two vertices.
        first.word();
        first.word();
        !first.word().is_empty()
    };
    let vertex = |cursor: &mut Cursor<'_>| {
        let vertex = cursor.vertex()?;
        if options.vertices == Vertices::Numbered && vertex >= LIMIT as u64 {
            return Err(Kind::VertexTooLarge { vertex, limit: LIMIT });
        }
        Ok(vertex)
    };
    let chunks = parse_lines(text, start, &options.read, is_comment, |cursor| {
        let (source, target) = (vertex(cursor)?, vertex(cursor)?);
        let weight = if has_weights { cursor.real()? } else { V::ONE };
        Ok(Edge { source, target, weight })
    })?;
    Ok(chunks.into_iter().flatten().collect())
}

/// The different numbers of vertices, ascending.
fn ids<V>(edges: &[Edge<V>]) -> Vec<u64> {
    let mut ids: Vec<u64> = edges.iter().flat_map(|edge| [edge.source, edge.target]).collect();
    ids.par_sort_unstable();
    ids.dedup();
    ids
}
