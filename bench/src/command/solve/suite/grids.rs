//! Finite volumes on grids.

use evenpath::Csr;
use evenpath::error::MatrixError;

/// The boundary of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    /// The unknown is zero.
    Zero,
    /// Nothing flows through it.
    Closed,
}

/// Diffusion between the cells of a grid with `side` cells in each of as many dimensions as `weights` has, plus a multiple of the
/// identity. A dimension's differences have its weight; two cells are coupled by the harmonic mean of their coefficients.
///
/// # Errors
///
/// If there are too many unknowns.
pub(super) fn diffusion(
    side: usize,
    weights: &[f64],
    coefficient: impl Fn(&[usize]) -> f64,
    (boundary, shift): (Boundary, f64),
) -> Result<Csr<f64>, MatrixError> {
    let cells = side.pow(weights.len() as u32);
    let place = |mut cell: usize| -> Vec<usize> {
        let coordinate = |_| {
            let at = cell % side;
            cell /= side;
            at
        };
        (0..weights.len()).map(coordinate).collect()
    };
    let coefficients: Vec<f64> = (0..cells).map(|cell| coefficient(&place(cell))).collect();
    let mut entries = Vec::new();
    for cell in 0..cells {
        let place = place(cell);
        let mut diagonal = shift;
        let mut stride = 1;
        for (at, weight) in place.into_iter().zip(weights) {
            for (is_inside, other) in [(at > 0, cell.wrapping_sub(stride)), (at + 1 < side, cell + stride)] {
                let own = coefficients[cell];
                if is_inside {
                    let coupling = weight * 2.0 * own * coefficients[other] / (own + coefficients[other]);
                    entries.push((cell, other, -coupling));
                    diagonal += coupling;
                } else if boundary == Boundary::Zero {
                    diagonal += weight * own;
                }
            }
            stride *= side;
        }
        entries.push((cell, cell, diagonal));
    }
    let mut a = Csr::from_triplets(cells, cells, entries)?;
    a.canonicalize();
    Ok(a)
}
