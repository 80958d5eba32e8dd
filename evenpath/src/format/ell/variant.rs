//! Variants of the kernels of ELL and ELL-R.

use evenpath_simt::kernel::Kernel;

use crate::device::{Device, Launcher};
use crate::operand::{OpError, block_size};

/// Variant of a kernel. All give results that are the same to the last bit, but those with x in sequence.
#[derive(Clone, Copy)]
pub(crate) struct Variant {
    /// Name of the kernels.
    pub(crate) name: &'static str,
    /// Threads per block; if not given, what is fastest.
    pub(crate) block_size: Option<u32>,
    /// True if the j-th nonzero of a row is multiplied by `x[min(j, column)]`.
    pub(crate) x_in_sequence: bool,
}

impl Default for Variant {
    fn default() -> Self {
        Self { name: "ByColumn", block_size: None, x_in_sequence: false }
    }
}

impl Variant {
    /// The launcher of a kernel's instance. `format` is for the error if there is none.
    pub(super) fn launcher<K: Kernel>(
        self,
        device: &Device,
        format: &'static str,
    ) -> Result<Launcher<K>, OpError> {
        match self.block_size {
            Some(threads) => block_size::launcher(device, format, threads, K::variants(self.name)),
            None => Ok(device.variant(self.name)),
        }
    }
}
