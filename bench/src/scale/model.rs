//! The time of y = Ax on ranks, by a model.
//!
//! A rank packs what others need and exchanges messages while it multiplies its local matrix, then multiplies its non-local one and adds
//! that product to y:
//!
//! time = max(local, pack + exchange) + non-local
//!
//! The product takes as long as the slowest rank. Each of the computations takes the time of its launches, and its bytes over a rate,
//! where every array counts once: that of products where they are products, else that of a copy. A product's rate is below a copy's where
//! x does not stay in the cache. The exchange is that of Hockney ("The communication challenge for MPP: Intel Paragon and Meiko CS-2",
//! Parallel Computing 20, 1994): latency times messages plus bytes over bandwidth, of what a rank sends or what it receives, whichever
//! takes longer. Messages come one after the other, which is too slow for ranks with many neighbors.
//!
//! A step of conjugate gradients is a product, three sums of vectors and two inner products, which the host waits for.

use std::fmt;

use super::{RankVolume, Volumes};

/// Knowledge of the model about a machine.
#[derive(Debug, Clone, Copy, PartialEq, clap::Args)]
pub(crate) struct Machine {
    /// Time of a small message, in µs. The default: a ring exchange of 8 KB between two H200 by NCCL.
    #[arg(long, value_name = "US", default_value_t = 10.7)]
    pub(crate) latency: f64,
    /// Rate of large messages, in GB/s one way. The default: 268 MB between two H200 by NVLink.
    #[arg(long, value_name = "GB/S", default_value_t = 305.0)]
    pub(crate) bandwidth: f64,
    /// Rate of a copy within a device's memory, bytes read and bytes written, in GB/s. The default: H200.
    #[arg(long, value_name = "GB/S", default_value_t = 4166.0)]
    pub(crate) memory_rate: f64,
    /// Rate of a product with a matrix on one device, where every array counts once, in GB/s. [default: that of a copy]
    #[arg(long, value_name = "GB/S")]
    pub(crate) product_rate: Option<f64>,
    /// Time of a kernel that has next to nothing to do, behind others on its stream, in µs.
    #[arg(long, value_name = "US", default_value_t = 2.5)]
    pub(crate) launch: f64,
    /// Time of an inner product of short vectors, from its launch until all ranks have it, in µs.
    #[arg(long, value_name = "US", default_value_t = 30.0)]
    pub(crate) dot: f64,
}

/// A predicted time, in µs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Prediction {
    /// Time of the whole product.
    pub(crate) time: f64,
    /// Time of the slowest rank for its local matrix.
    pub(crate) local: f64,
    /// Time of the slowest rank for its messages.
    pub(crate) exchange: f64,
    /// Time of the slowest rank for packing and its non-local matrix.
    pub(crate) boundary: f64,
}

/// Bytes of a column index, a row offset or a position.
const INDEX: u64 = 4;
/// Elements that a step of conjugate gradients reads and writes for each row, beside the product: three sums of vectors, and two inner
/// products, one of them of a vector with itself.
const STEP_ELEMENTS: u64 = 3 * 3 + 2 + 1;

impl RankVolume {
    /// The bytes of the product with the local matrix, every array once.
    pub(crate) fn local_bytes(&self, value: u64) -> u64 {
        self.local_nonzeros * (INDEX + value) + self.rows * (INDEX + value) + self.cols * value
    }
}

impl Machine {
    /// The time of a product with values of `value` bytes.
    pub(crate) fn predict(&self, volumes: &Volumes, value: u64) -> Prediction {
        let of_rank = |rank| self.predict_rank(rank, value);
        let slowest = |a: Prediction, b: Prediction| if b.time > a.time { b } else { a };
        volumes.ranks.iter().map(of_rank).fold(Prediction::default(), slowest)
    }

    /// The time of a step of conjugate gradients, in µs.
    pub(crate) fn predict_step(&self, volumes: &Volumes, value: u64) -> f64 {
        let vectors = self.memory(volumes.most(|rank| rank.rows) * STEP_ELEMENTS * value);
        self.predict(volumes, value).time + vectors + 3.0 * self.launch + 2.0 * self.dot
    }

    /// The rate of products, in GB/s, if the product with these matrices took this many µs.
    #[must_use]
    pub(crate) fn with_product(self, rank: &RankVolume, value: u64, us: f64) -> Self {
        let rate = rank.local_bytes(value) as f64 / 1e3 / (us - self.launch);
        let product_rate = (rate.is_finite() && rate > 0.0).then_some(rate);
        Self { product_rate, ..self }
    }

    /// The time to copy, in µs: GB/s are 1000 bytes per µs.
    fn memory(&self, bytes: u64) -> f64 {
        bytes as f64 / (self.memory_rate * 1e3)
    }

    fn product(&self, bytes: u64) -> f64 {
        bytes as f64 / (self.product_rate.unwrap_or(self.memory_rate) * 1e3)
    }

    fn predict_rank(&self, rank: &RankVolume, value: u64) -> Prediction {
        let launches = |count: f64, elements: u64| if elements == 0 { 0.0 } else { count * self.launch };
        let pack = launches(1.0, rank.sent) + self.memory(rank.sent * (INDEX + 2 * value));
        let local = self.launch + self.product(rank.local_bytes(value));
        // The product of the boundary rows is written, read, and added to y, which is read and written.
        let sums = self.memory(rank.boundary_rows * (2 * INDEX + 4 * value));
        let entries = rank.non_local_nonzeros * (INDEX + value) + rank.received * value;
        let non_local = launches(2.0, rank.received) + self.product(entries) + sums;
        let way = |messages: u64, elements: u64| {
            messages as f64 * self.latency + (elements * value) as f64 / (self.bandwidth * 1e3)
        };
        let exchange = way(rank.destinations, rank.sent).max(way(rank.sources, rank.received));
        Prediction {
            time: local.max(pack + exchange) + non_local,
            local,
            exchange,
            boundary: pack + non_local,
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { latency, bandwidth, memory_rate, product_rate, launch, dot } = self;
        write!(f, "latency {latency:.1} µs, bandwidth {bandwidth:.1} GB/s, memory {memory_rate:.0} GB/s")?;
        if let Some(rate) = product_rate {
            write!(f, ", products {rate:.0} GB/s")?;
        }
        write!(f, ", launch {launch:.1} µs, inner product {dot:.1} µs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine {
        latency: 10.0,
        bandwidth: 1.0,
        memory_rate: 1.0,
        product_rate: None,
        launch: 0.0,
        dot: 0.0,
    };
    const BUSY: RankVolume = RankVolume {
        rows: 100,
        cols: 100,
        local_nonzeros: 1000,
        non_local_nonzeros: 0,
        boundary_rows: 0,
        received: 0,
        sources: 0,
        sent: 0,
        destinations: 0,
    };

    fn assert_near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, and not {expected}");
    }

    #[test]
    fn the_slowest_rank_and_the_longer_of_product_and_exchange_count() {
        let idle = RankVolume { rows: 1, ..Default::default() };
        let volumes = Volumes { ranks: vec![idle, BUSY] };
        assert_near(MACHINE.predict(&volumes, 8).time, (12_000.0 + 1200.0 + 800.0) / 1e3);
        let sending = RankVolume { sent: 10_000, destinations: 3, ..BUSY };
        let prediction = MACHINE.predict(&Volumes { ranks: vec![idle, sending] }, 8);
        assert_near(prediction.exchange, 30.0 + 80.0);
        assert_near(prediction.time, 200.0 + 110.0);
        // Messages that the product hides cost nothing.
        let few = RankVolume { sent: 10, destinations: 1, ..BUSY };
        assert_near(MACHINE.predict(&Volumes { ranks: vec![few] }, 8).time, 14.0);
    }

    #[test]
    fn launches_count_where_there_is_something_to_do() {
        let machine = Machine { launch: 5.0, ..MACHINE };
        assert_near(machine.predict(&Volumes { ranks: vec![BUSY] }, 8).time, 5.0 + 14.0);
        let receiving =
            RankVolume { received: 100, sources: 1, boundary_rows: 10, non_local_nonzeros: 100, ..BUSY };
        let non_local = 2.0 * 5.0 + (1200.0 + 800.0 + 10.0 * 40.0) / 1e3;
        assert_near(machine.predict(&Volumes { ranks: vec![receiving] }, 8).time, 5.0 + 14.0 + non_local);
    }

    #[test]
    fn the_rate_of_a_product_explains_it() {
        let machine = Machine { launch: 5.0, ..MACHINE }.with_product(&BUSY, 8, 33.0);
        assert_eq!(machine.product_rate, Some(0.5));
        assert_near(machine.predict(&Volumes { ranks: vec![BUSY] }, 8).time, 33.0);
        assert_eq!(Machine { launch: 5.0, ..MACHINE }.with_product(&BUSY, 8, 5.0).product_rate, None);
    }

    #[test]
    fn a_step_is_a_product_and_its_vectors() {
        let machine = Machine { launch: 5.0, dot: 20.0, ..MACHINE };
        let vectors = 100.0 * 12.0 * 8.0 / 1e3;
        assert_near(machine.predict_step(&Volumes { ranks: vec![BUSY] }, 8), 19.0 + vectors + 15.0 + 40.0);
    }
}
