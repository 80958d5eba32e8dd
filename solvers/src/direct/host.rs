//! Solutions on the host, for vectors on any device.

use evenpath::{Csr, Device, DeviceSlice, Offset};

use super::columns::Columns;
use super::factors::Factors;
use super::options::Factorization;
use super::value::DirectValue;
use crate::error::Result;

/// Factors in host memory. Right-hand sides are downloaded, and solutions uploaded.
pub(super) struct Host<V: DirectValue> {
    pub(super) factors: Factors<V>,
}

impl<V: DirectValue> Host<V> {
    pub(super) fn analyze<O: Offset>(a: &Csr<V, O>, factorization: Factorization) -> Result<Self> {
        Ok(Self { factors: Factors::analyze(a, factorization)? })
    }

    /// Computes the columns of X, which has those of B.
    pub(super) fn solve(
        &self,
        (b, of_b): (&DeviceSlice<V>, Columns),
        (x, of_x): (&mut DeviceSlice<V>, Columns),
    ) -> Result<()> {
        let device: Device = b.device().clone();
        // Refuses vectors of other devices, and graphs. SAFETY: nothing is put on the stream.
        unsafe { device.put_foreign(&[b], &mut [&mut *x], |_| ()) }?;
        let mut solution = vec![V::ZERO; of_b.rows * of_b.count];
        for (column, part) in solution.chunks_exact_mut(of_b.rows).enumerate() {
            b.slice(of_b.range(column))?.copy_to_slice(part)?;
        }
        self.factors.solve(&mut solution, of_b.count)?;
        for (column, part) in solution.chunks_exact(of_x.rows).enumerate() {
            x.slice_mut(of_x.range(column))?.copy_from_slice(part)?;
        }
        Ok(())
    }
}
