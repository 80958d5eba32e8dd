use std::sync::{Mutex, MutexGuard, PoisonError};

use evenpath_kernels::block::tagged_sums::TaggedWords;

use crate::Scalar;
use crate::device::{Device, DeviceError, DeviceVec};

/// Run number of all launches of graphs.
const GRAPH_RUN: u32 = u32::MAX;

/// Partial sums that the blocks of a launch exchange: workspace for one launch at a time.
pub(crate) struct TaggedSums {
    words: Mutex<Words>,
    bytes: u64,
}

/// Memory used by kernels.
pub(crate) struct Words {
    /// 64 bits per 32 bits of a partial sum: zero, or left by an earlier run.
    pub(crate) sums: DeviceVec<u64>,
    /// One counter per sum, zero between launches.
    pub(crate) arrived: DeviceVec<u32>,
    /// Number of this run: one more than the last, or [`GRAPH_RUN`].
    pub(crate) run: u32,
    /// Number of the last run outside graphs.
    last_run: u32,
}

impl Words {
    /// The words as a kernel argument.
    pub(crate) fn view(&mut self) -> TaggedWords {
        TaggedWords { words: self.sums.as_global_mut(), arrived: self.arrived.as_global_mut(), run: self.run }
    }
}

impl TaggedSums {
    pub(crate) fn new<V: Scalar>(device: &Device, parts: usize, sums: usize) -> Result<Self, DeviceError> {
        let words = device.zeros(parts * (size_of::<V>() / 4))?;
        let words = Words { sums: words, arrived: device.zeros(sums)?, run: 0, last_run: 0 };
        let bytes = words.sums.bytes() + words.arrived.bytes();
        Ok(Self { words: Mutex::new(words), bytes })
    }

    /// Locks the workspace for one launch: the next in the stream continues from its state. Launches of
    /// graphs share a number that no other launch has, and each starts from zeros.
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, Words>, DeviceError> {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        if words.sums.device().is_recording() {
            words.sums.set_zero()?;
            words.run = GRAPH_RUN;
            return Ok(words);
        }
        // A run need not write all words, so all are cleared before a number is reused.
        if words.last_run == GRAPH_RUN - 1 {
            words.sums.set_zero()?;
            words.last_run = 0;
        }
        words.last_run += 1;
        words.run = words.last_run;
        Ok(words)
    }

    /// Size in bytes of device memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}
