//! Sums of a matrix with itself and with its transpose, and conversion into the format.

use std::error::Error;

use evenpath::Csr;
use evenpath::hisparse::{HiSparseOptions, HiSparseSpaddMethod, HiSparseSpaddOptions};

use super::record::Sum;
use super::{Case, Tree};
use crate::measure::{median, times_ms};
use crate::peers::{PeerError, PeerValue};
use crate::operations::spadd::{Addend, check, fastest_peer};

/// A library's milliseconds for a sum.
struct PeerSum {
    ms: f64,
    /// For computing the transpose, if it is added.
    transpose_ms: Option<f64>,
}

impl Case<'_> {
    /// Milliseconds to convert a matrix from CSR on the device, including allocation.
    pub(super) fn conversion_ms<V: PeerValue, const D: usize>(
        &self,
        matrix: &Csr<V>,
    ) -> Result<f64, Box<dyn Error>> {
        let matrix = self.device.upload(matrix)?;
        let convert =
            || matrix.to_hisparse::<D>(HiSparseOptions::default()).map(drop).map_err(Box::<dyn Error>::from);
        Ok(median(&times_ms(self.device, self.repetitions, convert)?))
    }

    /// Measures A + A and, for square matrices, A + Aᵀ, in both formats and by the peers.
    pub(super) fn sums<V: PeerValue, const D: usize>(
        &self,
        matrix: &Csr<V>,
        tree: &Tree<V, D>,
    ) -> Result<Vec<Sum>, Box<dyn Error>> {
        let mut sums = Vec::new();
        for (op, addend) in [("add", Addend::Itself), ("add_transposed", Addend::Transpose)] {
            let Some(other) = addend.of(matrix) else { continue };
            let other_tree = if addend == Addend::Transpose { tree.transpose() } else { tree.clone() };
            let sum = |method| -> Result<_, Box<dyn Error>> {
                let options = HiSparseSpaddOptions::default().with_method(method);
                let add = || tree.add_with(&other_tree, options);
                let times = times_ms(self.device, self.repetitions, || add().map(drop))?;
                let result = add()?.to_csr()?.download()?;
                Ok((median(&times), check((V::ONE, matrix), (V::ONE, &other), &result).err()))
            };
            let (ms, difference) = sum(HiSparseSpaddMethod::Levels)?;
            let queued = self.is_whole().then(|| sum(HiSparseSpaddMethod::Queues)).transpose()?;
            let (queued_ms, queued_difference) = queued.unzip();
            let (a, b) = (self.device.upload(matrix)?, self.device.upload(&other)?);
            let csr = times_ms(self.device, self.repetitions, || a.add(V::ONE, &b, V::ONE).map(drop))?;
            let cusparse = self.cusparse_sum(matrix, &other, addend);
            let mkl = self.mkl_sum(matrix, &other, addend);
            sums.push(Sum {
                op,
                ms,
                queued_ms,
                csr_ms: median(&csr),
                cusparse_ms: cusparse.as_ref().map(|peer| peer.ms),
                cusparse_transpose_ms: cusparse.and_then(|peer| peer.transpose_ms),
                mkl_ms: mkl.as_ref().map(|peer| peer.ms),
                mkl_transpose_ms: mkl.and_then(|peer| peer.transpose_ms),
                difference: difference.or(queued_difference.flatten()),
            });
        }
        Ok(sums)
    }

    /// Milliseconds of cuSPARSE's fastest sum and, if the transpose is added, of `csr2csc`; `None` if it is not open, fails, or
    /// gives a different result.
    fn cusparse_sum<V: PeerValue>(&self, matrix: &Csr<V>, other: &Csr<V>, addend: Addend) -> Option<PeerSum> {
        let library = self.peers.cusparse()?;
        let mut failures = Vec::new();
        let (a, b) = ((V::ONE, matrix), (V::ONE, other));
        let sum = fastest_peer(library, a, b, self.repetitions, &mut failures);
        let transpose = (addend == Addend::Transpose).then(|| {
            let times = library.measure_transpose(matrix, self.repetitions);
            times.map_err(|error| failures.push(format!("cuSPARSE: {error}")))
        });
        for failure in failures {
            eprintln!("{}: {failure}", self.matrix);
        }
        let transpose = transpose.transpose().ok()?;
        Some(PeerSum { ms: sum?.ms, transpose_ms: transpose.map(|times| median(&times)) })
    }
    /// The same by MKL on the CPU.
    fn mkl_sum<V: PeerValue>(&self, matrix: &Csr<V>, other: &Csr<V>, addend: Addend) -> Option<PeerSum> {
        let mkl = self.peers.mkl()?;
        let (a, b) = ((V::ONE, matrix), (V::ONE, other));
        let sum = || {
            let (times, result) = mkl.measure_spadd(a, other, self.repetitions)?;
            check(a, b, &result).map_err(PeerError::Unsuitable)?;
            if addend != Addend::Transpose {
                return Ok(PeerSum { ms: median(&times), transpose_ms: None });
            }
            let (transpose, result) = mkl.measure_transpose(matrix, self.repetitions)?;
            if result != *other {
                return Err(PeerError::Unsuitable("its transpose is wrong".into()));
            }
            Ok(PeerSum { ms: median(&times), transpose_ms: Some(median(&transpose)) })
        };
        sum().map_err(|error| eprintln!("{}: MKL: {error}", self.matrix)).ok()
    }
}
