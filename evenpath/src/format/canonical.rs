//! Checks that a matrix on a device is canonical: the columns of every row increase. Each pattern is checked
//! once, since it never changes.

use evenpath_kernels::spadd::CountDescents;
use evenpath_simt::GlobalMut;

use crate::device::Device;
use crate::format::csr::DevicePattern;
use crate::matrix::first_descent;
use crate::operand::OpError;
use crate::{CsrView, Entry, Offset};

/// Checks a pattern; `operand` is the matrix's name. Waits for the device the first time.
pub(crate) fn check_canonical<O: Offset>(
    operand: &'static str,
    pattern: &DevicePattern<O>,
) -> Result<(), OpError> {
    if pattern.is_canonical() {
        return Ok(());
    }
    if let Some((offsets, columns)) = pattern.host_arrays() {
        return report(operand, pattern, first_descent(offsets, columns));
    }
    let device = pattern.row_offsets.device();
    let mut descents = device.zeros(1)?;
    count_descents(device, pattern, descents.as_global_mut())?;
    conclude(operand, pattern, descents.get(0)? == 0)
}

/// Adds the number of descents in the columns of a pattern's rows to a word.
pub(crate) fn count_descents<O: Offset>(
    device: &Device,
    pattern: &DevicePattern<O>,
    descents: GlobalMut<u64>,
) -> Result<(), OpError> {
    let launch = device.kernel().items(pattern.column_indices.len().max(pattern.rows))?;
    // SAFETY: the views are of a valid pattern, and of a word, on this device.
    unsafe { launch.launch(CountDescents { pattern: pattern.view(), descents }) }?;
    Ok(())
}

/// Stores the device's result; if a row is out of order, finds it.
pub(crate) fn conclude<O: Offset>(
    operand: &'static str,
    pattern: &DevicePattern<O>,
    is_canonical: bool,
) -> Result<(), OpError> {
    if is_canonical {
        return report(operand, pattern, None);
    }
    let (offsets, columns) = (pattern.row_offsets.download()?, pattern.column_indices.download()?);
    report(operand, pattern, first_descent(&offsets, &columns))
}

/// Checks a matrix in host memory; `operand` is its name.
pub(crate) fn check_canonical_on_host<V: Entry, O: Offset>(
    operand: &'static str,
    matrix: CsrView<'_, V, O>,
) -> Result<(), OpError> {
    match first_descent(matrix.row_offsets(), matrix.column_indices()) {
        None => Ok(()),
        Some((row, previous, column)) => Err(OpError::NotCanonical { operand, row, previous, column }),
    }
}

fn report<O: Offset>(
    operand: &'static str,
    pattern: &DevicePattern<O>,
    descent: Option<(usize, u32, u32)>,
) -> Result<(), OpError> {
    let Some((row, previous, column)) = descent else {
        // Another thread may have stored the same result.
        let _ = pattern.canonical.set(());
        return Ok(());
    };
    Err(OpError::NotCanonical { operand, row, previous, column })
}
