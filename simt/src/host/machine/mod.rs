//! Simulated operations of the machine: each finds the calling lane, checks, and acts.

mod arithmetic;
mod atomic;
mod checks;
mod memory;
mod packets;
mod thread;
mod warp;
mod words;

pub(crate) use arithmetic::*;
pub(crate) use atomic::*;
pub(crate) use checks::{check_arena, check_shared_view, check_view};
pub(crate) use memory::*;
pub(crate) use thread::*;
pub(crate) use warp::*;
