//! Devices. Everything on a device holds a clone of it.

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

/// A device. Clones are cheap and refer to the same device, which can be used from several threads.
///
/// ```
/// use evenpath::{Device, vector};
///
/// let device = Device::best()?; // the first NVIDIA GPU, or the CPU
/// let x = device.upload(&[1.0, 2.0])?;
/// let mut y = device.zeros(2)?;
/// vector::axpby(3.0, &x, 0.0, &mut y)?; // computes there
/// assert_eq!(y.download()?, [3.0, 6.0]);
/// assert!(x.device().is_same(&device.clone()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Device {
    pub(super) shared: Arc<DeviceState>,
}

pub(super) struct DeviceState {
    pub(super) backend: Backend,
    kind: DeviceKind,
    properties: DeviceProperties,
    /// Number of the device object in this process, to tell them apart.
    pub(super) number: u64,
    budget: Arc<Budget>,
    pub(super) idle_states: IdleStates,
}

pub(crate) enum Backend {
    /// Buffers are in host memory, and operations run on the CPU instead of launching kernels.
    Cpu,
    Machine(Arc<dyn Machine>),
}

impl Device {
    /// Returns the first NVIDIA GPU with suitable PTX, or the CPU if there is no GPU or no driver.
    ///
    /// ```
    /// use evenpath::device::DeviceKind;
    /// use evenpath::{Device, vector};
    ///
    /// let device = Device::best()?;
    /// if device.kind() == DeviceKind::Cpu {
    ///     eprintln!("computing on {device}: there is no NVIDIA GPU");
    /// }
    /// let x = device.upload(&[1.0, 2.0, 3.0])?;
    /// assert_eq!(vector::dot(&x, &x)?, 14.0); // on either
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is a GPU that cannot be used, also because of an earlier fault ([`DeviceError::GpuLost`]):
    /// work does not silently move to a slower device. Call [`cpu`](Self::cpu) for that.
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

    /// Opens the NVIDIA GPU of the given number, in the driver's numbering.
    ///
    /// Each call creates a context on the GPU, which takes time (about 0.1 s) and memory: create one device
    /// and clone it. Device objects of the same GPU have their own stream, buffers and memory limit, but
    /// share the effects of a kernel's fault: the process can no longer use the GPU, so all of them are lost
    /// ([`DeviceError::KernelFault`] in one call, [`DeviceError::DeviceLost`] in the others), and none can be
    /// created. A program that must continue to use the GPU runs work that may fault in a separate process.
    ///
    /// Kernels are included in the library as PTX. If the environment variable `EVENPATH_PTX_DIR` is set,
    /// they are read only from that folder: `sm_<target>/<module>.ptx` in it.
    ///
    /// ```
    /// use evenpath::error::DeviceError::{NoCudaSupport, NoDriver, NoSuchGpu};
    /// use evenpath::{Device, vector};
    ///
    /// let device = match Device::cuda(1) {
    ///     Err(NoDriver { .. } | NoSuchGpu { .. } | NoCudaSupport) => Device::cpu(),
    ///     second_gpu => second_gpu?,
    /// };
    /// let x = device.upload(&[1.0, 2.0, 3.0])?;
    /// assert_eq!(vector::dot(&x, &x)?, 14.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no driver, no such GPU, no PTX that it can run, or the driver fails;
    /// [`GpuLost`](DeviceError::GpuLost) after an earlier fault.
    pub fn cuda(ordinal: u32) -> Result<Self, DeviceError> {
        #[cfg(feature = "cuda")]
        return Self::in_context(ordinal, cuda::ContextKind::Own);
        #[cfg(not(feature = "cuda"))]
        let _ = ordinal;
        #[cfg(not(feature = "cuda"))]
        Err(DeviceError::NoCudaSupport)
    }

    /// Opens the NVIDIA GPU of the given number in its primary context, which the CUDA runtime and libraries
    /// on it, such as PyTorch, CuPy and `cudarc`, share. This device can use their memory and streams, and
    /// they can use its: see [`DeviceVec::from_raw_parts`](crate::DeviceVec::from_raw_parts),
    /// [`foreign_stream`](Self::foreign_stream) and [`dlpack`](crate::dlpack). Otherwise the same as
    /// [`cuda`](Self::cuda).
    ///
    /// The device's first stream and the legacy default stream, which those libraries use by default, wait
    /// for each other's work.
    ///
    /// # Errors
    ///
    /// The same as for [`cuda`](Self::cuda).
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

    /// Returns the CPU. Its vectors are in host memory, and operations run on all of its threads. All objects
    /// of the CPU are the same device.
    ///
    /// ```
    /// use evenpath::{Device, vector};
    ///
    /// let x = Device::cpu().upload(&[1.0, 2.0])?;
    /// let mut y = Device::cpu().zeros(2)?;
    /// vector::axpby(3.0, &x, 0.0, &mut y)?;
    /// assert_eq!(y.host_slice(), Some(&[3.0, 6.0][..])); // without a copy
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cpu() -> Self {
        Self::new(Backend::Cpu, DeviceKind::Cpu)
    }

    /// Creates a GPU that the CPU simulates, to test kernels: it runs them slowly, and reports mistakes that
    /// a GPU does not.
    ///
    /// ```
    /// use evenpath::device::{BlockOrder, SimulatedOptions};
    /// use evenpath::{Device, vector};
    ///
    /// let options = SimulatedOptions::default().with_threads(1).with_block_order(BlockOrder::Seeded(7));
    /// let device = Device::simulated(options);
    /// let x = device.upload(&[1.0, 2.0, 3.0])?;
    /// assert_eq!(vector::dot(&x, &x)?, 14.0); // by the kernels of the GPU
    /// let unwritten = device.uninitialized::<f64>(3)?;
    /// assert!(vector::dot(&x, &unwritten).is_err()); // a GPU would return anything
    /// # Ok::<(), Box<dyn std::error::Error>>(())
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
        Self { shared: Arc::new(DeviceState { backend, kind, properties, number, budget, idle_states }) }
    }

    /// Kind of the device.
    pub fn kind(&self) -> DeviceKind {
        self.shared.kind
    }

    /// Name of the device, such as `NVIDIA H200`.
    pub fn name(&self) -> &str {
        &self.shared.properties.name
    }

    /// Properties of the device.
    pub fn properties(&self) -> &DeviceProperties {
        &self.shared.properties
    }

    /// Returns whether buffers of the two can be used together. All CPU device objects are the same device;
    /// any other device object is the same only as its clones.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
            || matches!((&self.shared.backend, &other.shared.backend), (Backend::Cpu, Backend::Cpu))
    }

    /// Returns an error with both names unless the two are the same device.
    pub(crate) fn check_same(&self, other: &Self) -> Result<(), DeviceError> {
        if self.is_same(other) { self.check_threads() } else { Err(self.different_from(other)) }
    }

    /// Returns an error if this is the CPU, in a process forked from one that had used it.
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

    /// The machine, if the device runs kernels.
    #[cfg(feature = "lab")]
    pub(crate) fn machine(&self) -> Option<&Arc<dyn Machine>> {
        match &self.shared.backend {
            Backend::Cpu => None,
            Backend::Machine(machine) => Some(machine),
        }
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
