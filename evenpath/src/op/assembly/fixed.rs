//! Fixed unknowns of a plan.

use evenpath_kernels::assembly::MarkFixed;
use evenpath_simt::Global;

use crate::device::{Device, DeviceSlice, DeviceVec, no_input};
use crate::operand::OpError;
use crate::operand::check::{check_countable, check_shape};

/// The list of fixed unknowns, and a mark for each of them.
pub(super) struct Fixed<'a> {
    list: Option<&'a DeviceSlice<u32>>,
    /// One element per unknown, or none if no unknown is fixed.
    is_fixed: DeviceVec<u32>,
}

impl<'a> Fixed<'a> {
    /// Checks the list and marks its unknowns. Waits for the device if there are any.
    pub(super) fn new(
        device: &Device,
        list: Option<&'a DeviceSlice<u32>>,
        (rows, cols): (usize, usize),
    ) -> Result<Self, OpError> {
        if let Some(list) = list {
            device.check_same(list.device())?;
            check_shape("a matrix with fixed unknowns", (rows, cols), (rows, rows))?;
        }
        let list = list.filter(|list| !list.is_empty());
        let Some(unknowns) = list else {
            return Ok(Self { list, is_fixed: device.uninitialized(0)? });
        };
        check_countable("a list of fixed unknowns", unknowns.len())?;
        let mut is_fixed = device.zeros(rows)?;
        if let Some(position) = mark(unknowns, &mut is_fixed)? {
            let unknown = unknowns.get(position)? as usize;
            return Err(OpError::FixedOutOfRange { position, unknown, unknowns: rows });
        }
        Ok(Self { list, is_fixed })
    }

    /// Length of the list.
    pub(super) fn len(&self) -> usize {
        self.list.map_or(0, DeviceSlice::len)
    }

    /// The list and the marks, on the host.
    pub(super) fn host(&self) -> Option<(&[u32], &[u32])> {
        let list = self.list.map_or(Some(&[][..]), DeviceSlice::host_slice)?;
        Some((list, self.is_fixed.host_slice()?))
    }

    /// The list and the marks, as kernel arguments.
    pub(super) fn views(&self) -> (Global<u32>, Global<u32>) {
        (self.list.map_or_else(no_input, DeviceSlice::as_global), self.is_fixed.as_global())
    }
}

/// Sets the mark of each unknown. Returns the first position of one that has none.
fn mark(unknowns: &DeviceSlice<u32>, is_fixed: &mut DeviceSlice<u32>) -> Result<Option<usize>, OpError> {
    let device = unknowns.device();
    if let (Some(unknowns), Some(is_fixed)) = (unknowns.host_slice(), is_fixed.host_slice_mut()) {
        let mut positions = unknowns.iter();
        return Ok(positions.position(|&unknown| match is_fixed.get_mut(unknown as usize) {
            Some(mark) => {
                *mark = 1;
                false
            }
            None => true,
        }));
    }
    let launch = device.kernel().threads(unknowns.len())?;
    let mut outside = device.upload(&[u64::MAX])?;
    let kernel = MarkFixed {
        fixed: unknowns.as_global(),
        unknowns: is_fixed.len() as u32,
        is_fixed: is_fixed.as_global_mut(),
        outside: outside.as_global_mut(),
        len: unknowns.len() as u32,
    };
    // SAFETY: the views are of a list of `len` elements, zeros for each unknown, and one word of ones, on this device.
    unsafe { launch.launch(kernel) }?;
    Ok(usize::try_from(outside.get(0)?).ok().filter(|&position| position < unknowns.len()))
}
