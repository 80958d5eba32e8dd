//! What the elements of a vector belong to.

use super::allocation::Release;
use super::memory_limit::Reservation;

/// What a vector's elements belong to.
pub(super) enum Owner<T> {
    /// The allocation that the elements are in, or nothing.
    Device,
    /// A vector of the host, used only through the elements, and the count of its bytes.
    Host {
        #[expect(dead_code)]
        elements: Vec<T>,
        counted: Reservation,
    },
    /// Somebody else.
    Foreign(#[expect(dead_code)] Foreign),
}

/// Memory of the host that somebody else made.
pub(super) struct Foreign(Option<Release>);

impl Foreign {
    pub(super) fn new(release: Release) -> Self {
        Self(Some(release))
    }
}

// SAFETY: what gives the memory back is called once, by the one who drops it.
unsafe impl Sync for Foreign {}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}
