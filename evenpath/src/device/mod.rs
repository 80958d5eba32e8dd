//! Devices: where matrices live and operations run.
//!
//! A [`Device`] is an NVIDIA GPU, the CPU, or a [simulated GPU](Device::simulated) that checks kernels. It
//! has memory ([`DeviceVec`]) and a stream: operations run in the order of their calls, from any thread, and
//! the host waits only for data that it reads. Work that may run concurrently is put on separate [`Stream`]s.
//!
//! ```
//! use evenpath::{Device, vector};
//!
//! let device = Device::best()?;
//! let x = device.upload(&[1.0, 2.0, 3.0])?;
//! let mut y = device.zeros(3)?;
//! vector::axpby(2.0, &x, 0.0, &mut y)?; // starts, and returns
//! assert_eq!(y.get(2)?, 6.0); // waits for the result
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Building and running without CUDA
//!
//! The NVIDIA driver is loaded when the first GPU is requested, so one program runs with and without a
//! driver. To build on a machine without a CUDA installation, a crate that uses this library sets in its
//! `.cargo/config.toml`
//!
//! ```toml
//! [env]
//! CUDA_LIBRARY_PATH = "/usr" # any folder with a `lib64` in it: all that `cust` looks for
//! ```
//!
//! or turns the feature `cuda` off.

mod allocation;
#[cfg(feature = "cuda")]
mod cuda;
mod error;
mod event;
mod foreign;
mod graph;
mod handle;
mod idle_states;
mod kernel_view;
mod kernels;
mod launch;
mod launch_state;
mod machine;
mod memory;
mod memory_limit;
mod node;
mod order;
mod own_kernels;
mod owner;
mod pinned;
mod properties;
mod recording;
mod shared;
#[cfg(any(feature = "simulated", test))]
mod simulated;
mod slice;
mod stream;
#[cfg(test)]
mod tests;
mod upload;
mod vec;
mod view;

#[cfg(all(feature = "cuda", feature = "lab"))]
pub(crate) use cuda::measure_calls as measure_driver_calls;
pub use error::{DeviceError, Version};
#[cfg(any(feature = "simulated", test))]
#[doc(inline)]
pub use evenpath_simt::host::{BlockOrder, MemoryOrder, SimulatedOptions};
pub use event::Event;
pub use foreign::RawParts;
pub use graph::Graph;
pub use handle::Device;
pub(crate) use kernel_view::{no_aligned_input, no_input, no_output, prefix, read_only};
pub(crate) use kernels::{Kernels, instance, variant};
pub(crate) use launch::{Launch, Launcher, MAX_GRID};
pub use memory::DeviceMemory;
pub use pinned::PinnedVec;
pub use properties::{DeviceKind, DeviceProperties};
pub use slice::DeviceSlice;
pub(crate) use slice::host_zeros;
pub use stream::Stream;
pub use upload::Upload;
pub use vec::DeviceVec;
pub use view::{DeviceView, DeviceViewMut};
