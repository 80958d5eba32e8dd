//! The crate `sprs`: matrix times vector, on one thread, with 32-bit indices like evenpath.

use evenpath::Csr;
use sprs::CsMatViewI;
use sprs::prod::mul_acc_mat_vec_csr;

use super::host::HostClock;
use super::{Operation, PeerError, PeerRun, PeerTimes, PeerValue};
use crate::measure::{Repetitions, times_ms};

/// Times `repetitions` runs of y = Ax.
pub fn spmv<V: PeerValue>(matrix: &Csr<V>, x: &[V], repetitions: Repetitions) -> PeerRun<V> {
    PeerRun {
        algorithm: "mul_acc_mat_vec_csr".into(),
        format: "csr",
        outcome: measure(matrix, x, repetitions),
    }
}

fn measure<V: PeerValue>(
    matrix: &Csr<V>,
    x: &[V],
    repetitions: Repetitions,
) -> Result<PeerTimes<V>, PeerError> {
    Operation::Direct.check_x(matrix, x)?;
    let view = CsMatViewI::<V, u32, u32>::try_new(
        (matrix.rows(), matrix.cols()),
        matrix.row_offsets(),
        matrix.column_indices(),
        matrix.values(),
    )
    .map_err(|(.., error)| PeerError::Unsuitable(error.to_string()))?;
    let mut y = vec![V::zero(); matrix.rows()];
    let times_ms = times_ms(&HostClock, repetitions, || {
        y.fill(V::zero());
        mul_acc_mat_vec_csr(view, x, y.as_mut_slice());
        Ok::<_, PeerError>(())
    })?;
    Ok(PeerTimes { times_ms, preprocessing_ms: 0.0, workspace_bytes: 0, result: y })
}
