//! The peers that SpMV is compared with, by name.

use evenpath::Csr;
use evenpath::device::DeviceKind;

use super::Reference;
use super::figures::{Outcome, PeerFigures, PeerRecord};
use crate::measure::{Repetitions, median};
use crate::peers::cusparse::Cusparse;
use crate::peers::mkl::Mkl;
use crate::peers::{Operation, PeerError, PeerRun, PeerValue, SpmvOperands, sprs};

/// A library to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PeerName {
    /// NVIDIA's cuSPARSE, on the same GPU.
    Cusparse,
    /// Intel's MKL, on the CPU.
    Mkl,
    /// The crate sprs, on one thread of the CPU.
    Sprs,
}

/// The open libraries.
#[derive(Default)]
pub struct Peers {
    cusparse: Option<Cusparse>,
    mkl: Option<Mkl>,
    has_sprs: bool,
    versions: Vec<String>,
}

impl Peers {
    /// Opens the requested libraries, and returns why the others cannot be used.
    pub fn open(names: &[PeerName], device: DeviceKind) -> (Self, Vec<PeerError>) {
        let (mut peers, mut absent) = (Self::default(), Vec::new());
        for name in names {
            let opened = match name {
                PeerName::Cusparse => {
                    let ordinal = if let DeviceKind::Cuda(ordinal) = device { ordinal } else { 0 };
                    Cusparse::open(ordinal).and_then(|library| {
                        let version = library.version()?;
                        peers.cusparse = Some(library);
                        Ok(format!("cuSPARSE {}.{}.{}", version / 1000, version / 100 % 10, version % 100))
                    })
                }
                PeerName::Mkl => Mkl::open().map(|library| {
                    peers.mkl = Some(library);
                    "MKL".into()
                }),
                PeerName::Sprs => {
                    peers.has_sprs = true;
                    Ok("sprs".into())
                }
            };
            match opened {
                Ok(version) => peers.versions.push(version),
                Err(error) => absent.push(error),
            }
        }
        (peers, absent)
    }

    /// The open libraries, with their versions if known.
    pub fn versions(&self) -> &[String] {
        &self.versions
    }

    /// cuSPARSE, if it is open.
    pub fn cusparse(&self) -> Option<&Cusparse> {
        self.cusparse.as_ref()
    }

    /// Measures all libraries on y = Ax, or y = Aᵀx, and checks their results.
    pub(super) fn measure<V: PeerValue>(
        &self,
        matrix: &Csr<V>,
        operation: Operation,
        x: &[V],
        reference: &Reference,
        repetitions: Repetitions,
    ) -> Vec<PeerRecord> {
        let mut records = Vec::new();
        let mut take = |library: &'static str, run: PeerRun<V>| {
            let PeerRun { algorithm, format, outcome } = run;
            let outcome = match outcome {
                Ok(times) => Outcome::Measured(PeerFigures {
                    ms: median(&times.times_ms),
                    shortest_ms: times.times_ms.iter().copied().fold(f64::INFINITY, f64::min),
                    preprocessing_ms: times.preprocessing_ms,
                    workspace_bytes: times.workspace_bytes,
                    difference: reference.check(&times.result).err(),
                }),
                Err(error) => Outcome::Failed { error: error.to_string() },
            };
            records.push(PeerRecord { library, algorithm, format, outcome });
        };
        // An element that is not written stays NaN.
        let nowhere = vec![V::from_f64(f64::NAN); operation.shape(matrix.rows(), matrix.cols()).0];
        let operands = SpmvOperands { alpha: V::ONE, x, beta: V::ZERO, y: &nowhere };
        if let Some(cusparse) = &self.cusparse {
            match cusparse.spmv_problem(matrix, operation, operands) {
                Ok(problem) => problem.measure(repetitions, |run| take("cusparse", run)),
                Err(error) => {
                    take("cusparse", PeerRun { algorithm: "all".into(), format: "csr", outcome: Err(error) });
                }
            }
        }
        if let Some(mkl) = &self.mkl {
            take("mkl", mkl.spmv(matrix, operation, operands, repetitions));
        }
        if self.has_sprs && operation == Operation::Direct {
            take("sprs", sprs::spmv(matrix, x, repetitions));
        }
        records
    }
}
