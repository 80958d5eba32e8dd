//! The crate `sprs`: matrix times vector, on one thread, with 32-bit indices like evenpath.

use evenpath::Csr;
use sprs::CsMatViewI;
use sprs::prod::mul_acc_mat_vec_csr;

use super::host::HostClock;
use super::{Operation, PeerError, PeerValue, Prepared, PreparedPeer, Ready};
use crate::measure::sampled;

/// Prepares y = Ax.
pub fn spmv<'p, V: PeerValue>(matrix: &'p Csr<V>, x: &'p [V]) -> PreparedPeer<'p, V> {
    PreparedPeer { algorithm: "mul_acc_mat_vec_csr".into(), format: "csr", outcome: prepare(matrix, x) }
}

fn prepare<'p, V: PeerValue>(matrix: &'p Csr<V>, x: &'p [V]) -> Result<Ready<'p, V>, PeerError> {
    Operation::Direct.check_x(matrix, x)?;
    let view = CsMatViewI::<V, u32, u32>::try_new(
        (matrix.rows(), matrix.cols()),
        matrix.row_offsets(),
        matrix.column_indices(),
        matrix.values(),
    )
    .map_err(|(.., error)| PeerError::Unsuitable(error.to_string()))?;
    let prepared = Box::new(Product { matrix: view, x, y: vec![V::zero(); matrix.rows()] });
    Ok(Ready { preprocessing_ms: 0.0, workspace_bytes: 0, prepared })
}

struct Product<'p, V> {
    matrix: CsMatViewI<'p, V, u32, u32>,
    x: &'p [V],
    y: Vec<V>,
}

impl<V: PeerValue> Product<'_, V> {
    fn run(&mut self) {
        self.y.fill(V::zero());
        mul_acc_mat_vec_csr(self.matrix, self.x, self.y.as_mut_slice());
    }
}

impl<V: PeerValue> Prepared<V> for Product<'_, V> {
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
