//! Sparse matrix times dense vector: y = αAx + βy.

mod adaptive;
mod carries;
mod flat;
mod light;
mod merge;
mod row;
mod rows;

pub use adaptive::{AdaptiveRows, RowBlockKind};
pub use flat::{FlatCompactRows, FlatFillEmptyRows, FlatPartition, FlatTile, FlatUpdate};
pub use light::LightRows;
pub use merge::{MergeFixup, MergePartition, MergeTile};
pub use rows::{BlockRows, VectorRows};

use evenpath_simt::{Float, GlobalMut};

/// Writes an element of the result, αsum + βy; where β is zero, whatever y held does not count.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn store_result<V: Float>(y: GlobalMut<V>, row: usize, sum: V, alpha: V, beta: V) {
    let product = alpha * sum;
    let value = if beta == V::ZERO { product } else { beta.fma(y.load(row), product) };
    y.store(row, value);
}
