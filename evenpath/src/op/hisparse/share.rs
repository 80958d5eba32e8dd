//! Equal subtrees of several matrices are stored once (Derler 2016, chapters 1 and 8).

use std::collections::HashMap;
use std::sync::Arc;

use super::device::{Content, DeviceHiSparse, Nodes};
use super::equal_nodes::{self, EqualNodes};
use crate::device::{Device, DeviceVec};
use crate::matrix::hisparse::node::MAX_UNITS;
use crate::matrix::hisparse::{self, Reference, Unit};
use crate::operand::OpError;
use crate::{HiSparse, Value};

/// Number of bits in a node's hash. With more, fewer unequal nodes are compared, but sorting takes longer.
const HASH_BITS: u32 = 32;

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// Returns the same matrices with a common pool in which equal subtrees are stored once, like
    /// [`HiSparse::share_subtrees`], but with the nodes in a different order: level by level from the leaves.
    ///
    /// Equal nodes of a level are found by sorting their hashes, and compared. Waits for the device several
    /// times per level. Temporarily takes the size of all pools, and about 50 bytes per node, besides the new
    /// pool. Pools of more than 16 GiB in total go through the host.
    ///
    /// ```
    /// use evenpath::hisparse::{self, DeviceHiSparse};
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Csr::from_triplets(300, 300, [(0, 0, 1.0), (299, 299, 3.0)])?;
    /// let a = Device::best()?.upload(&a.to_hisparse::<128>(hisparse::Options::default())?)?;
    /// let shared = DeviceHiSparse::share_subtrees(&[a.clone(), a.scaled(2.0)])?;
    /// assert_eq!(shared[0].pool_bytes(), a.pool_bytes());
    /// assert_eq!(shared[1].download()?.get(299, 299), Some(6.0));
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrices are on different devices, the pool would take more than 16 GiB, there is not enough memory, or the device
    /// was lost.
    pub fn share_subtrees(matrices: &[Self]) -> Result<Vec<Self>, OpError> {
        let Some(device) = matrices.first().map(Self::device) else { return Ok(Vec::new()) };
        for matrix in matrices {
            device.check_same(matrix.device())?;
        }
        device.refuse_in_graph("matrices that share subtrees wait for the size of their pool")?;
        Self::share_with(device, matrices, HASH_BITS, MAX_UNITS)
    }

    /// [`share_subtrees`](Self::share_subtrees) by hashes of `hash_bits` bits; through the host if the pools have more than
    /// `most_units` units.
    fn share_with(
        device: &Device,
        matrices: &[Self],
        hash_bits: u32,
        most_units: usize,
    ) -> Result<Vec<Self>, OpError> {
        let trees: Option<Vec<&Nodes>> = matrices.iter().map(Self::nodes).collect();
        let Some(trees) = trees else {
            let hosts = Self::share_on_host(matrices)?;
            return Ok(hosts.iter().map(|host| device.upload(host)).collect::<Result<_, _>>()?);
        };
        let sources = Sources::<D>::new(&trees);
        let (pool, roots) = if sources.units <= most_units {
            device.prepare(equal_nodes::kernels)?;
            sources.share(device, hash_bits, V::SIZE as u32)?
        } else {
            let hosts = Self::share_on_host(matrices)?;
            (device.upload(hosts[0].units())?, hosts.iter().map(HiSparse::root).collect())
        };
        let pool = Arc::new(pool);
        let shared = matrices.iter().zip(trees).zip(roots).map(|((matrix, tree), root)| {
            let nodes = Nodes { pool: pool.clone(), root, level_sizes: tree.level_sizes.clone(), ..*tree };
            matrix.with_nodes(nodes)
        });
        Ok(shared.collect())
    }

    /// The nodes, if they are on a machine.
    fn nodes(&self) -> Option<&Nodes> {
        match self.content() {
            Content::Machine(nodes) => Some(nodes),
            Content::Host(_) => None,
        }
    }

    fn share_on_host(matrices: &[Self]) -> Result<Vec<HiSparse<V, D>>, OpError> {
        let hosts = matrices.iter().map(Self::download).collect::<Result<Vec<_>, _>>()?;
        Ok(HiSparse::share_subtrees(&hosts)?)
    }
}

/// Trees on a machine, and their distinct pools, to be combined into one.
struct Sources<'a, const D: usize> {
    trees: &'a [&'a Nodes],
    pools: Vec<&'a DeviceVec<Unit>>,
    /// The unit at which each tree's pool starts.
    bases: Vec<usize>,
    /// Units of all pools.
    units: usize,
}

impl<'a, const D: usize> Sources<'a, D> {
    fn new(trees: &'a [&'a Nodes]) -> Self {
        let mut known = HashMap::new();
        let (mut pools, mut units) = (Vec::new(), 0);
        let base_of = |tree: &&'a Nodes| {
            *known.entry(Arc::as_ptr(&tree.pool)).or_insert_with(|| {
                pools.push(&*tree.pool);
                units += tree.pool.len();
                units - tree.pool.len()
            })
        };
        let bases = trees.iter().map(base_of).collect();
        Self { trees, pools, bases, units }
    }

    /// Returns the new pool, and the root of each tree in it.
    fn share(
        &self,
        device: &Device,
        hash_bits: u32,
        value_bytes: u32,
    ) -> Result<(DeviceVec<Unit>, Vec<Reference>), OpError> {
        let mut pool = device.uninitialized(self.units)?;
        let mut bases = Vec::with_capacity(self.pools.len());
        let mut end = 0;
        for source in &self.pools {
            let start = end;
            end += source.len();
            pool.slice_mut(start..end)?.copy_from(source)?;
            bases.push(start as u32);
        }
        // For each level, starting at the leaves: the trees that have their root on it, and the roots.
        let depth = |tree: &Nodes| hisparse::depth(tree.rows, tree.cols, D);
        let levels = self.trees.iter().map(|tree| depth(tree)).max().unwrap_or(0);
        let mut owners = vec![Vec::new(); levels];
        let mut roots = vec![Vec::new(); levels];
        for (index, (tree, &base)) in self.trees.iter().zip(&self.bases).enumerate() {
            if !tree.root.is_null() {
                let level = depth(tree) - 1;
                owners[level].push(index);
                roots[level].push(Reference::new(base + tree.root.unit(), tree.root.kind()).0);
            }
        }
        let mut roots =
            roots.iter().map(|roots| device.upload(roots)).collect::<Result<Vec<DeviceVec<u32>>, _>>()?;
        let bases = device.upload(&bases)?;
        let nodes = EqualNodes { pool, bases, d_log2: D.ilog2(), value_bytes, hash_bits };
        let (levels, pool) = nodes.share(&roots)?;
        let mut shared_roots = vec![Reference::NULL; self.trees.len()];
        for ((level, roots), owners) in levels.iter().zip(&mut roots).zip(owners) {
            level.replace(roots)?;
            for (owner, root) in owners.into_iter().zip(roots.download()?) {
                shared_roots[owner] = Reference(root);
            }
        }
        Ok((pool, shared_roots))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::device::SimulatedOptions;
    use crate::matrix::hisparse::Options;

    /// Matrices of one to three levels whose leaves are dense and sparse, some of them equal. One is a dense leaf that has the
    /// bits of a sparse one.
    fn matrices(device: &Device) -> Vec<DeviceHiSparse<f64, 32>> {
        let block = (0..900).map(|at| (at / 30, at % 30, 1.0));
        let other = (0..900).map(|at| (100 + at / 30, 64 + at % 30, (1 + at / 899) as f64));
        let far = (0..12).map(|at| (97 * at, 90 * at, (at % 3) as f64));
        let far: Vec<_> = block.chain(other).chain(far).collect();
        let near = far.iter().copied().filter(|&(row, col, _)| row < 200 && col < 300).collect();
        let one = vec![(5, 6, 2.0)];
        let tree = |(rows, cols, entries): (usize, usize, Vec<(usize, usize, f64)>)| {
            let matrix: Csr<f64> = Csr::from_triplets(rows, cols, entries).unwrap();
            matrix.to_hisparse(Options::default()).unwrap()
        };
        let sparse: HiSparse<f64, 32> =
            tree((32, 32, (0..818).map(|at| (at / 32, at % 32, 1.0 + at as f64)).collect()));
        let bits: &[f64] = bytemuck::cast_slice(&sparse.units()[1..]);
        let bits = bits.iter().enumerate().map(|(at, &value)| (at / 32, at % 32, value));
        let dense = tree((32, 32, bits.filter(|(_, _, value)| value.to_bits() != 0).collect()));
        assert!(sparse.units() == dense.units() && sparse.root() != dense.root());
        let others = [(1100, 1000, far), (200, 300, near), (7, 7, one), (2000, 9, vec![])].map(tree);
        let trees = others.into_iter().chain([dense, sparse]);
        trees.map(|tree| device.upload(&tree).unwrap()).collect()
    }

    fn entries(matrices: &[DeviceHiSparse<f64, 32>]) -> Vec<Vec<(usize, usize, f64)>> {
        matrices.iter().map(|matrix| matrix.download().unwrap().iter().collect()).collect()
    }

    /// Any number of nodes with the same hash, and through the host.
    #[test]
    fn hash_collisions_change_nothing() {
        let device = Device::simulated(SimulatedOptions::default());
        let before = matrices(&device);
        let hosts: Vec<_> = before.iter().map(|matrix| matrix.download().unwrap()).collect();
        let bytes = HiSparse::share_subtrees(&hosts).unwrap()[0].pool().len() as u64;
        assert!(bytes < before.iter().map(DeviceHiSparse::pool_bytes).sum());
        let by = |hash_bits, most_units| {
            DeviceHiSparse::share_with(&device, &before, hash_bits, most_units).unwrap()
        };
        let good = by(HASH_BITS, MAX_UNITS);
        let units = good[0].download().unwrap().units().to_vec();
        for hash_bits in [0, 1, 3] {
            let shared = by(hash_bits, MAX_UNITS);
            assert_eq!(entries(&shared), entries(&before), "hashes of {hash_bits} bits");
            assert!(shared[0].download().unwrap().units() == units, "hashes of {hash_bits} bits");
        }
        for shared in [good, by(HASH_BITS, 0)] {
            assert_eq!(entries(&shared), entries(&before));
            assert_eq!(shared[0].pool_bytes(), bytes);
        }
    }
}
