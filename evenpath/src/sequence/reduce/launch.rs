//! Common parts of reductions: checks, parameters of kernels, bytes.

use bytemuck::Pod;
use evenpath_kernels::block::tile_prefix::entry_words;
use evenpath_kernels::reduce::ReduceArguments;
use evenpath_simt::kernel::KernelInfo;

use crate::device::DeviceSlice;
use crate::element::Element;
use crate::operand::OpError;
use crate::operand::aligned::Aligned;
use crate::operand::check::{check_countable, check_room, check_vector};
use crate::operation::Operator;
use crate::sequence::scan::state_bytes;

/// Name of a reduction of too many values, for errors.
pub(super) const REDUCTION: &str = "a reduction";

/// Bytes of the state of a reduction of `len` values.
pub(super) fn bytes_of<T: Element>(info: &KernelInfo, len: usize) -> u64 {
    state_bytes(info, len, entry_words(T::SIZE, true))
}

/// The parameters of a reduction of `values`, with the state of its `tiles` tiles.
pub(super) fn arguments<T: Element>(
    values: &Aligned<'_, T>,
    operator: Operator,
    state: &mut DeviceSlice<u64>,
    tiles: u32,
) -> ReduceArguments<T> {
    ReduceArguments {
        source: values.view(),
        state: state.as_global_mut(),
        len: values.len() as u64,
        tiles,
        flip: operator.flip(),
    }
}

/// Checks that there is a mark, named in errors, for each value, and that 32 bits count them.
pub(super) fn check_marks<M: Pod, T: Element>(
    (name, marks): (&'static str, &DeviceSlice<M>),
    values: &DeviceSlice<T>,
) -> Result<(), OpError> {
    check_vector(values.device(), (name, marks), values.len())?;
    check_countable(REDUCTION, values.len())
}

/// Checks that an output, named in errors, is on the device of `values` and has room for `needed` elements.
pub(super) fn check_output<T: Element, U: Pod>(
    output: &'static str,
    values: &DeviceSlice<T>,
    vector: &DeviceSlice<U>,
    needed: usize,
) -> Result<(), OpError> {
    values.device().check_same(vector.device())?;
    check_room(output, vector.len(), needed)
}

/// Writes the results of the CPU and their number.
pub(super) fn write_host<T: Element>(own: &[T], sums: &mut DeviceSlice<T>, segments: &mut DeviceSlice<u64>) {
    if let (Some(sums), Some(segments)) = (sums.host_slice_mut(), segments.host_slice_mut()) {
        sums[..own.len()].copy_from_slice(own);
        segments[0] = own.len() as u64;
    }
}
