//! Creation of communicators: joining one, and splitting off the other.

use std::ffi::c_int;
use std::time::Instant;

use parking_lot::Mutex;

use super::exchange::poll;
use crate::error::Result;
use crate::nccl::Communicator;
use crate::nccl::functions::{Config, Functions, Handle, IN_PROGRESS, SUCCESS, Split, UniqueId};
use crate::rank::Rank;

/// Function named in the error if splitting fails.
pub(super) const SPLIT: &str = "ncclCommSplit";

impl Communicator {
    /// Joins the communicator of all ranks that has an identity, and waits for them, unless one is known not
    /// to come. An NCCL error is not a failure of the rank.
    pub(super) fn join(
        rank: &Rank,
        functions: Functions,
        id: &[u8],
        mut is_in_vain: impl FnMut() -> Result<bool>,
    ) -> Result<Result<Self, Option<String>>> {
        let mut unique = UniqueId([0; 128]);
        if id.len() != unique.0.len() {
            return Ok(Err(Some(format!("a communicator's identity has {} bytes", id.len()))));
        }
        unique.0.copy_from_slice(id);
        let (size, index, device) = (rank.size() as c_int, rank.index() as c_int, rank.device().clone());
        let mut communicator = Self { functions, device, live: Mutex::default() };
        let mut handle: Handle = std::ptr::null_mut();
        let split = functions.split();
        let code = communicator.in_context(|functions| {
            let init = functions.ncclCommInitRankConfig;
            let mut config = Config::non_blocking(split.is_some());
            // SAFETY: there is room for the handle, and the configuration is of the version that it names.
            unsafe { init(&raw mut handle, size, unique, index, &raw mut config) }
        });
        communicator.live.get_mut().handle = handle;
        // Ranks that have joined wait for the outcomes of others: these give up earlier.
        let deadline = Instant::now() + rank.timeout() / 2;
        let mut answer = |call, code| communicator.answer(rank, (call, code), deadline, &mut is_in_vain);
        let mut joined = answer("ncclCommInitRankConfig", code)?;
        if let (Ok(()), Some(split)) = (&joined, split) {
            let code = communicator.split(split, index);
            joined = answer(SPLIT, code)?;
            let live = communicator.live.get_mut();
            live.is_split = joined.is_ok();
            if joined.is_ok() && live.quick().is_none() {
                joined = Err(Some(format!("`{SPLIT}` made no communicator")));
            }
        }
        Ok(joined.map(|()| communicator))
    }

    /// Starts splitting off the blocking communicator of all ranks.
    fn split(&self, split: Split, index: c_int) -> c_int {
        self.in_context(|_| {
            let live = self.live.lock();
            let mut config = Config::blocking();
            // SAFETY: the communicator is live. The new one is written to memory that outlives this one, and
            // with it any call in progress.
            unsafe { split(live.handle, 0, index, live.quick.as_ptr(), &raw mut config) }
        })
    }

    /// Waits for a call in progress. Returns a reason if NCCL fails or the time is over, and no reason if
    /// another rank failed.
    fn answer(
        &self,
        rank: &Rank,
        (call, code): (&str, c_int),
        deadline: Instant,
        mut is_in_vain: impl FnMut() -> Result<bool>,
    ) -> Result<Result<(), Option<String>>> {
        if !matches!(code, SUCCESS | IN_PROGRESS) {
            return Ok(Err(Some(self.describe(call, code))));
        }
        let is_over = || Ok(self.state() != Some(IN_PROGRESS) || is_in_vain()?);
        let limit = deadline.saturating_duration_since(Instant::now());
        let is_in_time = poll(rank, limit, is_over)?;
        Ok(match self.state() {
            Some(SUCCESS) => Ok(()),
            Some(IN_PROGRESS) if is_in_time => Err(None),
            Some(code) if is_in_time => Err(Some(self.describe(call, code))),
            _ => {
                Err(Some(format!("a communicator took longer than {} s", (rank.timeout() / 2).as_secs_f64())))
            }
        })
    }
}
