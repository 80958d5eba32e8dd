//! A matrix of a shape by its name.

use std::fmt;
use std::str::FromStr;

use evenpath::error::MatrixError;
use evenpath::{Csr, Offset, Value};
use thiserror::Error;

use super::super::stream::Seeds;
use super::shape::Shape;
use super::{entries, rows};

/// The number of the first shape among the matrices of a seed, far above those of random structures.
const FIRST_NUMBER: u64 = 1 << 48;
/// The largest number of draws, rows and columns.
const MOST: usize = u32::MAX as usize;

/// A matrix of one of twelve shapes: `SHAPE:SIZE`, or `SHAPE` for the size that the suite has.
///
/// ```
/// use evenpath_bench_support::random::ShapeMatrix;
///
/// let matrix: ShapeMatrix = "stairs:2000".parse()?;
/// let a: evenpath::Csr<f64> = matrix.generate(1)?;
/// assert_eq!((a.shape(), a.is_canonical()), ((2000, 2000), true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeMatrix {
    shape: Shape,
    size: usize,
}

/// A string that is not the name of a matrix of a shape.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseShapeError {
    /// It does not have the form.
    #[error("`{0}` is not SHAPE or SHAPE:SIZE, with a whole number, for a shape of {known}", known = names())]
    Form(String),
    /// The matrix would be empty or too large.
    #[error("a size of {size} for `{name}` is invalid: there must be 1 to {MOST} rows, columns and draws")]
    Size {
        /// The name of the shape.
        name: &'static str,
        /// The size.
        size: usize,
    },
}

fn names() -> String {
    Shape::ALL.map(Shape::name).join(", ")
}

impl ShapeMatrix {
    /// The matrix of this shape, of the size that the suite has.
    pub fn new(shape: Shape) -> Self {
        Self { shape, size: shape.default_size() }
    }

    /// Sets the size.
    ///
    /// # Errors
    ///
    /// If the size is 0, or there are more rows, columns or draws than `u32` counts.
    pub fn with_size(self, size: usize) -> Result<Self, ParseShapeError> {
        let (rows, cols) = self.shape.dimensions(size);
        if size == 0 || rows.max(cols).max(self.shape.draws(size)) > MOST {
            return Err(ParseShapeError::Size { name: self.shape.name(), size });
        }
        Ok(Self { size, ..self })
    }

    /// Returns whether a name is that of a matrix of a shape, or is meant to be one.
    pub fn is_name(text: &str) -> bool {
        named(text).is_some()
    }

    /// Generates the matrix. Rows are canonical, and values are uniform in [-1, 1).
    ///
    /// # Errors
    ///
    /// If `O` cannot count its nonzeros.
    pub fn generate<V: Value, O: Offset>(&self, seed: u64) -> Result<Csr<V, O>, MatrixError> {
        let Self { shape, size } = *self;
        let seeds = Seeds { seed, number: FIRST_NUMBER + shape as u64 };
        let pattern = match shape {
            Shape::Band => rows::band(size, seeds),
            Shape::Border => rows::border(size, seeds),
            Shape::Blocks => rows::blocks(size, seeds),
            Shape::Stairs => rows::stairs(size, seeds),
            Shape::Mesh7 => rows::mesh7(size),
            Shape::Perm7 => rows::perm7(size, seeds),
            Shape::Kron => entries::kron(size, seeds),
            Shape::Road => entries::road(size, seeds),
            Shape::Ratings => entries::ratings(shape.dimensions(size), shape.draws(size), seeds),
            Shape::Hyper | Shape::Wide | Shape::Tall => {
                entries::anywhere(shape.dimensions(size), shape.draws(size), seeds)
            }
        };
        pattern.into_matrix(seeds)
    }
}

/// The shape whose name begins a text.
fn named(text: &str) -> Option<Shape> {
    Shape::ALL.into_iter().find(|shape| text.split(':').next() == Some(shape.name()))
}

impl fmt::Display for ShapeMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.shape.name(), self.size)
    }
}

impl FromStr for ShapeMatrix {
    type Err = ParseShapeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseShapeError::Form(text.into());
        let matrix = Self::new(named(text).ok_or_else(wrong)?);
        match text.split_once(':') {
            None => Ok(matrix),
            Some((_, size)) => matrix.with_size(size.parse().map_err(|_| wrong())?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A size of each shape for tests.
    fn small(shape: Shape) -> ShapeMatrix {
        let size = match shape {
            Shape::Kron => 8,
            Shape::Road => 50,
            Shape::Blocks => 12,
            Shape::Mesh7 | Shape::Perm7 => 9,
            Shape::Hyper => 30_000,
            _ => 3000,
        };
        ShapeMatrix::new(shape).with_size(size).unwrap()
    }

    fn matrix(shape: Shape) -> Csr<f64> {
        small(shape).generate(1).unwrap()
    }

    fn lengths(a: &Csr<f64>) -> Vec<usize> {
        a.row_offsets().windows(2).map(|ends| (ends[1] - ends[0]) as usize).collect()
    }

    fn longest(a: &Csr<f64>) -> usize {
        lengths(a).into_iter().max().unwrap()
    }

    #[test]
    fn names_round_trip() {
        for shape in Shape::ALL {
            let name = small(shape).to_string();
            assert_eq!(name.parse::<ShapeMatrix>().unwrap().to_string(), name);
            let whole: ShapeMatrix = shape.name().parse().unwrap();
            assert_eq!(whole.to_string(), format!("{}:{}", shape.name(), shape.default_size()));
        }
        for name in ["bands:3", "band:", "band:x", "band:1:2", "band:-1", ""] {
            let error = name.parse::<ShapeMatrix>().unwrap_err();
            assert!(error.to_string().contains("kron, road"), "{error}");
        }
        for name in ["band:0", "kron:64", "kron:4294967296", "mesh7:1000000", "tall:18446744073709551615"] {
            let error = name.parse::<ShapeMatrix>().unwrap_err();
            assert!(matches!(error, ParseShapeError::Size { .. }), "{name}: {error}");
        }
    }

    #[test]
    fn matrices_are_canonical_and_have_nearly_all_draws() {
        for shape in Shape::ALL {
            let (small, a) = (small(shape), matrix(shape));
            a.check_canonical().unwrap();
            assert_eq!(a.shape(), shape.dimensions(small.size), "{small}");
            let share = a.nnz() as f64 / shape.draws(small.size) as f64;
            // Draws repeat most where few places are drawn from.
            let least = match shape {
                Shape::Kron | Shape::Ratings => 0.3,
                Shape::Band | Shape::Mesh7 | Shape::Perm7 => 0.85,
                _ => 0.95,
            };
            assert!((least..1.05).contains(&share), "{small}: {share}");
        }
    }

    #[test]
    fn whole_sizes_are_those_of_the_list() {
        let million = |shape: Shape| shape.draws(shape.default_size()) as f64 / 1e6;
        let expected = [18.0, 25.2, 12.0, 14.0, 2.0, 12.9, 14.2, 12.0, 20.0, 20.2, 23.6, 23.6];
        for (shape, expected) in Shape::ALL.into_iter().zip(expected) {
            assert!((million(shape) - expected).abs() < 0.06, "{shape:?}: {}", million(shape));
        }
        assert_eq!(Shape::Ratings.dimensions(400_000), (400_000, 30_000));
        assert_eq!(Shape::Road.dimensions(2200).0, 4_840_192);
    }

    #[test]
    fn threads_do_not_change_a_matrix_and_seeds_do() {
        for shape in Shape::ALL {
            let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let of =
                |threads, seed| pool(threads).install(|| small(shape).generate::<f32, u32>(seed).unwrap());
            let alone = of(1, 5);
            assert_eq!(alone, of(3, 5), "{shape:?}");
            let other = of(1, 6);
            assert_ne!(alone, other, "{shape:?}");
            assert_eq!(alone.column_indices() == other.column_indices(), shape == Shape::Mesh7, "{shape:?}");
        }
    }

    #[test]
    fn lengths_are_those_of_the_shapes() {
        let band = lengths(&matrix(Shape::Band));
        assert!(band.contains(&0) && band.iter().all(|&length| length <= 24));
        let hyper = lengths(&matrix(Shape::Hyper));
        // e^-0.1 of the rows are empty.
        let empty = hyper.iter().filter(|&&length| length == 0).count() as f64 / hyper.len() as f64;
        assert!((empty - 0.905).abs() < 0.01, "{empty}");
        let stairs = lengths(&matrix(Shape::Stairs));
        assert!(stairs[..15].iter().all(|&length| length == 1));
        for (row, &length) in stairs.iter().enumerate() {
            let draws = 1 + row * 200 / stairs.len();
            assert!(length <= draws && length as f64 > 0.85 * draws as f64 - 1.0, "row {row}: {length}");
        }
        let border = lengths(&matrix(Shape::Border));
        assert_eq!(border.iter().filter(|&&length| length == 3000).count(), 20);
        assert!(border.iter().all(|&length| length == 3000 || (20..=23).contains(&length)));
        let wide = lengths(&matrix(Shape::Wide));
        assert!(wide.len() == 300 && wide.iter().all(|length| (5..40).contains(length)));
        let tall = matrix(Shape::Tall);
        assert!(tall.ncols() == 300 && longest(&tall) < 20);
        let blocks = matrix(Shape::Blocks);
        assert!(lengths(&blocks).iter().all(|length| [48, 49].contains(length)));
        for (row, column, _) in blocks.iter() {
            let is_coupling = column == (row + 7 * 48) % blocks.ncols();
            assert!(row / 48 == column / 48 || is_coupling, "{row}, {column}");
        }
    }

    #[test]
    fn columns_are_those_of_the_shapes() {
        let distance = |(row, column, _): (usize, usize, f64)| row.abs_diff(column);
        let farthest = matrix(Shape::Band).iter().map(distance).max().unwrap();
        assert!((70..=80).contains(&farthest), "{farthest}");
        let ratings = matrix(Shape::Ratings);
        let half = |index: usize, count: usize| index < count / 2;
        let (rows, cols) = ratings.shape();
        let share = |of: &dyn Fn(usize, usize) -> bool| {
            ratings.iter().filter(|&(row, column, _)| of(row, column)).count() as f64 / ratings.nnz() as f64
        };
        // Of the draws 0.5^(1/1.6) and 0.5^(1/3); repeated ones count once.
        assert!((0.52..0.66).contains(&share(&|row, _| half(row, rows))));
        assert!((0.65..0.8).contains(&share(&|_, column| half(column, cols))));
        assert!((longest(&matrix(Shape::Kron)) as f64) > 3.0 * 24.0);
        assert!(longest(&matrix(Shape::Road)) <= 4);
        for shape in [Shape::Kron, Shape::Road, Shape::Border, Shape::Mesh7, Shape::Perm7] {
            let (a, t) = (matrix(shape), matrix(shape).transpose().unwrap());
            assert_eq!(
                (a.row_offsets(), a.column_indices()),
                (t.row_offsets(), t.column_indices()),
                "{shape:?}"
            );
        }
        let sorted = |shape| {
            let mut lengths = lengths(&matrix(shape));
            lengths.sort_unstable();
            lengths
        };
        assert_eq!(sorted(Shape::Mesh7), sorted(Shape::Perm7));
        let farthest = |shape| matrix(shape).iter().map(distance).max().unwrap();
        assert_eq!(farthest(Shape::Mesh7), 81);
        assert!(farthest(Shape::Perm7) > 500);
        // Neighbors in the next line of the grid are often in another chunk, which is elsewhere.
        let far =
            |a: &Csr<f64>| a.iter().filter(|entry| distance(*entry) > 50).count() as f64 / a.nnz() as f64;
        assert!((0.05..0.4).contains(&far(&matrix(Shape::Road))), "{}", far(&matrix(Shape::Road)));
    }
}
