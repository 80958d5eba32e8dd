//! Detection of memory that a launch both writes and reads through the read-only cache.
//!
//! A [`Global`](crate::Global) is loaded with `ld.global.nc`, which sees no stores of the launch, not even
//! the thread's own. A kernel accesses memory through its parameters only, so only the overlap of read-only
//! and writable parameters is watched; usually it is empty.

use std::ops::Range;

use parking_lot::Mutex;

use super::fault::FaultKind;
use super::mix::IntegerMap;
use crate::kernel::{Argument, KernelInfo};

/// Use of a byte by a launch, as bits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Use {
    ReadOnlyLoad = 1,
    Write = 2,
}

#[derive(Debug)]
pub(crate) struct ReadOnlyMemory {
    /// Addresses that a read-only and a writable view share.
    shared: Vec<Range<u64>>,
    uses: Mutex<IntegerMap<u64, u8>>,
}

impl ReadOnlyMemory {
    pub(crate) fn new(kernel: &KernelInfo, arguments: &[Argument]) -> Self {
        let mut read_only = Vec::new();
        let mut writable = Vec::new();
        kernel.for_each_view(arguments, |view, is_writable| {
            if is_writable {
                writable.push(view);
            } else {
                read_only.push(view);
            }
        });
        let both = |a: &Range<u64>, b: &Range<u64>| a.start.max(b.start)..a.end.min(b.end);
        let shared = read_only.iter().flat_map(|a| writable.iter().map(move |b| both(a, b)));
        Self { shared: shared.filter(|both| !both.is_empty()).collect(), uses: Mutex::default() }
    }

    /// Records a use of `bytes` bytes; fails if the launch has used one of them in the other way.
    #[inline]
    pub(crate) fn note(&self, how: Use, address: u64, bytes: usize) -> Result<(), FaultKind> {
        if !self.shared.iter().any(|range| range.contains(&address)) {
            return Ok(());
        }
        let mut uses = self.uses.lock();
        for byte in address..address + bytes as u64 {
            let all = uses.entry(byte).or_default();
            *all |= how as u8;
            if *all == Use::ReadOnlyLoad as u8 | Use::Write as u8 {
                return Err(FaultKind::ReadOnlyWritten { address: byte });
            }
        }
        Ok(())
    }
}
