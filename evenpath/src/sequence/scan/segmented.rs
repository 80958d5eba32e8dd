//! Scans of segments given by marks or row offsets.

use bytemuck::Pod;
use evenpath_kernels::block::tile_prefix::entry_words;
use evenpath_kernels::scan::{SegmentedScan, SegmentedScanByBits};
use evenpath_simt::{Aligned16, GlobalMut};

use super::launch::{arguments, launch_over, look_back_state, state_bytes};
use super::sealed;
use super::segments::Segments;
use crate::cpu;
use crate::device::{DeviceSlice, variant};
use crate::element::Element;
use crate::operand::OpError;
use crate::operand::aligned::Aligned;
use crate::operand::check::check_vector;
use crate::operation::Operator;
use crate::scalar::Offset;
use crate::sequence::row_marks::{RowMarks, check_row_offsets};

/// Marks of segments: flags `u8`, nonzero at a segment's first element; or keys `u32` or `u64`, equal within
/// a segment and different from the previous one at its first element. Sealed.
///
/// ```
/// use evenpath::scan::{Operator, Scan};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let values = device.upload(&[1_u32, 2, 3, 4])?;
/// let keys = device.upload(&[7_u32, 7, 8, 8])?; // a segment each
/// assert_eq!(Scan::inclusive(Operator::Sum).by_keys(&keys).run(&values)?.download()?, [1, 3, 3, 7]);
/// let flags = device.upload(&[1_u8, 0, 1, 0])?; // where segments begin
/// assert_eq!(Scan::inclusive(Operator::Sum).by_flags(&flags).run(&values)?.download()?, [1, 3, 3, 7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Mark: sealed::KernelMark + Pod {}
impl sealed::KernelMark for u8 {}
impl Mark for u8 {}
impl sealed::KernelMark for u32 {}
impl Mark for u32 {}
impl sealed::KernelMark for u64 {}
impl Mark for u64 {}

/// Segments given by marks: [`Scan::by_flags`](super::Scan::by_flags),
/// [`Scan::by_keys`](super::Scan::by_keys).
#[derive(Debug, Clone, Copy)]
pub struct Marked<'a, K: Mark> {
    marks: &'a DeviceSlice<K>,
}

/// Segments given by row offsets: [`Scan::by_offsets`](super::Scan::by_offsets).
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a, O: Offset> {
    row_offsets: &'a DeviceSlice<O>,
}

impl<'a, K: Mark> Marked<'a, K> {
    pub(super) fn new(marks: &'a DeviceSlice<K>) -> Self {
        Self { marks }
    }
}

impl<'a, O: Offset> Rows<'a, O> {
    pub(super) fn new(row_offsets: &'a DeviceSlice<O>) -> Self {
        Self { row_offsets }
    }
}

impl<K: Mark> sealed::SealedSegments for Marked<'_, K> {}
impl<O: Offset> sealed::SealedSegments for Rows<'_, O> {}

impl<T: Element, K: Mark> Segments<T> for Marked<'_, K> {
    fn check(&self, values: &DeviceSlice<T>) -> Result<(), OpError> {
        check_vector(values.device(), ("marks", self.marks), values.len())
    }

    fn scan_on_cpu(&self, values: &[T], operator: Operator, exclusive: bool, result: &mut [T]) {
        if let Some(marks) = self.marks.host_slice() {
            let begins = |index: usize| index == 0 || marks[index].begins(marks[index - 1]);
            cpu::segmented_scan(values, begins, operator, exclusive, result);
        }
    }

    fn launch(
        &self,
        values: &Aligned<'_, T>,
        operator: Operator,
        exclusive: bool,
        result: GlobalMut<T, Aligned16>,
    ) -> Result<(), OpError> {
        let device = values.device();
        let launch = launch_over::<T, SegmentedScan<T, K>>(device, operator, 0, values.len())?;
        let mut state = look_back_state::<T>(device, launch.grid(), true)?;
        let scan = arguments(values, operator, exclusive, result, &mut state, launch.grid());
        // SAFETY: source, marks and target have `len` elements, and the state is that of the tiles; buffers are freed
        // in the stream's order.
        unsafe { launch.launch(SegmentedScan { scan, marks: self.marks.as_global() }) }?;
        Ok(())
    }
}

impl<T: Element, O: Offset> Segments<T> for Rows<'_, O> {
    fn check(&self, values: &DeviceSlice<T>) -> Result<(), OpError> {
        check_row_offsets(self.row_offsets, values)
    }

    fn scan_on_cpu(&self, values: &[T], operator: Operator, exclusive: bool, result: &mut [T]) {
        if let Some(offsets) = self.row_offsets.host_slice() {
            let heads = cpu::row_heads(offsets, values.len());
            cpu::segmented_scan(values, |index| heads[index], operator, exclusive, result);
        }
    }

    fn launch(
        &self,
        values: &Aligned<'_, T>,
        operator: Operator,
        exclusive: bool,
        result: GlobalMut<T, Aligned16>,
    ) -> Result<(), OpError> {
        let device = values.device();
        let launch = launch_over::<T, SegmentedScanByBits<T>>(device, operator, 0, values.len())?;
        let marks = RowMarks::new(self.row_offsets, values.len())?;
        let mut state = look_back_state::<T>(device, launch.grid(), true)?;
        let scan = arguments(values, operator, exclusive, result, &mut state, launch.grid());
        // SAFETY: source and target have `len` elements, there are as many bits, and the state is that of the tiles;
        // buffers are freed in the stream's order.
        unsafe { launch.launch(SegmentedScanByBits { scan, bits: marks.bits.as_global() }) }?;
        Ok(())
    }
}

/// Bytes of device memory that a scan of `len` elements by flags or keys takes beside its operands; none on the CPU.
pub fn temporary_bytes_by<T: Element, K: Mark>(len: usize) -> u64 {
    let info = variant::<SegmentedScan<T, K>>(Operator::Sum.variant());
    state_bytes(info, len, entry_words(T::SIZE, true))
}

/// Bytes of device memory that a scan of `len` elements by offsets of `rows` rows takes beside its operands:
/// a bit per element, 4 bytes per row, and some words per tile of thousands of elements. On the CPU, a byte
/// of host memory per element.
pub fn temporary_bytes_by_offsets<T: Element>(rows: usize, len: usize) -> u64 {
    let info = variant::<SegmentedScanByBits<T>>(Operator::Sum.variant());
    RowMarks::bytes(rows, len).saturating_add(state_bytes(info, len, entry_words(T::SIZE, true)))
}

/// Returns an error for more elements than 32 bits count.
pub(crate) fn check_countable(what: &'static str, len: usize) -> Result<(), OpError> {
    let limit = u32::MAX as usize;
    if len > limit { Err(OpError::TooLong { what, len, limit }) } else { Ok(()) }
}
