//! The entries of C that tiles of products have.

use crate::device::DeviceVec;
use crate::op::spgemm::method::SpgemmMethod;

/// How the products of a tile are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::op::spgemm) enum BlockSort {
    /// By row and column: only rows that tiles cut are sorted again.
    #[default]
    ByRow,
    /// By column alone, as published: all entries are sorted again.
    ByColumn,
}

impl BlockSort {
    /// The sort of a method: by column for `column-sort`, and by row for the others.
    pub(in crate::op::spgemm) fn of(method: SpgemmMethod) -> Self {
        if method == SpgemmMethod::ColumnSort { Self::ByColumn } else { Self::ByRow }
    }

    /// The method with this sort.
    pub(super) fn method(self) -> SpgemmMethod {
        match self {
            Self::ByRow => SpgemmMethod::TwoLevelSort,
            Self::ByColumn => SpgemmMethod::ColumnSort,
        }
    }
}

/// Coordinates of the entries of each tile, starting at the tile's first product.
pub(super) struct TileEntries {
    pub(super) columns: DeviceVec<u32>,
    /// Rows, where tiles are sorted by column alone.
    pub(super) rows: Option<DeviceVec<u32>>,
}
