//! Tentative prolongation.

use evenpath::{Csr, Device, DeviceCsr, DeviceSlice, DeviceVec, Value, vector, vector::Map};

use super::diagonal::reciprocals_above;
use crate::error::Result;
use crate::scalars::epsilon;
use crate::vectors::copied;

/// The tentative prolongation, and the near-null vectors of the coarse level.
pub(super) struct Tentative<V: Value> {
    pub(super) prolongation: DeviceCsr<V>,
    pub(super) coarse_near_null: Vec<DeviceVec<V>>,
}

impl<V: Value> Tentative<V> {
    /// Cuts near-null vectors into aggregates, and orthonormalizes each piece by the Gram-Schmidt process, twice. `aggregates` has
    /// a row per node and a column per aggregate; a node has `block_size` unknowns. Column a·k + j of the prolongation is the
    /// piece of the j-th of k vectors in aggregate a: zero if it depends on the earlier ones there.
    pub(super) fn new(
        aggregates: &DeviceCsr<V>,
        block_size: usize,
        near_null: &[DeviceVec<V>],
    ) -> Result<Self> {
        let pieces = Pieces::new(aggregates, block_size)?;
        let (device, count) = (aggregates.device(), near_null.len());
        let mut orthonormal: Vec<DeviceVec<V>> = Vec::with_capacity(count);
        let mut coarse_near_null = Vec::with_capacity(count);
        for vector in near_null {
            let mut piece = copied(vector)?;
            let mut coarse = device.zeros(pieces.count() * count)?;
            let before = pieces.dots(&piece, &piece)?;
            for _ in 0..2 {
                for (other, of_other) in orthonormal.iter().enumerate() {
                    let dots = pieces.dots(of_other, &piece)?;
                    pieces.subtract(&dots, of_other, &mut piece)?;
                    add_component(&dots, other, &mut coarse, count)?;
                }
            }
            let (norms, inverse) = norms(&pieces.dots(&piece, &piece)?, &before)?;
            pieces.scale(&inverse, &mut piece)?;
            add_component(&norms, orthonormal.len(), &mut coarse, count)?;
            orthonormal.push(piece);
            coarse_near_null.push(coarse);
        }
        Ok(Self { prolongation: pieces.columns(&orthonormal)?, coarse_near_null })
    }
}

/// Norms from their squares, and their reciprocals; both zero where the norm is nothing but rounding compared to that before.
fn norms<V: Value>(
    squares: &DeviceSlice<V>,
    squares_before: &DeviceSlice<V>,
) -> Result<(DeviceVec<V>, DeviceVec<V>)> {
    let mut inverse = reciprocals_above(squares, squares_before, 1e4 * epsilon::<V>())?;
    let mut norms = copied(squares)?;
    vector::multiply_elements_in_place(&inverse, &mut norms)?; // ones, and zeros
    vector::multiply_elements_in_place(squares, &mut norms)?;
    vector::map(Map::Sqrt, &mut norms)?;
    vector::map(Map::Sqrt, &mut inverse)?;
    Ok((norms, inverse))
}

/// Adds a number per aggregate to the `at`-th of `count` components of each aggregate.
fn add_component<V: Value>(
    numbers: &DeviceSlice<V>,
    at: usize,
    sums: &mut DeviceSlice<V>,
    count: usize,
) -> Result<()> {
    if count == 1 {
        return Ok(vector::axpby(V::ONE, numbers, V::ONE, sums)?);
    }
    let device = numbers.device();
    let unit = unit(device, count, at)?.transpose()?;
    let spread = DeviceCsr::identity(device, numbers.len())?.kronecker(&unit)?;
    Ok(spread.spmv(V::ONE, numbers, V::ONE, sums)?)
}

/// A row of `count` columns whose only entry is a one in column `at`.
fn unit<V: Value>(device: &Device, count: usize, at: usize) -> Result<DeviceCsr<V>> {
    Ok(device.upload(&Csr::from_triplets(1, count, [(0, at, V::ONE)])?)?)
}

/// Vectors as pieces, one per aggregate.
struct Pieces<V: Value> {
    /// A row per unknown and a column per aggregate, with a one where the unknown belongs to it.
    members: DeviceCsr<V>,
    transposed: DeviceCsr<V>,
}

impl<V: Value> Pieces<V> {
    fn new(aggregates: &DeviceCsr<V>, block_size: usize) -> Result<Self> {
        let members = if block_size == 1 {
            aggregates.clone()
        } else {
            let ones = (0..block_size).map(|row| (row, 0, V::ONE));
            aggregates.kronecker(&aggregates.device().upload(&Csr::from_triplets(block_size, 1, ones)?)?)?
        };
        Ok(Self { transposed: members.transpose()?, members })
    }

    /// Number of aggregates.
    fn count(&self) -> usize {
        self.members.ncols()
    }

    /// The inner products of the pieces of two vectors.
    fn dots(&self, x: &DeviceSlice<V>, y: &DeviceSlice<V>) -> Result<DeviceVec<V>> {
        let mut products = copied(x)?;
        vector::multiply_elements_in_place(y, &mut products)?;
        let mut dots = products.device().uninitialized(self.count())?;
        self.transposed.spmv(V::ONE, &products, V::ZERO, &mut dots)?;
        Ok(dots)
    }

    /// Multiplies each piece by a factor.
    fn scale(&self, factors: &DeviceSlice<V>, x: &mut DeviceSlice<V>) -> Result<()> {
        let mut of_unknowns = x.device().uninitialized(x.len())?;
        self.members.spmv(V::ONE, factors, V::ZERO, &mut of_unknowns)?;
        Ok(vector::multiply_elements_in_place(&of_unknowns, x)?)
    }

    /// Subtracts a multiple of each piece of x from that of y.
    fn subtract(&self, factors: &DeviceSlice<V>, x: &DeviceSlice<V>, y: &mut DeviceSlice<V>) -> Result<()> {
        let mut multiples = copied(x)?;
        self.scale(factors, &mut multiples)?;
        Ok(vector::axpby(-V::ONE, &multiples, V::ONE, y)?)
    }

    /// The matrix whose columns are the pieces of the vectors.
    fn columns(&self, vectors: &[DeviceVec<V>]) -> Result<DeviceCsr<V>> {
        let device = self.members.device();
        let mut sum: Option<DeviceCsr<V>> = None;
        for (at, vector) in vectors.iter().enumerate() {
            let columns = if vectors.len() == 1 {
                self.members.copy()?
            } else {
                self.members.kronecker(&unit(device, vectors.len(), at)?)?
            };
            columns.scale_rows(vector)?;
            sum = Some(match sum {
                Some(sum) => sum.spadd(V::ONE, &columns, V::ONE)?,
                None => columns,
            });
        }
        sum.map_or_else(|| Ok(self.members.copy()?), Ok)
    }
}
