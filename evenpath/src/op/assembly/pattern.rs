//! The pattern of a matrix of triplets, and the triplets of each entry.

use evenpath_kernels::assembly::{FREE_COLUMNS, SumRuns};

use super::fixed::Fixed;
use super::triplets::{SortedBy, SortedTriplets, Triplets};
use crate::device::{DeviceError, DeviceSlice, DeviceVec};
use crate::format::coordinates;
use crate::format::csr::DevicePattern;
use crate::keys::Key;
use crate::operand::OpError;
use crate::operation::Operator;
use crate::sequence::{reduce, vector};
use crate::{Offset, Value, cpu};

/// Positions of triplets, those of an entry together and in their order.
pub(super) struct EntryRuns {
    positions: DeviceVec<u32>,
    /// First position of each entry, and the end.
    run_offsets: DeviceVec<u32>,
}

impl EntryRuns {
    /// Finds the entries of a matrix, and the triplets of each. Waits for the device.
    pub(super) fn find<O: Offset>(
        triplets: &Triplets<'_>,
        fixed: &Fixed<'_>,
    ) -> Result<(DevicePattern<O>, Self), OpError> {
        let SortedTriplets { keys, positions } =
            triplets.sorted(fixed, FREE_COLUMNS, SortedBy::RowAndColumn)?;
        let (mut entries, mut run_offsets) = runs(&keys)?;
        drop(keys);
        // The last run has no entry; it begins where that of the last entry ends.
        entries.truncate(entries.len() - 1);
        let (row_indices, column_indices) = coordinates::split_keys(&entries, triplets.column_bits())?;
        drop(entries);
        run_offsets.shrink_to_fit()?;
        let (rows, cols) = triplets.shape;
        let row_offsets = coordinates::row_offsets(&row_indices, rows)?;
        let pattern = DevicePattern::canonical(rows, cols, row_offsets, column_indices);
        Ok((pattern, Self { positions, run_offsets }))
    }

    /// Writes the sum of each entry. `values` has one element per triplet, `sums` one per entry, both on the triplets' device.
    pub(super) fn sum<V: Value>(
        &self,
        values: &DeviceSlice<V>,
        sums: &mut DeviceSlice<V>,
    ) -> Result<(), DeviceError> {
        let (device, entries) = (values.device(), sums.len());
        let on_host = (self.positions.host_slice(), self.run_offsets.host_slice());
        if let ((Some(positions), Some(run_offsets)), Some(values), Some(sums)) =
            (on_host, values.host_slice(), sums.host_slice_mut())
        {
            cpu::sum_runs(values, positions, run_offsets, sums);
            return Ok(());
        }
        let launch = device.kernel().threads(entries)?;
        let kernel = SumRuns {
            values: values.as_global(),
            positions: self.positions.as_global(),
            run_offsets: self.run_offsets.as_global(),
            sums: sums.as_global_mut(),
            diagonal: V::ONE,
            entries: entries as u32,
        };
        // SAFETY: the offsets are those of a run for each entry, in the positions, which are those of values or of no triplet; all
        // are on this device, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        self.positions.bytes() + self.run_offsets.bytes()
    }
}

/// The keys of runs of equal keys, and where each begins. There is at least one key, and fewer than 2³².
pub(super) fn runs<K: Key>(keys: &DeviceSlice<K>) -> Result<(DeviceVec<K>, DeviceVec<u32>), OpError> {
    let numbers = vector::iota(keys.device(), keys.len() as u32)?;
    reduce::by_keys(keys, &numbers, Operator::Min)
}
