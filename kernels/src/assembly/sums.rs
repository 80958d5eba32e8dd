//! Values of a matrix from those of its triplets.

use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Global, GlobalMut};

use super::FIXED_ENTRY;

/// Terms that a thread loads before it adds any.
const IN_FLIGHT: usize = 4;

kernel! {
    /// Adds up the triplets of each entry, in their order: one thread per entry.
    pub struct SumRuns<V: Arithmetic> {
        /// Values of the triplets.
        pub values: Global<V>,
        /// Positions of the triplets, sorted by entry.
        pub positions: Global<u32>,
        /// First position of each entry, and the end; every entry has one or more.
        pub run_offsets: Global<u32>,
        /// Output: the sum of each entry.
        pub sums: GlobalMut<V>,
        /// Value of an entry whose position is [`FIXED_ENTRY`].
        pub diagonal: V,
        /// Number of entries.
        pub entries: u32,
    }
    shared: 0;
    body: SumRuns::sum_runs::<BLOCK>;
    entry: assembly_sum_runs_{V} in assembly: V in [f32, f64], 256 x 1;
}

impl<V: Arithmetic> SumRuns<V> {
    #[device]
    fn sum_runs<const BLOCK: usize>(self, _: Arena) {
        let entry = thread::global_index::<BLOCK>();
        if entry >= self.entries as usize {
            return;
        }
        let begin = self.run_offsets.load(entry) as usize;
        let end = self.run_offsets.load(entry + 1) as usize;
        let (mut at, mut sum) = (begin, V::ZERO);
        while at < end {
            let (mut places, mut terms) = ([0_u32; IN_FLIGHT], [V::ZERO; IN_FLIGHT]);
            for item in 0..IN_FLIGHT {
                places[item] = self.positions.load_if(at + item, at + item < end);
            }
            for item in 0..IN_FLIGHT {
                let is_term = at + item < end && places[item] != FIXED_ENTRY;
                terms[item] = self.values.load_if(places[item] as usize, is_term);
            }
            if places[0] == FIXED_ENTRY {
                sum = self.diagonal;
                break;
            }
            // Not added to zero: the sum of one term is the term.
            sum = if at == begin { terms[0] } else { sum + terms[0] };
            for item in 1..IN_FLIGHT {
                if at + item < end {
                    sum += terms[item];
                }
            }
            at += IN_FLIGHT;
        }
        self.sums.store(entry, sum);
    }
}
