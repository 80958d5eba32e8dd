//! The machine that evenpath's kernels are written against.
//!
//! A kernel is ordinary generic Rust that calls only this crate. Two machines run it:
//!
//! * **the GPU** ([`gpu`](self), when the target is `nvptx64-nvidia-cuda`): every operation is one
//!   LLVM intrinsic or one PTX instruction, nothing is checked;
//! * **the simulated GPU** (`host`, on every other target): every lane of a block is a coroutine, and
//!   every access is checked for what a real GPU lets pass: accesses outside a view, after a free, of
//!   memory nothing wrote, shared-memory races, collectives that not all named lanes reach.
//!
//! | module | what it is |
//! |---|---|
//! | [`thread`] | who am I: index, block, lane, warp; the block's barrier |
//! | [`warp`] | shuffles, votes and matches among the 32 lanes of a warp |
//! | [`global`] | typed views of global memory, loads and stores that name their cache policy |
//! | [`shared`] | the block's shared memory: one arena, typed views |
//! | [`atomic`] | atomic operations and fences, ordering and scope named |
//! | [`bits`] | counts of the bits of 64-bit words |
//! | [`element`] | the scalars that memory holds |
//! | [`arithmetic`] | sums, products and roots of elements |
//! | [`semiring`] | elements with another sum and product |
//! | [`entry`] | how a parameter reaches a kernel's PTX entry |
//! | [`macro@device`] | marks the functions that run on the GPU |
//! | [`mod@kernel`], [`parameter`] | what the host knows of a kernel; [`kernel!`] declares one |
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(asm_experimental_arch, link_llvm_intrinsics, stdarch_nvptx)
)]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

pub mod arithmetic;
pub mod atomic;
pub mod bits;
mod complex;
pub mod element;
pub mod entry;
pub mod global;
mod macros;
mod operation;
pub mod semiring;
pub mod shared;
pub mod thread;
pub mod warp;

#[cfg(target_arch = "nvptx64")]
#[allow(unreachable_pub)]
mod gpu;
#[cfg(target_arch = "nvptx64")]
use gpu as machine;

#[cfg(not(target_arch = "nvptx64"))]
pub mod host;
#[cfg(not(target_arch = "nvptx64"))]
pub mod kernel;
#[cfg(not(target_arch = "nvptx64"))]
pub mod parameter;
#[cfg(not(target_arch = "nvptx64"))]
use host::machine;

#[doc(hidden)]
#[cfg(feature = "nvvm")]
pub use cuda_std;

pub use arithmetic::{Arithmetic, Float, Stored, WidenTo};
pub use element::{Element, Packet, ScalarType, Word, Words};
pub use entry::EntryParameter;
pub use evenpath_simt_macros::device;
#[doc(hidden)]
pub use evenpath_simt_macros::{declared_kernels, instances};
pub use global::{Aligned16, Alignment, Global, GlobalMut, Natural};
pub use half;
pub use num_complex;
pub use semiring::In;
pub use shared::{Arena, Shared};
