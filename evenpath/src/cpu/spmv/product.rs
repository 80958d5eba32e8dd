//! A single product: the matrix is cut and multiplied.

use super::cut::SpmvCut;
use super::groups::SpmvGroups;
use super::tiles::SpmvTiles;
use crate::scalar::ForKind;
use crate::{CsrView, Offset, Scalar, Value};

/// Computes `y = alpha A x + beta y` by tiles that are made for this product. If `beta` is 0, `y` is overwritten without being read.
/// `x` has one element per column and `y` one per row.
pub(crate) fn spmv<V: Scalar, O: Offset>(
    matrix: CsrView<'_, V, O>,
    cut: SpmvCut,
    (alpha, x): (V, &[V]),
    (beta, y): (V, &mut [V]),
) {
    V::by_kind(Product { matrix, cut, alpha, x, beta, y });
}

/// Operands of [`spmv`].
struct Product<'a, V, O> {
    matrix: CsrView<'a, V, O>,
    cut: SpmvCut,
    alpha: V,
    x: &'a [V],
    beta: V,
    y: &'a mut [V],
}

impl<V: Scalar, O: Offset> Product<'_, V, O> {
    /// Multiplies row by row, with instructions that every machine has.
    fn by_rows(self) {
        let Self { matrix, cut, alpha, x, beta, y } = self;
        let tiles = SpmvTiles::by_rows(matrix.row_offsets(), matrix.column_indices(), cut);
        tiles.multiply_wide(matrix, alpha, x, beta, y);
    }
}

impl<V: Scalar, O: Offset> ForKind<V> for Product<'_, V, O> {
    type Output = ();

    fn value(self)
    where
        V: Value,
    {
        let Self { matrix, cut, alpha, x, beta, y } = self;
        let groups = SpmvGroups::Ignored;
        let tiles = SpmvTiles::new(matrix.row_offsets(), matrix.column_indices(), cut, groups);
        tiles.multiply(matrix, alpha, x, beta, y);
    }

    fn complex(self) {
        self.by_rows();
    }

    fn half(self) {
        self.by_rows();
    }
}
