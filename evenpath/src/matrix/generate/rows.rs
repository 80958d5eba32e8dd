//! The columns of one row, and the random streams that they are drawn from.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::lengths::Lengths;
use super::published::{Published, Structure};
use super::{Kind, lattice};

/// The stream of random numbers of one row.
pub(super) struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// Creates the stream for the pattern of a row.
    pub(super) fn pattern(seed: u64, row: usize) -> Self {
        Self::new(seed, 2 * row as u64)
    }

    /// Creates the stream for the values of a row.
    pub(super) fn values(seed: u64, row: usize) -> Self {
        Self::new(seed, 2 * row as u64 + 1)
    }

    fn new(seed: u64, stream: u64) -> Self {
        // The factor is odd, so streams of one seed are distinct; the generator's seeding spreads them.
        let mixed = seed.rotate_left(32) ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// Draws a number uniform in [0, 1), a multiple of 2⁻⁵³.
    pub(super) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Draws a number uniform below `bound`, which is not 0: the high half of a product (Lemire, 2019). The
    /// bias is below `bound` / 2⁶⁴.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }
}

/// The pattern of a matrix, one row at a time.
pub(super) struct RowGenerator {
    kind: Kind,
    seed: u64,
    rows: usize,
    cols: usize,
    /// Row lengths of stand-ins, if drawn.
    lengths: Option<Lengths>,
}

impl RowGenerator {
    pub(super) fn new(kind: Kind, seed: u64) -> Self {
        let (rows, cols) = kind.shape();
        let lengths = match kind {
            Kind::Like { matrix } => lengths_of(matrix),
            _ => None,
        };
        Self { kind, seed, rows, cols, lengths }
    }

    /// A lower bound on the nonzeros, for kinds where a short name can request very many.
    pub(super) fn fewest_nonzeros(&self) -> usize {
        match self.kind {
            Kind::Dense { .. } => self.rows.saturating_mul(self.cols),
            // The diagonal blocks.
            Kind::BlockFem { block, .. } => self.rows.saturating_mul(block),
            _ => 0,
        }
    }

    /// The number of nonzeros of `row`; `columns` is scratch space.
    pub(super) fn len(&self, row: usize, columns: &mut Vec<u32>) -> usize {
        match self.kind {
            Kind::Dense { cols, .. } => return cols,
            Kind::BlockFem { nodes, block } => {
                self.block_columns(row / block, nodes, columns);
                return columns.len() * block;
            }
            Kind::Like { matrix } if matrix.structure().block() > 1 => {}
            Kind::Like { .. } => {
                if let Some(lengths) = &self.lengths {
                    return lengths.of(row, Stream::pattern(self.seed, row).unit()).min(self.cols);
                }
            }
            _ => {}
        }
        self.columns(row, columns);
        columns.len()
    }

    /// Replaces `columns` by the columns of `row`, ascending.
    pub(super) fn columns(&self, row: usize, columns: &mut Vec<u32>) {
        columns.clear();
        let stream = || Stream::pattern(self.seed, row);
        match self.kind {
            Kind::Stencil5 { side } => stencil5(side, row, columns),
            Kind::Stencil27 { side } => stencil27(side, row, columns),
            Kind::Fem { rows } => {
                let mut stream = stream();
                let draws = 49 + stream.below(20);
                window(&mut stream, draws, row, 1500, rows, columns);
            }
            Kind::BlockFem { nodes, block } => {
                self.block_columns(row / block, nodes, columns);
                expand_blocks(block, columns);
            }
            Kind::Uniform { .. } => distinct(&mut stream(), 16, self.cols, columns),
            Kind::PowerLaw { .. } => {
                let mut stream = stream();
                // 1 - unit is in (0, 1]. `libm`, because the system's power function differs between machines.
                let length = 4.0 * libm::pow(1.0 - stream.unit(), -0.7);
                let draws = self.cols.min(length as usize);
                columns.extend((0..draws).map(|_| stream.below(self.cols) as u32));
                sort_distinct(columns);
            }
            Kind::LinearProgram { .. } => {
                let length = if row % 8 == 7 { 12_000 } else { 1300 };
                distinct(&mut stream(), length, self.cols, columns);
            }
            Kind::EmptyRows { .. } => {
                if row % 4 == 3 {
                    let (low, high) = (row.saturating_sub(1500), self.cols.min(row + 1501));
                    let other = low + stream().below(high - low - 1);
                    columns.extend([row as u32, (other + usize::from(other >= row)) as u32]);
                    columns.sort_unstable();
                }
            }
            Kind::Rmat { scale } => rmat(&mut stream(), scale, row, columns),
            Kind::Dense { .. } => columns.extend(0..self.cols as u32),
            Kind::Diagonal { .. } => columns.push(row as u32),
            Kind::Like { matrix } => self.columns_like(matrix.structure(), row, columns),
        }
        debug_assert!(row < self.rows && columns.is_sorted_by(|a, b| a < b));
    }

    /// Replaces `columns` by the columns of a node, counted in nodes. The rows of a node share a pattern and a stream.
    fn block_columns(&self, node: usize, nodes: usize, columns: &mut Vec<u32>) {
        columns.clear();
        let mut stream = Stream::pattern(self.seed, node);
        let draws = 16 + stream.below(9);
        window(&mut stream, draws, node, 500, nodes, columns);
    }

    fn columns_like(&self, structure: Structure, row: usize, columns: &mut Vec<u32>) {
        // The rows of a node share a stream. Without blocks, every row is a node.
        let node = row / structure.block();
        let mut stream = Stream::pattern(self.seed, node);
        let mut length = || {
            let unit = stream.unit();
            self.lengths.as_ref().map_or(0, |lengths| lengths.of(node, unit))
        };
        match structure {
            Structure::Full => columns.extend(0..self.cols as u32),
            Structure::Epidemic => lattice::epidemic(row, columns),
            Structure::Triangulation => lattice::triangulation(row, columns),
            Structure::Chromodynamics => lattice::chromodynamics(row, columns),
            Structure::Blocks { block, reach } => {
                let (count, nodes) = (length(), self.cols.div_ceil(block));
                distinct_near(&mut stream, count, node, reach, nodes, columns);
                expand_blocks(block, columns);
                columns.truncate(columns.partition_point(|&column| (column as usize) < self.cols));
            }
            Structure::Band { reach } => {
                let count = length();
                distinct_near(&mut stream, count, self.center(row), reach, self.cols, columns);
            }
            Structure::Scattered => {
                let count = length();
                distinct(&mut stream, count, self.cols, columns);
            }
            Structure::Local { reach } => {
                let count = length();
                if 2 * count >= self.cols {
                    return distinct(&mut stream, count, self.cols, columns);
                }
                let near = reach.min(count - count / 4);
                distinct_near(&mut stream, near, self.center(row), reach, self.cols, columns);
                add_distinct(&mut stream, count, self.cols, columns);
            }
        }
    }

    /// The column of `row` on the diagonal from corner to corner.
    fn center(&self, row: usize) -> usize {
        (row as u128 * self.cols as u128 / self.rows as u128) as usize
    }
}

/// The row lengths of a stand-in, with blocks those of its nodes, counted in blocks; `None` if the structure is known
/// exactly.
pub(super) fn lengths_of(matrix: Published) -> Option<Lengths> {
    match matrix.structure() {
        Structure::Full | Structure::Epidemic | Structure::Triangulation | Structure::Chromodynamics => None,
        structure => {
            let is_geometric = matches!(structure, Structure::Scattered | Structure::Local { .. });
            Some(Lengths::new(matrix, structure.block(), is_geometric))
        }
    }
}

fn stencil5(side: usize, row: usize, columns: &mut Vec<u32>) {
    let (y, x) = (row / side, row % side);
    let neighbors = [
        (y > 0, row.wrapping_sub(side)),
        (x > 0, row.wrapping_sub(1)),
        (true, row),
        (x + 1 < side, row + 1),
        (y + 1 < side, row + side),
    ];
    columns.extend(neighbors.iter().filter(|(inside, _)| *inside).map(|&(_, column)| column as u32));
}

fn stencil27(side: usize, row: usize, columns: &mut Vec<u32>) {
    let around = |at: usize| at.saturating_sub(1)..side.min(at + 2);
    let (z, y, x) = (row / (side * side), row / side % side, row % side);
    for z in around(z) {
        for y in around(y) {
            columns.extend(around(x).map(|x| ((z * side + y) * side + x) as u32));
        }
    }
}

/// The diagonal and `draws` columns within `reach` of it.
fn window(stream: &mut Stream, draws: usize, row: usize, reach: usize, cols: usize, columns: &mut Vec<u32>) {
    let (low, high) = (row.saturating_sub(reach), cols.min(row + reach + 1));
    columns.push(row as u32);
    columns.extend((0..draws).map(|_| (low + stream.below(high - low)) as u32));
    sort_distinct(columns);
}

/// Expands columns of nodes to columns of their unknowns.
fn expand_blocks(block: usize, columns: &mut Vec<u32>) {
    let nodes = columns.len();
    columns.resize(nodes * block, 0);
    for node in (0..nodes).rev() {
        let first = columns[node] as usize * block;
        for unknown in 0..block {
            columns[node * block + unknown] = (first + unknown) as u32;
        }
    }
}

/// `count` distinct columns, or all if there are fewer.
fn distinct(stream: &mut Stream, count: usize, cols: usize, columns: &mut Vec<u32>) {
    if count * 2 >= cols {
        // Dense: selection sampling (Knuth, vol. 2, algorithm S).
        let mut wanted = count.min(cols);
        for column in 0..cols {
            if stream.below(cols - column) < wanted {
                columns.push(column as u32);
                wanted -= 1;
            }
        }
        return;
    }
    add_distinct(stream, count, cols, columns);
}

/// `count` distinct columns within `reach` of a column, or further away if there are not enough.
fn distinct_near(
    stream: &mut Stream,
    count: usize,
    column: usize,
    reach: usize,
    cols: usize,
    columns: &mut Vec<u32>,
) {
    let reach = reach.max(count);
    let (low, high) = (column.saturating_sub(reach), cols.min(column + reach + 1));
    distinct(stream, count, high - low, columns);
    for column in columns {
        *column += low as u32;
    }
}

/// Adds distinct columns from anywhere until there are `count`, or all.
fn add_distinct(stream: &mut Stream, count: usize, cols: usize, columns: &mut Vec<u32>) {
    let count = count.min(cols);
    while columns.len() < count {
        let missing = count - columns.len();
        columns.extend((0..missing).map(|_| stream.below(cols) as u32));
        sort_distinct(columns);
    }
}

fn sort_distinct(columns: &mut Vec<u32>) {
    columns.sort_unstable();
    columns.dedup();
}

/// Probability that a step of R-MAT goes to the upper half of the rows.
const RMAT_UPPER: f64 = 0.57 + 0.19;
/// Probability that a step goes to the left half of the columns, given the upper and the lower half of the rows.
const RMAT_LEFT: [f64; 2] = [0.57 / RMAT_UPPER, 0.19 / (0.19 + 0.05)];

/// The edges of one vertex of an R-MAT graph with 16 edges per vertex.
///
/// The steps that lead to a row are independent, so the number of edges of a row follows approximately a Poisson
/// distribution with the row's probability, and the columns are drawn given the bits of the row. Rows can therefore be
/// generated independently.
fn rmat(stream: &mut Stream, scale: u32, row: usize, columns: &mut Vec<u32>) {
    let lower_bits = row.count_ones();
    let probability = libm::pow(RMAT_UPPER, f64::from(scale - lower_bits))
        * libm::pow(1.0 - RMAT_UPPER, f64::from(lower_bits));
    let edges = poisson(stream, 16.0 * libm::pow(2.0, f64::from(scale)) * probability);
    for _ in 0..edges.min(1 << scale) {
        let mut column = 0;
        for bit in (0..scale).rev() {
            let lower = row >> bit & 1;
            column = column << 1 | u32::from(stream.unit() >= RMAT_LEFT[lower]);
        }
        columns.push(column);
    }
    sort_distinct(columns);
}

/// A Poisson distributed number: exact (Knuth) for small means, a normal approximation for large ones.
fn poisson(stream: &mut Stream, mean: f64) -> usize {
    if mean > 64.0 {
        // The sum of 12 uniform numbers minus 6 has mean 0 and deviation 1, and uses no function that differs between
        // machines.
        let normal = (0..12).map(|_| stream.unit()).sum::<f64>() - 6.0;
        return (mean + mean.sqrt() * normal + 0.5).max(0.0) as usize;
    }
    let (limit, mut product, mut count) = (libm::exp(-mean), stream.unit(), 0);
    while product > limit {
        product *= stream.unit();
        count += 1;
    }
    count
}
