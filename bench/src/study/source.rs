//! Matrices to measure.

use std::error::Error;

use evenpath::Csr;
use evenpath::generate::{Kind, generate};

use crate::generated::Generated;
use crate::random::TreeMatrix;
use crate::suite::{self, Suite, SuiteError, SuiteOptions};

/// Makes a matrix.
pub(super) type Make = dyn Fn() -> Result<Csr<f64>, Box<dyn Error>>;

/// A matrix to measure.
pub(super) struct Source {
    pub(super) name: String,
    /// Nonzeros that it has at least, by what is known before it is made.
    pub(super) nonzeros: usize,
    pub(super) make: Box<Make>,
}

impl From<Kind> for Source {
    fn from(kind: Kind) -> Self {
        let name = match kind {
            Kind::Like { matrix } => matrix.name().to_owned(),
            _ => kind.to_string(),
        };
        Self { name, nonzeros: least_nonzeros(kind), make: Box::new(move || Ok(generate(kind, 1)?)) }
    }
}

impl From<TreeMatrix> for Source {
    fn from(matrix: TreeMatrix) -> Self {
        let make = move || Ok(matrix.generate(1)?);
        // Some nonzeros may have no room.
        let nonzeros = matrix.nonzeros() - matrix.nonzeros() / 10;
        Self { name: matrix.short_name(), nonzeros, make: Box::new(make) }
    }
}

/// The generated matrices of a suite.
pub(super) fn of_suite(suite: Suite) -> Result<Vec<Source>, SuiteError> {
    let sources = suite.sources(SuiteOptions::default())?.into_iter();
    let generated = sources.filter_map(|source| match source {
        suite::Source::Generated(Generated::Kind(kind)) => Some(kind.into()),
        _ => None,
    });
    Ok(generated.collect())
}

/// Nonzeros that a matrix of a kind has at least, so that large ones need not be made to be left out. Columns drawn at random are
/// assumed to be drawn twice at most as often as once.
fn least_nonzeros(kind: Kind) -> usize {
    let (rows, columns) = kind.shape();
    let of_a_row = match kind {
        Kind::Like { matrix } => return matrix.nonzeros(),
        Kind::EmptyRows { .. } => return rows / 4,
        Kind::Stencil5 { side } => 2 * side.min(2) - side.min(1),
        Kind::Stencil27 { side } => side.min(2).pow(3),
        Kind::BlockFem { block, .. } => block,
        Kind::Dense { .. } => columns,
        Kind::Fem { .. } => columns.min(32) / 2,
        Kind::Uniform { .. } => columns.min(16),
        Kind::PowerLaw { .. } | Kind::Diagonal { .. } => 1,
        _ => 0,
    };
    rows.saturating_mul(of_a_row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_have_the_nonzeros_that_they_are_left_out_for() {
        let sizes = [
            "stencil5:1 stencil5:2 stencil5:30 stencil27:1 stencil27:2 stencil27:9 fem:1 fem:20 fem:40 fem:3000",
            "block-fem:1x3 block-fem:50x2 uniform:3 uniform:500 power-law:1 power-law:300 lp:4 rmat:1 rmat:6",
            "empty-rows:1 empty-rows:7 empty-rows:1000 dense:3x5 diagonal:4 like:circuit",
        ];
        for name in sizes.iter().flat_map(|names| names.split(' ')) {
            let kind: Kind = name.parse().expect("a kind");
            let matrix: Csr<f64> = generate(kind, 1).expect("a matrix");
            assert!(least_nonzeros(kind) <= matrix.nnz(), "{name}: {}", matrix.nnz());
        }
    }
}
