//! The library to compare with.

use evenpath::Csr;
use evenpath::device::DeviceKind;

use crate::measure::Repetitions;
use crate::peers::cusparse::Cusparse;
use crate::peers::mkl::Mkl;
use crate::peers::{Operation, PeerError, PeerRun, PeerValue, SpmvOperands};

/// A library that multiplies matrices in CSR on the same processor.
pub enum Peer {
    /// NVIDIA's cuSPARSE.
    Cusparse(Box<Cusparse>),
    /// Intel's MKL.
    Mkl(Mkl),
}

impl Peer {
    /// Opens cuSPARSE on a GPU, and MKL on the CPU. The simulated GPU has no peer.
    ///
    /// # Errors
    ///
    /// If the library is not installed, or cannot be used.
    pub fn open(kind: DeviceKind) -> Result<Option<Self>, PeerError> {
        Ok(match kind {
            DeviceKind::Cuda(ordinal) => Some(Self::Cusparse(Box::new(Cusparse::open(ordinal)?))),
            DeviceKind::Cpu => Some(Self::Mkl(Mkl::open()?)),
            DeviceKind::Simulated => None,
        })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cusparse(_) => "cuSPARSE",
            Self::Mkl(_) => "MKL",
        }
    }

    /// Measures y = αAx + βy by each of its algorithms for CSR.
    pub(super) fn runs<V: PeerValue>(
        &self,
        matrix: &Csr<V>,
        operands: SpmvOperands<'_, V>,
        repetitions: Repetitions,
    ) -> Result<Vec<PeerRun<V>>, PeerError> {
        match self {
            Self::Cusparse(library) => {
                let problem = library.spmv_csr_problem(matrix, Operation::Direct, operands)?;
                Ok(problem.prepare().into_iter().map(|peer| peer.measure(repetitions)).collect())
            }
            Self::Mkl(library) => {
                Ok(vec![library.spmv(matrix, Operation::Direct, operands).measure(repetitions)])
            }
        }
    }
}
