//! Warp collectives: participating lanes, and their results.

use std::panic::Location;

use super::fault::FaultKind;
use crate::operation::{Shuffle, WARP_SIZE};

/// Kind of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CollectiveKind {
    Barrier,
    Shuffle(Shuffle),
    Ballot,
    MatchAny,
}

/// A lane's call of a collective.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Collective {
    pub(crate) kind: CollectiveKind,
    pub(crate) mask: u32,
    /// The lane's value, predicate, or key.
    pub(crate) input: u64,
    /// The lane's argument of a shuffle.
    pub(crate) argument: u32,
    pub(crate) line: &'static Location<'static>,
}

/// Returns the lanes of a mask.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = u32> + Clone {
    (0..WARP_SIZE).filter(move |lane| mask >> lane & 1 == 1)
}

impl Collective {
    pub(crate) fn what(&self) -> &'static str {
        match self.kind {
            CollectiveKind::Barrier => "a warp barrier",
            CollectiveKind::Shuffle(_) => "a shuffle",
            CollectiveKind::Ballot => "a vote",
            CollectiveKind::MatchAny => "a match",
        }
    }

    pub(crate) fn is_barrier(&self) -> bool {
        self.kind == CollectiveKind::Barrier
    }

    /// Returns whether two lanes' calls are the same collective.
    pub(crate) fn matches(&self, other: &Self) -> bool {
        let same_line = std::ptr::eq(self.line, other.line) || self.line == other.line;
        self.kind == other.kind && self.mask == other.mask && same_line
    }

    /// Returns the inputs of all lanes of the mask, or the lanes that have not arrived.
    pub(crate) fn gather(&self, arrived: impl Fn(u32) -> Option<u64>) -> Result<[u64; 32], u32> {
        let mut inputs = [0; 32];
        let mut missing = 0;
        for lane in lanes(self.mask) {
            match arrived(lane) {
                Some(input) => inputs[lane as usize] = input,
                None => missing |= 1 << lane,
            }
        }
        if missing == 0 {
            Ok(inputs)
        } else {
            Err(missing)
        }
    }

    /// Result of `lane`, given all inputs.
    pub(crate) fn answer(&self, lane: u32, inputs: &[u64; 32]) -> Result<u64, FaultKind> {
        let set = |wanted: &dyn Fn(u64) -> bool| {
            lanes(self.mask)
                .filter(|&lane| wanted(inputs[lane as usize]))
                .fold(0u64, |set, lane| set | 1 << lane)
        };
        Ok(match self.kind {
            CollectiveKind::Barrier => 0,
            CollectiveKind::Ballot => set(&|predicate| predicate != 0),
            CollectiveKind::MatchAny => set(&|key| key == self.input),
            CollectiveKind::Shuffle(shuffle) => {
                let source = source_lane(shuffle, lane, self.argument);
                if self.mask >> source & 1 == 0 {
                    return Err(FaultKind::ShuffleSource { source_lane: source, mask: self.mask });
                }
                inputs[source as usize]
            }
        })
    }
}

/// Returns the lane that a shuffle reads; the calling lane if that would be outside the warp.
fn source_lane(shuffle: Shuffle, lane: u32, argument: u32) -> u32 {
    // The hardware uses the argument's low five bits.
    let argument = argument % WARP_SIZE;
    match shuffle {
        Shuffle::Up => lane.checked_sub(argument).unwrap_or(lane),
        Shuffle::Down => Some(lane + argument).filter(|&source| source < WARP_SIZE).unwrap_or(lane),
        Shuffle::Xor => lane ^ argument,
        Shuffle::Index => argument,
    }
}
