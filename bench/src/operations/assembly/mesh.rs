//! A mesh of hexahedra, and the matrix that is assembled on it.

use evenpath::{Csr, Value};

/// Nodes of a trilinear hexahedron.
pub(super) const CORNERS: usize = 8;

/// Nodes in the neighborhood of a node, with itself.
const NEIGHBORS: usize = 27;

/// The hexahedra between the points of a grid, numbered along x, then y, then z.
pub(super) struct Mesh {
    /// Points along one side of the grid, at least 2.
    side: usize,
    /// The nodes of each element.
    pub(super) corners: Vec<u32>,
}

impl Mesh {
    /// The mesh whose matrix has this shape.
    ///
    /// # Errors
    ///
    /// If there is none, as text.
    pub(super) fn of_shape((rows, cols): (usize, usize)) -> Result<Self, String> {
        let side = (rows as f64).cbrt().round() as usize;
        if side < 2 || rows != cols || side.pow(3) != rows {
            return Err(format!(
                "a grid of n x n x n nodes has no {rows} x {cols} matrix; use stencil27:100"
            ));
        }
        let first = |x: usize, y: usize, z: usize| (x + side * (y + side * z)) as u32;
        let near = [0, 1].map(|z| [0, 1].map(|y| [0, 1].map(|x| first(x, y, z))));
        let mut corners = Vec::with_capacity((side - 1).pow(3) * CORNERS);
        for z in 0..side - 1 {
            for y in 0..side - 1 {
                for x in 0..side - 1 {
                    corners.extend(near.iter().flatten().flatten().map(|node| first(x, y, z) + node));
                }
            }
        }
        Ok(Self { side, corners })
    }

    pub(super) fn nodes(&self) -> usize {
        self.side.pow(3)
    }

    /// Entries of all element matrices.
    pub(super) fn entries(&self) -> usize {
        self.corners.len() * CORNERS
    }

    /// The rows and columns of the entries of all element matrices.
    pub(super) fn triplets(&self) -> (Vec<u32>, Vec<u32>) {
        let elements = || self.corners.chunks_exact(CORNERS);
        let rows = elements().flat_map(|nodes| nodes.iter().flat_map(|&row| [row; CORNERS]));
        let columns = elements().flat_map(|nodes| std::iter::repeat_n(nodes, CORNERS).flatten().copied());
        (rows.collect(), columns.collect())
    }

    /// Checks an assembled matrix: the pattern exactly, and values, computed in f64, within as many roundings as terms.
    ///
    /// # Errors
    ///
    /// The first wrong row, as text.
    pub(super) fn check<V: Value>(&self, values: &[V], found: &Csr<V>) -> Result<(), String> {
        let (sums, magnitudes) = self.sums(values);
        if found.shape() != (self.nodes(), self.nodes()) {
            return Err(format!("the matrix is {} x {}", found.nrows(), found.ncols()));
        }
        let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
        for row in 0..self.nodes() {
            let expected: Vec<(u32, usize)> = self.neighbors(row).collect();
            let entries: Vec<(u32, V)> = found.row(row).into_iter().flat_map(|row| row.iter()).collect();
            let is_right = |(&(column, value), &(expected, at)): (&(u32, V), &(u32, usize))| {
                let bound = CORNERS as f64 * epsilon * magnitudes[at];
                column == expected && (value.to_f64() - sums[at]).abs() <= bound
            };
            if entries.len() != expected.len() || !entries.iter().zip(&expected).all(is_right) {
                return Err(format!("row {row} is not the sum of its elements' rows"));
            }
        }
        Ok(())
    }

    /// The sum of the values of each node and place in its neighborhood, and that of their magnitudes.
    fn sums<V: Value>(&self, values: &[V]) -> (Vec<f64>, Vec<f64>) {
        let mut sums = vec![0.0; self.nodes() * NEIGHBORS];
        let mut magnitudes = sums.clone();
        let of_elements = self.corners.chunks_exact(CORNERS).zip(values.chunks_exact(CORNERS * CORNERS));
        for (nodes, values) in of_elements {
            for (entry, value) in values.iter().enumerate() {
                let (row, column) = (entry / CORNERS, entry % CORNERS);
                // Bits of a corner's number are its x, y and z.
                let step = |bit: usize| 1 + (column >> bit & 1) - (row >> bit & 1);
                let at = nodes[row] as usize * NEIGHBORS + step(0) + 3 * (step(1) + 3 * step(2));
                sums[at] += value.to_f64();
                magnitudes[at] += value.to_f64().abs();
            }
        }
        (sums, magnitudes)
    }

    /// The neighbors of a node in the grid, ascending, with the number of the node and the place.
    fn neighbors(&self, node: usize) -> impl Iterator<Item = (u32, usize)> {
        let (side, place) =
            (self.side, [node % self.side, node / self.side % self.side, node / self.side.pow(2)]);
        (0..NEIGHBORS).filter_map(move |at| {
            let steps = [at % 3, at / 3 % 3, at / 9];
            let is_inside = place.iter().zip(steps).all(|(from, step)| (1..=side).contains(&(from + step)));
            let other = node + steps[0] + side * (steps[1] + side * steps[2]);
            is_inside.then(|| ((other - 1 - side - side * side) as u32, node * NEIGHBORS + at))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_those_of_their_triplets() {
        let mesh = Mesh::of_shape((27, 27)).unwrap();
        assert_eq!((mesh.corners.len(), mesh.entries(), mesh.nodes()), (64, 512, 27));
        assert_eq!(mesh.corners[..8], [0, 1, 3, 4, 9, 10, 12, 13]);
        let values: Vec<f64> = (0..512).map(|at| f64::from(at * at % 37) - 11.0).collect();
        let (rows, columns) = mesh.triplets();
        let triplets = rows.iter().zip(&columns).zip(&values);
        let triplets = triplets.map(|((&row, &column), &value)| (row as usize, column as usize, value));
        let right: Csr<f64> = Csr::from_triplets(27, 27, triplets).unwrap();
        assert_eq!(mesh.check(&values, &right), Ok(()));
        for at in [0, 13, right.nnz() - 1] {
            for error in [1e-9, f64::NAN] {
                let mut wrong = right.clone();
                wrong.values_mut()[at] += error;
                assert!(mesh.check(&values, &wrong).is_err(), "{at} {error}");
            }
        }
        assert!(mesh.check(&values, &Csr::from_triplets(27, 27, [(0, 0, 1.0)]).unwrap()).is_err());
    }

    #[test]
    fn other_shapes_are_refused() {
        for shape in [(26, 26), (27, 8), (1, 1), (0, 0)] {
            assert!(Mesh::of_shape(shape).is_err(), "{shape:?}");
        }
    }
}
