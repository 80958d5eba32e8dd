//! Devices: where matrices live and operations run.
//!
//! A [`Device`] is an NVIDIA GPU, the CPU, or a [simulated GPU](Device::simulated) that checks what kernels do. It has
//! memory ([`DeviceVec`]) and a stream: everything asked of it happens in the order it was asked, from whatever
//! thread, and the host waits only where it gets data. Work that is to run side by side is put on [`Stream`]s of its own.
//!
//! ```
//! use evenpath::device::Device;
//!
//! let device = Device::best()?;
//! let x = device.upload(&[1.0, 2.0, 3.0])?;
//! assert_eq!(x.download()?, [1.0, 2.0, 3.0]);
//! # Ok::<(), evenpath::device::DeviceError>(())
//! ```
//!
//! # Building and running without CUDA
//!
//! The NVIDIA driver is found when the first GPU is asked for: one program runs where there is one and where not. To
//! build on a machine with no CUDA installation, a crate that uses this library says in its `.cargo/config.toml`
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
mod kernel_view;
mod launch;
mod launch_state;
mod machine;
mod memory_limit;
mod node;
mod order;
mod own_kernels;
mod owner;
mod pinned;
mod prepare;
mod recording;
mod shared;
mod simulated;
mod slice;
mod stream;
#[cfg(test)]
mod tests;
mod upload;
mod vec;
mod view;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub use error::{DeviceError, Version};
#[doc(inline)]
pub use evenpath_simt::host::{BlockOrder, MemoryOrder, SimulatedOptions};
pub use event::Event;
pub use foreign::RawParts;
pub use graph::Graph;
pub(crate) use kernel_view::{no_input, no_output, prefix, read_only};
pub(crate) use launch::{Launch, Launcher, MAX_GRID, instance, variant};
pub use pinned::PinnedVec;
pub(crate) use prepare::Kernels;
pub use slice::DeviceSlice;
pub(crate) use slice::host_zeros;
pub use stream::Stream;
pub use upload::Upload;
pub use vec::DeviceVec;
pub use view::{DeviceView, DeviceViewMut};

use launch_state::IdleStates;
use machine::{Machine, Moment};
use memory_limit::Budget;

/// A device. Clones are cheap and are the same device; it can be used from several threads.
///
/// ```
/// use evenpath::Device;
///
/// let device = Device::best()?; // the first NVIDIA GPU, or the CPU
/// let x = device.upload(&[1.0, 2.0])?;
/// assert_eq!(x.download()?, [1.0, 2.0]);
/// println!("{device}");
/// # Ok::<(), evenpath::error::DeviceError>(())
/// ```
#[derive(Clone)]
pub struct Device {
    shared: Arc<Shared>,
}

struct Shared {
    backend: Backend,
    kind: DeviceKind,
    properties: DeviceProperties,
    /// Counts the device objects of this process, to tell them apart.
    number: u64,
    budget: Budget,
    idle_states: IdleStates,
}

pub(crate) enum Backend {
    /// Buffers are the host's, and operations run on it instead of launching kernels.
    Cpu,
    Machine(Arc<dyn Machine>),
}

/// The kinds of device.
///
/// ```
/// use evenpath::device::DeviceKind;
/// use evenpath::Device;
///
/// match Device::best()?.kind() {
///     DeviceKind::Cuda(ordinal) => println!("GPU {ordinal}"),
///     DeviceKind::Cpu | DeviceKind::Simulated => println!("no GPU"),
/// }
/// # Ok::<(), evenpath::error::DeviceError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// The CPU.
    Cpu,
    /// A GPU that the CPU simulates.
    Simulated,
    /// The NVIDIA GPU of this number.
    Cuda(u32),
}

/// What a device is like. `None` where a device has no such thing or does not tell.
///
/// ```
/// let device = evenpath::Device::best()?;
/// let properties = device.properties();
/// println!("{}, {} multiprocessors", properties.name, properties.multiprocessors);
/// # Ok::<(), evenpath::error::DeviceError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceProperties {
    /// The device's name, such as `NVIDIA H200`.
    pub name: String,
    /// Multiprocessors of a GPU; threads that run at once on the CPU.
    pub multiprocessors: u32,
    /// Compute capability, major and minor.
    pub compute_capability: Option<(u32, u32)>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Bytes of the second-level cache.
    pub l2_bytes: Option<u64>,
    /// Bytes of shared memory that one block can have.
    pub max_shared_bytes: Option<u32>,
    /// The newest CUDA that the driver supports.
    pub driver: Option<Version>,
}

impl DeviceProperties {
    /// Bytes of shared memory that one block can have: as much as every GPU has, where it is not known.
    pub(crate) fn shared_bytes(&self) -> u32 {
        self.max_shared_bytes.unwrap_or(48 << 10)
    }
}

/// How much of a device's memory is used.
///
/// ```
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let x = device.zeros::<f64>(100)?;
/// assert_eq!(device.memory()?.in_use, 800);
/// drop(x);
/// assert_eq!((device.memory()?.in_use, device.memory()?.peak), (0, 800));
/// # Ok::<(), evenpath::error::DeviceError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Bytes that live buffers of this device object hold, and that its graphs keep.
    pub in_use: u64,
    /// The most that they held at once, since the device was made or [`Device::reset_peak_memory`].
    pub peak: u64,
    /// The limit on [`in_use`](Self::in_use).
    pub limit: Option<u64>,
    /// Bytes that are free; other programs and device objects take from them too. `None` on the CPU.
    pub free: Option<u64>,
    /// Bytes that the device has. `None` on the CPU.
    pub total: Option<u64>,
}

impl Device {
    /// The first NVIDIA GPU that there is PTX for; the CPU where there is none or no driver.
    ///
    /// # Errors
    ///
    /// If there is a GPU and it cannot be used, also because of an earlier fault ([`DeviceError::GpuLost`]): work does
    /// not move to a slower device unasked. [`cpu`](Self::cpu) is there to be asked for.
    pub fn best() -> Result<Self, DeviceError> {
        let mut ordinal = 0;
        loop {
            match Self::cuda(ordinal) {
                Err(DeviceError::UnsupportedGpu { .. }) => ordinal += 1,
                Err(
                    DeviceError::NoDriver { .. } | DeviceError::NoCudaSupport | DeviceError::NoSuchGpu { .. },
                ) => return Ok(Self::cpu()),
                other => return other,
            }
        }
    }

    /// The NVIDIA GPU of the given number, as the driver counts them.
    ///
    /// Each call makes a context of its own on the GPU, which takes time (of the order of 0.1 s) and memory: make one
    /// and clone it. Device objects of the same GPU have their own stream, buffers and memory limit. A kernel's fault
    /// they share: the driver then lets this process use the GPU no more, so all of them are lost
    /// ([`DeviceError::KernelFault`] tells one call, [`DeviceError::DeviceLost`] the others), and no new one can be
    /// made. A program that must go on with the GPU runs what may fault in a process of its own.
    ///
    /// Kernels come with the library, as PTX. If the environment variable `EVENPATH_PTX_DIR` is set, they are taken
    /// from that folder and from nowhere else: `sm_<target>/<module>.ptx` in it.
    ///
    /// # Errors
    ///
    /// If there is no driver, no such GPU, no PTX that it can run, or the driver refuses;
    /// [`GpuLost`](DeviceError::GpuLost) if it does so because of an earlier fault.
    pub fn cuda(ordinal: u32) -> Result<Self, DeviceError> {
        #[cfg(feature = "cuda")]
        return Self::in_context(ordinal, cuda::ContextKind::Own);
        #[cfg(not(feature = "cuda"))]
        let _ = ordinal;
        #[cfg(not(feature = "cuda"))]
        Err(DeviceError::NoCudaSupport)
    }

    /// The NVIDIA GPU of the given number, in its primary context: the one that the CUDA runtime and the libraries on it, such as
    /// PyTorch, CuPy and `cudarc`, share. Memory and streams of theirs can be used by this device and the other way round: see
    /// [`DeviceVec::from_raw_parts`], [`foreign_stream`](Self::foreign_stream) and [`dlpack`](crate::dlpack). Otherwise as
    /// [`cuda`](Self::cuda).
    ///
    /// The device's first stream waits for work on the legacy default stream, which those libraries use unless told otherwise, and
    /// that for it.
    ///
    /// # Errors
    ///
    /// As for [`cuda`](Self::cuda).
    pub fn cuda_primary(ordinal: u32) -> Result<Self, DeviceError> {
        #[cfg(feature = "cuda")]
        return Self::in_context(ordinal, cuda::ContextKind::Primary);
        #[cfg(not(feature = "cuda"))]
        let _ = ordinal;
        #[cfg(not(feature = "cuda"))]
        Err(DeviceError::NoCudaSupport)
    }

    #[cfg(feature = "cuda")]
    fn in_context(ordinal: u32, kind: cuda::ContextKind) -> Result<Self, DeviceError> {
        let machine = cuda::Cuda::new(ordinal, kind)?;
        Ok(Self::new(Backend::Machine(Arc::new(machine)), DeviceKind::Cuda(ordinal)))
    }

    /// The CPU.
    pub fn cpu() -> Self {
        Self::new(Backend::Cpu, DeviceKind::Cpu)
    }

    /// A GPU that the CPU simulates, to test kernels: it runs them slowly, and reports mistakes that a GPU does not.
    ///
    /// ```
    /// use evenpath::device::{BlockOrder, SimulatedOptions};
    /// use evenpath::Device;
    ///
    /// let options = SimulatedOptions::default().with_threads(1).with_block_order(BlockOrder::Seeded(7));
    /// let device = Device::simulated(options);
    /// assert_eq!(device.upload(&[1.0])?.download()?, [1.0]);
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    pub fn simulated(options: SimulatedOptions) -> Self {
        Self::new(Backend::Machine(Arc::new(simulated::Simulated::new(options, []))), DeviceKind::Simulated)
    }

    fn new(backend: Backend, kind: DeviceKind) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let properties = match &backend {
            Backend::Cpu => cpu_properties(),
            Backend::Machine(machine) => machine.properties().clone(),
        };
        let number = COUNT.fetch_add(1, Relaxed);
        let (budget, idle_states) = (Budget::unlimited(), IdleStates::default());
        Self { shared: Arc::new(Shared { backend, kind, properties, number, budget, idle_states }) }
    }

    /// Has a call to a simulated GPU fail, for tests of what a program does then: the first allocation, copy, launch or wait
    /// that comes after `calls` others, with [`DeviceError::Injected`]. With `None`, none does. Other devices ignore it.
    ///
    /// ```
    /// use evenpath::device::SimulatedOptions;
    /// use evenpath::error::DeviceError;
    /// use evenpath::Device;
    ///
    /// let device = Device::simulated(SimulatedOptions::default());
    /// device.inject_failure(Some(1));
    /// let x = device.zeros::<f64>(0)?; // nothing to allocate
    /// // The first call allocates, the second fails.
    /// assert!(matches!(device.upload(&[1.0]), Err(DeviceError::Injected { .. })));
    /// assert_eq!((device.injected_failure(), device.memory()?.in_use), (None, 0));
    /// assert_eq!(device.upload(&[1.0])?.download()?, [1.0]);
    /// # Ok::<(), DeviceError>(())
    /// ```
    pub fn inject_failure(&self, calls: Option<u64>) {
        if let Backend::Machine(machine) = &self.shared.backend {
            machine.inject_failure(calls);
        }
    }

    /// How many calls come before the one that [`inject_failure`](Self::inject_failure) has fail; `None` where there is none,
    /// or it has failed.
    pub fn injected_failure(&self) -> Option<u64> {
        match &self.shared.backend {
            Backend::Cpu => None,
            Backend::Machine(machine) => machine.injected_failure(),
        }
    }

    /// How often calls have waited for a simulated GPU: to copy from or to host memory, or in [`synchronize`](Self::synchronize).
    /// For tests that a loop is asynchronous. 0 on other devices.
    ///
    /// ```
    /// use evenpath::{Device, vector};
    ///
    /// let device = Device::simulated(Default::default());
    /// let x = device.upload(&[1.0, 2.0])?;
    /// let mut y = device.zeros(2)?;
    /// let before = device.waits();
    /// vector::axpby(2.0, &x, 1.0, &mut y)?;
    /// assert_eq!(device.waits(), before); // a sum is only launched
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    pub fn waits(&self) -> u64 {
        match &self.shared.backend {
            Backend::Cpu => 0,
            Backend::Machine(machine) => machine.waits(),
        }
    }

    /// Begins to count the calls of the NVIDIA driver by this process and the time that they take, or to do so no more. Returns both
    /// since the count began; zeros without a GPU. For measurements: what an operation takes the host beside these is the library's.
    ///
    /// ```
    /// use evenpath::{Device, vector};
    ///
    /// let device = Device::best()?;
    /// let (x, mut y) = (device.upload(&[1.0, 2.0])?, device.zeros(2)?);
    /// Device::measure_driver_calls(true);
    /// vector::axpby(2.0, &x, 1.0, &mut y)?;
    /// let (calls, time) = Device::measure_driver_calls(false);
    /// println!("{calls} calls, {time:?}");
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    pub fn measure_driver_calls(is_measured: bool) -> (u64, Duration) {
        #[cfg(feature = "cuda")]
        return cuda::measure_calls(is_measured);
        #[cfg(not(feature = "cuda"))]
        let _ = is_measured;
        #[cfg(not(feature = "cuda"))]
        (0, Duration::ZERO)
    }

    /// What kind of device it is.
    pub fn kind(&self) -> DeviceKind {
        self.shared.kind
    }

    /// Its name, such as `NVIDIA H200`.
    pub fn name(&self) -> &str {
        &self.shared.properties.name
    }

    /// What it is like.
    pub fn properties(&self) -> &DeviceProperties {
        &self.shared.properties
    }

    /// How much of its memory is used.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn memory(&self) -> Result<DeviceMemory, DeviceError> {
        let (free, total) = match &self.shared.backend {
            Backend::Cpu => (None, None),
            Backend::Machine(machine) => {
                let (free, total) = machine.memory()?;
                (Some(free), Some(total))
            }
        };
        let (in_use, peak) = (self.budget().in_use(), self.budget().peak());
        Ok(DeviceMemory { in_use, peak, limit: self.memory_limit(), free, total })
    }

    /// Forgets what was in use before, so that [`DeviceMemory::peak`] is that of what follows.
    pub fn reset_peak_memory(&self) {
        self.budget().reset_peak();
    }

    /// The limit on the bytes that buffers may hold together.
    pub fn memory_limit(&self) -> Option<u64> {
        self.budget().limit()
    }

    /// Limits the bytes that buffers of this device object, clones included, may hold together. Buffers that are
    /// there already stay; what would go over the limit is refused with [`DeviceError::MemoryLimit`].
    pub fn set_memory_limit(&self, bytes: Option<u64>) {
        self.budget().set_limit(bytes);
    }

    /// Waits until the device has done everything it was asked to.
    ///
    /// # Errors
    ///
    /// If a kernel made a mistake, now or earlier.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.refuse_in_graph("the host waits for the device")?;
        match &self.shared.backend {
            Backend::Cpu => Ok(()),
            Backend::Machine(machine) => machine.synchronize(None),
        }
    }

    /// Marks this place in the stream that the calling thread uses, to measure time.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn record(&self) -> Result<Event, DeviceError> {
        self.refuse_in_graph("an event is recorded")?;
        let moment = match &self.shared.backend {
            Backend::Cpu => Moment::Host(Instant::now()),
            Backend::Machine(machine) => machine.record(self.stream_number())?,
        };
        Ok(Event::new(self.clone(), moment))
    }

    /// Whether buffers of the two can be used together. All CPU device objects are the same device; each other device
    /// object is the same as its clones only.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
            || matches!((&self.shared.backend, &other.shared.backend), (Backend::Cpu, Backend::Cpu))
    }

    /// An error naming both unless the two are the same device.
    pub(crate) fn check_same(&self, other: &Self) -> Result<(), DeviceError> {
        if self.is_same(other) { self.check_threads() } else { Err(self.different_from(other)) }
    }

    /// An error if this is the CPU, in a process that was forked from one that had used it.
    pub(crate) fn check_threads(&self) -> Result<(), DeviceError> {
        match self.backend() {
            Backend::Cpu if !crate::threads::have_started_here() => Err(DeviceError::Forked),
            _ => Ok(()),
        }
    }

    fn different_from(&self, other: &Self) -> DeviceError {
        let name = |device: &Self| format!("{device} [device object {}]", device.shared.number);
        DeviceError::DifferentDevices { left: name(self), right: name(other) }
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.shared.backend
    }

    fn budget(&self) -> &Budget {
        &self.shared.budget
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shared.kind {
            DeviceKind::Cuda(ordinal) => write!(f, "cuda:{ordinal} ({})", self.name()),
            DeviceKind::Cpu | DeviceKind::Simulated => f.write_str(self.name()),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self}, object {})", self.shared.number)
    }
}

fn cpu_properties() -> DeviceProperties {
    DeviceProperties {
        name: "CPU".into(),
        multiprocessors: std::thread::available_parallelism().map_or(1, usize::from) as u32,
        compute_capability: None,
        memory_bytes: None,
        l2_bytes: None,
        max_shared_bytes: None,
        driver: None,
    }
}
