//! Variants of products with ELL and ELL-R matrices.

use crate::ell::{DeviceEll, DeviceEllR};
use crate::format::EllVariant;
use crate::operand::{Factor, OpError};
use crate::{DeviceSlice, Value};

/// Options of products on a GPU. Results are the same to the last bit with all of them.
///
/// ```
/// use evenpath::ell::PaddingLimit;
/// use evenpath::{Csr, Device};
/// use evenpath_lab::{EllOptions, EllVariants, XLoads};
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
}

impl From<EllOptions> for EllVariant {
    fn from(EllOptions { block_size, x_loads }: EllOptions) -> Self {
        let name = match x_loads {
            XLoads::ReadOnly => "ByColumn",
            XLoads::Plain => "PlainByColumn",
        };
        Self { name, block_size, x_in_sequence: false }
    }
}

/// Products by a variant of the kernel.
pub trait EllVariants<V: Value> {
    /// Computes y = `alpha`·A·`x` + `beta`·y like `spmv`, with a given number of threads per block and way to load `x`.
    ///
    /// # Errors
    ///
    /// The same as for `spmv`, and if there is no kernel for the options.
    fn spmv_with<'f>(
        &self,
        options: EllOptions,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError>;
}

impl<V: Value> EllVariants<V> for DeviceEll<V> {
    fn spmv_with<'f>(
        &self,
        options: EllOptions,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        self.spmv_by(options.into(), alpha, x, beta, y)
    }
}

impl<V: Value> EllVariants<V> for DeviceEllR<V> {
    fn spmv_with<'f>(
        &self,
        options: EllOptions,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        self.spmv_by(options.into(), alpha, x, beta, y)
    }
}

/// Cost of a product if reading `x` were free.
pub trait XInSequence<V: Value> {
    /// Computes not the product, but what costs the same if reading `x` is free: like `spmv`, with the j-th
    /// nonzero of each row multiplied by `x[min(j, column)]`, which is `x[j]` in canonical rows. Table 8 of
    /// the row-sorting study thus measures the gain of sorting without its loss of locality in x.
    ///
    /// # Errors
    ///
    /// The same as for `spmv`.
    fn spmv_with_x_in_sequence<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        self.spmv_in_blocks_with_x_in_sequence(None, alpha, x, beta, y)
    }

    /// Computes the same with `block_size` threads per block on a GPU: 32, 64, 128, 256, 384 or 512 for `f32`, 256 for `f64`; by
    /// default 256. Table 8 has the fastest of these.
    ///
    /// # Errors
    ///
    /// The same as for `spmv`, and if there is no kernel with blocks of this size.
    fn spmv_in_blocks_with_x_in_sequence<'f>(
        &self,
        block_size: impl Into<Option<u32>>,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError>;
}

impl<V: Value> XInSequence<V> for DeviceEllR<V> {
    fn spmv_in_blocks_with_x_in_sequence<'f>(
        &self,
        block_size: impl Into<Option<u32>>,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        let variant = EllVariant { name: "InSequence", block_size: block_size.into(), x_in_sequence: true };
        self.spmv_by(variant, alpha, x, beta, y)
    }
}
