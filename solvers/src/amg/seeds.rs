//! Numbers that look random, the same on every device and in every run.

use evenpath::{Device, DeviceSlice, DeviceVec, Value, vector, vector::Map};

use crate::error::Result;

/// Number of rows whose numbers the host computes. The others repeat them. It is prime, so that no line of a regular grid meets
/// the same numbers again.
const PERIOD: usize = 65_521;
/// Priorities of rows with the same hash differ by less.
const SPACING: f64 = 65_536.0;

/// Numbers per row of the finest level, on this rank. Coarser levels take the first of them.
pub(super) struct Seeds<V: Value> {
    /// Distinct whole numbers from 2¹⁶ to less than 2⁴⁹.
    pub(super) priorities: DeviceVec<f64>,
    /// Numbers between −1 and 1.
    pub(super) signs: DeviceVec<V>,
}

impl<V: Value> Seeds<V> {
    /// The numbers of `len` rows from row `first` on. The priorities are distinct within them.
    pub(super) fn new(device: &Device, first: u64, len: usize) -> Result<Self> {
        let hash = |row: u64| f64::from(mix(((first + row) % PERIOD as u64) as u32));
        let hashes = || (0..len.min(PERIOD) as u64).map(hash);
        let priorities: Vec<f64> = hashes().map(|hash| SPACING * (hash + 1.0)).collect();
        let signs: Vec<V> = hashes().map(|hash| V::from_f64(hash / 2_f64.powi(31) - 1.0)).collect();
        let add = |periods: usize, copies: &mut DeviceSlice<f64>| {
            Ok(vector::map(Map::Add(periods as f64), copies)?)
        };
        Ok(Self {
            priorities: repeated(device, &priorities, len, add)?,
            signs: repeated(device, &signs, len, |_, _| Ok(()))?,
        })
    }
}

/// Repeats numbers up to a length, by copies of all that is there. Changes each copy by `change`, which gets its distance from the
/// original, as a number of periods.
fn repeated<T: Value>(
    device: &Device,
    period: &[T],
    len: usize,
    change: impl Fn(usize, &mut DeviceSlice<T>) -> Result<()>,
) -> Result<DeviceVec<T>> {
    let mut numbers = device.uninitialized(len)?;
    numbers.slice_mut(..period.len())?.copy_from_slice(period)?;
    let mut done = period.len();
    while done < len {
        let count = done.min(len - done);
        let (originals, mut rest) = numbers.split_at_mut(done)?;
        let mut copies = rest.slice_mut(..count)?;
        copies.copy_from(&originals.slice(..count)?)?;
        change(done / PERIOD, &mut copies)?;
        done += count;
    }
    Ok(numbers)
}

/// A permutation of the 32-bit numbers: the last step of `MurmurHash3`.
fn mix(index: u32) -> u32 {
    let mut hash = index ^ 0x9e37_79b9;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use evenpath_tests::device_of_each_kind;

    use super::{PERIOD, Seeds};

    #[test]
    fn priorities_differ_and_do_not_depend_on_the_length() {
        for device in device_of_each_kind() {
            let len = 5 * PERIOD + 7;
            let Seeds { priorities, signs } = Seeds::<f32>::new(&device, 0, len).unwrap();
            let (all, signs) = (priorities.download().unwrap(), signs.download().unwrap());
            let mut sorted = all.clone();
            sorted.sort_by(f64::total_cmp);
            assert!(sorted.is_sorted_by(|one, two| one < two));
            assert!(sorted[0] >= 65_536.0 && sorted[len - 1] < 2_f64.powi(49));
            assert!((all[4 * PERIOD + 3] - all[3] - 4.0).abs() < 1e-9);
            assert!(
                signs.iter().all(|sign| sign.abs() <= 1.0)
                    && signs[3].to_bits() == signs[PERIOD + 3].to_bits()
            );
            let few = Seeds::<f32>::new(&device, 0, 100).unwrap().priorities.download().unwrap();
            assert_eq!(few, all[..100]);
            assert_eq!(Seeds::<f64>::new(&device, 7, 0).unwrap().signs.len(), 0);
        }
    }
}
