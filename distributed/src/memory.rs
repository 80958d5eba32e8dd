//! Fallible allocation of host memory for counts from files, other ranks or callers: too little memory is an
//! error and does not end the process. Clippy forbids other allocations by a count in this crate
//! (`clippy.toml`); collecting elements that are in memory is exempt.

use evenpath::error::DeviceError;

use crate::error::Result;

/// Allocates an empty vector with capacity for `len` elements.
pub(crate) fn reserved<T>(len: usize) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    reserve(&mut vec, len)?;
    Ok(vec)
}

/// Reserves capacity for `more` elements.
pub(crate) fn reserve<T>(vec: &mut Vec<T>, more: usize) -> Result<()> {
    vec.try_reserve(more).map_err(|_| {
        let requested = (vec.len() as u64).saturating_add(more as u64).saturating_mul(size_of::<T>() as u64);
        DeviceError::HostOutOfMemory { requested }.into()
    })
}

/// Allocates `len` zeros.
pub(crate) fn zeros<T: bytemuck::Zeroable>(len: usize) -> Result<Vec<T>> {
    let requested = (len as u64).saturating_mul(size_of::<T>() as u64);
    let out_of_memory = |()| DeviceError::HostOutOfMemory { requested };
    Ok(bytemuck::allocation::try_zeroed_vec(len).map_err(out_of_memory)?)
}

/// Allocates `len` copies of an element.
pub(crate) fn filled<T: Clone>(value: &T, len: usize) -> Result<Vec<T>> {
    collected((0..len).map(|_| value.clone()))
}

/// Collects the items of an iterator.
pub(crate) fn collected<T>(items: impl Iterator<Item = T>) -> Result<Vec<T>> {
    let mut vec = reserved(items.size_hint().0)?;
    for item in items {
        if vec.len() == vec.capacity() {
            reserve(&mut vec, 1)?;
        }
        vec.push(item);
    }
    Ok(vec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    /// Requests more bytes than any address space or machine has.
    #[test]
    fn allocation_errors_have_the_size() {
        for len in [usize::MAX, isize::MAX as usize, 1 << 55] {
            let expected = (len as u64).saturating_mul(8);
            for refused in [
                reserved::<u64>(len).map(drop),
                zeros::<u64>(len).map(drop),
                filled(&7_u64, len).map(drop),
                collected((0..len).map(|at| at as u64)).map(drop),
            ] {
                assert!(
                    matches!(refused, Err(Error::Device(DeviceError::HostOutOfMemory { requested })) if requested == expected)
                );
            }
        }
        assert_eq!(collected((0..100).filter(|at| at % 9 == 4)).unwrap().len(), 11);
        assert_eq!(zeros::<u8>(3).unwrap(), [0; 3]);
    }
}
