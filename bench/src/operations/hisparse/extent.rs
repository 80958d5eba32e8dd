//! Extent of measurements.

/// Extent of the measurements of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything.
    Whole,
    /// Measurements that the figures of the thesis show: the nodes too, but no conversion, no product with several columns,
    /// no sum by queues.
    Figures,
}
