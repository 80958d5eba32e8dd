//! Keys and their values in a device's memory.

use evenpath_simt::{Global, GlobalMut};

use super::OpError;
use crate::device::{Device, DeviceSlice};
use crate::keys::{PairValue, SortKey};
use crate::operand::check::check_len;

/// Keys with one value each, on one device: `keys` and `values` have n elements each.
///
/// ```
/// use evenpath::key::{Pairs, coordinate};
/// use evenpath::{Device, merge};
///
/// // Entries of two matrices, by row and column.
/// let device = Device::cpu();
/// let (a, ones) = (device.upload(&[coordinate(0, 7)])?, device.upload(&[1.0_f32])?);
/// let (b, twos) = (device.upload(&[coordinate(0, 2)])?, device.upload(&[2.0_f32])?);
/// let (keys, values) = merge::pairs(Pairs::new(&a, &ones), Pairs::new(&b, &twos))?;
/// assert_eq!(keys.download()?, [coordinate(0, 2), coordinate(0, 7)]);
/// assert_eq!(values.download()?, [2.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Pairs<'a, K: SortKey, V: PairValue> {
    /// The keys.
    pub keys: &'a DeviceSlice<K>,
    /// The values, one per key.
    pub values: &'a DeviceSlice<V>,
}

impl<'a, K: SortKey, V: PairValue> Pairs<'a, K, V> {
    /// Keys with their values.
    pub fn new(keys: &'a DeviceSlice<K>, values: &'a DeviceSlice<V>) -> Self {
        Self { keys, values }
    }

    /// Returns an error unless there are as many values as keys, and both are on `device`.
    pub(crate) fn check(&self, device: &Device, values: &'static str) -> Result<(), OpError> {
        device.check_same(self.keys.device())?;
        device.check_same(self.values.device())?;
        check_len(values, self.values.len(), self.keys.len())
    }

    pub(crate) fn host(&self) -> Option<(&'a [K], &'a [V])> {
        Some((self.keys.host_slice()?, self.values.host_slice()?))
    }
}

/// Values in their representation for kernels.
pub(crate) fn bits<V: PairValue>(values: &DeviceSlice<V>) -> Global<V::Bits> {
    values.as_global_of()
}

/// Values in their representation for kernels, for writing.
pub(crate) fn bits_mut<V: PairValue>(values: &mut DeviceSlice<V>) -> GlobalMut<V::Bits> {
    values.as_global_mut_of()
}
