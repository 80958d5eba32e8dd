//! Numbers that a kernel sends to the host while it runs, through page-locked memory that the host polls. A
//! copy after the kernel, and the wait for it, take as long as a small launch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::context::{Core, InContext};
use super::landing::Landing;
use crate::device::DeviceError;
use crate::device::machine::{MAILBOX_WORDS, Mailbox};

/// Value of a word that holds no number yet.
const EMPTY: u64 = u64::MAX;
/// Time that the host polls for a number before it waits for the stream.
const PATIENCE: Duration = Duration::from_micros(200);

/// Page-locked memory of a core's context.
pub(super) struct PinnedMailbox(InContext<Landing>);

impl PinnedMailbox {
    pub(super) fn new(core: &Arc<Core>) -> Result<Self, DeviceError> {
        Ok(Self(InContext::new(core, core.with(|_| Ok(Landing::new()?))?)))
    }

    /// Returns a word. The context must be live.
    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: the memory has more words than a mailbox, is aligned to a page, and lives as long as the
        // context. The device stores whole words.
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
        // The context does not end while this runs.
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
