//! Strong couplings.

use evenpath::csr::Filter;
use evenpath::spgemm::SpgemmOptions;
use evenpath::{Csr, DeviceCsr, DeviceSlice, Value, vector, vector::Map};

use super::diagonal::reciprocals_above;
use super::matrix::LevelMatrix;
use crate::error::Result;
use crate::scalars::epsilon;
use crate::vectors::copied;

/// D^(−1/2) A D^(−1/2), whose eigenvalues are those of D⁻¹A. `inverse_diagonal` has the diagonal of D⁻¹.
pub(super) fn scaled<V: Value, M: LevelMatrix<V>>(a: &M, inverse_diagonal: &DeviceSlice<V>) -> Result<M> {
    let mut factors = copied(inverse_diagonal)?;
    vector::map(Map::Sqrt, &mut factors)?;
    let scaled = a.copy()?;
    scaled.scale(&factors)?;
    Ok(scaled)
}

/// Returns the couplings of nodes of `block_size` unknowns that are above a threshold, with the diagonal, and whether others are not,
/// for a matrix that [`scaled`] returned. Those that are nothing but rounding are left out for any threshold.
///
/// Source: Vanek, Mandel, Brezina, Computing 56, 1996. For blocks, their Frobenius norms stand for the entries.
pub(super) fn strong_couplings<V: Value>(
    scaled: &DeviceCsr<V>,
    threshold: f64,
    block_size: usize,
) -> Result<(DeviceCsr<V>, bool)> {
    let limit = Filter::AbsAbove(V::from_f64(threshold.max(8.0 * epsilon::<V>())));
    if block_size == 1 {
        let strong = scaled.filter(limit)?;
        let has_weak = strong.nnz() < scaled.nnz();
        return Ok((strong, has_weak));
    }
    let norms = block_norms(scaled, block_size)?;
    let diagonal = norms.diagonal()?;
    let inverse = reciprocals_above(&diagonal, &diagonal, 0.0)?;
    let strong = self::scaled(&norms, &inverse)?.filter(limit)?;
    let has_weak = strong.nnz() < norms.nnz();
    Ok((strong, has_weak))
}

/// The Frobenius norms of the blocks of a matrix.
fn block_norms<V: Value>(a: &DeviceCsr<V>, block_size: usize) -> Result<DeviceCsr<V>> {
    let (device, options) = (a.device(), SpgemmOptions::default());
    let column = Csr::from_triplets(block_size, 1, (0..block_size).map(|row| (row, 0, V::ONE)))?;
    let nodes = DeviceCsr::identity(device, a.nrows() / block_size)?.kronecker(&device.upload(&column)?)?;
    let squares = a.copy()?;
    squares.map_values(Map::Square)?;
    let norms = nodes.transpose()?.spgemm(&squares.spgemm(&nodes, options)?, options)?;
    norms.map_values(Map::Sqrt)?;
    Ok(norms)
}
