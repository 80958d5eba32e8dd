//! Laplacians of graphs, plus a shift.

use evenpath::Csr;
use evenpath::error::MatrixError;

/// A number from 0 to 1 that looks random: the mixing of `SplitMix64`.
pub(super) fn number(seed: usize) -> f64 {
    let mut mixed = (seed as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Edges of a graph and their weights.
type Edges = Vec<(usize, usize, f64)>;

fn laplacian(vertices: usize, edges: &Edges, shift: f64) -> Result<Csr<f64>, MatrixError> {
    let of_edge = |&(u, v, weight): &(usize, usize, f64)| {
        [(u, u, weight), (v, v, weight), (u, v, -weight), (v, u, -weight)]
    };
    let entries = edges.iter().flat_map(of_edge).chain((0..vertices).map(|vertex| (vertex, vertex, shift)));
    let mut a = Csr::from_triplets(vertices, vertices, entries)?;
    a.canonicalize();
    Ok(a)
}

/// A graph like one of roads: a grid that lacks a third of its edges, with weights over two orders of magnitude. Some vertices have
/// no edge.
///
/// # Errors
///
/// If there are too many vertices.
pub(super) fn roads(side: usize, shift: f64) -> Result<Csr<f64>, MatrixError> {
    let mut edges = Edges::new();
    for (x, y) in (0..side).flat_map(|y| (0..side).map(move |x| (x, y))) {
        let vertex = x + side * y;
        let beside = [(x + 1 < side).then_some(vertex + 1), (y + 1 < side).then_some(vertex + side)];
        for (at, other) in beside.into_iter().enumerate() {
            let Some(other) = other.filter(|_| number(4 * vertex + at) < 0.65) else { continue };
            edges.push((vertex, other, 10_f64.powf(2.0 * number(4 * vertex + at + 2) - 1.0)));
        }
    }
    laplacian(side * side, &edges, shift)
}

/// Random points in a square, each joined to all within a radius: about ten.
///
/// # Errors
///
/// If there are too many vertices.
pub(super) fn geometric(vertices: usize, shift: f64) -> Result<Csr<f64>, MatrixError> {
    let radius = (10.0 / (std::f64::consts::PI * vertices.max(1) as f64)).sqrt();
    let side = (1.0 / radius).floor().max(1.0) as usize;
    let place = |vertex: usize| [number(2 * vertex), number(2 * vertex + 1)];
    let cell_of = |[x, y]: [f64; 2]| [x, y].map(|at| ((at * side as f64) as usize).min(side - 1));
    let mut cells = vec![Vec::new(); side * side];
    let mut edges = Edges::new();
    for vertex in 0..vertices {
        let [x, y] = place(vertex);
        let [column, row] = cell_of([x, y]);
        let around = |at: usize| at.saturating_sub(1)..(at + 2).min(side);
        for cell in around(row).flat_map(|row| around(column).map(move |column| row * side + column)) {
            let is_near = |&&other: &&usize| {
                let [other_x, other_y] = place(other);
                (x - other_x).hypot(y - other_y) < radius
            };
            edges.extend(cells[cell].iter().filter(is_near).map(|&other| (vertex, other, 1.0)));
        }
        cells[row * side + column].push(vertex);
    }
    laplacian(vertices, &edges, shift)
}
