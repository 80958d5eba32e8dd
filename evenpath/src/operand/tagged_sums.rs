use std::sync::{Mutex, MutexGuard, PoisonError};

use evenpath_kernels::block::tagged_sums::TaggedWords;

use crate::Value;
use crate::device::{Device, DeviceError, DeviceVec};

/// The number of all runs of graphs.
const GRAPH_RUN: u32 = u32::MAX;

/// Sums whose parts the blocks of a launch leave for one another: the workspace of one launch at a time.
pub(crate) struct TaggedSums {
    words: Mutex<Words>,
    bytes: u64,
}

/// The memory that kernels work with.
pub(crate) struct Words {
    /// 64 bits for each 32 of a part: zero, or as the run before left them.
    pub(crate) sums: DeviceVec<u64>,
    /// One counter per sum, zero between launches.
    pub(crate) arrived: DeviceVec<u32>,
    /// The number of this run: one more than the last, or [`GRAPH_RUN`].
    pub(crate) run: u32,
    /// The number of the last run that was no graph's.
    last_run: u32,
}

impl Words {
    /// The words as kernels take them.
    pub(crate) fn view(&mut self) -> TaggedWords {
        TaggedWords { words: self.sums.as_global_mut(), arrived: self.arrived.as_global_mut(), run: self.run }
    }
}

impl TaggedSums {
    pub(crate) fn new<V: Value>(device: &Device, parts: usize, sums: usize) -> Result<Self, DeviceError> {
        let words = device.zeros(parts * (size_of::<V>() / 4))?;
        let words = Words { sums: words, arrived: device.zeros(sums)?, run: 0, last_run: 0 };
        let bytes = words.sums.bytes() + words.arrived.bytes();
        Ok(Self { words: Mutex::new(words), bytes })
    }

    /// The workspace, for one launch: the next in the stream finds it as this one left it.
    /// The launches of graphs have one number, which no other has, and each finds zeros.
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, Words>, DeviceError> {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        if words.sums.device().is_recording() {
            words.sums.set_zero()?;
            words.run = GRAPH_RUN;
            return Ok(words);
        }
        // A run need not write all words, so none may be as old as the number's return.
        if words.last_run == GRAPH_RUN - 1 {
            words.sums.set_zero()?;
            words.last_run = 0;
        }
        words.last_run += 1;
        words.run = words.last_run;
        Ok(words)
    }

    /// Bytes of device memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}
