//! The time of y = Ax on ranks, by a model.
//!
//! A rank packs what others need, exchanges messages while it multiplies its local matrix, and then multiplies its non-local one:
//!
//! time = pack + max(local, exchange) + non-local
//!
//! The product takes as long as the slowest rank. Each of the three computations takes its bytes over the memory rate, where every array
//! counts once. The exchange is that of Hockney ("The communication challenge for MPP: Intel Paragon and Meiko CS-2", Parallel
//! Computing 20, 1994): latency times messages plus bytes over bandwidth, of what a rank sends or what it receives, whichever takes
//! longer. Messages come one after the other, which is too slow for ranks with many neighbors. What a launch takes, and x where it does
//! not stay in the cache, are left out, which is too fast for small and for scattered matrices.

use super::{RankVolume, Volumes};

/// What the model knows of a machine.
#[derive(Debug, Clone, Copy, PartialEq, clap::Args)]
pub struct Machine {
    /// Time of a small message, in µs. The default: a ring exchange of 8 KB between two H200 by NCCL.
    #[arg(long, value_name = "US", default_value_t = 10.7)]
    pub latency: f64,
    /// Rate of large messages, in GB/s one way. The default: 268 MB between two H200 by NVLink.
    #[arg(long, value_name = "GB/S", default_value_t = 305.0)]
    pub bandwidth: f64,
    /// Rate of a copy within a device's memory, bytes read and bytes written, in GB/s. The default: H200.
    #[arg(long, value_name = "GB/S", default_value_t = 4166.0)]
    pub memory_rate: f64,
}

/// A predicted time, in µs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Prediction {
    /// Of the whole product.
    pub time: f64,
    /// What the slowest rank takes for its local matrix.
    pub local: f64,
    /// What the slowest rank takes for its messages.
    pub exchange: f64,
    /// What the slowest rank takes for packing and its non-local matrix.
    pub boundary: f64,
}

/// Bytes of a column index, a row offset or a position.
const INDEX: u64 = 4;

impl Machine {
    /// The time of a product with values of `value` bytes.
    pub fn predict(&self, volumes: &Volumes, value: u64) -> Prediction {
        let of_rank = |rank| self.predict_rank(rank, value);
        let slowest = |a: Prediction, b: Prediction| if b.time > a.time { b } else { a };
        volumes.ranks.iter().map(of_rank).fold(Prediction::default(), slowest)
    }

    fn predict_rank(&self, rank: &RankVolume, value: u64) -> Prediction {
        // GB/s are 1000 bytes per µs.
        let memory = |bytes: u64| bytes as f64 / (self.memory_rate * 1e3);
        let pack = memory(rank.sent * (INDEX + 2 * value));
        let local =
            memory(rank.local_nonzeros * (INDEX + value) + rank.rows * (INDEX + value) + rank.cols * value);
        // The product of the boundary rows is written, read, and added to y, which is read and written.
        let sums = rank.boundary_rows * (2 * INDEX + 4 * value);
        let non_local = memory(rank.non_local_nonzeros * (INDEX + value) + rank.received * value + sums);
        let way = |messages: u64, elements: u64| {
            messages as f64 * self.latency + (elements * value) as f64 / (self.bandwidth * 1e3)
        };
        let exchange = way(rank.destinations, rank.sent).max(way(rank.sources, rank.received));
        Prediction {
            time: pack + local.max(exchange) + non_local,
            local,
            exchange,
            boundary: pack + non_local,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_rank_and_the_longer_of_product_and_exchange_count() {
        let machine = Machine { latency: 10.0, bandwidth: 1.0, memory_rate: 1.0 };
        let idle = RankVolume { rows: 1, ..Default::default() };
        let busy = RankVolume { rows: 100, cols: 100, local_nonzeros: 1000, ..Default::default() };
        let volumes = Volumes { ranks: vec![idle, busy] };
        let prediction = machine.predict(&volumes, 8);
        assert!((prediction.time - (12_000.0 + 1200.0 + 800.0) / 1e3).abs() < 1e-12, "{prediction:?}");
        let sending = RankVolume { sent: 10_000, destinations: 3, ..busy };
        let prediction = machine.predict(&Volumes { ranks: vec![idle, sending] }, 8);
        assert!((prediction.exchange - (30.0 + 80.0)).abs() < 1e-12, "{prediction:?}");
        assert!((prediction.time - (200.0 + 110.0)).abs() < 1e-12, "{prediction:?}");
    }
}
