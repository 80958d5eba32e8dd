//! Inputs of set operations, split into tiles on a GPU, and results.

use evenpath_kernels::sets::{RESULT_SIZE, SetPartition, state_words};
use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::sorted::first_descent;
use crate::cpu::SetPlan;
use crate::device::{DeviceKind, DeviceSlice, DeviceVec, instance};
use crate::keys::Key;
use crate::operand::OpError;
use crate::operand::aligned::Aligned;
use crate::operation::SetOperation;
use crate::sequence::merge::sequences;

/// Reason why graphs hold no set operation.
pub(super) const WAITS: &str = "a set operation waits for the size of its result";

/// Bytes of the tiles of an operation, whose kernel is given, on inputs of these lengths.
pub(super) fn temporary_bytes(info: &KernelInfo, a_len: usize, b_len: usize) -> u64 {
    let tiles = (a_len as u64).saturating_add(b_len as u64).div_ceil(info.tile_items() as u64);
    (tiles + 1 + state_words(0) as u64 + tiles) * 8
}

/// The operation on the CPU, if the keys are there.
pub(super) fn host_plan<'k, K: Key>(
    a: &'k DeviceSlice<K>,
    b: &'k DeviceSlice<K>,
    operation: SetOperation,
) -> Option<SetPlan<'k, K>> {
    if a.device().kind() != DeviceKind::Cpu {
        return None;
    }
    Some(SetPlan::new(a.host_slice()?, b.host_slice()?, operation))
}

/// Two inputs split into the tiles of a set operation's kernel.
pub(super) struct SetTiles {
    pub(super) tiles: u32,
    /// Start of each tile, as encoded by the partition kernel.
    pub(super) starts: DeviceVec<u64>,
    /// Tickets, the size of the result, and look-back states.
    pub(super) states: DeviceVec<u64>,
}

impl SetTiles {
    pub(super) fn new<K: Key, S: Kernel>(a: &Aligned<'_, K>, b: &Aligned<'_, K>) -> Result<Self, OpError> {
        let device = a.device();
        let tiles = device.kernel::<S>().items(a.len() + b.len())?.grid();
        let launch = device.kernel().threads(tiles as usize + 1)?;
        let mut starts = device.uninitialized(tiles as usize + 1)?;
        let mut states = device.uninitialized(state_words(tiles))?;
        let kernel = SetPartition {
            inputs: sequences(a, b),
            starts: starts.as_global_mut(),
            states: states.as_global_mut(),
            tiles,
            tile_items: instance::<S>().tile_items() as u32,
        };
        // SAFETY: the views are of live buffers on this device, with the lengths passed to the kernel.
        unsafe { launch.launch(kernel) }?;
        Ok(Self { tiles, starts, states })
    }
}

/// The size of the result, which fits in its room if the inputs are sorted.
pub(super) fn result_len<K: Key>(
    states: &DeviceSlice<u64>,
    room: usize,
    a: &DeviceSlice<K>,
    b: &DeviceSlice<K>,
) -> Result<usize, OpError> {
    let len = states.get(RESULT_SIZE)? as usize;
    if len <= room {
        return Ok(len);
    }
    for (input, keys) in [("a", a), ("b", b)] {
        if let Some(index) = first_descent(keys)? {
            return Err(OpError::Unsorted { input, index });
        }
    }
    Err(OpError::Length { operand: "result", len: room, needed: len })
}
