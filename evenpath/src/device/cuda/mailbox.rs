//! Numbers that a kernel tells the host while it runs: it stores them in page-locked memory, where the host looks for them. A copy
//! after the kernel, and the wait for it, take as long as a small launch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::context::{Core, InContext};
use super::landing::Landing;
use crate::device::DeviceError;
use crate::device::machine::{MAILBOX_WORDS, Mailbox};

/// A word in which there is no number yet.
const EMPTY: u64 = u64::MAX;
/// How long the host looks for a number before it waits for the stream instead.
const PATIENCE: Duration = Duration::from_micros(200);

/// Page-locked memory of a core's context.
pub(super) struct PinnedMailbox(InContext<Landing>);

impl PinnedMailbox {
    pub(super) fn new(core: &Arc<Core>) -> Result<Self, DeviceError> {
        Ok(Self(InContext::new(core, core.with(|_| Ok(Landing::new()?))?)))
    }

    /// A word. The context must be there.
    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: the memory has more words than a mailbox, aligned to a page, and is there as long as the context. The device
        // stores whole words.
        unsafe { AtomicU64::from_ptr(self.0.address().cast::<u64>().add(index)) }
    }
}

impl Mailbox for PinnedMailbox {
    fn address(&self) -> u64 {
        self.0.address() as u64
    }

    fn empty(&mut self) -> Result<(), DeviceError> {
        self.0.core().with_live(|_| {
            (0..MAILBOX_WORDS).for_each(|index| self.word(index).store(EMPTY, Ordering::Relaxed));
            Ok(())
        })
    }

    fn wait(&mut self, stream: u32, numbers: &mut [u64]) -> Result<(), DeviceError> {
        let len = numbers.len();
        let is_full = || (0..len).all(|index| self.word(index).load(Ordering::Acquire) != EMPTY);
        // While this runs, the context does not end.
        self.0.core().with_live(|live| {
            let start = Instant::now();
            while !is_full() {
                if start.elapsed() > PATIENCE {
                    let _current = live.enter()?;
                    self.0.core().wait(live, stream)?;
                    break;
                }
                std::hint::spin_loop();
            }
            for (index, number) in numbers.iter_mut().enumerate() {
                *number = self.word(index).load(Ordering::Acquire);
            }
            Ok(())
        })
    }
}
