//! Asynchronous copies. Copies from the host complete at once. Data for the host arrives when the copy, or a
//! later one, is waited for, so that a program that does not wait sees the old contents.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::device::DeviceError;
use crate::device::machine::Transfer;

/// Bytes on their way to the host, and their destination.
struct Landing {
    number: u64,
    to: *mut u8,
    bytes: Vec<u8>,
}

// SAFETY: the memory is not accessed before the copy is waited for.
unsafe impl Send for Landing {}

/// Data on its way to the host, in the order of the calls.
#[derive(Default)]
pub(super) struct Landings(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    landings: VecDeque<Landing>,
    /// Number of copies started.
    count: u64,
}

impl Landings {
    /// Delivers all data: the next operation may read it.
    pub(super) fn land(&self) {
        self.land_to(u64::MAX);
    }

    /// Delivers all data up to a copy, in order, so that the later of two copies to one place wins.
    fn land_to(&self, number: u64) {
        let landings = &mut self.0.lock().landings;
        while landings.front().is_some_and(|landing| landing.number <= number)
            && let Some(Landing { to, bytes, .. }) = landings.pop_front()
        {
            // SAFETY: the copy's caller guarantees the memory until the copy is waited for, which delivers
            // this data too.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        }
    }
}

/// A copy.
pub(super) struct Copy {
    /// The copies to the host and this one's number; `None` for a copy from the host.
    landing: Option<(Arc<Landings>, u64)>,
    waits: Arc<AtomicU64>,
}

impl Copy {
    /// Creates a copy from the host. Its waits are counted.
    pub(super) fn from_host(waits: &Arc<AtomicU64>) -> Self {
        Self { landing: None, waits: Arc::clone(waits) }
    }

    /// Creates a copy to the host.
    ///
    /// # Safety
    ///
    /// `to` has that many bytes, which are not accessed before the copy is waited for.
    pub(super) unsafe fn to_host(
        waits: &Arc<AtomicU64>,
        landings: &Arc<Landings>,
        to: *mut u8,
        bytes: Vec<u8>,
    ) -> Self {
        let mut queue = landings.0.lock();
        queue.count += 1;
        let number = queue.count;
        queue.landings.push_back(Landing { number, to, bytes });
        Self { landing: Some((Arc::clone(landings), number)), waits: Arc::clone(waits) }
    }
}

impl Transfer for Copy {
    fn wait(&self) -> Result<(), DeviceError> {
        self.waits.fetch_add(1, Relaxed);
        if let Some((landings, number)) = &self.landing {
            landings.land_to(*number);
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        false
    }
}
