//! A stand-in for NCCL, to test calls of the library on machines without GPUs.
//!
//! Its ranks are threads with CPU devices, which have no streams: receives complete when the communicator's
//! state, until then in progress, is queried. Calls fail or hang on request. Unlike NCCL it ends the process
//! at once on incorrect calls: with a communicator that was destroyed or aborted, outside a group, or without
//! finalizing; and on calls that could block until another rank arrives, such as a blocking group between
//! ranks without a connection.

mod library;
mod state;

pub(crate) use library::functions;
pub(crate) use state::{InjectedFault, Turn, calls, count, live, turn};
