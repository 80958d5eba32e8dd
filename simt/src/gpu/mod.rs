//! The GPU: LLVM intrinsics and inline PTX, the same under both compilers.
//!
//! Collectives are LLVM intrinsics, because those are convergent and inline assembly is not. Memory
//! accesses are inline assembly, because Rust has no address spaces: a plain dereference would be a
//! generic access.

mod atomic;
mod complex;
mod memory;
mod special;

pub(crate) use atomic::*;
pub(crate) use memory::*;
pub(crate) use special::*;
