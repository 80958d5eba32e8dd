//! Copies that the host does not wait for. Those from the host are done when they are begun. What goes to the host arrives when it, or
//! what was begun after it, is waited for, so that a program that does not wait sees what was there before.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::device::DeviceError;
use crate::device::machine::Transfer;

/// Bytes on the way to the host, and where they go.
struct Landing {
    number: u64,
    to: *mut u8,
    bytes: Vec<u8>,
}

// SAFETY: the memory is not used otherwise before the copy is waited for.
unsafe impl Send for Landing {}

/// What is on the way to the host, in the order in which it was begun.
#[derive(Default)]
pub(super) struct Landings(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    landings: VecDeque<Landing>,
    /// Copies that were begun.
    count: u64,
}

impl Landings {
    /// Has everything arrive: what is done next may read it.
    pub(super) fn land(&self) {
        self.land_to(u64::MAX);
    }

    /// Has everything up to a copy arrive. The later of two copies to one place comes last.
    fn land_to(&self, number: u64) {
        let landings = &mut self.0.lock().landings;
        while landings.front().is_some_and(|landing| landing.number <= number)
            && let Some(Landing { to, bytes, .. }) = landings.pop_front()
        {
            // SAFETY: whoever began the copy vouches for the memory until it was waited for, which has this copy arrive too.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        }
    }
}

/// A copy.
pub(super) struct Copy {
    /// The copies to the host, and the number of this one, if it is one of them.
    landing: Option<(Arc<Landings>, u64)>,
    waits: Arc<AtomicU64>,
}

impl Copy {
    /// A copy from the host. Its waits are counted.
    pub(super) fn from_host(waits: &Arc<AtomicU64>) -> Self {
        Self { landing: None, waits: Arc::clone(waits) }
    }

    /// A copy to the host.
    ///
    /// # Safety
    ///
    /// There are as many bytes at `to`, which are not used before the copy is waited for.
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
