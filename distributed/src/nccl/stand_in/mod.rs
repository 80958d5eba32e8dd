//! A stand-in for NCCL, to test on machines without GPUs how the library is called.
//!
//! Its ranks are threads with CPU devices, which have no streams: receives are done when the communicator's state is asked for, which is
//! in progress until then. Calls fail or hang on request. Unlike NCCL it ends the process at once when it is called wrongly: with a
//! communicator that was destroyed or aborted, outside a group, or without finalizing; and where a call could block for longer than
//! another rank takes, such as a group by a blocking communicator between ranks that have no connection yet.

mod library;
mod state;

pub(crate) use library::functions;
pub(crate) use state::{Fault, Turn, calls, count, live, turn};
