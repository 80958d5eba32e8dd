//! Diagnostics: injected failures, and counts of waits and of driver calls.

use std::time::Duration;

use crate::Device;

/// Counters of a device, and failures on request.
pub trait Diagnostics {
    /// Makes a later call to a simulated GPU fail with
    /// [`DeviceError::Injected`](crate::error::DeviceError::Injected), to test error handling: the first
    /// allocation, copy, launch or wait after `calls` others. `None` cancels this. Other devices ignore it.
    ///
    /// ```
    /// use evenpath::Device;
    /// use evenpath::device::SimulatedOptions;
    /// use evenpath::error::DeviceError;
    /// use evenpath_lab::Diagnostics;
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
    fn inject_failure(&self, calls: Option<u64>);

    /// Number of calls before the one that [`inject_failure`](Self::inject_failure) makes fail; `None` if
    /// there is none, or it has failed.
    fn injected_failure(&self) -> Option<u64>;

    /// Number of calls that have waited for a simulated GPU: to copy from or to host memory, or in
    /// [`synchronize`](Device::synchronize). 0 on other devices.
    ///
    /// ```
    /// use evenpath::{Device, vector};
    /// use evenpath_lab::Diagnostics;
    ///
    /// let device = Device::simulated(Default::default());
    /// let x = device.upload(&[1.0, 2.0])?;
    /// let mut y = device.zeros(2)?;
    /// let before = device.waits();
    /// vector::axpby(2.0, &x, 1.0, &mut y)?;
    /// assert_eq!(device.waits(), before); // a sum is only launched
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    fn waits(&self) -> u64;
}

impl Diagnostics for Device {
    fn inject_failure(&self, calls: Option<u64>) {
        if let Some(machine) = self.machine() {
            machine.inject_failure(calls);
        }
    }

    fn injected_failure(&self) -> Option<u64> {
        self.machine()?.injected_failure()
    }

    fn waits(&self) -> u64 {
        self.machine().map_or(0, |machine| machine.waits())
    }
}

/// Starts or stops measuring the NVIDIA driver calls of this process. Returns their number and duration
/// since measuring started; zeros without a GPU. The rest of an operation's host time is the library's.
///
/// ```
/// use evenpath::{Device, vector};
/// use evenpath_lab::measure_driver_calls;
///
/// let device = Device::best()?;
/// let (x, mut y) = (device.upload(&[1.0, 2.0])?, device.zeros(2)?);
/// measure_driver_calls(true);
/// vector::axpby(2.0, &x, 1.0, &mut y)?;
/// let (calls, time) = measure_driver_calls(false);
/// println!("{calls} calls, {time:?}");
/// # Ok::<(), evenpath::Error>(())
/// ```
pub fn measure_driver_calls(is_measured: bool) -> (u64, Duration) {
    #[cfg(feature = "cuda")]
    return crate::device::measure_driver_calls(is_measured);
    #[cfg(not(feature = "cuda"))]
    {
        let _ = is_measured;
        (0, Duration::ZERO)
    }
}
