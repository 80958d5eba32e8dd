//! How much is measured.

/// How much of a matrix to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything.
    Whole,
    /// What the figures of the thesis show: no conversion, no product with several columns, no sum by queues.
    Figures,
}
