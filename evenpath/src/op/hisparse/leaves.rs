//! The leaves of a tree on a machine, by which operations divide their work.

use evenpath_kernels::hisparse::{HiSparseCountChildren, HiSparseListChildren, NodeList};
use evenpath_simt::Word;

use super::device::Nodes;
use crate::device::{Device, DeviceVec, Kernels};
use crate::matrix::hisparse;
use crate::operand::OpError;
use crate::operation::Operator;
use crate::sequence::scan::{self, ScanOptions, sum_kernel};

/// Nodes of one level with their positions, in the order of the tree: by the entries of the root, then by those of its
/// children, and so on. A node with several references appears once for each of them.
pub(super) struct LeafList {
    /// References to the nodes.
    pub(super) references: DeviceVec<u32>,
    /// The row of each node in the content, counted in nodes.
    pub(super) rows: DeviceVec<u32>,
    /// The column of each node in the content, counted in nodes.
    pub(super) cols: DeviceVec<u32>,
}

/// The kernels that find leaves, for compilation ahead of use.
pub(super) fn kernels() -> Kernels {
    Kernels::default()
        .and::<HiSparseCountChildren>()
        .and::<HiSparseListChildren>()
        .and_all(sum_kernel::<u32>())
}

impl LeafList {
    /// Finds the leaves of a tree of `D` × `D` nodes. Waits for the device once per level of inner nodes, to
    /// learn their numbers of children.
    pub(super) fn find<const D: usize>(nodes: &Nodes) -> Result<Self, OpError> {
        let device = nodes.pool.device();
        if nodes.root.is_null() {
            let empty = || device.uninitialized(0);
            return Ok(Self { references: empty()?, rows: empty()?, cols: empty()? });
        }
        let mut level = Self::root(nodes)?;
        for _ in 1..hisparse::depth(nodes.rows, nodes.cols, D) {
            level = level.children(device, nodes, D.ilog2())?;
        }
        Ok(level)
    }

    /// The root, which is not null.
    fn root(nodes: &Nodes) -> Result<Self, OpError> {
        let device = nodes.pool.device();
        let references = device.upload(&[nodes.root.0])?;
        Ok(Self { references, rows: device.zeros(1)?, cols: device.zeros(1)? })
    }

    pub(super) fn len(&self) -> usize {
        self.references.len()
    }

    /// A view of these nodes of the tree `nodes`, which are at most 2³⁰.
    pub(super) fn view<T: Word>(&self, nodes: &Nodes, d_log2: u32) -> NodeList<T> {
        NodeList {
            pool: nodes.view(),
            references: self.references.as_global(),
            len: self.len() as u32,
            d_log2,
        }
    }

    /// The nodes of the level below these.
    fn children(&self, device: &Device, nodes: &Nodes, d_log2: u32) -> Result<Self, OpError> {
        let len = self.len();
        let mut counts = device.uninitialized::<u32>(len + 1)?;
        let launch = device.kernel().warps(len + 1)?;
        let count = HiSparseCountChildren { nodes: self.view(nodes, d_log2), counts: counts.as_global_mut() };
        // SAFETY: the tree is valid, the references are of its nodes, and there is a count for each and one more; all are
        // on this device, and buffers are freed in the stream's order.
        unsafe { launch.launch(count) }?;
        let starts = scan::values(&counts, ScanOptions::exclusive(Operator::Sum))?;
        let children = starts.get(len)? as usize;
        let mut level = Self {
            references: device.uninitialized(children)?,
            rows: device.uninitialized(children)?,
            cols: device.uninitialized(children)?,
        };
        let launch = device.kernel().warps(len)?;
        let list = HiSparseListChildren {
            nodes: self.view(nodes, d_log2),
            rows: self.rows.as_global(),
            columns: self.cols.as_global(),
            starts: starts.as_global(),
            child_references: level.references.as_global_mut(),
            child_rows: level.rows.as_global_mut(),
            child_columns: level.cols.as_global_mut(),
        };
        // SAFETY: as above; the outputs have an element for each child, at the position that the scan of the counts
        // gives.
        unsafe { launch.launch(list) }?;
        Ok(level)
    }
}

impl Nodes {
    /// Number of nodes of each level, starting at the root. If not known yet, waits for the device once per
    /// level of inner nodes.
    pub(super) fn level_sizes<const D: usize>(&self) -> Result<&[usize], OpError> {
        if let Some(sizes) = self.level_sizes.get() {
            return Ok(sizes);
        }
        let depth = hisparse::depth(self.rows, self.cols, D);
        let mut sizes = vec![0; depth];
        if !self.root.is_null() {
            let mut level = LeafList::root(self)?;
            sizes[0] = 1;
            for size in &mut sizes[1..] {
                level = level.children(self.pool.device(), self, D.ilog2())?;
                *size = level.len();
            }
        }
        // Another thread may have set them to the same meanwhile.
        Ok(self.level_sizes.get_or_init(|| sizes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::SimulatedOptions;
    use crate::generate::{Kind, generate};
    use crate::matrix::hisparse::Options;
    use crate::matrix::hisparse::leaves::PlacedNode;
    use crate::op::hisparse::device::Content;
    use crate::{Csr, HiSparse};

    /// Compares the leaves found on a simulated GPU with those found on the host.
    fn check<const D: usize>(matrix: &Csr<f32>, options: Options) {
        let matrix: HiSparse<f32, D> = matrix.to_hisparse(options).unwrap();
        let uploaded = Device::simulated(SimulatedOptions::default()).upload(&matrix).unwrap();
        let Content::Machine(nodes) = uploaded.content() else { panic!("not on a machine") };
        let leaves = LeafList::find::<D>(nodes).unwrap();
        let found = leaves.references.download().unwrap().into_iter();
        let places = leaves.rows.download().unwrap().into_iter().zip(leaves.cols.download().unwrap());
        let mut found: Vec<_> =
            found.zip(places).map(|(reference, (row, col))| (row, col, reference)).collect();
        // With a single inner level, the order of the tree is by row.
        assert!(matrix.depth() > 2 || found.is_sorted());
        found.sort_unstable();
        let known = |leaf: &PlacedNode| (leaf.row, leaf.col, leaf.reference.0);
        assert_eq!(found, matrix.leaves_by_row().unwrap().iter().map(known).collect::<Vec<_>>());
    }

    #[test]
    fn leaves_are_those_of_the_host() {
        let shared = Options::default().with_share(true);
        let empty = Csr::from_triplets(9, 700, []).unwrap();
        // A full square of leaves, whose parent is dense, and single entries far away.
        let square = (0..2048_usize)
            .step_by(32)
            .flat_map(|row| (0..2048_usize).step_by(32).map(move |col| (row, col)));
        let far = [(0, 69_999), (69_999, 0), (69_999, 69_999)];
        let entries = square.chain(far).map(|(row, col)| (row, col, 1.5));
        let square = Csr::from_triplets(70_000, 70_000, entries).unwrap();
        let scattered = generate(Kind::Rmat { scale: 12 }, 3).unwrap();
        for matrix in [empty, square, scattered] {
            check::<32>(&matrix, Options::default());
            check::<32>(&matrix, shared);
            check::<64>(&matrix, shared);
            check::<128>(&matrix, Options::default());
            check::<256>(&matrix, shared);
        }
    }
}
