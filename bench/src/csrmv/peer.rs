//! The library to compare with.

use evenpath::Csr;
use evenpath::device::DeviceKind;

use crate::measure::Repetitions;
use crate::peers::cusparse::Cusparse;
use crate::peers::mkl::Mkl;
use crate::peers::{Operation, PeerError, PeerRun, PeerValue, SpmvOperands, full_name};

/// A library that multiplies matrices in CSR on the same processor.
pub(crate) enum Peer {
    /// NVIDIA's cuSPARSE, in all open versions.
    Cusparse(Cusparse),
    /// Intel's MKL.
    Mkl(Mkl),
}

impl Peer {
    /// Opens cuSPARSE on a GPU, and MKL on the CPU. The simulated GPU has no peer. Also returns why libraries cannot be used:
    /// they are not installed, or lack a function.
    pub(crate) fn open(kind: DeviceKind) -> (Option<Self>, Vec<PeerError>) {
        match kind {
            DeviceKind::Cuda(ordinal) => {
                let (opened, absent) = Cusparse::open(ordinal);
                (opened.map(Self::Cusparse), absent)
            }
            DeviceKind::Cpu => match Mkl::open() {
                Ok(opened) => (Some(Self::Mkl(opened)), Vec::new()),
                Err(error) => (None, vec![error]),
            },
            DeviceKind::Simulated => (None, Vec::new()),
        }
    }

    /// Its name, with the versions of cuSPARSE.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Cusparse(library) => {
                format!("cuSPARSE {}", library.versions().collect::<Vec<_>>().join(" and "))
            }
            Self::Mkl(_) => "MKL".into(),
        }
    }

    /// The name of an algorithm, with that of its library.
    pub(super) fn algorithm_name<V>(&self, run: &PeerRun<V>) -> String {
        let library = match self {
            Self::Cusparse(_) => "cuSPARSE",
            Self::Mkl(_) => "MKL",
        };
        format!("{} {}", full_name(library, run.version.as_deref()), run.algorithm)
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
