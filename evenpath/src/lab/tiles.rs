//! Sizes of tiles, for tests of their edges.

use crate::policy;

/// Number of entries per warp in SpMV of coordinates.
pub const COO_INTERVAL: u32 = policy::COO_INTERVAL;
