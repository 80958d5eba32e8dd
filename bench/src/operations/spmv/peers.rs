//! The peers that SpMV is compared with, by name.

use evenpath::Csr;
use evenpath::device::DeviceKind;

use super::Reference;
use super::figures::{Outcome, PeerFigures, PeerRecord};
use crate::measure::{Times, Timing, median};
use crate::peers::cusparse::{Cusparse, SpmvProblem};
use crate::peers::mkl::Mkl;
use crate::peers::{Operation, PeerError, PeerValue, PreparedPeer, Ready, SpmvOperands, full_name, sprs};

/// A library to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PeerName {
    /// NVIDIA's cuSPARSE, on the same GPU.
    Cusparse,
    /// Intel's MKL, on the CPU.
    Mkl,
    /// The crate sprs, on one thread of the CPU.
    Sprs,
}

/// The open libraries.
#[derive(Default)]
pub(crate) struct Peers {
    cusparse: Option<Cusparse>,
    mkl: Option<Mkl>,
    has_sprs: bool,
    versions: Vec<String>,
}

impl Peers {
    /// Opens the requested libraries, and returns why the others cannot be used.
    pub(crate) fn open(names: &[PeerName], device: DeviceKind) -> (Self, Vec<PeerError>) {
        let (mut peers, mut absent) = (Self::default(), Vec::new());
        for name in names {
            match name {
                PeerName::Cusparse => {
                    let ordinal = if let DeviceKind::Cuda(ordinal) = device { ordinal } else { 0 };
                    let (opened, reasons) = Cusparse::open(ordinal);
                    let versions = opened.iter().flat_map(Cusparse::versions);
                    peers.versions.extend(versions.map(|version| full_name("cuSPARSE", Some(version))));
                    peers.cusparse = opened;
                    absent.extend(reasons);
                }
                PeerName::Mkl => match Mkl::open() {
                    Ok(library) => {
                        peers.mkl = Some(library);
                        peers.versions.push("MKL".into());
                    }
                    Err(error) => absent.push(error),
                },
                PeerName::Sprs => {
                    peers.has_sprs = true;
                    peers.versions.push("sprs".into());
                }
            }
        }
        (peers, absent)
    }

    /// The open libraries, with their versions if known.
    pub(crate) fn versions(&self) -> &[String] {
        &self.versions
    }

    /// cuSPARSE in all open versions, if there is one.
    pub(crate) fn cusparse(&self) -> Option<&Cusparse> {
        self.cusparse.as_ref()
    }

    /// MKL, if it is open.
    pub(crate) fn mkl(&self) -> Option<&Mkl> {
        self.mkl.as_ref()
    }

    /// Whether sprs takes part.
    pub(crate) fn sprs(&self) -> bool {
        self.has_sprs
    }

    /// Copies a matrix to the GPU for cuSPARSE, if it is open.
    pub(super) fn problem<'p, V: PeerValue>(
        &'p self,
        matrix: &Csr<V>,
        operation: Operation,
        operands: SpmvOperands<'p, V>,
    ) -> Option<Result<SpmvProblem<'p, V>, PeerError>> {
        Some(self.cusparse.as_ref()?.spmv_problem(matrix, operation, operands))
    }

    /// All algorithms of the libraries for y = Ax, or y = Aᵀx, each with the name of its library. `problem` is that of
    /// cuSPARSE.
    pub(super) fn prepare<'p, V: PeerValue>(
        &'p self,
        problem: Option<&'p Result<SpmvProblem<'p, V>, PeerError>>,
        matrix: &'p Csr<V>,
        operation: Operation,
        operands: SpmvOperands<'p, V>,
    ) -> Vec<(&'static str, PreparedPeer<'p, V>)> {
        let mut prepared = Vec::new();
        match problem {
            Some(Ok(problem)) => {
                prepared.extend(problem.prepare().into_iter().map(|peer| ("cusparse", peer)));
            }
            Some(Err(error)) => {
                let outcome = Err(PeerError::Unsuitable(error.to_string()));
                let all = PreparedPeer { version: None, algorithm: "all".into(), format: "csr", outcome };
                prepared.push(("cusparse", all));
            }
            None => {}
        }
        if let Some(mkl) = &self.mkl {
            prepared.push(("mkl", mkl.spmv(matrix, operation, operands)));
        }
        if self.has_sprs && operation == Operation::Direct {
            prepared.push(("sprs", sprs::spmv(matrix, operands.x)));
        }
        prepared
    }
}

/// The record of an algorithm, given its times.
pub(super) fn record<V: PeerValue>(
    library: &'static str,
    peer: PreparedPeer<'_, V>,
    times: impl FnOnce() -> Result<Times, PeerError>,
    reference: &Reference,
) -> PeerRecord {
    let PreparedPeer { version, algorithm, format, outcome } = peer;
    let figures = outcome.and_then(|ready| {
        let Ready { preprocessing_ms, workspace_bytes, mut prepared } = ready;
        let times = times()?;
        Ok(PeerFigures {
            ms: median(&times),
            shortest_ms: times.iter().copied().fold(f64::INFINITY, f64::min),
            timing: Timing::new(&times),
            preprocessing_ms,
            workspace_bytes,
            difference: reference.check(&prepared.result()?).err(),
        })
    });
    let outcome = match figures {
        Ok(figures) => Outcome::Measured(figures),
        Err(error) => Outcome::Failed { error: error.to_string() },
    };
    PeerRecord { library, version, algorithm, format, outcome }
}
