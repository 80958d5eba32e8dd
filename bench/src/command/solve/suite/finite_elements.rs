//! Linear triangles on meshes without a pattern.

use evenpath::Csr;
use evenpath::error::MatrixError;

use super::graphs::number;

/// Laplacian of a square, zero on its boundary, on a mesh of triangles: the nodes of a grid are moved at random, and each of its
/// squares is cut along a random diagonal. `grading` is the power of the coordinates, by which triangles get thin at two sides.
///
/// # Errors
///
/// If there are too many unknowns.
pub(super) fn triangles(cells: usize, grading: f64) -> Result<Csr<f64>, MatrixError> {
    let side = cells + 1;
    let is_inside = |at: usize| at > 0 && at < cells;
    let node = |x: usize, y: usize| x + side * y;
    let place = |at: usize| {
        let (x, y) = (at % side, at / side);
        let moved = |of: usize, seed: usize| {
            let by = if is_inside(x) && is_inside(y) { 0.6 * (number(2 * at + seed) - 0.5) } else { 0.0 };
            ((of as f64 + by) / cells as f64).powf(grading)
        };
        [moved(x, 0), moved(y, 1)]
    };
    let mut numbers = vec![None; side * side];
    let mut rows = 0;
    for y in 1..cells {
        for x in 1..cells {
            numbers[node(x, y)] = Some(rows);
            rows += 1;
        }
    }
    let mut entries = Vec::new();
    for (x, y) in (0..cells).flat_map(|y| (0..cells).map(move |x| (x, y))) {
        let [a, b, c, d] = [node(x, y), node(x + 1, y), node(x + 1, y + 1), node(x, y + 1)];
        let is_rising = number(a + 7_919 * side) < 0.5;
        let halves = if is_rising { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] };
        for triangle in halves {
            let stiffness = stiffness(triangle.map(place));
            for (row, column) in (0..9).map(|at| (at / 3, at % 3)) {
                if let (Some(of_row), Some(of_column)) = (numbers[triangle[row]], numbers[triangle[column]]) {
                    entries.push((of_row, of_column, stiffness[row][column]));
                }
            }
        }
    }
    let mut a = Csr::from_triplets(rows, rows, entries)?;
    a.canonicalize();
    Ok(a)
}

/// The stiffness of a linear triangle.
fn stiffness(places: [[f64; 2]; 3]) -> [[f64; 3]; 3] {
    let edge = |from: usize| {
        let ([x, y], [to_x, to_y]) = (places[(from + 1) % 3], places[(from + 2) % 3]);
        [to_x - x, to_y - y]
    };
    let edges = [edge(0), edge(1), edge(2)];
    let doubled = (edges[0][0] * edges[1][1] - edges[0][1] * edges[1][0]).abs();
    let entry = |row: usize, column: usize| {
        (edges[row][0] * edges[column][0] + edges[row][1] * edges[column][1]) / (2.0 * doubled)
    };
    [0, 1, 2].map(|row| [0, 1, 2].map(|column| entry(row, column)))
}
