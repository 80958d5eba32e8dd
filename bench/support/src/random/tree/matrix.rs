//! A stand-in by its name.

use std::fmt;
use std::str::FromStr;

use evenpath::error::MatrixError;
use evenpath::generate::{Kind, generate};
use evenpath::{Csr, Offset, Value};
use rayon::prelude::*;
use thiserror::Error;

use super::super::pattern::Pattern;
use super::super::stream::Seeds;
use super::figure::PublishedTree;
use super::plan::{Strip, strips};
use super::rows::Rows;
use super::target::Target;

/// The word before the first colon of a name.
const NAME: &str = "tree";
/// A scale is a multiple of one over this.
const FULL: u32 = 1_000_000;

/// A stand-in for a matrix of Figure 7.1 of the thesis on HiSparse: `tree:NAME`, or `tree:NAME:SCALE` for that fraction of
/// its rows, nonzeros and nodes.
///
/// ```
/// use evenpath_bench_support::random::TreeMatrix;
///
/// let matrix: TreeMatrix = "tree:special:0.001".parse()?;
/// let a: evenpath::Csr<f64> = matrix.generate(1)?;
/// assert_eq!((a.nrows(), a.is_canonical()), (7000, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TreeMatrix {
    tree: &'static PublishedTree,
    /// In units of 1 / [`FULL`].
    scale: u32,
}

/// A string that is not the name of a stand-in.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseTreeError {
    /// It does not have the form.
    #[error("`{0}` is not tree:NAME or tree:NAME:SCALE")]
    Form(String),
    /// There is no such matrix.
    #[error("there is no matrix `{name}` in the figure; it has {known}")]
    Name {
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// The scale is outside its range.
    #[error("a scale of {0} is not between 0.000001 and 1")]
    Scale(String),
}

impl TreeMatrix {
    /// The stand-in for a matrix, of its size.
    pub fn new(tree: &'static PublishedTree) -> Self {
        Self { tree, scale: FULL }
    }

    /// Sets the size, as a fraction of the published one, rounded to millionths.
    ///
    /// # Errors
    ///
    /// If it is not between 0.000001 and 1.
    pub fn with_scale(self, scale: f64) -> Result<Self, ParseTreeError> {
        let millionths = (scale * f64::from(FULL)).round();
        if !(1.0..=f64::from(FULL)).contains(&millionths) {
            return Err(ParseTreeError::Scale(scale.to_string()));
        }
        Ok(Self { scale: millionths as u32, ..self })
    }

    /// Returns whether a name is that of a stand-in, or is meant to be one.
    pub fn is_name(text: &str) -> bool {
        text.split(':').next() == Some(NAME)
    }

    /// Its name without the word before the first colon.
    pub fn short_name(&self) -> String {
        let name = self.tree.name;
        if self.scale == FULL { name.into() } else { format!("{name}:{}", self.scale()) }
    }

    /// Number of nonzeros that the matrix is generated for. It has about as many.
    pub fn nonzeros(&self) -> usize {
        self.target().nonzeros
    }

    fn scale(&self) -> f64 {
        f64::from(self.scale) / f64::from(FULL)
    }

    fn target(&self) -> Target {
        let target = self.tree.target();
        if self.scale == FULL { target } else { target.scaled(self.scale()) }
    }

    /// Generates the matrix. Rows are canonical, and values are uniform in [-1, 1).
    ///
    /// # Errors
    ///
    /// If `O` cannot count its nonzeros.
    pub fn generate<V: Value, O: Offset>(&self, seed: u64) -> Result<Csr<V, O>, MatrixError> {
        let target = self.target();
        if target.is_full() {
            let side = (target.nonzeros as f64).sqrt() as usize;
            return generate(Kind::Dense { rows: side, cols: side }, seed);
        }
        let seeds = Seeds { seed, number: self.tree.number() };
        pattern(&target, seeds).into_matrix(seeds)
    }
}

/// The nonzeros of all strips.
fn pattern(target: &Target, seeds: Seeds) -> Pattern {
    let strips = strips(target, seeds);
    let of_strip = |strip: &Strip| {
        let mut rows = Rows::new(target, seeds, strip);
        let (mut lengths, mut columns, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..strip.lengths.len() {
            rows.columns(row, &mut found);
            lengths.push(found.len());
            columns.extend_from_slice(&found);
        }
        (lengths, columns)
    };
    let parts: Vec<(Vec<usize>, Vec<u32>)> = strips.par_iter().map(of_strip).collect();
    let mut pattern = Pattern::empty(target.cols);
    for (strip, (lengths, columns)) in strips.iter().zip(parts) {
        // Rows between strips have no nonzeros.
        pattern.extend_to(strip.first_row);
        pattern.append(lengths, columns);
    }
    pattern.extend_to(target.rows);
    pattern
}

impl PartialEq for TreeMatrix {
    fn eq(&self, other: &Self) -> bool {
        (self.tree.name, self.scale) == (other.tree.name, other.scale)
    }
}

impl Eq for TreeMatrix {}

impl fmt::Display for TreeMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME}:{}", self.short_name())
    }
}

impl FromStr for TreeMatrix {
    type Err = ParseTreeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split(':').collect();
        let (name, scale) = match parts[..] {
            [NAME, name] => (name, None),
            [NAME, name, scale] => (name, Some(scale)),
            _ => return Err(ParseTreeError::Form(text.into())),
        };
        let all = PublishedTree::all();
        let tree = all.iter().find(|tree| tree.name == name).ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|tree| tree.name).collect();
            ParseTreeError::Name { name: name.into(), known: known.join(", ") }
        })?;
        let Some(scale) = scale else { return Ok(Self::new(tree)) };
        let number = scale.parse().map_err(|_| ParseTreeError::Scale(scale.into()))?;
        Self::new(tree).with_scale(number)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Entries by place, for a level of nodes.
    type Places = BTreeMap<(usize, usize), usize>;

    /// The leaves of a matrix, and the inner nodes of every level above.
    fn nodes(a: &Csr<f32>) -> (Places, Vec<Places>) {
        let mut leaves = Places::new();
        for row in 0..a.nrows() {
            let range = a.row_offsets()[row] as usize..a.row_offsets()[row + 1] as usize;
            for run in a.column_indices()[range].chunk_by(|left, right| left / 128 == right / 128) {
                *leaves.entry((row / 128, run[0] as usize / 128)).or_default() += run.len();
            }
        }
        let (mut inner, mut side) = (Vec::new(), 128);
        let mut level = leaves.clone();
        while side < a.nrows().max(a.ncols()) {
            let mut above = Places::new();
            for (row, col) in level.into_keys() {
                *above.entry((row / 128, col / 128)).or_default() += 1;
            }
            level = above.clone();
            inner.push(above);
            side *= 128;
        }
        (leaves, inner)
    }

    fn assert_near(name: &str, found: usize, published: u64, tolerance: f64) {
        let ratio = found as f64 / published as f64;
        assert!((ratio - 1.0).abs() <= tolerance, "{name}: {found}, published {published}");
    }

    #[test]
    fn trees_are_those_published() {
        // Those that are generated in a second.
        for tree in PublishedTree::all().iter().filter(|tree| tree.rows().nonzeros < 12_000_000) {
            let a: Csr<f32> = TreeMatrix::new(tree).generate(1).unwrap();
            a.check_canonical().unwrap();
            let (name, rows) = (tree.name, tree.rows());
            assert_eq!((a.nrows(), a.ncols()), rows.shape, "{name}");
            assert_near(name, a.nnz(), rows.nonzeros as u64, 0.01);
            let lengths = a.row_offsets().windows(2).map(|pair| (pair[1] - pair[0]) as usize);
            assert_near(name, lengths.max().unwrap(), rows.longest as u64, 0.03);

            let (leaves, inner) = nodes(&a);
            let is_dense = |entries: usize| 6 * entries + 4 > 4 * 128 * 128;
            let dense = leaves.values().filter(|&&entries| is_dense(entries)).count();
            assert_eq!(dense as u64, tree.leaves.dense, "{name}");
            assert_near(name, leaves.len() - dense, tree.leaves.sparse, 0.02);
            let in_sparse: usize = leaves.values().filter(|&&entries| !is_dense(entries)).sum();
            let mean = in_sparse as f64 / (leaves.len() - dense) as f64 - 1.0;
            assert!((mean / tree.leaves.mean - 1.0).abs() < 0.05, "{name}: {mean}");
            assert_near(name, inner.iter().map(Places::len).sum(), tree.inner.all(), 0.02);
        }
    }

    #[test]
    fn small_ones_have_their_size_and_their_leaves() {
        for tree in PublishedTree::all() {
            for scale in [0.01, 0.0001] {
                let a: Csr<f32> = TreeMatrix::new(tree).with_scale(scale).unwrap().generate(1).unwrap();
                a.check_canonical().unwrap();
                let rows = tree.rows();
                if scale > 0.001 {
                    assert_near(tree.name, a.nnz(), (scale * rows.nonzeros as f64) as u64, 0.03);
                }
                // Small matrices have no room for scattered leaves.
                if scale > 0.001 && rows.shape.0 > 800_000 && rows.shape.1 > 800_000 {
                    let leaves = nodes(&a).0.len();
                    assert_near(tree.name, leaves, (scale * tree.leaves.all() as f64) as u64, 0.05);
                }
            }
        }
    }

    #[test]
    fn threads_do_not_change_a_matrix_and_seeds_do() {
        let matrix: TreeMatrix = "tree:webbase:0.02".parse().unwrap();
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let alone: Csr<f64> = pool(1).install(|| matrix.generate(1)).unwrap();
        assert_eq!(alone, pool(3).install(|| matrix.generate(1)).unwrap());
        assert_ne!(alone, matrix.generate(2).unwrap());
    }

    #[test]
    fn names_round_trip() {
        for name in ["tree:special", "tree:lp:0.01", "tree:dense:0.5"] {
            assert_eq!(name.parse::<TreeMatrix>().unwrap().to_string(), name);
        }
        for name in ["tree", "tree:lp:1:2", "random:lp"] {
            assert_eq!(name.parse::<TreeMatrix>(), Err(ParseTreeError::Form(name.into())));
        }
        for scale in ["x", "0", "1.5", "-1", "NaN"] {
            let error = format!("tree:lp:{scale}").parse::<TreeMatrix>().unwrap_err();
            assert_eq!(error, ParseTreeError::Scale(scale.into()));
        }
        let error = "tree:none".parse::<TreeMatrix>().unwrap_err().to_string();
        assert!(error.contains("`none`") && error.contains("asia-osm"), "{error}");
    }
}
