use super::method::SpgemmMethod;

/// How sparse matrices are multiplied.
///
/// By rows, results are the same to the last bit on all GPUs, real and simulated. The automatic choice of the method, the
/// batches in which [`SpgemmMethod::TwoLevelSort`] works where memory is short, and whether [`SpgemmMethod::Mixed`] sorts any rows
/// follow the memory: the same bits on other
/// GPUs, or with other things in memory, take a method that is given and, for that one, a limit.
///
/// ```
/// use evenpath::spgemm::SpgemmOptions;
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 3.0)])?;
/// let a = Device::best()?.upload(&a)?;
/// let square = a.spgemm(&a, SpgemmOptions::default().with_memory_limit(64 << 20))?; // bytes beside operands and result
/// assert_eq!(square.nnz(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SpgemmOptions {
    /// The method; by default what suits the matrices.
    pub method: SpgemmMethod,
    /// Bytes of device memory that workspace and result may take together; if not given, nine tenths of what is free,
    /// within the device's own limit. On the CPU: of the host's memory, without a limit if not given. A plan keeps memory that makes
    /// new values faster, about 2 bytes a product, only if that fits in beside the result.
    pub memory_limit: Option<u64>,
}

impl SpgemmOptions {
    /// The same with another method.
    #[must_use]
    pub fn with_method(self, method: SpgemmMethod) -> Self {
        Self { method, ..self }
    }

    /// The same with a limit in bytes on workspace and result together.
    #[must_use]
    pub fn with_memory_limit(self, bytes: impl Into<Option<u64>>) -> Self {
        Self { memory_limit: bytes.into(), ..self }
    }
}
