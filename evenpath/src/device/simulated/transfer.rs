//! Copies that the host does not wait for. Those from the host are done when they are begun. What goes to the host arrives when it is
//! waited for, so that a program that does not wait sees what was there before.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::device::DeviceError;
use crate::device::machine::Transfer;

/// Bytes on the way to the host, and where they go.
struct Landing {
    to: *mut u8,
    bytes: Vec<u8>,
}

// SAFETY: the memory is not used otherwise before the copy is waited for.
unsafe impl Send for Landing {}

type Slot = Mutex<Option<Landing>>;

/// What is on the way to the host.
#[derive(Default)]
pub(super) struct Landings(Mutex<Vec<Weak<Slot>>>);

impl Landings {
    /// Has everything arrive: what is done next may read it.
    pub(super) fn land(&self) {
        self.0.lock().drain(..).filter_map(|landing| landing.upgrade()).for_each(|landing| land(&landing));
    }
}

fn land(slot: &Slot) {
    if let Some(Landing { to, bytes }) = slot.lock().take() {
        // SAFETY: whoever made the landing vouches for the memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }
}

/// A copy.
pub(super) struct Copy {
    landing: Arc<Slot>,
    waits: Arc<AtomicU64>,
}

impl Copy {
    /// A copy from the host. Its waits are counted.
    pub(super) fn from_host(waits: &Arc<AtomicU64>) -> Self {
        Self { landing: Arc::default(), waits: Arc::clone(waits) }
    }

    /// A copy to the host.
    ///
    /// # Safety
    ///
    /// There are as many bytes at `to`, which are not used before the copy is waited for.
    pub(super) unsafe fn to_host(
        waits: &Arc<AtomicU64>,
        landings: &Landings,
        to: *mut u8,
        bytes: Vec<u8>,
    ) -> Self {
        let landing = Arc::new(Mutex::new(Some(Landing { to, bytes })));
        let mut all = landings.0.lock();
        all.retain(|landing| landing.strong_count() > 0);
        all.push(Arc::downgrade(&landing));
        Self { landing, waits: Arc::clone(waits) }
    }
}

impl Transfer for Copy {
    fn wait(&self) -> Result<(), DeviceError> {
        self.waits.fetch_add(1, Relaxed);
        land(&self.landing);
        Ok(())
    }

    fn is_done(&self) -> bool {
        false
    }
}
