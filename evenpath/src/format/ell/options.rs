use evenpath_simt::kernel::Kernel;

use crate::device::{Device, Launcher};
use crate::operand::{OpError, block_size};

/// Options of [`DeviceEll::spmv_with`](super::DeviceEll::spmv_with) and
/// [`DeviceEllR::spmv_with`](super::DeviceEllR::spmv_with) on a GPU, for measurements. Results are the same
/// to the last bit with all options.
///
/// ```
/// use evenpath::ell::{EllOptions, PaddingLimit, XLoads};
/// use evenpath::{Csr, Device};
///
/// let a: Csr<f32> = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let device = Device::best()?;
/// let a = device.upload(&a.to_ell(PaddingLimit::default())?)?;
/// let (x, mut y) = (device.upload(&[1.0, 10.0, 100.0])?, device.zeros(2)?);
/// let options = EllOptions::default().with_block_size(32).with_x_loads(XLoads::Plain);
/// a.spmv_with(options, 1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.download()?, [201.0, 30.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct EllOptions {
    /// Threads per block: 32, 64, 128, 256 or 512 for `f32`, 256 for `f64`; with [`XLoads::Plain`] 32 or 256, and 256. By
    /// default 256.
    pub block_size: Option<u32>,
    /// Loads of elements of x.
    pub x_loads: XLoads,
}

/// Loads of elements of x in a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum XLoads {
    /// Through the read-only cache, formerly the texture cache (`ld.global.nc`).
    #[default]
    ReadOnly,
    /// Like loads of writable memory (`ld.global`).
    Plain,
}

impl EllOptions {
    /// Sets the number of threads per block.
    #[must_use]
    pub fn with_block_size(self, threads: impl Into<Option<u32>>) -> Self {
        Self { block_size: threads.into(), ..self }
    }

    /// Sets the loads of elements of x.
    #[must_use]
    pub fn with_x_loads(self, x_loads: XLoads) -> Self {
        Self { x_loads, ..self }
    }

    /// Name of the kernels' variant.
    pub(super) fn variant(self) -> &'static str {
        match self.x_loads {
            XLoads::ReadOnly => "ByColumn",
            XLoads::Plain => "PlainByColumn",
        }
    }

    /// The launcher of a kernel's instance for these options.
    pub(super) fn launcher<K: Kernel>(
        self,
        device: &Device,
        format: &'static str,
    ) -> Result<Launcher<K>, OpError> {
        match self.block_size {
            Some(threads) => block_size::launcher(device, format, threads, K::variants(self.variant())),
            None => Ok(device.variant(self.variant())),
        }
    }
}
