//! `C = A B` of two trees on a device, by their leaves.
//!
//! Each leaf (i, k) of A matches each leaf (k, j) of B. These pairs are sorted stably by the leaf (i, j) of C, so that those
//! of one leaf are ordered by k. One block per leaf of C counts its entries. The nonempty leaves determine the tree of C, as
//! runs do in conversion. Then one block per leaf sums the products.

use evenpath_kernels::Key as KernelKey;
use evenpath_kernels::hisparse::HiSparseLinkNodes;
use evenpath_kernels::hisparse::product::{
    HiSparseCountPairs, HiSparseCountProducts, HiSparseListCandidates, HiSparseListFilled, HiSparseListPairs,
    HiSparseMarkCandidates, HiSparseMultiplyLeaves, LeafPairs, pattern_shared_bytes, product_shared_bytes,
    state,
};
use evenpath_simt::Word;

use super::convert::{path_bits, run_kernels};
use super::device::{Content, DeviceHiSparse, Nodes, pool_view_mut};
use super::host::check_product_shape;
use super::leaves::{self, LeafList};
use super::tree::{self, SortedRuns};
use super::{SpgemmMethod, SpgemmOptions};
use crate::Value;
use crate::device::{Device, DeviceSlice, DeviceVec, Kernels};
use crate::keys::SortKey;
use crate::matrix::hisparse::{self, Options};
use crate::op::spgemm;
use crate::operand::{OpError, Pairs};
use crate::operation::Operator;
use crate::sequence::scan::{self, ScanOptions};
use crate::sequence::sort::{self, SortOptions};
use crate::sequence::vector;

/// Bytes of shared memory for the sums of one leaf of C.
const SUM_BYTES: u32 = 1 << 14;

/// The maximum number of pairs: each may belong to a different leaf of C, which takes a block.
const MAX_PAIRS: u64 = (1 << 31) - 1;

/// Multiplications by rows that take as long as one pair of leaves, measured (`docs/decisions/hisparse.md`).
const PAIR_PRODUCTS: f64 = 900.0;

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// Returns the product A·B, m x k, of A, m x n, and B, n x k, with both transpositions and scales applied. Its
    /// scale is 1. It has an entry wherever entries of A and B are multiplied, even if their sum is 0. Results are
    /// bitwise identical in every run. On the CPU all methods are the same.
    ///
    /// Waits for the device several times, to learn the sizes of intermediate results.
    ///
    /// ```
    /// use evenpath::{Csr, Device, hisparse};
    ///
    /// let a = Csr::from_triplets(2, 300, [(0, 0, 1.0), (0, 299, 2.0), (1, 299, 3.0)])?;
    /// let a = Device::cpu().upload(&a)?.to_hisparse::<128>(hisparse::Options::default())?;
    /// let product = a.spgemm(&a.transpose(), hisparse::SpgemmOptions::default())?.download()?;
    /// assert_eq!((product.get(0, 0), product.get(0, 1), product.get(1, 1)), (Some(5.0), Some(6.0), Some(9.0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If B does not have one row per column of A or is on another device, the nodes take more than 16 GiB
    /// ([`MatrixError::PoolTooLarge`](crate::MatrixError::PoolTooLarge)), there is not enough memory, or the device was
    /// lost. By leaves, also if there are 2³¹ or more matching pairs.
    pub fn spgemm(&self, b: &Self, options: SpgemmOptions) -> Result<Self, OpError> {
        let SpgemmOptions { method } = options;
        check_product_shape(self.shape(), b.shape())?;
        let device = self.device();
        device.check_same(b.device())?;
        device.refuse_in_graph("a product of matrices waits for the size of its result")?;
        if self.is_transposed() && b.is_transposed() {
            return Ok(b.transpose().spgemm(&self.transpose(), options)?.transpose());
        }
        if let (Some(a), Some(b)) = (self.host(), b.host()) {
            return Ok(device.upload(&a.spgemm(&b)?)?);
        }
        if method == SpgemmMethod::Rows {
            return self.multiply_rows(b);
        }
        let (left, right) = (self.with_number_as_scale()?, b.with_number_as_scale()?);
        let (Content::Machine(a_nodes), Content::Machine(b_nodes)) = (left.content(), right.content()) else {
            unreachable!("matrices on one device are all in host memory, or none is")
        };
        let product = DeviceTreeProduct::<V, D> {
            device,
            a: a_nodes,
            b: b_nodes,
            state: if left.is_transposed() { state::A_TRANSPOSED } else { 0 }
                | if right.is_transposed() { state::B_TRANSPOSED } else { 0 },
            scales: (left.scale(), right.scale()),
            shape: (left.nrows(), right.ncols()),
        };
        let meetings = product.meet()?;
        if method == SpgemmMethod::Auto && product.suits_rows(&meetings)? {
            drop(meetings);
            return self.multiply_rows(b);
        }
        Ok(Self::from_content(device, Content::Machine(product.run(&meetings)?)))
    }

    /// Computes the product through CSR.
    fn multiply_rows(&self, b: &Self) -> Result<Self, OpError> {
        let a = self.to_csr_with_offsets::<u64>()?;
        let product = a.spgemm(&b.to_csr_with_offsets::<u64>()?, spgemm::SpgemmOptions::default())?;
        drop(a);
        product.to_hisparse(Options::default())
    }
}

/// The product of two trees, not both transposed.
struct DeviceTreeProduct<'m, V: Value, const D: usize> {
    device: &'m Device,
    a: &'m Nodes,
    b: &'m Nodes,
    /// Bits of [`state`].
    state: u32,
    scales: (V, V),
    /// Rows and columns.
    shape: (usize, usize),
}

/// The leaves of both operands, and their matching pairs.
struct Meetings {
    /// In the order of the tree, hence by column within a row, with or without transposition.
    a: LeafList,
    /// By row, then in the order of the tree.
    b: LeafList,
    /// For each leaf of A, the first leaf of B in the row that is its column.
    firsts: DeviceVec<u32>,
    /// The inclusive scan of the number of matches of each leaf of A.
    ends: DeviceVec<u64>,
    pairs: u64,
}

/// Pairs of leaves, sorted by the leaf of C.
struct SortedPairs<K: SortKey> {
    keys: DeviceVec<K>,
    /// Pairs of references, that of A in the lower half.
    words: DeviceVec<u64>,
}

/// The leaves that C may have.
struct Candidates<K: SortKey> {
    keys: DeviceVec<K>,
    /// The first pair of each leaf, and the number of all pairs.
    starts: DeviceVec<u32>,
}

/// The kernels of a product by leaves, for compilation ahead of use.
fn kernels<V: Value, K: SortKey + KernelKey>() -> Kernels {
    let kernels = leaves::kernels()
        .and_all(run_kernels::<K>())
        .and::<HiSparseCountPairs>()
        .and::<HiSparseListPairs<K>>()
        .and::<HiSparseMarkCandidates<K>>()
        .and::<HiSparseListCandidates<K>>()
        .and::<HiSparseListFilled<K>>()
        .and::<HiSparseMultiplyLeaves<V>>()
        .and::<HiSparseLinkNodes>();
    if V::SIZE == 4 {
        kernels.and::<HiSparseCountProducts<u32>>()
    } else {
        kernels.and::<HiSparseCountProducts<u64>>()
    }
}

impl<V: Value, const D: usize> DeviceTreeProduct<'_, V, D> {
    /// Finds the matching leaves. Waits for the device, like finding leaves.
    fn meet(&self) -> Result<Meetings, OpError> {
        let device = self.device;
        let is_short = path_bits::<D>(self.shape.0, self.shape.1) <= u32::BITS;
        device.prepare(if is_short { kernels::<V, u32> } else { kernels::<V, u64> })?;
        let a = turned(LeafList::find::<D>(self.a)?, self.state & state::A_TRANSPOSED != 0);
        let b = self.by_row(turned(LeafList::find::<D>(self.b)?, self.state & state::B_TRANSPOSED != 0))?;
        let mut firsts = device.uninitialized(a.len())?;
        let mut counts = device.uninitialized::<u64>(a.len())?;
        let launch = device.kernel().threads(a.len())?;
        let kernel = HiSparseCountPairs {
            a_columns: a.cols.as_global(),
            b_rows: b.rows.as_global(),
            firsts: firsts.as_global_mut(),
            counts: counts.as_global_mut(),
            a_len: a.len() as u32,
            b_len: b.len() as u32,
        };
        // SAFETY: there is a first and a count for each leaf of A; all are on this device, and buffers are freed in the
        // stream's order.
        unsafe { launch.launch(kernel) }?;
        let ends = scan::values(&counts, ScanOptions::inclusive(Operator::Sum))?;
        let pairs = if a.len() == 0 { 0 } else { ends.get(a.len() - 1)? };
        Ok(Meetings { a, b, firsts, ends, pairs })
    }

    /// The leaves of B, sorted stably by row.
    fn by_row(&self, leaves: LeafList) -> Result<LeafList, OpError> {
        let is_sorted =
            self.state & state::B_TRANSPOSED == 0 && hisparse::depth(self.b.rows, self.b.cols, D) <= 2;
        if is_sorted || leaves.len() < 2 {
            return Ok(leaves);
        }
        // There are at most 2³⁰ leaves.
        let numbers = vector::iota(self.device, leaves.len() as u32)?;
        let (rows, order) = sort::pairs(Pairs::new(&leaves.rows, &numbers), SortOptions::default())?;
        // SAFETY: the order is a permutation of the leaves' numbers, and each leaf has a column and a reference; all are on
        // this device.
        let (cols, references) = unsafe {
            (
                vector::gather_indices(&leaves.cols, &order)?,
                vector::gather_indices(&leaves.references, &order)?,
            )
        };
        Ok(LeafList { references, rows, cols })
    }

    /// Returns whether a product by rows is faster than by leaves: when there are many pairs with few products each, because leaves
    /// have few entries.
    fn suits_rows(&self, meetings: &Meetings) -> Result<bool, OpError> {
        let mean = |nodes: &Nodes, leaves: &LeafList| nodes.nnz as f64 / leaves.len().max(1) as f64;
        let pair_products = mean(self.a, &meetings.a) * mean(self.b, &meetings.b) / D as f64;
        let pairs = meetings.pairs as f64;
        let rows = (self.a.rows + self.a.cols + self.b.rows + self.b.cols) as f64;
        let by_rows = rows + (self.a.nnz + self.b.nnz) as f64 + pairs * pair_products;
        let is_faster = pairs * PAIR_PRODUCTS > by_rows;
        let memory = self.device.memory()?;
        let unused = memory.limit.map_or(u64::MAX, |limit| limit.saturating_sub(memory.in_use));
        let free = memory.free.unwrap_or(u64::MAX).min(unused);
        // Bytes per pair: path and references, both twice during sorting, and the index of its leaf.
        let fits = meetings.pairs <= MAX_PAIRS && meetings.pairs.saturating_mul(40) <= free;
        Ok(is_faster || !fits)
    }

    fn run(&self, meetings: &Meetings) -> Result<Nodes, OpError> {
        if meetings.pairs == 0 {
            return tree::empty(self.device, self.shape.0, self.shape.1);
        }
        if meetings.pairs > MAX_PAIRS {
            let (what, len) = ("multiplying trees by leaves", meetings.pairs as usize);
            return Err(OpError::TooLong { what, len, limit: MAX_PAIRS as usize });
        }
        let bits = path_bits::<D>(self.shape.0, self.shape.1);
        if bits <= u32::BITS {
            self.multiply::<u32>(meetings, bits)
        } else {
            self.multiply::<u64>(meetings, bits)
        }
    }

    fn multiply<K: SortKey + KernelKey>(&self, meetings: &Meetings, bits: u32) -> Result<Nodes, OpError> {
        let pairs = self.pairs::<K>(meetings, bits)?;
        let candidates = pairs.candidates()?;
        let SortedPairs { words: pairs, keys } = pairs;
        drop(keys);
        let leaves = if V::SIZE == 4 {
            self.leaves::<K, u32>(&pairs, &candidates)
        } else {
            self.leaves::<K, u64>(&pairs, &candidates)
        }?;
        let Some(leaves) = leaves else { return tree::empty(self.device, self.shape.0, self.shape.1) };
        let mut tree = leaves.tree::<V, D>(self.shape.0, self.shape.1)?;
        tree.link()?;
        self.fill(&pairs, &candidates.starts, &leaves.runs, &mut tree)?;
        Ok(tree.into_nodes(self.shape.0, self.shape.1))
    }

    /// The pairs.
    fn pairs<K: SortKey + KernelKey>(
        &self,
        meetings: &Meetings,
        bits: u32,
    ) -> Result<SortedPairs<K>, OpError> {
        let (device, len) = (self.device, meetings.pairs as usize);
        let mut keys = device.uninitialized::<K>(len)?;
        let mut words = device.uninitialized::<u64>(len)?;
        let (a, b) = (&meetings.a, &meetings.b);
        let launch = device.kernel().threads(len)?;
        let kernel = HiSparseListPairs {
            ends: meetings.ends.as_global(),
            firsts: meetings.firsts.as_global(),
            a_references: a.references.as_global(),
            a_rows: a.rows.as_global(),
            b_references: b.references.as_global(),
            b_columns: b.cols.as_global(),
            keys: keys.as_global_mut(),
            pairs: words.as_global_mut(),
            a_len: a.len() as u32,
            len: len as u32,
            d_log2: D.ilog2(),
            depth: hisparse::depth(self.shape.0, self.shape.1, D) as u32,
        };
        // SAFETY: the ends are sums of the counts of A's leaves for the same leaves of B, the last of them `len`; there is a
        // key and a word for each pair, and all are on this device.
        unsafe { launch.launch(kernel) }?;
        sort::pairs_in_place(&mut keys, &mut words, SortOptions::default().with_bits(0..bits))?;
        Ok(SortedPairs { keys, words })
    }

    /// The nonempty leaves, as runs; `None` if there are none. Waits for the device.
    fn leaves<K: SortKey + KernelKey, T: Word>(
        &self,
        pairs: &DeviceSlice<u64>,
        candidates: &Candidates<K>,
    ) -> Result<Option<SortedRuns<K>>, OpError> {
        let (device, len) = (self.device, candidates.keys.len());
        let mut counts = device.uninitialized::<u32>(len)?;
        let mut is_filled = device.uninitialized::<u32>(len)?;
        let launch = device.kernel().shared_bytes(pattern_shared_bytes(D.ilog2())).blocks(len)?;
        let kernel = HiSparseCountProducts {
            pairs: self.view::<T>(pairs, &candidates.starts),
            counts: counts.as_global_mut(),
            is_filled: is_filled.as_global_mut(),
        };
        // SAFETY: both trees are valid, the pairs are of their leaves, and there is a count and a mark for each leaf that
        // C may have; all are on this device.
        unsafe { launch.launch(kernel) }?;
        let numbers = scan::values(&is_filled, ScanOptions::inclusive(Operator::Sum))?;
        let filled = numbers.get(len - 1)? as usize;
        if filled == 0 {
            return Ok(None);
        }
        let mut leaves =
            SortedRuns { keys: device.uninitialized::<K>(filled)?, runs: device.uninitialized(filled)? };
        let launch = device.kernel().threads(len)?;
        let kernel = HiSparseListFilled {
            keys: candidates.keys.as_global(),
            counts: counts.as_global(),
            numbers: numbers.as_global(),
            leaf_keys: leaves.keys.as_global_mut(),
            leaves: leaves.runs.as_global_mut(),
            len: len as u32,
        };
        // SAFETY: there is a key, a count and a number for each leaf, and room for those that have entries.
        unsafe { launch.launch(kernel) }?;
        Ok(Some(leaves))
    }

    /// A view of the pairs; those of each leaf of C begin at `starts`.
    fn view<T: Word>(&self, pairs: &DeviceSlice<u64>, starts: &DeviceSlice<u32>) -> LeafPairs<T> {
        LeafPairs {
            a: self.a.view(),
            b: self.b.view(),
            words: pairs.as_global(),
            starts: starts.as_global(),
            state: self.state,
            d_log2: D.ilog2(),
        }
    }

    /// Writes the entries of the leaves.
    fn fill(
        &self,
        pairs: &DeviceSlice<u64>,
        starts: &DeviceSlice<u32>,
        leaves: &DeviceSlice<u64>,
        tree: &mut tree::PlacedTree,
    ) -> Result<(), OpError> {
        let room = SUM_BYTES / V::SIZE as u32;
        let shared = product_shared_bytes(D.ilog2(), self.state, room, V::SIZE as u32);
        let launch = self.device.kernel().shared_bytes(shared).blocks(leaves.len())?;
        let kernel = HiSparseMultiplyLeaves {
            pairs: self.view(pairs, starts),
            leaves: leaves.as_global(),
            references: tree.leaf_references(),
            c: pool_view_mut(&mut tree.pool),
            room,
            a_scale: self.scales.0,
            b_scale: self.scales.1,
        };
        // SAFETY: both trees are valid, the pairs are of their leaves, and C's leaves have room for the counted entries; all
        // are on this device, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}

impl<K: SortKey + KernelKey> SortedPairs<K> {
    /// The leaves that C may have. Waits for the device.
    fn candidates(&self) -> Result<Candidates<K>, OpError> {
        let (device, len) = (self.keys.device(), self.keys.len());
        let mut is_first = device.uninitialized::<u32>(len)?;
        let launch = device.kernel().threads(len)?;
        let kernel = HiSparseMarkCandidates {
            keys: self.keys.as_global(),
            is_first: is_first.as_global_mut(),
            len: len as u32,
        };
        // SAFETY: there is a mark for each key, and both are on this device.
        unsafe { launch.launch(kernel) }?;
        let numbers = scan::values(&is_first, ScanOptions::inclusive(Operator::Sum))?;
        let count = numbers.get(len - 1)? as usize;
        let mut candidates =
            Candidates { keys: device.uninitialized::<K>(count)?, starts: device.uninitialized(count + 1)? };
        let launch = device.kernel().threads(len)?;
        let kernel = HiSparseListCandidates {
            keys: self.keys.as_global(),
            numbers: numbers.as_global(),
            leaf_keys: candidates.keys.as_global_mut(),
            starts: candidates.starts.as_global_mut(),
            len: len as u32,
        };
        // SAFETY: as above; there is room for the counted leaves, and for the number of all pairs.
        unsafe { launch.launch(kernel) }?;
        Ok(candidates)
    }
}

/// Moves leaves from their positions in the content to those in the matrix.
fn turned(leaves: LeafList, is_transposed: bool) -> LeafList {
    if is_transposed {
        LeafList { references: leaves.references, rows: leaves.cols, cols: leaves.rows }
    } else {
        leaves
    }
}
