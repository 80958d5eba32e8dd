//! The operands and the result of a sum by queues.

use evenpath_simt::{parameters, Float, GlobalMut};

use crate::hisparse::node::Pool;
use crate::hisparse::pool_mut::PoolMut;

parameters! {
    /// Two trees of the same shape, and how they are added.
    pub struct SumTrees<V: Float> {
        /// A's pool.
        pub a: Pool<V>,
        /// B's pool.
        pub b: Pool<V>,
        /// Reference to A's root; at most one of the roots is null.
        pub a_root: u32,
        /// Reference to B's root.
        pub b_root: u32,
        /// A's factor.
        pub a_scale: V,
        /// B's factor.
        pub b_scale: V,
        /// Bits of [`state`](super::super::state).
        pub state: u32,
        /// The number of levels below the roots.
        pub height: u32,
        /// log2 of a node's rows.
        pub d_log2: u32,
    }
}

parameters! {
    /// The pool of a sum.
    pub struct SumPool<V: Float> {
        /// The pool, all zero before.
        pub pool: PoolMut<V>,
        /// Units of the pool, at most 2³⁰.
        pub units: u32,
        /// [`SUM_RESULTS`] words, all zero before: [`UNITS`], [`ENTRIES`] and [`ROOT`].
        pub results: GlobalMut<u64>,
    }
}

/// Words of a sum's results.
pub const SUM_RESULTS: usize = 3;
/// Units that were asked for, without the first, which belongs to no node. If the pool has fewer, the sum is incomplete.
pub const UNITS: usize = 0;
/// Entries of all leaves.
pub const ENTRIES: usize = 1;
/// The reference to the root.
pub const ROOT: usize = 2;
