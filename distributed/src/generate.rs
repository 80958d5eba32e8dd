//! Generators of matrices row by row, for [`DistributedCsr::from_fn`](crate::DistributedCsr::from_fn). Each
//! rank computes its own rows, so a matrix may be larger than the memory of one device.
//!
//! ```
//! use evenpath::Device;
//! use evenpath_distributed::{Cluster, DistributedCsr, Error, generate};
//!
//! let mut cluster = Cluster::local([Device::cpu(), Device::cpu()])?;
//! let grid = generate::Stencil::five_point(100);
//! let nonzeros = cluster.run(|rank| {
//!     DistributedCsr::<f64>::from_fn(rank, grid.nrows(), grid.nrows(), |row, entries| grid.row(row, entries))?.nnz()
//! })?;
//! assert_eq!(nonzeros, [5 * 10_000 - 4 * 100; 2]);
//! # Ok::<(), Error>(())
//! ```

use evenpath::Value;

/// A stencil on a grid of points. The diagonal is the number of neighbors in a full stencil, and each
/// neighbor within the grid is −1, so the matrix is symmetric and positive definite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stencil {
    side: u64,
    shape: StencilShape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StencilShape {
    Five,
    Seven,
    TwentySeven,
}

impl Stencil {
    /// Five-point stencil on a square grid of `side` x `side` points.
    pub fn five_point(side: u32) -> Self {
        Self { side: u64::from(side), shape: StencilShape::Five }
    }

    /// Seven-point stencil on a cubic grid of `side`³ points.
    pub fn seven_point(side: u32) -> Self {
        Self { side: u64::from(side).min(MAX_CUBE), shape: StencilShape::Seven }
    }

    /// 27-point stencil on a cubic grid of `side`³ points.
    pub fn twenty_seven_point(side: u32) -> Self {
        Self { side: u64::from(side).min(MAX_CUBE), shape: StencilShape::TwentySeven }
    }

    /// Number of grid points: rows and columns of the matrix.
    pub fn nrows(&self) -> u64 {
        match self.shape {
            StencilShape::Five => self.side.pow(2),
            StencilShape::Seven | StencilShape::TwentySeven => self.side.pow(3),
        }
    }

    /// Appends the entries of a row, by ascending column; none if `row` is out of range.
    pub fn row<V: Value>(&self, row: u64, entries: &mut Vec<(u64, V)>) {
        if row >= self.nrows() {
            return;
        }
        let side = self.side;
        let (x, y, z) = (row % side, row / side % side, row / side / side);
        let planes = if self.shape == StencilShape::Five { 0..=0 } else { -1..=1 };
        let neighbors = match self.shape {
            StencilShape::Five => 4,
            StencilShape::Seven => 6,
            StencilShape::TwentySeven => 26,
        };
        let within = |at: u64, step: i64| at.checked_add_signed(step).filter(|&at| at < side);
        for dz in planes {
            // A square grid has all rows in y.
            let Some(z) = (if self.shape == StencilShape::Five { Some(z) } else { within(z, dz) }) else {
                continue;
            };
            for dy in -1..=1 {
                let Some(y) = within(y, dy) else { continue };
                for dx in -1..=1 {
                    let Some(x) = within(x, dx) else { continue };
                    let steps = i64::abs(dx) + i64::abs(dy) + i64::abs(dz);
                    if self.shape != StencilShape::TwentySeven && steps > 1 {
                        continue;
                    }
                    let value = if steps == 0 { V::from_u64(neighbors) } else { -V::ONE };
                    entries.push(((z * side + y) * side + x, value));
                }
            }
        }
    }
}

/// Maximum side of a cube whose number of points fits into 64 bits.
const MAX_CUBE: u64 = 2_642_245;

/// A random graph of 2^scale vertices with a skewed degree distribution (R-MAT; Chakrabarti, Zhan, Faloutsos,
/// "R-MAT: A recursive model for graph mining", SDM 2004), generated row by row: the length of a row follows
/// from the probability that an edge is in it, and each column is drawn bit by bit, given the row. Columns
/// may be drawn more than once. Values are 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rmat {
    scale: u32,
    edges_per_vertex: f64,
    seed: u64,
}

impl Rmat {
    /// Probabilities of the four quadrants, as in Graph500.
    const QUADRANTS: [f64; 4] = [0.57, 0.19, 0.19, 0.05];

    /// A graph of 2^`scale` vertices (at most 2⁶²), with an average of `edges_per_vertex` edges per vertex
    /// (at most 2²⁰).
    pub fn new(scale: u32, edges_per_vertex: f64, seed: u64) -> Self {
        Self { scale: scale.min(62), edges_per_vertex: edges_per_vertex.clamp(0.0, MOST_EDGES), seed }
    }

    /// Number of vertices: rows and columns of the matrix.
    pub fn nrows(&self) -> u64 {
        1 << self.scale
    }

    /// Appends the entries of a row; none if `row` is out of range.
    pub fn row<V: Value>(&self, row: u64, entries: &mut Vec<(u64, V)>) {
        if row >= self.nrows() {
            return;
        }
        let [a, b, c, d] = Self::QUADRANTS;
        let mut state = self.seed ^ row.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let ones = row.count_ones();
        let probability = (a + b).powi((self.scale - ones) as i32) * (c + d).powi(ones as i32);
        let expected = self.edges_per_vertex * self.nrows() as f64 * probability;
        let length = expected as u64 + u64::from(unit(&mut state) < expected.fract());
        for _ in 0..length {
            let mut column = 0;
            for bit in (0..self.scale).rev() {
                let (left, right) = if row >> bit & 1 == 0 { (a, b) } else { (c, d) };
                column = column << 1 | u64::from(unit(&mut state) * (left + right) >= left);
            }
            entries.push((column, V::ONE));
        }
    }
}

/// Maximum average number of edges per vertex.
const MOST_EDGES: f64 = 1_048_576.0;

/// Draws a number in [0, 1) (SplitMix64; Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
fn unit(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ mixed >> 31) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(stencil: Stencil, row: u64) -> Vec<(u64, f64)> {
        let mut entries = Vec::new();
        stencil.row(row, &mut entries);
        entries
    }

    #[test]
    fn stencils_couple_neighbors() {
        let columns = |stencil, number| row(stencil, number).iter().map(|entry| entry.0).collect::<Vec<_>>();
        let five = Stencil::five_point(4);
        assert_eq!(
            (five.nrows(), columns(five, 0), columns(five, 5)),
            (16, vec![0, 1, 4], vec![1, 4, 5, 6, 9])
        );
        assert_eq!(row(five, 15), [(11, -1.0), (14, -1.0), (15, 4.0)]);
        let seven = Stencil::seven_point(3);
        assert_eq!((seven.nrows(), columns(seven, 13)), (27, vec![4, 10, 12, 13, 14, 16, 22]));
        let twenty_seven = Stencil::twenty_seven_point(3);
        assert_eq!(columns(twenty_seven, 13), (0..27).collect::<Vec<_>>());
        assert_eq!(columns(twenty_seven, 0), [0, 1, 3, 4, 9, 10, 12, 13]);
        assert_eq!(row(twenty_seven, 13)[13], (13, 26.0));
    }

    #[test]
    fn rows_out_of_range_are_empty() {
        for stencil in [Stencil::five_point(0), Stencil::seven_point(2), Stencil::twenty_seven_point(1)] {
            assert!(row(stencil, stencil.nrows()).is_empty() && row(stencil, u64::MAX).is_empty());
        }
        assert_eq!(row(Stencil::seven_point(1), 0), [(0, 6.0)]);
        let mut entries: Vec<(u64, f64)> = Vec::new();
        Rmat::new(3, f64::NAN, 1).row(0, &mut entries);
        Rmat::new(3, 4.0, 1).row(8, &mut entries);
        assert!(entries.is_empty());
    }

    #[test]
    fn rmat_graphs_are_skewed_and_repeat() {
        let graph = Rmat::new(12, 8.0, 1);
        let lengths: Vec<usize> = (0..graph.nrows())
            .map(|row| {
                let (mut entries, mut again): (Vec<(u64, f64)>, _) = (Vec::new(), Vec::new());
                graph.row(row, &mut entries);
                graph.row(row, &mut again);
                assert_eq!(entries, again);
                assert!(entries.iter().all(|entry| entry.0 < graph.nrows()));
                entries.len()
            })
            .collect();
        let total: usize = lengths.iter().sum();
        // Each length is rounded at random: a standard deviation of at most 32 edges.
        assert!(total.abs_diff(8 * 4096) < 200, "{total}");
        assert!(lengths[0] > 500 && lengths[4095] < 2, "{} {}", lengths[0], lengths[4095]);
    }
}
