//! Operands of the results of a tile.
use evenpath_simt::{device, thread, Arithmetic, Global, Shared};

use super::keep;
use super::origin::SumOrigin;
use super::output::SpaddOutput;
use crate::{GlobalCsr, Offset};

/// Results that a thread has in flight.
pub(super) const BATCH: usize = 8;

/// Both matrices starting at the tile's first nonzeros; A's from the one before, if there is one.
pub(super) struct Inputs<V> {
    a: (Global<u32>, Global<V>),
    b: (Global<u32>, Global<V>),
    keep: u32,
    alpha: V,
    beta: V,
    /// The walk has found the origins of each result of a sum; otherwise they are the same for all results.
    kept_bits: u32,
    fixed_bits: u32,
}

/// Operands of a thread's results: up to [`BATCH`] of the `total` results of a tile, `BLOCK` apart.
pub(super) struct Batch<V, const BLOCK: usize> {
    total: u32,
    origins: [SumOrigin; BATCH],
    columns: [u32; BATCH],
    values: [(V, V); BATCH],
}

impl<V: Arithmetic> Inputs<V> {
    /// Returns the nonzeros of A and B, starting at those numbers, with their factors.
    #[device(track_caller)]
    pub(super) fn new<O: Offset>(
        (a, b): (GlobalCsr<V, O>, GlobalCsr<V, O>),
        (a_first, b_first): (usize, usize),
        keep: u32,
        (alpha, beta): (V, V),
    ) -> Self {
        let (kept_bits, fixed_bits) = match keep {
            keep if keep & keep::B != 0 => (u32::MAX, 0),
            keep if keep & keep::MULTIPLY != 0 => (!SumOrigin::FROM, SumOrigin::FROM),
            _ => (!SumOrigin::FROM, SumOrigin::FROM_A),
        };
        Self {
            a: (a.column_indices.skip(a_first), a.values.skip(a_first)),
            b: (b.column_indices.skip(b_first), b.values.skip(b_first)),
            keep,
            alpha,
            beta,
            kept_bits,
            fixed_bits,
        }
    }

    /// Writes what the output has of `total` results, of the given origins.
    #[device(track_caller)]
    pub(super) fn write<O: Offset, const BLOCK: usize>(
        &self,
        origins: Shared<u32>,
        total: u32,
        output: SpaddOutput<V, O>,
    ) {
        let SpaddOutput { column_indices, values, .. } = output;
        let mut first = thread::index();
        while first < total {
            let own = self.origins::<BLOCK>(origins, (first, total));
            let mut own_columns = [0; BATCH];
            let mut own_values = [(V::ZERO, V::ZERO); BATCH];
            if output.has_pattern() {
                for item in 0..BATCH {
                    own_columns[item] = self.column(own[item]);
                }
            }
            if output.has_values() {
                for item in 0..BATCH {
                    own_values[item] = self.values(own[item]);
                }
                for item in 0..BATCH {
                    let place = first + (item * BLOCK) as u32;
                    if place < total {
                        values.store_streaming(place as usize, self.combine(own[item], own_values[item]));
                    }
                }
            }
            if output.has_pattern() {
                for item in 0..BATCH {
                    let place = first + (item * BLOCK) as u32;
                    if place < total {
                        column_indices.store_streaming(place as usize, own_columns[item]);
                    }
                }
            }
            first += (BATCH * BLOCK) as u32;
        }
    }

    /// Loads the operands of a tile's first results, of which there are `total`: [`BATCH`] for each thread of the
    /// block.
    #[device(track_caller)]
    pub(super) fn load<const BLOCK: usize>(&self, origins: Shared<u32>, total: u32) -> Batch<V, BLOCK> {
        let origins = self.origins::<BLOCK>(origins, (thread::index(), total));
        let mut batch = Batch { total, origins, columns: [0; BATCH], values: [(V::ZERO, V::ZERO); BATCH] };
        for item in 0..BATCH {
            batch.columns[item] = self.column(origins[item]);
        }
        for item in 0..BATCH {
            batch.values[item] = self.values(origins[item]);
        }
        batch
    }

    /// Writes the results that [`load`](Self::load) has loaded.
    #[device(track_caller)]
    pub(super) fn store<O: Offset, const BLOCK: usize>(
        &self,
        batch: &Batch<V, BLOCK>,
        output: SpaddOutput<V, O>,
    ) {
        for item in 0..BATCH {
            let place = thread::index() + (item * BLOCK) as u32;
            if place < batch.total {
                let value = self.combine(batch.origins[item], batch.values[item]);
                output.values.store_streaming(place as usize, value);
                output.column_indices.store_streaming(place as usize, batch.columns[item]);
            }
        }
    }

    /// Returns the origins of the results `first`, `first` + `BLOCK`, … as far as there are `total`.
    #[device(track_caller)]
    fn origins<const BLOCK: usize>(
        &self,
        origins: Shared<u32>,
        (first, total): (u32, u32),
    ) -> [SumOrigin; BATCH] {
        let mut own = [SumOrigin::NONE; BATCH];
        for item in 0..BATCH {
            let place = first + (item * BLOCK) as u32;
            if place < total {
                own[item] =
                    SumOrigin::from_word(origins.load(place as usize) & self.kept_bits | self.fixed_bits);
            }
        }
        own
    }

    #[device(track_caller)]
    fn column(&self, origin: SumOrigin) -> u32 {
        let of_a = self.a.0.load_if(origin.a(), origin.is_of_a());
        of_a | self.b.0.load_if(origin.b(), origin.is_of_b() && !origin.is_of_a())
    }

    /// Returns the values of A and of B; zero if they are not read.
    #[device(track_caller)]
    fn values(&self, origin: SumOrigin) -> (V, V) {
        (
            self.a.1.load_if(origin.a(), origin.is_of_a() && self.alpha != V::ZERO),
            self.b.1.load_if(origin.b(), origin.is_of_b() && self.beta != V::ZERO),
        )
    }

    #[device]
    fn combine(&self, origin: SumOrigin, (a, b): (V, V)) -> V {
        let (a, b) = (self.alpha * a, self.beta * b);
        if self.keep & keep::MULTIPLY != 0 {
            return a * b;
        }
        let a = if origin.is_of_a() { a } else { V::NEUTRAL };
        let b = if origin.is_of_b() { b } else { V::NEUTRAL };
        a + b
    }
}
