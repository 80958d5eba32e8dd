//! Owners of the elements of vectors.

use super::allocation::Release;
use super::memory_limit::Reservation;

/// Owner of a vector's elements.
pub(super) enum Owner<T> {
    /// The allocation that contains the elements, or nothing.
    Device,
    /// A host vector, accessed only through the elements, and the count of its bytes.
    Host {
        #[expect(dead_code)]
        elements: Vec<T>,
        counted: Reservation,
    },
    /// Other code.
    Foreign(#[expect(dead_code)] Foreign),
}

/// Foreign host memory.
pub(super) struct Foreign(Option<Release>);

impl Foreign {
    pub(super) fn new(release: Release) -> Self {
        Self(Some(release))
    }
}

// SAFETY: `release` is called once, by the thread that drops it.
unsafe impl Sync for Foreign {}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}
