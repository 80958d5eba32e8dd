//! Extent of measurements.

/// Extent of the measurements of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything.
    Whole,
    /// Measurements that the figures of the thesis show: rows, nodes and nodes of other sizes too, but no conversion and no
    /// product with several columns.
    Figures,
}
