//! A batch whose matrices are multiplied one after the other, by the method that is best for one.

use crate::device::{DeviceSlice, DeviceVec};
use crate::op::spmv::SpmvPlan;
use crate::operand::OpError;
use crate::{Offset, Value};

/// Launches the products. For a batch of matrices with the plan's pattern, the operands have that many times its lengths.
pub(super) fn multiply<V: Value, O: Offset>(
    plan: &SpmvPlan<V, O>,
    (batch, [rows, cols, nonzeros]): (usize, [usize; 3]),
    (alpha, values, x): (V, &DeviceSlice<V>, &DeviceSlice<V>),
    (beta, y): (V, &mut DeviceSlice<V>),
) -> Result<(), OpError> {
    let device = values.device();
    // Kernels load several values at once. Those that are not at a multiple of 16 bytes are copied, in memory that is there before anything
    // is written.
    let mut copy: Option<DeviceVec<V>> = None;
    for at in 0..batch {
        if values.slice(at * nonzeros..(at + 1) * nonzeros)?.aligned().is_none() {
            copy = Some(device.uninitialized(nonzeros)?);
            break;
        }
    }
    for at in 0..batch {
        let own = values.slice(at * nonzeros..(at + 1) * nonzeros)?;
        let x = x.slice(at * cols..(at + 1) * cols)?;
        let mut y = y.slice_mut(at * rows..(at + 1) * rows)?;
        let aligned = match (own.aligned(), &mut copy) {
            (None, Some(copy)) => {
                copy.copy_from(&own)?;
                copy.as_aligned()
            }
            (Some(own), _) => own,
            (None, None) => continue, // the copy was made above
        };
        plan.run_with_values(aligned, (alpha, &x), (beta, &mut y))?;
    }
    Ok(())
}
