//! Words that are zero before the analysis: setting all of them at once takes one operation of the device.

use evenpath_kernels::spgemm::{CLASSES, COUNTERS};
use evenpath_simt::{Global, GlobalMut};

use crate::device::{Device, DeviceError, DeviceVec};
use crate::operand::requirement::Requirement;

/// Words for counting the rows of each class and listing them: the counters, and for each class how many rows are listed.
const COUNT_WORDS: usize = COUNTERS + CLASSES.div_ceil(2);

/// Words for one or more counts of rows by class, and a list of 32-bit words.
pub(super) struct Zeroed {
    words: DeviceVec<u64>,
    /// The words of the count that is next.
    next: usize,
    /// The first word of the list.
    list: usize,
}

/// The words of one count.
pub(super) struct CountWords<'z> {
    zeroed: &'z mut Zeroed,
    first: usize,
}

impl Zeroed {
    pub(super) fn new(device: &Device, counts: usize, list_len: usize) -> Result<Self, DeviceError> {
        let list = counts * COUNT_WORDS;
        Ok(Self { words: device.zeros(list + list_len.div_ceil(2))?, next: 0, list })
    }

    /// Device memory that it takes.
    pub(super) fn required(counts: usize, list_len: usize) -> Requirement {
        Requirement::of::<u64>((counts * COUNT_WORDS + list_len.div_ceil(2)) as u64)
    }

    /// Bytes of device memory that it takes.
    pub(super) fn bytes(&self) -> u64 {
        self.words.bytes()
    }

    /// The list.
    pub(super) fn list(&mut self) -> GlobalMut<u32> {
        self.words.as_global_mut().skip(self.list).reinterpret()
    }

    /// The words of the next count. There are those of as many as were asked for.
    pub(super) fn next_count(&mut self) -> CountWords<'_> {
        let first = self.next;
        self.next += COUNT_WORDS;
        debug_assert!(self.next <= self.list, "no words are left");
        CountWords { zeroed: self, first }
    }
}

impl CountWords<'_> {
    /// The counters.
    pub(super) fn counters(&mut self) -> GlobalMut<u64> {
        self.zeroed.words.as_global_mut().skip(self.first)
    }

    /// The same, once they are counted.
    pub(super) fn counted(&self) -> Global<u64> {
        self.zeroed.words.as_global().skip(self.first)
    }

    /// Number of rows listed for each class.
    pub(super) fn listed(&mut self) -> GlobalMut<u32> {
        self.counters().skip(COUNTERS).reinterpret()
    }

    /// Copies the counters to the host; waits for the device.
    pub(super) fn download(&self) -> Result<Vec<u64>, DeviceError> {
        self.zeroed.words.slice(self.first..self.first + COUNTERS)?.download()
    }
}
