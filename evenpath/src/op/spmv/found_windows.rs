//! Statistics of the windows of x that the blocks of rows of a matrix use.

/// The least number of uses of a window's elements for which windows pay.
const USES: u64 = 3;

/// Statistics of a matrix's windows.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowStatistics {
    /// Nonzeros of the blocks that have a window.
    pub(super) covered: u64,
    /// Elements of all windows.
    pub(super) elements: u64,
    /// Elements of the longest window.
    pub(super) longest: u64,
    /// Nonzeros whose column is just after the one before.
    pub(super) near: u64,
}

impl WindowStatistics {
    #[cfg(test)]
    pub(super) fn of(covered: u64, elements: u64, near: u64) -> Self {
        Self { covered, elements, longest: elements, near }
    }

    /// Returns the number of nonzeros that use an element of a window.
    pub(super) fn uses(self) -> u64 {
        self.covered / self.elements.max(1)
    }

    /// Returns whether gathering from windows is faster: nearly all rows have one, their elements are used again, and the columns
    /// are scattered, so that a cache would need one line per nonzero; or `with_neighbors`, if they are not.
    pub(super) fn are_worth_it(self, nonzeros: u64, with_neighbors: bool) -> bool {
        let is_hard_to_cache = with_neighbors || !self.have_neighbors(nonzeros);
        self.cover(nonzeros) && self.uses() >= USES && is_hard_to_cache
    }

    /// Returns whether columns are scattered wider than windows are.
    pub(super) fn are_too_narrow(self, nonzeros: u64) -> bool {
        !self.cover(nonzeros) && !self.have_neighbors(nonzeros)
    }

    fn cover(self, nonzeros: u64) -> bool {
        self.covered >= nonzeros / 10 * 9
    }

    fn have_neighbors(self, nonzeros: u64) -> bool {
        self.near >= nonzeros / 2
    }
}
