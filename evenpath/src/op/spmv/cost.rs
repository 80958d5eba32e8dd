//! Estimated time of a product by each method, from few terms whose costs were fitted to measurements.
//!
//! A product takes the launch and, beside each other, what all of its threads need together (*throughput*: bytes, rows, nonzeros,
//! sectors of x, and lanes that wait for longer rows) and what one thread does one behind the other (the *chain*, mostly of the
//! longest row). The two are put together as sides of a right triangle: the larger counts, and a little of the smaller.

use evenpath_simt::ScalarType;

use super::costs::{Costs, Terms};
use super::features::Features;
use super::gathers::Gathers;
use super::lengths::Lengths;
use super::thresholds::BLOCK_THREADS;

/// Nonzeros that a warp of row tiles loads at once, about.
const CHUNK: f64 = 256.0;
/// Nonzeros of a row for which row tiles and row blocks have one lane, about, when they add up.
const NONZEROS_OF_LANE: f64 = 10.0;
/// Bytes that memory delivers at once.
const SECTOR: f64 = 32.0;
/// Sizes of x, in parts of the shared memory of a block, up to which the first-level cache holds all of it, and from which it
/// holds none.
const NEAR: (f64, f64) = (0.6, 0.95);
/// Additional steps that a step counts if its elements of x come from the second-level cache.
const FAR_STEPS: f64 = 3.0;
/// Multiprocessors of the device that the costs are of: others are taken to have as much bandwidth for each.
const MULTIPROCESSORS: f64 = 132.0;
/// Sizes of the data, in parts of the second-level cache, up to which nothing is read from memory, and from which everything is.
const CACHED: (f64, f64) = (0.6, 1.2);

impl Costs {
    /// Returns the microseconds that a product with these amounts takes on the device that the costs are of.
    pub(super) fn microseconds(&self, amounts: &Terms) -> f64 {
        let (throughput, chain) = (self.terms.throughput(amounts), self.terms.chain(amounts));
        self.launch + (throughput * throughput + chain * chain).sqrt()
    }
}

/// A matrix as the terms need it. Rows, nonzeros and threads are counted in waves: as many as there are threads that run at once.
pub(super) struct Matrix {
    value_bytes: f64,
    wave: f64,
    rows: f64,
    nonzeros: f64,
    /// Nonzeros per row.
    mean: f64,
    longest: f64,
    /// Rows that have nonzeros.
    filled: f64,
    /// Rows that have more of them than `limit`.
    long_rows: f64,
    long_nonzeros: f64,
    limit: f64,
    /// Megabytes of the matrix and its vectors, and those of them that are read from memory.
    megabytes: f64,
    from_memory: f64,
    /// Millions of sectors of x that neighboring nonzeros read, from the first-level cache and from the second.
    near: f64,
    far: f64,
    /// Sectors from the second, for each nonzero.
    far_share: f64,
    /// Nonzeros of a row block.
    row_block: f64,
}

impl Matrix {
    pub(super) fn new(features: &Features) -> Self {
        let Lengths { longest, empty, mean, limit, long } = features.lengths;
        let (rows, nonzeros) = (features.rows as f64, features.nonzeros as f64);
        let bytes = features.bytes() as f64;
        let share = MULTIPROCESSORS / features.multiprocessors.max(1) as f64;
        let megabytes = bytes / 1e6 * share;
        let (first, last) = CACHED;
        let miss = features.l2_bytes.map_or(1.0, |l2| ramp(bytes / l2.max(1) as f64, first, last));
        let Gathers { sectors, x_bytes, shared_bytes, .. } = features.gathers;
        let sectors_each = sectors.unwrap_or(0.0);
        let sectors = sectors_each * nonzeros / 1e6 * share;
        let far = ramp(x_bytes as f64 / shared_bytes.max(1) as f64, NEAR.0, NEAR.1);
        Self {
            value_bytes: features.value.size() as f64,
            wave: features.wave().max(1) as f64,
            rows,
            nonzeros,
            mean,
            longest: longest as f64,
            filled: features.rows.saturating_sub(empty).max(1) as f64,
            long_rows: long.rows as f64,
            long_nonzeros: long.nonzeros as f64,
            limit: f64::from(limit),
            megabytes,
            from_memory: megabytes * miss,
            near: sectors * (1.0 - far),
            far: sectors * far,
            far_share: sectors_each * far,
            row_block: match features.value {
                ScalarType::F32 | ScalarType::C32 => 1024.0,
                ScalarType::C64 => 768.0,
                _ => 1536.0,
            },
        }
    }

    /// Terms of every method: the bytes, and a wave of threads for `threads` per row.
    fn terms(&self, threads: f64) -> Terms {
        Terms {
            memory: self.from_memory,
            cache: self.megabytes,
            rows: self.rows * threads / self.wave,
            near: self.near,
            far: self.far,
            ..Terms::default()
        }
    }

    /// The longest of `rows` neighboring rows that have nonzeros and are not long, if lengths fall off exponentially: of all
    /// rows it is known.
    fn longest_of_others(&self, rows: f64) -> f64 {
        let others = (self.filled - self.long_rows).max(1.0);
        let mean = ((self.nonzeros - self.long_nonzeros) / others).max(1.0);
        let longest = if self.long_rows > 0.0 { self.longest.min(self.limit) } else { self.longest };
        let part = (rows.max(1.0).log2() / self.filled.max(2.0).log2()).min(1.0);
        mean + (longest.max(mean) - mean) * part
    }

    /// The longest of `rows` neighboring rows that have nonzeros: a long one, where there is one among them.
    fn longest_of(&self, rows: f64) -> f64 {
        let others = self.longest_of_others(rows);
        if self.long_rows == 0.0 {
            return others;
        }
        let share = (rows * self.long_rows / self.filled).min(1.0);
        share * self.long_nonzeros / self.long_rows + (1.0 - share) * others
    }

    /// Lanes per row: a warp takes as many steps as the longest of its rows. Lanes that read less than a sector at once read it
    /// again, step by step.
    pub(super) fn lanes(&self, lanes: u32) -> Terms {
        let lanes = f64::from(lanes);
        let steps = (self.nonzeros / self.filled / lanes).max(1.0);
        let threads = self.filled * lanes / self.wave;
        let terms = self.terms(lanes);
        Terms {
            work: threads * steps,
            uneven: threads * (self.longest_of(32.0 / lanes) / lanes).max(1.0),
            again: self.megabytes * ((SECTOR / (lanes * self.value_bytes)).max(1.0).min(steps) - 1.0),
            steps: self.steps((self.longest / lanes).ceil().max(1.0)),
            more: ramp(terms.rows, 0.5, 2.0),
            ..terms
        }
    }

    /// Steps of a row one behind the other, by lanes: one that waits for the second-level cache counts as several.
    fn steps(&self, steps: f64) -> f64 {
        steps * (1.0 + FAR_STEPS * self.far_share)
    }

    pub(super) fn block(&self) -> Terms {
        let threads = BLOCK_THREADS as f64;
        Terms {
            work: self.nonzeros / self.wave,
            steps: self.steps((self.longest / threads).ceil()),
            ..self.terms(threads)
        }
    }

    pub(super) fn row_tiles(&self) -> Terms {
        let rows = rows_of_warp(self.mean);
        self.of_tiles(self.mean, self.longest, self.longest_of(rows))
    }

    /// Row tiles of what is not long, and the rest in pieces.
    pub(super) fn binned(&self) -> Terms {
        let mean = (self.nonzeros - self.long_nonzeros) / (self.rows - self.long_rows).max(1.0);
        let longest = self.longest.min(self.limit).max(1.0);
        let terms = self.of_tiles(mean, longest, self.longest_of_others(rows_of_warp(mean)));
        Terms { long: self.long_nonzeros / self.wave, ..terms }
    }

    /// A warp loads the nonzeros of a number of rows that suits the mean, in chunks, and then adds each row up, by more lanes
    /// the longer the mean row. Where many rows are empty, a warp may find none in a place and several times the mean in another.
    fn of_tiles(&self, mean: f64, longest: f64, longest_of_warp: f64) -> Terms {
        let lanes = lanes_of_sums(mean);
        let threads = self.rows / rows_of_warp(mean) * 32.0 / self.wave;
        Terms {
            uneven: threads * longest_of_warp / lanes,
            again: threads * (longest_of_warp / CHUNK).max(1.0),
            steps: longest / lanes,
            loads: longest / CHUNK,
            more: (self.rows / self.filled - 1.0).clamp(0.0, 20.0),
            ..self.terms(1.0)
        }
    }

    /// A block loads the nonzeros of rows that fill it, and then adds them up as row tiles do. A row that does not fit has a
    /// block of 128 threads to itself.
    pub(super) fn row_blocks(&self) -> Terms {
        let (lanes, items) = (lanes_of_sums(self.mean), self.row_block);
        let rows = (items / self.mean.max(0.1)).max(1.0);
        let nonzeros = self.nonzeros / self.wave;
        Terms {
            work: nonzeros,
            uneven: nonzeros / items * 128.0 * self.longest_of(rows).min(items) / lanes,
            steps: self.longest.min(items) / lanes,
            loads: (self.longest - items).max(0.0) / 128.0,
            ..self.terms(1.0)
        }
    }

    /// Equal shares of `items` for each block: only a row over several blocks takes longer.
    pub(super) fn tiles(&self, items: f64) -> Terms {
        Terms {
            work: self.nonzeros / self.wave,
            steps: ((self.longest / items).ceil() - 1.0).max(0.0),
            ..self.terms(1.0)
        }
    }
}

/// Rows of a warp of row tiles, for a mean length.
fn rows_of_warp(mean: f64) -> f64 {
    (CHUNK / mean.max(0.1)).clamp(1.0, 128.0)
}

/// Lanes that add up a row of row tiles or row blocks, for a mean length.
fn lanes_of_sums(mean: f64) -> f64 {
    (mean / NONZEROS_OF_LANE).clamp(1.0, 32.0)
}

/// From zero, up to `first`, to one, from `last` on.
fn ramp(x: f64, first: f64, last: f64) -> f64 {
    ((x - first) / (last - first)).clamp(0.0, 1.0)
}
