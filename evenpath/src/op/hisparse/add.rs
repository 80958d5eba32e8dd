//! `C = A + B` of two trees on a device, each transposed or scaled or not (thesis, chapter 6).
//!
//! Like on the host, both trees are traversed together from the roots, level by level; a subtree that only
//! one of them has is copied. This determines the nodes of the sum. They are placed in the pool, then the
//! leaves are merged.

use evenpath_kernels::hisparse::sum::state;

use super::device::{Content, DeviceHiSparse, Nodes};
use super::{SpaddMethod, SpaddOptions};
use crate::Value;
use crate::device::Device;
use crate::matrix::hisparse::tree::check_entries;
use crate::operand::OpError;
use crate::operand::check::check_shape;

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// Returns the sum A + B of two m x n matrices, with their transpositions and scales applied: A and
    /// `A.transpose()` give A + Aᵀ. The sum has an entry wherever either matrix has one, even if its value is 0.
    /// The scale of the sum is 1. Values of a matrix whose scale is 0 are ignored, including NaN. All methods give
    /// the same content, and except for NaN payloads it is bitwise the same as that of
    /// [`HiSparse::spadd`](crate::HiSparse::spadd) on the host.
    ///
    /// By default, waits for the device once, to learn the size of the sum, and takes 24 bytes per node of both operands
    /// of temporary memory, besides the sum. The first sum of a tree that was uploaded, or that is a sum by queues, also
    /// waits once per level, to count the tree's nodes. [`SpaddMethod::Queues`] has no such wait.
    ///
    /// ```
    /// use evenpath::{Csr, Device, hisparse};
    ///
    /// let a = Csr::from_triplets(300, 300, [(0, 0, 1.0), (0, 299, 2.0)])?;
    /// let a = Device::best()?.upload(&a)?.to_hisparse::<128>(hisparse::Options::default())?;
    /// let difference = a.spadd(&a.transpose().scaled(-1.0), hisparse::SpaddOptions::default())?.download()?;
    /// assert_eq!((difference.get(0, 0), difference.get(299, 0)), (Some(0.0), Some(-2.0)));
    ///
    /// // One kernel instead of one per level.
    /// let options = hisparse::SpaddOptions::default().with_method(hisparse::SpaddMethod::Queues);
    /// assert_eq!(a.spadd(&a.transpose(), options)?.download()?.get(299, 0), Some(2.0));
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the shapes or devices differ, the nodes take more than 16 GiB
    /// ([`MatrixError::PoolTooLarge`](crate::MatrixError::PoolTooLarge)), there is not enough memory, or the device was
    /// lost.
    pub fn spadd(&self, other: &Self, options: SpaddOptions) -> Result<Self, OpError> {
        let (rows, cols) = self.shape();
        check_shape("B", other.shape(), (rows, cols))?;
        self.device().check_same(other.device())?;
        self.device().refuse_in_graph("a sum of matrices waits for the size of its result")?;
        if let (Some(a), Some(b)) = (self.host(), other.host()) {
            return Ok(self.device().upload(&a.spadd(&b)?)?);
        }
        let (this, other) = (self.with_number_as_scale()?, other.with_number_as_scale()?);
        let (this, other) = (&*this, &*other);
        let (Content::Machine(a), Content::Machine(b)) = (this.content(), other.content()) else {
            unreachable!("matrices on one device are all in host memory, or none is")
        };
        // The sum has every entry of either operand.
        check_entries::<V>(a.nnz.max(b.nnz))?;
        let is_transposed = this.is_transposed() && other.is_transposed();
        // Addition is commutative, so the order of the operands does not affect the bits.
        let ((left, a), (right, b)) = if this.is_transposed() && !is_transposed {
            ((other, b), (this, a))
        } else {
            ((this, a), (other, b))
        };
        let state = |holds: bool, bit: u32| if holds { bit } else { 0 };
        let sum = DeviceTreeSum::<V, D> {
            device: self.device(),
            a,
            b,
            state: state(right.is_transposed() != is_transposed, state::B_TRANSPOSED)
                | state(left.scale() != V::ONE, state::A_SCALED)
                | state(right.scale() != V::ONE, state::B_SCALED),
            scales: (left.scale(), right.scale()),
        };
        let (rows, cols) = if is_transposed { (cols, rows) } else { (rows, cols) };
        let sum = match options.method {
            SpaddMethod::Levels => sum.run(rows, cols)?,
            SpaddMethod::Queues => sum.run_queued(rows, cols, options.queues)?,
        };
        let sum = Self::from_content(self.device(), Content::Machine(sum));
        Ok(if is_transposed { sum.transpose() } else { sum })
    }
}

/// The sum of two trees.
pub(super) struct DeviceTreeSum<'m, V: Value, const D: usize> {
    pub(super) device: &'m Device,
    pub(super) a: &'m Nodes,
    pub(super) b: &'m Nodes,
    /// Bits of [`state`].
    pub(super) state: u32,
    pub(super) scales: (V, V),
}
