//! Sums level by level: a kernel per level, one more to write the nodes. The host waits once, for the size of the pool.

use std::sync::Arc;

use evenpath_kernels::hisparse::sum::{
    HiSparseAddChildren, HiSparseAddLeaves, HiSparseCountSums, NodePairs, SUM_ENDS, SUM_LEVEL_UNITS,
    SUM_LEVEL_WORDS, SUM_ROOT, SumLevels, SumNodes, SumPlaces, children_shared_bytes, count_shared_bytes,
    merge_shared_bytes, sum_tile_words,
};
use evenpath_simt::Word;
use evenpath_simt::kernel::Kernel;

use super::add::DeviceTreeSum;
use super::device::{Nodes, pool_view_mut};
use super::{leaves, tree};
use crate::Value;
use crate::device::{Device, DeviceError, DeviceSlice, DeviceVec, Kernels, Launch, Launcher};
use crate::matrix::hisparse::node::MAX_UNITS;
use crate::matrix::hisparse::tree::too_large;
use crate::matrix::hisparse::{self, Reference, Unit};
use crate::operand::OpError;

/// Blocks per multiprocessor, if there are enough pairs.
const BLOCKS: usize = 32;

/// The nodes of a sum. There is room for the maximum number; the device computes the actual number.
struct Draft {
    /// Upper bounds on the number of nodes of each level.
    bounds: Vec<usize>,
    /// Number of nodes that fit.
    room: usize,
    /// The pairs of each level; empty for the root's.
    pairs: Vec<DeviceVec<u64>>,
    /// The number of children or entries of each node.
    counts: DeviceVec<u32>,
    references: DeviceVec<u32>,
    /// Each node's link to its parent in the sum.
    links: DeviceVec<u64>,
    /// The words of [`SumLevels`], then those of the tiles of each level.
    state: DeviceVec<u64>,
}

/// Sizes computed by the device.
struct SumSizes {
    root: Reference,
    entries: usize,
    /// Units of the pool.
    units: usize,
    level_sizes: Vec<usize>,
}

/// The kernels of a sum, for compilation ahead of use.
fn kernels<V: Value>() -> Kernels {
    let kernels = leaves::kernels().and::<HiSparseAddChildren>().and::<HiSparseAddLeaves<V>>();
    if V::SIZE == 4 {
        kernels.and::<HiSparseCountSums<u32>>()
    } else {
        kernels.and::<HiSparseCountSums<u64>>()
    }
}

/// A grid for up to `pairs` pairs of nodes: at most a pair per thread, and few enough blocks that each has several pairs.
fn grid<K: Kernel>(
    device: &Device,
    shared_bytes: impl Fn(u32) -> u32,
    pairs: usize,
) -> Result<Launch<K>, DeviceError> {
    let launcher: Launcher<K> = device.kernel();
    let block_size = launcher.info().block_size;
    let blocks = pairs.min(device.properties().multiprocessors as usize * BLOCKS);
    launcher.shared_bytes(shared_bytes(block_size)).blocks(blocks.max(pairs.div_ceil(block_size as usize)))
}

impl<V: Value, const D: usize> DeviceTreeSum<'_, V, D> {
    /// Returns the sum as a `rows` x `cols` matrix. Waits for the device, which computes the size of the
    /// pool.
    pub(super) fn run(&self, rows: usize, cols: usize) -> Result<Nodes, OpError> {
        if self.a.root.is_null() && self.b.root.is_null() {
            return tree::empty(self.device, rows, cols);
        }
        self.device.prepare(kernels::<V>)?;
        let bounds = self.bounds(rows, cols)?;
        let mut draft = if V::SIZE == 4 { self.draft::<u32>(bounds) } else { self.draft::<u64>(bounds) }?;
        let found = draft.found()?;
        let mut pool = self.device.zeros::<Unit>(found.units)?;
        self.fill(&mut draft, &found, &mut pool)?;
        let SumSizes { root, entries, level_sizes, .. } = found;
        Ok(Nodes { rows, cols, nnz: entries, pool: Arc::new(pool), root, level_sizes: level_sizes.into() })
    }

    /// Upper bounds on the number of nodes of each level: the nodes of both operands, and the squares of the matrix.
    fn bounds(&self, rows: usize, cols: usize) -> Result<Vec<usize>, OpError> {
        let (a, b) = (self.a.level_sizes::<D>()?, self.b.level_sizes::<D>()?);
        let depth = hisparse::depth(rows, cols, D);
        let squares = |level: usize| {
            let log2 = D.ilog2() as usize * (depth - level);
            let along = |len: usize| len.div_ceil(1 << log2);
            along(rows).saturating_mul(along(cols))
        };
        Ok((0..depth).map(|level| (a[level] + b[level]).min(squares(level))).collect())
    }

    /// Launches the kernels that count and place the nodes; `T` has the size of values.
    fn draft<T: Word>(&self, bounds: Vec<usize>) -> Result<Draft, OpError> {
        let (device, d_log2, leaves) = (self.device, D.ilog2(), bounds.len() - 1);
        let inner = |&bound: &usize| {
            grid::<HiSparseAddChildren>(device, |size| children_shared_bytes(d_log2, size), bound)
        };
        let inner: Vec<_> = bounds[..leaves].iter().map(inner).collect::<Result<_, _>>()?;
        let count = |size| count_shared_bytes(d_log2, size);
        let count = grid::<HiSparseCountSums<T>>(device, count, bounds[leaves])?;
        let blocks = inner.iter().map(Launch::grid).chain([count.grid()]);
        let tile_words = blocks.map(|blocks| sum_tile_words(blocks as usize)).sum::<usize>();
        let mut draft = Draft::new(device, bounds, SUM_LEVEL_WORDS + tile_words)?;
        let mut tiles = SUM_LEVEL_WORDS;
        for (level, launch) in inner.iter().enumerate() {
            let pairs = self.pairs(&mut draft, level);
            let kernel = HiSparseAddChildren {
                pairs,
                nodes: draft.nodes(tiles),
                children: draft.pairs[level + 1].as_global_mut(),
                links: draft.links.as_global_mut(),
            };
            // SAFETY: both trees are valid, and the pairs are of their nodes. There is room for all nodes,
            // and for the children as pairs. The state is zero except for the output of the levels above. All
            // are on this device, and buffers are freed in the stream's order.
            unsafe { launch.launch(kernel) }?;
            tiles += sum_tile_words(launch.grid() as usize);
        }
        let pairs = self.pairs(&mut draft, leaves);
        let kernel = HiSparseCountSums::<T> { pairs, nodes: draft.nodes(tiles) };
        // SAFETY: as above.
        unsafe { count.launch(kernel) }?;
        Ok(draft)
    }

    /// The pairs of a level, with slots of type `T`.
    fn pairs<T: Word>(&self, draft: &mut Draft, level: usize) -> NodePairs<T> {
        let root = u64::from(self.b.root.0) << 32 | u64::from(self.a.root.0);
        NodePairs {
            a: self.a.view(),
            b: self.b.view(),
            words: draft.pairs[level].as_global(),
            root: if level == 0 { root } else { 0 },
            levels: SumLevels {
                words: draft.state.as_global_mut(),
                level: level as u32,
                room: draft.room as u32,
            },
            state: self.state,
            d_log2: D.ilog2(),
        }
    }

    /// Writes all nodes.
    fn fill(&self, draft: &mut Draft, found: &SumSizes, pool: &mut DeviceSlice<Unit>) -> Result<(), OpError> {
        let d_log2 = D.ilog2();
        let leaves = draft.bounds.len() - 1;
        let shared_bytes = |size| merge_shared_bytes(d_log2, size);
        let launch = grid(self.device, shared_bytes, found.level_sizes[leaves])?;
        let kernel = HiSparseAddLeaves {
            pairs: self.pairs(draft, leaves),
            nodes: SumPlaces {
                counts: draft.counts.as_global(),
                links: draft.links.as_global(),
                references: draft.references.as_global(),
            },
            first_leaf: found.level_sizes[..leaves].iter().sum::<usize>() as u32,
            sum: pool_view_mut(pool),
            a_scale: self.scales.0,
            b_scale: self.scales.1,
        };
        // SAFETY: the nodes have been placed, and the pool, which is zero, has room for them. Links name entries within their
        // parents' counts. All are on this device, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}

impl Draft {
    fn new(device: &Device, bounds: Vec<usize>, state_words: usize) -> Result<Self, OpError> {
        // A sum of more nodes is refused.
        let room = bounds.iter().fold(0_usize, |sum, &bound| sum.saturating_add(bound)).min(MAX_UNITS);
        let pairs = |(level, &bound): (usize, &usize)| {
            device.uninitialized(if level == 0 { 0 } else { bound.min(MAX_UNITS) })
        };
        Ok(Self {
            room,
            pairs: bounds.iter().enumerate().map(pairs).collect::<Result<_, _>>()?,
            counts: device.uninitialized(room)?,
            references: device.uninitialized(room)?,
            links: device.uninitialized(room)?,
            state: device.zeros(state_words)?,
            bounds,
        })
    }

    /// The nodes, and the tiles of a level, whose words start at `tiles`.
    fn nodes(&mut self, tiles: usize) -> SumNodes {
        SumNodes {
            counts: self.counts.as_global_mut(),
            references: self.references.as_global_mut(),
            tiles: self.state.as_global_mut().skip(tiles),
        }
    }

    /// Returns the sizes that the kernels computed. Waits for the device.
    fn found(&self) -> Result<SumSizes, OpError> {
        let words = self.state.first::<SUM_LEVEL_WORDS>()?;
        let depth = self.bounds.len();
        let ends = &words[SUM_ENDS..];
        // The first unit belongs to no node, and the root is not counted.
        let (units, nodes) = (1 + words[SUM_LEVEL_UNITS + depth], 1 + ends[depth - 1]);
        if units > MAX_UNITS as u64 || nodes > self.room as u64 {
            return Err(too_large().into());
        }
        let size = |level: usize| if level == 0 { 1 } else { (ends[level] - ends[level - 1]) as usize };
        Ok(SumSizes {
            root: Reference(words[SUM_ROOT] as u32),
            entries: (ends[depth] - ends[depth - 1]) as usize,
            units: units as usize,
            level_sizes: (0..depth).map(size).collect(),
        })
    }
}
