//! The simulated GPU: runs kernels on the CPU and checks what a real GPU does not.
//!
//! Every lane of a block is a coroutine. It runs until it must wait for others: at a barrier, in a warp
//! collective, or in a loop that polls memory ([`spin_hint`](crate::thread::spin_hint)). Blocks run on
//! several CPU threads, in ascending or in a seeded random order. Global memory is weak: relaxed atomic
//! stores of other blocks become visible late and out of order, determined by a seed ([`MemoryOrder`]).
//!
//! | check | what is reported |
//! |---|---|
//! | bounds | an access outside its view, or outside the allocation behind it |
//! | lifetime | an access to memory that was freed |
//! | alignment | an access whose address is not a multiple of its size |
//! | initialization | a read of global or shared memory that nothing wrote |
//! | read-only memory | a launch that writes what it also loads through a read-only view |
//! | races | two threads on one word of shared memory, one of them writing, with no barrier between |
//! | streams | an access to what an operation of another stream wrote, or a write of what it read, with no wait between |
//! | conflicts | a block that reads or writes what another wrote, one of them plainly, with no release and acquire between |
//! | barriers | a barrier that not every thread of the block reaches |
//! | collectives | a shuffle, vote, match or warp barrier that not every lane of its mask reaches, or that reads a lane outside it |
//! | limits | a launch beyond what the device or the kernel's declaration allows |
//! | progress | blocks that wait for each other forever |
//!
//! A report ([`Fault`]) names the kernel, the block, the thread, the line of the kernel and the mistake.

mod allocation;
mod block;
mod conflicts;
mod error;
mod fault;
mod gpu;
mod launch;
pub(crate) mod machine;
mod memory;
mod mix;
mod options;
mod read_only;
mod shared;
mod stream;
mod streams;
mod warp;
mod weak;

pub use error::write_with_causes;
pub use fault::{AccessKind, Fault, FaultKind, Place};
pub use gpu::SimulatedGpu;
pub use memory::OutOfMemory;
pub use options::{BlockOrder, MemoryOrder, SimulatedOptions};
pub use stream::SimulatedStream;
