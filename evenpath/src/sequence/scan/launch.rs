//! Launches of the scan kernels.

use evenpath_kernels::block::tile_prefix::{entry_words, state_words};
use evenpath_kernels::scan::{ScanArguments, shared_bytes};
use evenpath_simt::kernel::{Kernel, KernelInfo};
use evenpath_simt::{Aligned16, GlobalMut};

use super::options::ScanOptions;
use crate::device::{Device, DeviceError, DeviceSlice, DeviceVec, Launch};
use crate::element::Element;
use crate::operand::aligned::Aligned;
use crate::operation::Operator;

/// Bytes of a look-back's state.
pub(crate) fn state_bytes(info: &KernelInfo, len: usize, entry_words: usize) -> u64 {
    8 * state_words(len.div_ceil(info.tile_items()), entry_words) as u64
}

/// A launch of a scan or reduction over `len` elements, one block per tile, with marks of `mark_bytes` bytes in shared
/// memory.
pub(crate) fn launch_over<T: Element, K: Kernel>(
    device: &Device,
    operator: Operator,
    mark_bytes: usize,
    len: usize,
) -> Result<Launch<K>, DeviceError> {
    let launcher = device.variant::<K>(operator.variant());
    let (block, items) = (launcher.info().block_size as usize, launcher.info().items_per_thread as usize);
    launcher.shared_bytes(shared_bytes(T::SIZE, mark_bytes, block, items)).items(len)
}

/// The state of a look-back over `tiles` tiles.
pub(crate) fn look_back_state<T: Element>(
    device: &Device,
    tiles: u32,
    segmented: bool,
) -> Result<DeviceVec<u64>, DeviceError> {
    device.zeros(state_words(tiles as usize, entry_words(T::SIZE, segmented)))
}

/// The parameters of a scan of vectors of the same length, with the state of its `tiles` tiles.
pub(super) fn arguments<T: Element>(
    values: &Aligned<'_, T>,
    options: ScanOptions<T>,
    result: GlobalMut<T, Aligned16>,
    state: &mut DeviceSlice<u64>,
    tiles: u32,
) -> ScanArguments<T> {
    ScanArguments {
        source: values.view(),
        target: result,
        state: state.as_global_mut(),
        len: values.len() as u64,
        tiles,
        flip: options.operator.flip(),
        exclusive: u32::from(options.is_exclusive),
    }
}
