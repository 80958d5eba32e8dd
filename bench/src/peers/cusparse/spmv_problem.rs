//! Operands of a product with a vector on the GPU, and a product that is ready to run.

use evenpath::Csr;

use super::formats::{Format, Formats};
use super::version::Cusparse;
use crate::measure::sampled;
use crate::peers::cuda::{Buffer, Runtime};
use crate::peers::peer::Prepared;
use crate::peers::{Operation, PeerError, PeerScalar, SpmvOperands};

/// y = αAx + βy, or with the transpose, on the GPU, ready to be measured.
pub(crate) struct SpmvProblem<'l, V: PeerScalar> {
    pub(super) library: &'l Cusparse,
    pub(super) formats: Formats<V>,
    pub(super) operands: SpmvOperands<'l, V>,
    pub(super) x: Buffer<V>,
    pub(super) operation: Operation,
    /// The formats that could not be built, with the reasons.
    pub(super) unmade: Vec<(Format, PeerError)>,
}

impl Cusparse {
    /// Copies a problem to the GPU: CSR, and for the direct operation also COO, sliced ELL and BSR.
    ///
    /// # Errors
    ///
    /// If a vector has the wrong length, there is not enough memory, or the matrix has more nonzeros than 32 bits can
    /// count. A failure of another format is reported when it is measured.
    pub(in crate::peers) fn spmv_problem<'l, V: PeerScalar>(
        &'l self,
        matrix: &Csr<V>,
        operation: Operation,
        operands: SpmvOperands<'l, V>,
    ) -> Result<SpmvProblem<'l, V>, PeerError> {
        operation.check(matrix, operands)?;
        let mut formats = Formats::upload(self.runtime, matrix)?;
        let x = self.runtime.upload(operands.x)?;
        let mut unmade = Vec::new();
        if operation == Operation::Direct {
            let made = [
                (Format::Coo, formats.add_coo(self.runtime, matrix)),
                (Format::SlicedEll, formats.add_sliced_ell(self.runtime, matrix)),
                (Format::Bsr, formats.add_bsr(self.runtime, matrix)),
            ];
            unmade.extend(made.into_iter().filter_map(|(format, made)| Some((format, made.err()?))));
        }
        Ok(SpmvProblem { library: self, formats, operands, x, operation, unmade })
    }
}

/// A call that is ready to run.
pub(super) trait Run {
    fn run(&self) -> Result<(), PeerError>;
}

/// A product that is ready to run.
pub(super) struct Product<C, V> {
    pub(super) runtime: Runtime,
    pub(super) call: C,
    pub(super) y: Buffer<V>,
    /// y before a run whose result is asked for.
    pub(super) before: Vec<V>,
}

impl<C: Run, V: PeerScalar> Prepared<V> for Product<C, V> {
    fn time_ms(&mut self, runs: usize) -> Result<f64, PeerError> {
        sampled(&self.runtime, || self.call.run())(runs)
    }

    fn result(&mut self) -> Result<Vec<V>, PeerError> {
        self.y.write(&self.before)?;
        self.call.run()?;
        self.y.download()
    }
}
