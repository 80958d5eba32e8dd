//! Shortest paths: distances that edges of the frontier shorten, until none does (Bellman, Ford).

use evenpath_simt::atomic::{AtomicInteger, Ordering, Scope};
use evenpath_simt::{device, kernel, Arena, Arithmetic, Global, GlobalMut};

use super::frontier::Frontier;
use crate::block::list::UnorderedList;
use crate::{GlobalPattern, Offset};

/// Lengths of edges that are not negative: their bits are in the order of the lengths.
pub trait Distance: Arithmetic {
    /// Integer with the same bits.
    type Bits: AtomicInteger;
    /// Returns the bits.
    fn bits(self) -> Self::Bits;
    /// Returns the length that has such bits.
    fn of_bits(bits: Self::Bits) -> Self;
}

macro_rules! distances {
    ($($type:ident: $bits:ident),*) => {$(
        impl Distance for $type {
            type Bits = $bits;
            #[device]
            fn bits(self) -> $bits {
                $type::to_bits(self)
            }
            #[device]
            fn of_bits(bits: $bits) -> Self {
                $type::from_bits(bits)
            }
        }
    )*};
}
distances!(f32: u32, f64: u64);

kernel! {
    /// Shortens the distances of the vertices that edges of the frontier enter: equal numbers of edges per thread. Edges whose
    /// length is NaN are left out.
    pub struct RelaxEdges<V: Distance, O: Offset> {
        /// The graph.
        pub pattern: GlobalPattern<O>,
        /// The length of each edge; none is negative.
        pub lengths: Global<V>,
        /// The vertices whose distances became less in the round before.
        pub frontier: Frontier<O>,
        /// Output: those whose distances become less.
        pub next: UnorderedList,
        /// The bits of the distance of each vertex.
        pub distances: GlobalMut<<V as Distance>::Bits>,
        /// The last round in which each vertex was listed.
        pub listed: GlobalMut<u32>,
        /// The number of the round.
        pub round: u32,
    }
    shared: 0;
    body: RelaxEdges::relax::<BLOCK, ITEMS>;
    entry: graph_relax_edges_{V}_{O} in graph: V in [f32, f64], O in [u32, u64], 256 x 8;
}

impl<V: Distance, O: Offset> RelaxEdges<V, O> {
    #[device]
    fn relax<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let Self { pattern, lengths, frontier, next, distances, listed, round } = self;
        frontier.each_edge::<BLOCK, ITEMS>(pattern, |edge, is_edge| {
            let mut is_new = false;
            if is_edge {
                let before = distances.atomic_load(edge.from as usize, Ordering::Relaxed, Scope::Device);
                // A negative zero has the bits of a great number.
                let distance = (V::of_bits(before) + (lengths.load(edge.place) + V::ZERO)).bits();
                let to = edge.to as usize;
                is_new = distance < distances.fetch_min(to, distance, Ordering::Relaxed, Scope::Device)
                    && listed.exchange(to, round, Ordering::Relaxed, Scope::Device) != round;
            }
            next.add(edge.to, is_new);
        });
    }
}
