//! Multilinear elements on grids of squares and cubes.

use evenpath::Csr;
use evenpath::error::MatrixError;

/// Poisson's ratio; Young's modulus is 1.
const RATIO: f64 = 0.3;

/// A point of the quadrature of an element, with the gradient of each corner's function.
struct Point {
    weight: f64,
    gradients: Vec<Vec<f64>>,
}

/// The quadrature of the unit square or cube by two points of Gauss in each dimension. Bit d of a corner's number is its coordinate in
/// dimension d.
fn quadrature(dimensions: usize) -> Vec<Point> {
    let places = [0.5 - 0.5 / 3.0_f64.sqrt(), 0.5 + 0.5 / 3.0_f64.sqrt()];
    let corners = 1_usize << dimensions;
    let gradient = |corner: usize, point: usize| -> Vec<f64> {
        let factor = |of: usize, by: usize| {
            let (is_high, place) = (corner >> of & 1 == 1, places[point >> of & 1]);
            match (of == by, is_high) {
                (true, true) => 1.0,
                (true, false) => -1.0,
                (false, true) => place,
                (false, false) => 1.0 - place,
            }
        };
        (0..dimensions).map(|by| (0..dimensions).map(|of| factor(of, by)).product()).collect()
    };
    let of_point = |point| Point {
        weight: 1.0 / corners as f64,
        gradients: (0..corners).map(|corner| gradient(corner, point)).collect(),
    };
    (0..corners).map(of_point).collect()
}

/// The stiffness of ∇·T∇ for a symmetric tensor T, on a grid of `cells` squares or cubes in each dimension, zero on the boundary.
///
/// # Errors
///
/// If there are too many unknowns.
pub(super) fn diffusion(cells: usize, tensor: &[&[f64]]) -> Result<Csr<f64>, MatrixError> {
    let dimensions = tensor.len();
    let points = quadrature(dimensions);
    let corners = 1 << dimensions;
    let mut stiffness = vec![0.0; corners * corners];
    for (at, entry) in stiffness.iter_mut().enumerate() {
        let (row, column) = (at / corners, at % corners);
        for Point { weight, gradients } in &points {
            for (i, j) in (0..dimensions * dimensions).map(|at| (at / dimensions, at % dimensions)) {
                *entry += weight * gradients[row][i] * tensor[i][j] * gradients[column][j];
            }
        }
    }
    let grid = Grid { sides: vec![cells + 1; dimensions] };
    grid.assemble(1, &stiffness, |place| place.iter().all(|&at| at > 0 && at < cells)).map(|(a, _)| a)
}

/// An elastic square or cube of `cells` elements in each dimension, fixed at its first face, and its rigid motions. A node's
/// displacements have consecutive numbers.
///
/// # Errors
///
/// If there are too many unknowns.
pub(super) fn elasticity(cells: usize, dimensions: usize) -> Result<(Csr<f64>, Vec<Vec<f64>>), MatrixError> {
    let (lambda, mu) = (RATIO / ((1.0 + RATIO) * (1.0 - 2.0 * RATIO)), 0.5 / (1.0 + RATIO));
    let points = quadrature(dimensions);
    let unknowns = dimensions << dimensions;
    let mut stiffness = vec![0.0; unknowns * unknowns];
    for (at, entry) in stiffness.iter_mut().enumerate() {
        let (row, column) = (at / unknowns, at % unknowns);
        let (a, b) = (row % dimensions, column % dimensions);
        for Point { weight, gradients } in &points {
            let (of_row, of_column) = (&gradients[row / dimensions], &gradients[column / dimensions]);
            let inner: f64 = of_row.iter().zip(of_column).map(|(x, y)| x * y).sum();
            let same = if a == b { mu * inner } else { 0.0 };
            *entry += weight * (lambda * of_row[a] * of_column[b] + mu * of_row[b] * of_column[a] + same);
        }
    }
    let grid = Grid { sides: vec![cells + 1; dimensions] };
    let (a, places) = grid.assemble(dimensions, &stiffness, |place| place[0] > 0)?;
    Ok((a, rigid_motions(&places, dimensions)))
}

/// A translation along each axis, and a rotation in each plane.
fn rigid_motions(places: &[Vec<usize>], dimensions: usize) -> Vec<Vec<f64>> {
    let motion = |displacement: &dyn Fn(&[usize], usize) -> f64| -> Vec<f64> {
        places.iter().flat_map(|place| (0..dimensions).map(move |axis| displacement(place, axis))).collect()
    };
    let mut motions: Vec<Vec<f64>> =
        (0..dimensions).map(|along| motion(&|_, axis| f64::from(u8::from(axis == along)))).collect();
    for (one, two) in (0..dimensions).flat_map(|two| (0..two).map(move |one| (one, two))) {
        motions.push(motion(&|place, axis| match axis {
            _ if axis == one => -(place[two] as f64),
            _ if axis == two => place[one] as f64,
            _ => 0.0,
        }));
    }
    motions
}

/// A grid of nodes.
struct Grid {
    sides: Vec<usize>,
}

impl Grid {
    fn place(&self, mut node: usize) -> Vec<usize> {
        let coordinate = |&side: &usize| {
            let at = node % side;
            node /= side;
            at
        };
        self.sides.iter().map(coordinate).collect()
    }

    fn node(&self, place: &[usize]) -> usize {
        self.sides.iter().zip(place).rev().fold(0, |node, (side, at)| node * side + at)
    }

    /// Adds up a stiffness matrix per element, without the nodes that are fixed. Returns the places of the nodes that are left, too.
    fn assemble(
        &self,
        unknowns: usize,
        stiffness: &[f64],
        is_free: impl Fn(&[usize]) -> bool,
    ) -> Result<(Csr<f64>, Vec<Vec<usize>>), MatrixError> {
        let nodes: usize = self.sides.iter().product();
        let mut numbers = vec![None; nodes];
        let mut places = Vec::new();
        for (node, number) in numbers.iter_mut().enumerate() {
            let place = self.place(node);
            if is_free(&place) {
                *number = Some(places.len());
                places.push(place);
            }
        }
        let corners = 1_usize << self.sides.len();
        let width = corners * unknowns;
        let mut entries = Vec::new();
        for node in 0..nodes {
            let place = self.place(node);
            if place.iter().zip(&self.sides).any(|(at, side)| at + 1 == *side) {
                continue;
            }
            let corner = |corner: usize| {
                let of_corner: Vec<usize> =
                    place.iter().enumerate().map(|(of, at)| at + (corner >> of & 1)).collect();
                numbers[self.node(&of_corner)]
            };
            let corners: Vec<Option<usize>> = (0..corners).map(corner).collect();
            for (at, &value) in stiffness.iter().enumerate() {
                let (row, column) = (at / width, at % width);
                if let (Some(of_row), Some(of_column)) = (corners[row / unknowns], corners[column / unknowns])
                {
                    let (row, column) = (row % unknowns, column % unknowns);
                    entries.push((unknowns * of_row + row, unknowns * of_column + column, value));
                }
            }
        }
        let rows = unknowns * places.len();
        let mut a = Csr::from_triplets(rows, rows, entries)?;
        a.canonicalize();
        Ok((a, places))
    }
}
