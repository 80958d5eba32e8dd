//! A device, which all that is on it has a clone of.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[cfg(any(feature = "simulated", test))]
use evenpath_simt::host::SimulatedOptions;

#[cfg(feature = "cuda")]
use super::cuda;
use super::error::DeviceError;
use super::idle_states::IdleStates;
use super::machine::Machine;
use super::memory_limit::Budget;
use super::properties::{DeviceKind, DeviceProperties, cpu_properties};
#[cfg(any(feature = "simulated", test))]
use super::simulated;

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
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) backend: Backend,
    kind: DeviceKind,
    properties: DeviceProperties,
    /// Counts the device objects of this process, to tell them apart.
    pub(super) number: u64,
    budget: Arc<Budget>,
    pub(super) idle_states: IdleStates,
}

pub(crate) enum Backend {
    /// Buffers are the host's, and operations run on it instead of launching kernels.
    Cpu,
    Machine(Arc<dyn Machine>),
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
    /// [`DeviceVec::from_raw_parts`](crate::DeviceVec::from_raw_parts), [`foreign_stream`](Self::foreign_stream) and [`dlpack`](crate::dlpack). Otherwise as
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
    #[cfg(any(feature = "simulated", test))]
    pub fn simulated(options: SimulatedOptions) -> Self {
        Self::new(Backend::Machine(Arc::new(simulated::Simulated::new(options, []))), DeviceKind::Simulated)
    }

    pub(super) fn new(backend: Backend, kind: DeviceKind) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let properties = match &backend {
            Backend::Cpu => cpu_properties(),
            Backend::Machine(machine) => machine.properties().clone(),
        };
        let number = COUNT.fetch_add(1, Relaxed);
        let (budget, idle_states) = (Arc::new(Budget::unlimited()), IdleStates::default());
        Self { shared: Arc::new(Shared { backend, kind, properties, number, budget, idle_states }) }
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

    pub(super) fn different_from(&self, other: &Self) -> DeviceError {
        let name = |device: &Self| format!("{device} [device object {}]", device.shared.number);
        DeviceError::DifferentDevices { left: name(self), right: name(other) }
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.shared.backend
    }

    pub(super) fn budget(&self) -> &Arc<Budget> {
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
