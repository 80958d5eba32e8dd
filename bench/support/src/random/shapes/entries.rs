//! Shapes whose entries are drawn one by one, and counted into rows.

use rayon::prelude::*;

use super::super::pattern::{Pattern, order};
use super::super::stream::{Purpose, Seeds, Stream};
use super::shape::CHUNK;

/// Draws that share a stream of random numbers.
const PIECE: usize = 1 << 12;
/// The share of the edges of a grid that a road network has.
const EDGES: f64 = 0.62;

type Entry = (u32, u32);

/// Entries at uniform places.
pub(super) fn anywhere((rows, cols): (usize, usize), count: usize, seeds: Seeds) -> Pattern {
    let entries = drawn(count, seeds, |stream| (stream.below(rows) as u32, stream.below(cols) as u32));
    Pattern::of_entries(rows, cols, entries.iter().copied())
}

/// Entries whose row and column numbers follow powers of uniform numbers.
pub(super) fn ratings((rows, cols): (usize, usize), count: usize, seeds: Seeds) -> Pattern {
    let of_power = |stream: &mut Stream, len: usize, exponent| {
        ((len as f64 * libm::pow(stream.unit(), exponent)) as usize).min(len - 1) as u32
    };
    let entries = drawn(count, seeds, |stream| (of_power(stream, rows, 1.6), of_power(stream, cols, 3.0)));
    Pattern::of_entries(rows, cols, entries.iter().copied())
}

/// A Kronecker graph of 2^`scale` vertices.
pub(super) fn kron(scale: usize, seeds: Seeds) -> Pattern {
    let vertices = 1_usize << scale;
    let edges = drawn(12 * vertices, seeds, |stream| {
        (0..scale).fold((0, 0), |(row, column), _| {
            let (down, right) = match stream.unit() {
                ..0.45 => (0, 0),
                ..0.67 => (0, 1),
                ..0.89 => (1, 0),
                _ => (1, 1),
            };
            (2 * row + down, 2 * column + right)
        })
    });
    of_edges(vertices, &edges)
}

/// A grid of `side` x `side` points with some of its edges, whose chunks are in random order.
pub(super) fn road(side: usize, seeds: Seeds) -> Pattern {
    let chunks = (side * side).div_ceil(CHUNK);
    let places = order(chunks, seeds, Purpose::RowOrder);
    let vertex = |point: usize| (places[point / CHUNK] as usize * CHUNK + point % CHUNK) as u32;
    let of_line = |line: usize| {
        let stream = &mut seeds.stream(Purpose::Entries, line);
        let mut edges = Vec::with_capacity(2 * side);
        for point in line * side..(line + 1) * side {
            if point % side + 1 < side && stream.happens(EDGES) {
                edges.push((vertex(point), vertex(point + 1)));
            }
            if line + 1 < side && stream.happens(EDGES) {
                edges.push((vertex(point), vertex(point + side)));
            }
        }
        edges
    };
    let edges: Vec<Entry> = (0..side).into_par_iter().flat_map_iter(of_line).collect();
    of_edges(chunks * CHUNK, &edges)
}

/// Draws entries; every piece has a stream of its own.
fn drawn(count: usize, seeds: Seeds, draw: impl Fn(&mut Stream) -> Entry + Sync) -> Vec<Entry> {
    let mut entries = vec![(0, 0); count];
    entries.par_chunks_mut(PIECE).enumerate().for_each(|(piece, entries)| {
        let stream = &mut seeds.stream(Purpose::Entries, piece);
        entries.fill_with(|| draw(stream));
    });
    entries
}

/// The matrix of a graph with these edges in both directions.
fn of_edges(vertices: usize, edges: &[Entry]) -> Pattern {
    let both = edges.iter().flat_map(|&(from, to)| [(from, to), (to, from)]);
    Pattern::of_entries(vertices, vertices, both)
}
