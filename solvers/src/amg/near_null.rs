//! Near-null vectors of the finest level.

use evenpath::{DeviceCsr, DeviceVec, Value, vector};

use crate::error::{Error, Result, check_len};

/// The vectors that are constant in one unknown of a node, and zero in the others. A node has `block_size` unknowns.
pub(super) fn constants<V: Value>(a: &DeviceCsr<V>, block_size: usize) -> Result<Vec<DeviceVec<V>>> {
    let (device, rows) = (a.device(), a.nrows());
    if block_size == 1 {
        let mut ones = device.uninitialized(rows)?;
        vector::fill(V::ONE, &mut ones)?;
        return Ok(vec![ones]);
    }
    let of_unknown = |unknown: usize| -> Result<DeviceVec<V>> {
        let is_of = |row: usize| row % block_size == unknown;
        let values = (0..rows).map(|row| if is_of(row) { V::ONE } else { V::ZERO });
        Ok(device.upload(&values.collect::<Vec<V>>())?)
    };
    (0..block_size).map(of_unknown).collect()
}

/// Checks that there is a vector, and that each has an element for each row and is on the matrix's device.
pub(super) fn check_near_null<V: Value>(a: &DeviceCsr<V>, vectors: &[DeviceVec<V>]) -> Result<()> {
    if vectors.is_empty() {
        let (option, value) = ("the number of near-null vectors", "0".into());
        return Err(Error::Option { option, value, needed: "at least 1" });
    }
    for vector in vectors {
        check_len("a near-null vector", vector.len(), a.nrows())?;
        // A copy of none of its elements, which is refused between devices.
        a.device().uninitialized(0)?.copy_from(&vector.slice(..0)?)?;
    }
    Ok(())
}
