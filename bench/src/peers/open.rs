//! The open libraries, and what they are measured with: every algorithm of each.

use evenpath::device::DeviceKind;
use evenpath::{Csr, Layout};

use super::cusparse::{Cusparse, SpmvProblem};
use super::mkl::{self, Mkl};
use super::peer::{Peer, PeerRows};
use super::{
    Operation, PeerError, PeerRun, PeerScalar, PeerTimes, PeerValue, PreparedPeer, SpmvOperands, sprs,
};
use crate::measure::{Repetitions, Times};

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

/// Times and a result.
type Measured<R> = Result<(Times, R), PeerError>;

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
                    peers.versions.extend(versions.map(|version| format!("cuSPARSE {version}")));
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

    /// Copies a matrix to the GPU for cuSPARSE, if it is open.
    pub(crate) fn spmv_problem<'p, V: PeerScalar>(
        &'p self,
        matrix: &Csr<V>,
        operation: Operation,
        operands: SpmvOperands<'p, V>,
    ) -> Option<Result<SpmvProblem<'p, V>, PeerError>> {
        Some(self.cusparse.as_ref()?.spmv_problem(matrix, operation, operands))
    }

    /// All algorithms of the libraries for y = αAx + βy, or with the transpose, prepared to take turns. `problem` is that of
    /// cuSPARSE. sprs only has y = Ax.
    pub(crate) fn prepare_spmv<'p, V: PeerScalar>(
        &'p self,
        problem: Option<&'p Result<SpmvProblem<'p, V>, PeerError>>,
        matrix: &'p Csr<V>,
        operation: Operation,
        operands: SpmvOperands<'p, V>,
    ) -> Vec<PreparedPeer<'p, V>> {
        let mut prepared = Vec::new();
        match problem {
            Some(Ok(problem)) => prepared.extend(problem.prepare()),
            Some(Err(error)) => {
                let outcome = Err(PeerError::Unsuitable(error.to_string()));
                prepared.push(Peer::of_csr("cusparse", "all", outcome));
            }
            None => {}
        }
        if let Some(mkl) = &self.mkl {
            prepared.push(mkl.spmv(matrix, operation, operands));
        }
        let is_plain = operands.alpha == V::ONE && operands.beta == V::ZERO;
        if self.has_sprs && operation == Operation::Direct && is_plain {
            prepared.push(sprs::spmv(matrix, operands.x));
        }
        prepared
    }

    /// C = AB for a dense B of this many columns. The libraries on the CPU take dense matrices row by row.
    pub(crate) fn spmm<V: PeerValue>(
        &self,
        (a, b): (&Csr<V>, &[V]),
        (columns, layout): (usize, Layout),
        repetitions: Repetitions,
        mut each: impl FnMut(PeerRun<Vec<V>>),
    ) {
        if let Some(library) = &self.cusparse {
            match library.spmm_problem(a, b, columns, layout) {
                Ok(problem) => problem.measure(repetitions, &mut each),
                Err(error) => each(Peer::of_csr("cusparse", &format!("all, {layout}"), Err(error))),
            }
        }
        if layout == Layout::RowMajor {
            let of_mkl = |mkl: &Mkl| mkl.measure_spmm(a, b, columns, repetitions);
            let of_sprs = || sprs::measure_spmm(a, b, columns, repetitions);
            self.on_cpu(["mkl_sparse_mm", "csr_mulacc_dense_rowmaj"], of_mkl, of_sprs, each);
        }
    }

    /// AB at the nonzeros of C, for dense matrices with this many terms: A by rows, and B in a layout. The libraries on the CPU do
    /// not have it.
    pub(crate) fn sddmm<V: PeerValue>(
        &self,
        (c, a, b): (&Csr<V>, &[V], &[V]),
        (inner, layout): (usize, Layout),
        repetitions: Repetitions,
        mut each: impl FnMut(PeerRun<Vec<V>>),
    ) {
        if let Some(library) = &self.cusparse {
            match library.sddmm_problem(c, (a, b), inner, layout) {
                Ok(problem) => problem.measure(repetitions, each),
                Err(error) => each(Peer::of_csr("cusparse", &format!("all, {layout}"), Err(error))),
            }
        }
    }

    /// The incomplete factors without fill of a matrix, in its place: L and U, or L on and below the diagonal if it is symmetric and
    /// positive definite. The libraries on the CPU do not have them in this form.
    pub(crate) fn factorize<V: PeerValue>(
        &self,
        matrix: &Csr<V>,
        is_symmetric: bool,
        repetitions: Repetitions,
        each: impl FnMut(PeerRun<Vec<V>>),
    ) {
        if let Some(library) = &self.cusparse {
            library.measure_factorization(matrix, is_symmetric, repetitions, each);
        }
    }

    /// Tx = b for a triangle of a matrix, upper or not, whose diagonal is 1 or not.
    pub(crate) fn solve<V: PeerValue>(
        &self,
        (matrix, b): (&Csr<V>, &[V]),
        triangle: (bool, bool),
        repetitions: Repetitions,
        mut each: impl FnMut(PeerRun<Vec<V>>),
    ) {
        if let Some(library) = &self.cusparse {
            match library.spsv_problem(matrix, b, triangle) {
                Ok(problem) => problem.measure(repetitions, each),
                Err(error) => each(Peer::of_csr("cusparse", "SpSV", Err(error))),
            }
        }
    }

    /// C = αA + βB.
    pub(crate) fn spadd<V: PeerValue>(
        &self,
        a: (V, &Csr<V>),
        b: (V, &Csr<V>),
        repetitions: Repetitions,
        mut each: impl FnMut(PeerRun<Csr<V>>),
    ) {
        if let Some(library) = &self.cusparse {
            library.measure_spadd(a, b, repetitions, &mut each);
        }
        let of_mkl = |mkl: &Mkl| mkl.measure_spadd(a, b, repetitions);
        self.on_cpu(
            ["mkl_sparse_add", "csmat_binop"],
            of_mkl,
            || sprs::measure_spadd(a, b, repetitions),
            each,
        );
    }

    /// C = AB for sparse matrices.
    pub(crate) fn spgemm<V: PeerScalar>(
        &self,
        a: &Csr<V>,
        b: &Csr<V>,
        repetitions: Repetitions,
        mut each: impl FnMut(PeerRun<PeerRows<V>>),
    ) {
        if let Some(library) = &self.cusparse {
            match library.spgemm_problem(a, b) {
                Ok(problem) => problem.measure(repetitions, &mut each),
                Err(error) => each(Peer::of_csr("cusparse", "all", Err(error))),
            }
        }
        let rows = |(times, c): (Times, Csr<V>)| (times, PeerRows::from(c));
        let of_mkl = |mkl: &Mkl| mkl.measure_spgemm(a, b, repetitions).map(rows);
        let of_sprs = || sprs::measure_spgemm(a, b, repetitions).map(rows);
        self.on_cpu(["mkl_sparse_spmm", "mul_csr_csr"], of_mkl, of_sprs, each);
    }

    /// Measures Aᵀ, which the libraries compute explicitly.
    pub(crate) fn transpose<V: PeerValue>(
        &self,
        a: &Csr<V>,
        repetitions: Repetitions,
        mut each: impl FnMut(PeerRun<Csr<V>>),
    ) {
        if let Some(library) = &self.cusparse {
            let times = library.measure_transpose(a, repetitions).map(PeerTimes::plain);
            each(Peer::of_csr("cusparse", "csr2csc", times));
        }
        if let Some(mkl) = &self.mkl {
            let times = mkl.measure_transpose(a, repetitions).map(PeerTimes::plain);
            each(Peer::of_csr(mkl::LIBRARY, "mkl_sparse_convert_csr", times));
        }
    }

    /// The runs of the libraries on the CPU, by the names of their functions.
    fn on_cpu<R>(
        &self,
        [of_mkl, of_sprs]: [&str; 2],
        measure_mkl: impl FnOnce(&Mkl) -> Measured<R>,
        measure_sprs: impl FnOnce() -> Measured<R>,
        mut each: impl FnMut(PeerRun<R>),
    ) {
        if let Some(mkl) = &self.mkl {
            each(Peer::of_csr(mkl::LIBRARY, of_mkl, measure_mkl(mkl).map(PeerTimes::plain)));
        }
        if self.has_sprs {
            each(Peer::of_csr(sprs::LIBRARY, of_sprs, measure_sprs().map(PeerTimes::plain)));
        }
    }
}
