//! Communication of bytes between ranks. Everything else is built on [`Transport`].

mod frame;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod interface;
mod local;
mod mailbox;
mod message;
#[cfg(feature = "mpi")]
mod mpi;
mod tcp;

pub(crate) use interface::Transport;
pub(crate) use local::local;
pub(crate) use message::{Missing, Report, Tag, Wait};
#[cfg(feature = "mpi")]
pub(crate) use mpi::Mpi;
pub(crate) use tcp::{Secret, TcpOptions, connect};
