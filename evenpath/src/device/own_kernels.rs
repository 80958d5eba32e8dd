//! A program's own kernels.

use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::error::DeviceError;
use super::handle::{Backend, Device};
use super::kernels::OwnKernels;

impl Device {
    /// Adds a program's own kernel, declared with the macro `kernel!` of the crate evenpath-simt, so that it
    /// can be launched. The simulated GPU runs its body; an NVIDIA GPU runs the PTX of the newest target that
    /// it supports. On the CPU this does nothing.
    ///
    /// `ptx` has the PTX text of all instances for each target, such as 90 for `sm_90`. The driver compiles
    /// it on the first launch. A kernel that was added before is replaced, unless it has been launched.
    /// `docs/toolchain.md` explains how to build PTX; `examples/queue_operation.rs` is an example.
    ///
    /// # Errors
    ///
    /// If the library has a kernel of this name; on a GPU also if no target is old enough, or an entry of the PTX has other
    /// parameters, threads per block or shared memory than the kernel declares.
    pub fn add_kernel<K: Kernel>(&self, ptx: &[(u32, &str)]) -> Result<(), DeviceError> {
        let library = evenpath_kernels::kernels();
        if let Some(kernel) = K::INSTANCES.iter().find(|own| library.iter().any(|info| info.name == own.name))
        {
            return Err(self.refuse(kernel, "the library has a kernel of this name".into()));
        }
        match self.backend() {
            Backend::Cpu => Ok(()),
            Backend::Machine(machine) => machine.add_kernels(OwnKernels {
                ptx,
                instances: K::INSTANCES,
                #[cfg(any(feature = "simulated", test))]
                simulations: K::SIMULATIONS,
            }),
        }
    }

    /// The first instance, for its types, of a kernel that may be the program's own.
    ///
    /// # Errors
    ///
    /// If the kernel has no instance.
    pub(crate) fn first_instance<K: Kernel>(&self) -> Result<&'static KernelInfo, DeviceError> {
        K::first().ok_or_else(|| DeviceError::Launch {
            device: self.to_string(),
            kernel: K::INSTANCES.first().map_or("", |info| info.name),
            reason: "the kernel has no instance for these types".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use evenpath_simt::{Arena, GlobalMut, kernel, thread};

    use super::*;
    use crate::device::SimulatedOptions;

    kernel! {
        /// Doubles 32 elements.
        pub struct Double {
            /// The elements.
            pub data: GlobalMut<u32>,
        }
        shared: 0;
        body: Double::double;
        entry: own_double in own: 32 x 1;
    }

    impl Double {
        fn double(self, _: Arena) {
            let at = thread::index() as usize;
            self.data.store(at, 2 * self.data.load(at));
        }
    }

    kernel! {
        /// The name is that of one of the library's kernels.
        pub struct Impostor {
            /// Some elements.
            pub data: GlobalMut<u32>,
        }
        shared: 0;
        body: Impostor::nothing;
        entry: testing_fault_out_of_bounds in own: 32 x 1;
    }

    impl Impostor {
        fn nothing(self, _: Arena) {
            self.data.store(0, 0);
        }
    }

    fn launch(device: &Device) -> Result<Vec<u32>, DeviceError> {
        let mut data = device.upload(&[3; 32])?;
        let kernel = Double { data: data.as_global_mut() };
        // SAFETY: the buffer has an element for each thread, and lives until it is downloaded.
        unsafe { device.launch(kernel, Double::INSTANCES[0], 1, 0) }?;
        data.download()
    }

    #[test]
    fn a_kernel_runs_once_it_is_added() {
        let device = Device::simulated(SimulatedOptions::default());
        let error = launch(&device).expect_err("the kernel is unknown").to_string();
        assert!(
            error.contains("own_double") && error.contains("nor the program has such a kernel"),
            "{error}"
        );
        device.add_kernel::<Double>(&[]).expect("a new kernel");
        assert_eq!(launch(&device).expect("a launch"), [6; 32]);
        device.add_kernel::<Double>(&[]).expect("the same kernel");
        // Other devices do not know the kernel.
        assert!(launch(&Device::simulated(SimulatedOptions::default())).is_err());
    }

    #[test]
    fn names_of_the_library_are_refused() {
        for device in [Device::simulated(SimulatedOptions::default()), Device::cpu()] {
            let error = device.add_kernel::<Impostor>(&[]).expect_err("the library's name").to_string();
            assert!(error.contains("testing_fault_out_of_bounds"), "{error}");
        }
    }
}
