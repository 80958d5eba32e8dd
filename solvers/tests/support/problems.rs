//! Problems for multigrid.

use evenpath::{Csr, Value};

/// The sum over dimensions of second differences times a weight, for unknowns on a grid with a boundary of zeros around it.
pub(crate) fn poisson<V: Value>(sides: &[usize], weights: &[f64]) -> Csr<V> {
    let coefficient = |_: usize, _: usize, dimension: usize| weights[dimension];
    diffusion(sides, coefficient, &vec![true; sides.len()])
}

/// Differences between neighbors on a grid, times `coefficient(one, other, dimension)`. In dimensions with a boundary there are zeros
/// around the grid.
pub(crate) fn diffusion<V: Value>(
    sides: &[usize],
    coefficient: impl Fn(usize, usize, usize) -> f64,
    has_boundary: &[bool],
) -> Csr<V> {
    let rows = sides.iter().product();
    let mut entries = Vec::new();
    for row in 0..rows {
        let mut stride = 1;
        for (dimension, &side) in sides.iter().enumerate() {
            let at = row / stride % side;
            for (is_inside, other) in [(at > 0, row.wrapping_sub(stride)), (at + 1 < side, row + stride)] {
                let weight = coefficient(row, if is_inside { other } else { row }, dimension);
                if is_inside {
                    entries.push((row, other, V::from_f64(-weight)));
                }
                if is_inside || has_boundary[dimension] {
                    entries.push((row, row, V::from_f64(weight)));
                }
            }
            stride *= side;
        }
    }
    Csr::from_triplets(rows, rows, entries).unwrap()
}

/// A plate of `width` × `height` bilinear elements with ν = 0.3 in plane stress, fixed at its left side, and its rigid motions: two
/// translations and a rotation. Unknowns are the displacements in x and y of each node.
pub(crate) fn plate<V: Value>(width: usize, height: usize) -> (Csr<V>, [Vec<V>; 3]) {
    let element = element_stiffness();
    let node = |x: usize, y: usize| x + width * y; // without those at x = 0
    let mut entries = Vec::new();
    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
        // Corners of the element; the nodes at its left may be fixed.
        let corners = [(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)];
        for (row, column) in (0..8).flat_map(|row| (0..8).map(move |column| (row, column))) {
            let [of_row, of_column] = [row, column].map(|at| corners[at / 2]);
            if of_row.0 > 0 && of_column.0 > 0 {
                let [row_node, column_node] = [of_row, of_column].map(|(x, y)| node(x - 1, y));
                let value = V::from_f64(element[row][column]);
                entries.push((2 * row_node + row % 2, 2 * column_node + column % 2, value));
            }
        }
    }
    let nodes = width * (height + 1);
    let mut motions = [(); 3].map(|()| vec![V::ZERO; 2 * nodes]);
    for at in 0..nodes {
        motions[0][2 * at] = V::ONE;
        motions[1][2 * at + 1] = V::ONE;
        motions[2][2 * at] = V::from_f64(-((at / width) as f64));
        motions[2][2 * at + 1] = V::from_f64((at % width + 1) as f64);
    }
    (Csr::from_triplets(2 * nodes, 2 * nodes, entries).unwrap(), motions)
}

/// The stiffness of a bilinear square element, by four points of Gauss.
fn element_stiffness() -> [[f64; 8]; 8] {
    const NU: f64 = 0.3;
    let scale = 1.0 / (1.0 - NU * NU);
    let elasticity =
        [[scale, NU * scale, 0.0], [NU * scale, scale, 0.0], [0.0, 0.0, scale * (1.0 - NU) / 2.0]];
    let mut stiffness = [[0.0; 8]; 8];
    let points = [0.5 - 0.5 / 3.0_f64.sqrt(), 0.5 + 0.5 / 3.0_f64.sqrt()];
    for (x, y) in points.into_iter().flat_map(|x| points.map(|y| (x, y))) {
        let gradients = [[y - 1.0, x - 1.0], [1.0 - y, -x], [y, x], [-y, 1.0 - x]];
        let mut strain = [[0.0; 8]; 3];
        for (corner, [by_x, by_y]) in gradients.into_iter().enumerate() {
            strain[0][2 * corner] = by_x;
            strain[1][2 * corner + 1] = by_y;
            (strain[2][2 * corner], strain[2][2 * corner + 1]) = (by_y, by_x);
        }
        for (row, column) in (0..8).flat_map(|row| (0..8).map(move |column| (row, column))) {
            for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
                stiffness[row][column] += 0.25 * strain[i][row] * elasticity[i][j] * strain[j][column];
            }
        }
    }
    stiffness
}
