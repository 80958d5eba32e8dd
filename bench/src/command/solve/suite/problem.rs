//! The problems of the suite.

use std::error::Error;
use std::path::{Path, PathBuf};

use evenpath::Csr;

use super::grids::{self, Boundary};
use super::{elements, finite_elements, graphs};
use crate::suite::matrix_files;

/// A matrix, and what multigrid is told about it.
pub(super) struct Built {
    pub(super) a: Csr<f64>,
    /// Unknowns of a node.
    pub(super) block_size: usize,
    /// Near-null vectors; none stand for the constant.
    pub(super) near_null: Vec<Vec<f64>>,
}

/// A problem that is not built yet.
pub(super) struct Problem {
    pub(super) name: String,
    source: Source,
}

type BuildResult = Result<Built, Box<dyn Error>>;
type Build = fn(usize) -> BuildResult;

enum Source {
    Generated(Build),
    File(PathBuf),
}

impl Problem {
    /// Builds the problem with about `size` unknowns, or reads its file.
    ///
    /// # Errors
    ///
    /// If there are too many unknowns, or the file cannot be read.
    pub(super) fn build(&self, size: usize) -> BuildResult {
        match &self.source {
            Source::Generated(build) => build(size.max(1)),
            Source::File(path) => {
                let mut a: Csr<f64> = evenpath::io::read_matrix_market(path)?;
                a.canonicalize();
                Ok(Built::scalar(a))
            }
        }
    }
}

impl Built {
    /// One unknown at each node, and the constant as near-null vector.
    fn scalar(a: Csr<f64>) -> Self {
        Self { a, block_size: 1, near_null: Vec::new() }
    }
}

/// Side of a square or a cube with about `size` unknowns.
fn side(size: usize, dimensions: usize) -> usize {
    ((size as f64).powf(1.0 / dimensions as f64).round() as usize).max(2)
}

/// Diffusion on a square, zero on its boundary.
fn square(size: usize, weights: [f64; 2], coefficient: impl Fn(usize, usize, usize) -> f64) -> BuildResult {
    let side = side(size, 2);
    let of_place = |place: &[usize]| coefficient(place[0], place[1], side);
    Ok(Built::scalar(grids::diffusion(side, &weights, of_place, (Boundary::Zero, 0.0))?))
}

/// Eight by eight fields whose coefficients alternate.
fn checkerboard(x: usize, y: usize, side: usize, jump: f64) -> f64 {
    let field = side.div_ceil(8);
    if (x / field + y / field).is_multiple_of(2) { 1.0 } else { jump }
}

/// Elements with a tensor, zero on the boundary.
fn tensor(size: usize, tensor: &[&[f64]]) -> BuildResult {
    Ok(Built::scalar(elements::diffusion(side(size, tensor.len()) + 1, tensor)?))
}

fn elastic(size: usize, dimensions: usize) -> BuildResult {
    let (a, near_null) = elements::elasticity(side(size / dimensions, dimensions), dimensions)?;
    Ok(Built { a, block_size: dimensions, near_null })
}

fn cube(
    size: usize,
    weights: [f64; 3],
    coefficient: impl Fn(&[usize]) -> f64,
    boundary: (Boundary, f64),
) -> BuildResult {
    Ok(Built::scalar(grids::diffusion(side(size, 3), &weights, coefficient, boundary)?))
}

/// The generated problems, by name.
const GENERATED: [(&str, Build); 20] = [
    ("poisson-2d-5", |size| square(size, [1.0; 2], |_, _, _| 1.0)),
    ("poisson-2d-9", |size| tensor(size, &[&[1.0, 0.0], &[0.0, 1.0]])),
    ("poisson-3d-7", |size| cube(size, [1.0; 3], |_| 1.0, (Boundary::Zero, 0.0))),
    ("poisson-3d-27", |size| tensor(size, &[&[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0]])),
    ("checkerboard-1e3", |size| square(size, [1.0; 2], |x, y, side| checkerboard(x, y, side, 1e3))),
    ("checkerboard-1e6", |size| square(size, [1.0; 2], |x, y, side| checkerboard(x, y, side, 1e6))),
    ("channels-1e6", |size| {
        square(size, [1.0; 2], |x, y, _| if y % 8 == 3 || x % 32 == 17 { 1e6 } else { 1.0 })
    }),
    ("jumps-3d-1e4", |size| {
        let is_hard = |place: &[usize]| place.iter().all(|at| at % 6 < 3);
        cube(size, [1.0; 3], |place| if is_hard(place) { 1e4 } else { 1.0 }, (Boundary::Zero, 0.0))
    }),
    ("random-1e4", |size| {
        square(size, [1.0; 2], |x, y, side| 10_f64.powf(4.0 * graphs::number(x + side * y)))
    }),
    ("anisotropy-0.1", |size| square(size, [1.0, 0.1], |_, _, _| 1.0)),
    ("anisotropy-0.001", |size| square(size, [1.0, 0.001], |_, _, _| 1.0)),
    ("anisotropy-45", |size| tensor(size, &[&[0.505, 0.495], &[0.495, 0.505]])),
    ("elasticity-2d", |size| elastic(size, 2)),
    ("elasticity-3d", |size| elastic(size, 3)),
    ("roads", |size| Ok(Built::scalar(graphs::roads(side(size, 2), 1e-3)?))),
    ("geometric", |size| Ok(Built::scalar(graphs::geometric(size, 1e-4)?))),
    ("shifted-closed", |size| cube(size, [1.0; 3], |_| 1.0, (Boundary::Closed, 1e-5))),
    ("shifted-heat", |size| cube(size, [1.0; 3], |_| 1.0, (Boundary::Zero, 0.5))),
    ("triangles", |size| Ok(Built::scalar(finite_elements::triangles(side(size, 2) + 1, 1.0)?))),
    ("triangles-graded", |size| Ok(Built::scalar(finite_elements::triangles(side(size, 2) + 1, 2.0)?))),
];

/// The problems: generated ones, and the Matrix Market files of a folder by name.
///
/// # Errors
///
/// If the folder cannot be read.
pub(super) fn problems(folder: Option<&Path>) -> Result<Vec<Problem>, Box<dyn Error>> {
    let generated =
        |(name, build): (&str, _)| Problem { name: name.into(), source: Source::Generated(build) };
    let mut problems: Vec<Problem> = GENERATED.into_iter().map(generated).collect();
    for path in folder.map(matrix_files).transpose()?.unwrap_or_default() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        problems.push(Problem { name, source: Source::File(path) });
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::problems;

    #[test]
    fn generated_matrices_are_symmetric_with_positive_diagonals() {
        let problems = problems(None).unwrap();
        assert_eq!(problems.len(), 20);
        for problem in problems {
            for size in [1, 130] {
                let built = problem.build(size).unwrap();
                let (a, name) = (&built.a, &problem.name);
                let largest = a.values().iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
                for (row, column, value) in a.iter() {
                    let mirrored = a.get(column, row).unwrap_or(f64::NAN);
                    assert!((value - mirrored).abs() <= 1e-14 * largest, "{name}: {row}, {column}");
                    assert!(row != column || value > 0.0, "{name}: {row}");
                }
                assert!(size == 1 || (60..320).contains(&a.nrows()), "{name}: {} rows", a.nrows());
                assert!(a.nrows().is_multiple_of(built.block_size), "{name}");
                // Rigid motions do no work, away from the nodes that are fixed.
                for motion in &built.near_null {
                    let mut forces = vec![0.0; a.nrows()];
                    a.spmv(1.0, motion, 0.0, &mut forces).unwrap();
                    let free = forces.iter().filter(|force| force.abs() < 1e-12).count();
                    assert!(size == 1 || 2 * free > forces.len(), "{name}: {free} of {}", forces.len());
                }
            }
        }
    }
}
