//! NVIDIA GPUs, through `cust`.

mod cache;
mod compile;
mod context;
mod driver;
mod entry;
mod event;
mod failure;
mod fault;
mod graph;
mod landing;
mod launch_log;
mod machine;
mod mailbox;
mod module;
mod parameters;
mod properties;
mod ptx;
mod streams;

pub(in crate::device) use context::ContextKind;
#[cfg(feature = "lab")]
pub(crate) use driver::measure_calls;
pub(in crate::device) use machine::Cuda;
