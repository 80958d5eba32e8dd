//! State of kernels whose blocks communicate. It must be zero before a launch, and is reused: zeroing a new
//! one would take as long as a small launch.

use std::sync::Arc;

use evenpath_simt::GlobalMut;

use super::error::DeviceError;
use super::handle::{Backend, Device};
use super::idle_states::Turn;
use super::machine::{MAILBOX_WORDS, Mailbox};
use super::owner::Owner;
use super::slice::{Elements, SliceMemory};
use super::vec::DeviceVec;

/// Minimum number of words per half: enough for small launches.
const LEAST_WORDS: usize = 1 << 10;
/// Maximum number of words per half of a state that is kept.
const MOST_KEPT_WORDS: usize = 1 << 14;

/// State of one launch, in one of two halves. The launch finds its half zeroed, and zeroes the part of the
/// other half that the previous launch used. Includes the words for numbers that the launch sends to the
/// host.
pub(crate) struct LaunchState {
    words: DeviceVec<u64>,
    turn: Turn,
    /// Number of words that this launch uses.
    used: usize,
    /// Mailbox for the numbers; without one, they are stored in the first words of the half.
    mailbox: Option<Box<dyn Mailbox>>,
}

impl Device {
    /// Returns a state of `words` words, at least one, for one launch.
    ///
    /// # Errors
    ///
    /// The same as for [`zeros`](Self::zeros), and if this thread captures a graph of the device.
    pub(crate) fn launch_state(&self, words: usize) -> Result<LaunchState, DeviceError> {
        self.refuse_in_graph("the host waits for numbers that a kernel stores")?;
        let used = words + MAILBOX_WORDS;
        let idle = self.shared.idle_states.0.lock().pop();
        if let Some((allocation, turn, mailbox)) = idle.filter(|(_, turn, _)| turn.half >= used) {
            allocation.count_by(Some(self.reserve(16 * turn.half as u64)?));
            let memory = SliceMemory::Machine { allocation, offset: 0, len: 2 * turn.half };
            let elements = Elements::new(self.clone(), memory);
            let words_on_device = DeviceVec::of_parts(elements, Owner::Device);
            return LaunchState { words: words_on_device, turn, used, mailbox }.emptied();
        }
        let half = used.max(LEAST_WORDS);
        let turn = Turn { half, own: 0, stale: 0 };
        let mailbox = match &self.shared.backend {
            Backend::Machine(machine) => machine.mailbox()?,
            Backend::Cpu => None,
        };
        LaunchState { words: self.zeros(2 * half)?, turn, used, mailbox }.emptied()
    }
}

impl LaunchState {
    /// Empties the mailbox.
    fn emptied(mut self) -> Result<Self, DeviceError> {
        self.mailbox.as_mut().map_or(Ok(()), |mailbox| mailbox.empty())?;
        Ok(self)
    }

    /// The words of the launch, all zero.
    pub(crate) fn own(&mut self) -> GlobalMut<u64> {
        self.words.as_global_mut().skip(self.turn.own + MAILBOX_WORDS)
    }

    /// The words for numbers that the launch sends to the host, at most [`MAILBOX_WORDS`], each stored once.
    pub(crate) fn results(&mut self) -> GlobalMut<u64> {
        match &self.mailbox {
            Some(mailbox) => GlobalMut::from_device(mailbox.address(), MAILBOX_WORDS as u64),
            None => self.words.as_global_mut().skip(self.turn.own),
        }
    }

    /// The words that the launch must zero, and their number.
    pub(crate) fn stale(&mut self) -> (GlobalMut<u64>, u32) {
        let Turn { half, own, stale } = self.turn;
        (self.words.as_global_mut().skip(half - own), stale as u32)
    }

    /// Waits for the first numbers that the launch sends, and returns them. The state is then ready for a
    /// later launch. A state that is dropped instead, after a failed call, is not reused.
    ///
    /// # Errors
    ///
    /// The same as for [`DeviceSlice::download`](crate::DeviceSlice::download).
    pub(crate) fn finish<const N: usize>(self) -> Result<[u64; N], DeviceError> {
        const { assert!(N <= MAILBOX_WORDS) };
        let Self { words, turn: Turn { half, own, .. }, used, mut mailbox } = self;
        let mut numbers = [0; N];
        match &mut mailbox {
            Some(mailbox) => mailbox.wait(words.device().stream_number(), &mut numbers)?,
            None => words.read(own, &mut numbers)?,
        }
        if half <= MOST_KEPT_WORDS
            && let SliceMemory::Machine { allocation, .. } = &words.parts.memory
        {
            let turn = Turn { half, own: half - own, stale: used };
            allocation.count_by(None);
            words.device().shared.idle_states.0.lock().push((Arc::clone(allocation), turn, mailbox));
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;
    use crate::device::SimulatedOptions;

    /// Counts calls of `empty`.
    struct Counting(Arc<AtomicU32>);

    impl Mailbox for Counting {
        fn address(&self) -> u64 {
            0
        }

        fn empty(&mut self) -> Result<(), DeviceError> {
            self.0.fetch_add(1, Relaxed);
            Ok(())
        }

        fn wait(&mut self, _: u32, _: &mut [u64]) -> Result<(), DeviceError> {
            Ok(())
        }
    }

    #[test]
    fn a_mailbox_is_emptied_for_every_launch() {
        let device = Device::simulated(SimulatedOptions::default());
        let emptied = Arc::new(AtomicU32::new(0));
        let mut state = device.launch_state(4).expect("memory");
        state.mailbox = Some(Box::new(Counting(Arc::clone(&emptied))));
        state.finish::<1>().expect("no launch");
        for launches in 1..4 {
            let state = device.launch_state(4).expect("memory");
            assert!(state.mailbox.is_some(), "the state is kept");
            assert_eq!(emptied.load(Relaxed), launches);
            state.finish::<1>().expect("no launch");
        }
    }
}
