//! Scans of segments given by a mark per value: a flag or a key.

use bytemuck::Pod;
use evenpath_kernels::block::tile_prefix::entry_words;
use evenpath_kernels::scan::{SegmentMark, SegmentedScan};
use evenpath_simt::{Aligned16, GlobalMut};

use super::launch::{arguments, launch_over, look_back_state, state_bytes};
use super::options::ScanOptions;
use crate::cpu;
use crate::device::{DeviceKind, DeviceSlice, variant};
use crate::element::Element;
use crate::operand::OpError;
use crate::operand::aligned::{Aligned, write_aligned};
use crate::operand::check::{check_countable, check_vector};
use crate::operation::Operator;

/// Name of a scan of too many values, for errors.
pub(super) const SEGMENTED: &str = "a segmented scan";

/// Scans the segments that begin at marks, named in errors, into a vector of the same length.
pub(super) fn scan_marked<M: SegmentMark + Pod, T: Element>(
    (name, marks): (&'static str, &DeviceSlice<M>),
    values: &DeviceSlice<T>,
    options: ScanOptions<T>,
    result: &mut DeviceSlice<T>,
) -> Result<(), OpError> {
    options.check_initial(true)?;
    check_vector(values.device(), (name, marks), values.len())?;
    check_vector(values.device(), ("result", result), values.len())?;
    check_countable(SEGMENTED, values.len())?;
    if values.device().kind() == DeviceKind::Cpu {
        if let (Some(marks), Some(values), Some(result)) =
            (marks.host_slice(), values.host_slice(), result.host_slice_mut())
        {
            let begins = |index: usize| index == 0 || marks[index].begins(marks[index - 1]);
            cpu::segmented_scan(values, begins, options.operator, options.is_exclusive, result);
        }
        return Ok(());
    }
    write_aligned(result, |result| launch(marks, &Aligned::new(values)?, options, result))
}

/// Scans on a device with kernels; all vectors have the same length and are on the same device.
fn launch<M: SegmentMark + Pod, T: Element>(
    marks: &DeviceSlice<M>,
    values: &Aligned<'_, T>,
    options: ScanOptions<T>,
    result: GlobalMut<T, Aligned16>,
) -> Result<(), OpError> {
    let device = values.device();
    let launch = launch_over::<T, SegmentedScan<T, M>>(device, options.operator, 0, values.len())?;
    let mut state = look_back_state::<T>(device, launch.grid(), true)?;
    let scan = arguments(values, options, result, &mut state, launch.grid());
    // SAFETY: source, marks and target have `len` elements, and the state is that of the tiles; buffers are freed
    // in the stream's order.
    unsafe { launch.launch(SegmentedScan { scan, marks: marks.as_global() }) }?;
    Ok(())
}

/// Bytes of the state of a scan of `len` values with marks.
pub(super) fn temporary_bytes<M: SegmentMark, T: Element>(len: usize) -> u64 {
    let info = variant::<SegmentedScan<T, M>>(Operator::Sum.variant());
    state_bytes(info, len, entry_words(T::SIZE, true))
}
