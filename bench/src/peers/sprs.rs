//! The crate `sprs`, on one thread, with 32-bit indices like evenpath: products and sums.

use ::sprs::binop::csmat_binop;
use ::sprs::prod::{csr_mulacc_dense_rowmaj, mul_acc_mat_vec_csr};
use ::sprs::smmp::mul_csr_csr;
use ::sprs::{CsMatI, CsMatViewI};
use evenpath::Csr;
use ndarray::{ArrayView2, ArrayViewMut2};

use super::host::{HostClock, times_and_result};
use super::peer::{Peer, Prepared};
use super::{Operation, PeerError, PeerScalar, PreparedPeer, Ready};
use crate::measure::{Repetitions, Times, sampled, times_ms};

/// Its name among peers.
pub(super) const LIBRARY: &str = "sprs";

/// Prepares y = Ax.
pub(super) fn spmv<'p, V: PeerScalar>(matrix: &'p Csr<V>, x: &'p [V]) -> PreparedPeer<'p, V> {
    Peer::of_csr(LIBRARY, "mul_acc_mat_vec_csr", prepare(matrix, x))
}

fn prepare<'p, V: PeerScalar>(matrix: &'p Csr<V>, x: &'p [V]) -> Result<Ready<'p, V>, PeerError> {
    Operation::Direct.check_x(matrix, x)?;
    let prepared = Box::new(Product { matrix: view(matrix)?, x, y: vec![V::zero(); matrix.nrows()] });
    Ok(Ready { preprocessing_ms: 0.0, workspace_bytes: 0, prepared })
}

fn view<V: PeerScalar>(matrix: &Csr<V>) -> Result<CsMatViewI<'_, V, u32, u32>, PeerError> {
    CsMatViewI::try_new(matrix.shape(), matrix.row_offsets(), matrix.column_indices(), matrix.values())
        .map_err(|(.., error)| PeerError::Unsuitable(error.to_string()))
}

fn own<V: PeerScalar>(matrix: &CsMatI<V, u32, u32>) -> Result<Csr<V>, PeerError> {
    let offsets = matrix.proper_indptr().into_owned();
    let (columns, values) = (matrix.indices().to_vec(), matrix.data().to_vec());
    Csr::try_new(matrix.rows(), matrix.cols(), offsets, columns, values)
        .map_err(|error| PeerError::Unsuitable(error.to_string()))
}

/// Times of C = AB, and C.
///
/// # Errors
///
/// If the crate does not take the matrices.
pub(super) fn measure_spgemm<V: PeerScalar>(
    a: &Csr<V>,
    b: &Csr<V>,
    repetitions: Repetitions,
) -> Result<(Times, Csr<V>), PeerError> {
    let (a, b) = (view(a)?, view(b)?);
    let (times, c) = times_and_result(repetitions, || Ok(mul_csr_csr::<V, V, V, u32, u32>(a, b)))?;
    Ok((times, own(&c)?))
}

/// Times of C = αA + βB, and C.
///
/// # Errors
///
/// Those of [`measure_spgemm`].
pub(super) fn measure_spadd<V: PeerScalar>(
    (alpha, a): (V, &Csr<V>),
    (beta, b): (V, &Csr<V>),
    repetitions: Repetitions,
) -> Result<(Times, Csr<V>), PeerError> {
    let (a, b) = (view(a)?, view(b)?);
    let add = |a: &V, b: &V| {
        let mut sum = beta * *b;
        sum.mul_acc(&alpha, a);
        sum
    };
    let (times, c) = times_and_result(repetitions, || Ok(csmat_binop(a, b, add)))?;
    Ok((times, own(&c)?))
}

/// Times of C = AB for a dense B of this many columns, row by row, and C.
///
/// # Errors
///
/// Those of [`measure_spgemm`]; if B does not have a row for each column of A.
pub(super) fn measure_spmm<V: PeerScalar>(
    a: &Csr<V>,
    b: &[V],
    columns: usize,
    repetitions: Repetitions,
) -> Result<(Times, Vec<V>), PeerError> {
    let unsuitable = |error: ndarray::ShapeError| PeerError::Unsuitable(error.to_string());
    let dense = ArrayView2::from_shape((a.ncols(), columns), b).map_err(unsuitable)?;
    let (rows, a) = (a.nrows(), view(a)?);
    let mut c = vec![V::zero(); rows * columns];
    let times = times_ms(&HostClock, repetitions, || {
        c.fill(V::zero());
        let result = ArrayViewMut2::from_shape((rows, columns), &mut c).map_err(unsuitable)?;
        csr_mulacc_dense_rowmaj(a, dense, result);
        Ok::<_, PeerError>(())
    })?;
    Ok((times, c))
}

struct Product<'p, V> {
    matrix: CsMatViewI<'p, V, u32, u32>,
    x: &'p [V],
    y: Vec<V>,
}

impl<V: PeerScalar> Product<'_, V> {
    fn run(&mut self) {
        self.y.fill(V::zero());
        mul_acc_mat_vec_csr(self.matrix, self.x, self.y.as_mut_slice());
    }
}

impl<V: PeerScalar> Prepared<V> for Product<'_, V> {
    fn time_ms(&mut self, runs: usize) -> Result<f64, PeerError> {
        sampled(&HostClock, || {
            self.run();
            Ok(())
        })(runs)
    }

    fn result(&mut self) -> Result<Vec<V>, PeerError> {
        self.run();
        Ok(self.y.clone())
    }
}
