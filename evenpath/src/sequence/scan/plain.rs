//! Scans of all elements.

use evenpath_kernels::block::tile_prefix::entry_words;
use evenpath_kernels::scan::Scan;
use evenpath_simt::{Aligned16, GlobalMut};

use super::launch::{arguments, launch_over, look_back_state, state_bytes};
use super::sealed;
use super::segments::Segments;
use crate::cpu;
use crate::device::{DeviceSlice, Kernels, variant};
use crate::element::Element;
use crate::operand::OpError;
use crate::operand::aligned::Aligned;
use crate::operation::Operator;

/// One segment: all elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole;

impl sealed::SealedSegments for Whole {}

impl<T: Element> Segments<T> for Whole {
    fn check(&self, _values: &DeviceSlice<T>) -> Result<(), OpError> {
        Ok(())
    }

    fn scan_on_cpu(&self, values: &[T], operator: Operator, exclusive: bool, result: &mut [T]) {
        cpu::scan(values, operator, exclusive, result);
    }

    fn launch(
        &self,
        values: &Aligned<'_, T>,
        operator: Operator,
        exclusive: bool,
        result: GlobalMut<T, Aligned16>,
    ) -> Result<(), OpError> {
        let device = values.device();
        let launch = launch_over::<T, Scan<T>>(device, operator, 0, values.len())?;
        let mut state = look_back_state::<T>(device, launch.grid(), false)?;
        let scan = arguments(values, operator, exclusive, result, &mut state, launch.grid());
        // SAFETY: source and target have `len` elements, and the state is that of the tiles; buffers are freed in the
        // stream's order.
        unsafe { launch.launch(Scan { scan }) }?;
        Ok(())
    }

    fn are_whole(&self) -> bool {
        true
    }
}

/// The kernel of sums of all elements, to be compiled ahead.
pub(crate) fn sum_kernel<T: Element>() -> Kernels {
    Kernels::default().and_variant::<Scan<T>>(Operator::Sum.variant())
}

/// Bytes of device memory that a scan of all of `len` elements takes beside its operands; none on the CPU. An initial value
/// takes another vector of `len` elements.
pub fn temporary_bytes<T: Element>(len: usize) -> u64 {
    state_bytes(variant::<Scan<T>>(Operator::Sum.variant()), len, entry_words(T::SIZE, false))
}
