//! Builder of a scan: its operator, direction and segments.

use super::plain::Whole;
use super::segmented::{Mark, Marked, Rows, check_countable};
use super::segments::Segments;
use crate::cpu;
use crate::device::{DeviceKind, DeviceSlice, DeviceVec};
use crate::element::Element;
use crate::keys::Key;
use crate::operand::OpError;
use crate::operand::aligned::{Aligned, write_aligned};
use crate::operand::check::check_vector;
use crate::operation::Operator;
use crate::scalar::Offset;

/// A scan: inclusive or exclusive, of all elements or of segments.
///
/// ```
/// use evenpath::scan::{Operator, Scan};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let values = device.upload(&[1_u32, 2, 3, 4])?;
/// let sums = Scan::inclusive(Operator::Sum);
/// assert_eq!(sums.run(&values)?.download()?, [1, 3, 6, 10]);
/// // Segments of two elements, told in three ways.
/// let flags = device.upload(&[1_u8, 0, 1, 0])?;
/// let keys = device.upload(&[7_u64, 7, 9, 9])?;
/// let row_offsets = device.upload(&[0_u32, 2, 2, 4])?;
/// assert_eq!(sums.by_flags(&flags).run(&values)?.download()?, [1, 3, 3, 7]);
/// assert_eq!(sums.by_keys(&keys).run(&values)?.download()?, [1, 3, 3, 7]);
/// assert_eq!(sums.by_offsets(&row_offsets).run(&values)?.download()?, [1, 3, 3, 7]);
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use = "nothing is scanned until `run`"]
pub struct Scan<T, S = Whole> {
    operator: Operator,
    exclusive: bool,
    initial: Option<T>,
    segments: S,
}

impl<T: Element> Scan<T> {
    /// Inclusive scan: element i of the result combines the elements from the first of its segment to i.
    pub fn inclusive(operator: Operator) -> Self {
        Self { operator, exclusive: false, initial: None, segments: Whole }
    }

    /// Exclusive scan: element i of the result combines the elements from the first of its segment to i − 1;
    /// that of the first is the operator's [identity](Operator::identity).
    pub fn exclusive(operator: Operator) -> Self {
        Self { operator, exclusive: true, initial: None, segments: Whole }
    }

    /// Scans segments that start at nonzero flags. The first element starts one whatever its flag.
    pub fn by_flags(self, flags: &DeviceSlice<u8>) -> Scan<T, Marked<'_, u8>> {
        self.with_segments(Marked::new(flags))
    }

    /// Scans segments that are runs of equal keys.
    pub fn by_keys<K: Key + Mark>(self, keys: &DeviceSlice<K>) -> Scan<T, Marked<'_, K>> {
        self.with_segments(Marked::new(keys))
    }

    /// Scans segments given by the row offsets of a CSR matrix: they start with 0, do not decrease, and end
    /// with the number of elements. `run` checks that, for which it waits for the device.
    pub fn by_offsets<O: Offset>(self, row_offsets: &DeviceSlice<O>) -> Scan<T, Rows<'_, O>> {
        self.with_segments(Rows::new(row_offsets))
    }

    fn with_segments<S>(self, segments: S) -> Scan<T, S> {
        let Self { operator, exclusive, initial, .. } = self;
        Scan { operator, exclusive, initial, segments }
    }
}

impl<T: Element, S: Segments<T>> Scan<T, S> {
    /// Sets an initial value to combine with, in place of the operator's identity. Only exclusive scans of
    /// all elements take one: `run` refuses others. A GPU copies the elements once, into another vector of
    /// that length.
    pub fn with_initial(self, initial: T) -> Self {
        Self { initial: Some(initial), ..self }
    }

    /// Scans `values` into a new vector. Runs in the order of the device's stream; the call does not wait,
    /// except to check row offsets.
    ///
    /// # Errors
    ///
    /// [`OpError::InitialValue`] if there is an initial value and the scan is inclusive or of segments. If
    /// there is not one mark per element, row offsets are not those of a matrix, they are on another device,
    /// or segments divide 2³² elements or more. If there is too little memory for the result and the
    /// temporary bytes ([`temporary_bytes`](super::temporary_bytes),
    /// [`temporary_bytes_by`](super::temporary_bytes_by),
    /// [`temporary_bytes_by_offsets`](super::temporary_bytes_by_offsets)), or the device was lost.
    pub fn run(&self, values: &DeviceSlice<T>) -> Result<DeviceVec<T>, OpError> {
        let mut result = values.device().uninitialized(values.len())?;
        self.run_into(values, &mut result)?;
        Ok(result)
    }

    /// Like [`run`](Self::run), but writes to an existing vector.
    ///
    /// # Errors
    ///
    /// The same as for [`run`](Self::run), and if lengths or devices differ; then nothing is written.
    pub fn run_into(&self, values: &DeviceSlice<T>, result: &mut DeviceSlice<T>) -> Result<(), OpError> {
        let Self { operator, exclusive, initial, segments } = self;
        if initial.is_some() && !(*exclusive && segments.are_whole()) {
            return Err(OpError::InitialValue { is_segmented: !segments.are_whole() });
        }
        segments.check(values)?;
        check_vector(values.device(), ("result", result), values.len())?;
        if !segments.are_whole() {
            check_countable("a segmented scan", values.len())?;
        }
        let device = values.device();
        if device.kind() == DeviceKind::Cpu {
            if let (Some(values), Some(result)) = (values.host_slice(), result.host_slice_mut()) {
                match *initial {
                    Some(initial) => cpu::scan_from(initial, values, *operator, result),
                    None => segments.scan_on_cpu(values, *operator, *exclusive, result),
                }
            }
            return Ok(());
        }
        let Some(initial) = *initial else {
            return write_aligned(result, |result| {
                segments.launch(&Aligned::new(values)?, *operator, *exclusive, result)
            });
        };
        // An exclusive scan from an initial value is an inclusive one of that value and all elements but the last.
        let mut shifted = device.uninitialized(values.len() + 1)?;
        shifted.set_first(initial)?;
        shifted.slice_mut(1..)?.copy_from(values)?;
        shifted.truncate(values.len());
        write_aligned(result, |result| segments.launch(&shifted.into(), *operator, false, result))
    }
}
