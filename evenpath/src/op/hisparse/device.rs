use std::fmt;
use std::sync::{Arc, OnceLock};

use evenpath_kernels::hisparse::{Pool, PoolMut};
use evenpath_simt::Word;

use crate::device::{Device, DeviceError, DeviceKind, DeviceSlice, DeviceVec, Upload};
use crate::matrix::hisparse::{BuiltTree, Reference, Unit};
use crate::scale::Scale;
use crate::{HiSparse, Value};

/// A [`HiSparse`] matrix in a device's memory, uploaded by [`Device::upload`].
///
/// The content never changes, and copies of a matrix share it. Transposition and a scale factor are stored beside it:
/// [`transpose`](Self::transpose) and [`scaled`](Self::scaled) take O(1).
///
/// ```
/// use evenpath::{Csr, Device, HiSparse, hisparse};
///
/// let a = Csr::from_triplets(2, 300, [(0, 0, 1.0), (0, 299, 2.0), (1, 299, 3.0)])?;
/// let a: HiSparse<f64> = a.to_hisparse(hisparse::Options::default())?;
/// let b = Device::cpu().upload(&a)?.transpose().scaled(10.0);
/// assert_eq!((b.nrows(), b.ncols(), b.nnz()), (300, 2, 3));
/// assert_eq!(b.download()?.get(299, 1), Some(30.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DeviceHiSparse<V: Value, const D: usize = 128> {
    content: Arc<Content<V, D>>,
    device: Device,
    is_transposed: bool,
    scale: Scale<V>,
}

/// The nodes, in host memory or on a machine.
pub(super) enum Content<V: Value, const D: usize> {
    /// On the CPU: a matrix in host memory, neither transposed nor scaled.
    Host(HiSparse<V, D>),
    Machine(Nodes),
}

/// A valid tree on a machine.
pub(super) struct Nodes {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) nnz: usize,
    /// The pool, in units of 16 bytes, the first of which belongs to no node; other matrices may share it.
    pub(super) pool: Arc<DeviceVec<Unit>>,
    pub(super) root: Reference,
    /// Number of nodes of each level, starting at the root, once known: a node counts once per reference.
    pub(super) level_sizes: OnceLock<Vec<usize>>,
}

/// Transposition and scale are kept. On the CPU the matrix is shared instead of copied.
impl<V: Value, const D: usize> Upload for HiSparse<V, D> {
    type OnDevice = DeviceHiSparse<V, D>;

    fn upload_to(&self, device: &Device) -> Result<DeviceHiSparse<V, D>, DeviceError> {
        device.refuse_in_graph("a matrix is copied from the host")?;
        let content = if device.kind() == DeviceKind::Cpu {
            Content::Host(self.content())
        } else {
            let (rows, cols) = self.content_shape();
            let pool = Arc::new(device.upload(self.units())?);
            let level_sizes = OnceLock::new();
            Content::Machine(Nodes { rows, cols, nnz: self.nnz(), pool, root: self.root(), level_sizes })
        };
        let (is_transposed, scale) = (self.is_transposed(), self.factor());
        Ok(DeviceHiSparse { content: Arc::new(content), device: device.clone(), is_transposed, scale })
    }
}

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// Builds a matrix from a valid tree.
    pub(super) fn from_content(device: &Device, content: Content<V, D>) -> Self {
        Self { content: Arc::new(content), device: device.clone(), is_transposed: false, scale: Scale::ONE }
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        if self.is_transposed { self.content.shape().1 } else { self.content.shape().0 }
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        if self.is_transposed { self.content.shape().0 } else { self.content.shape().1 }
    }

    /// Number of rows and number of columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }

    /// Number of nonzeros, that is, of stored entries: a stored zero counts.
    pub fn nnz(&self) -> usize {
        match &*self.content {
            Content::Host(matrix) => matrix.nnz(),
            Content::Machine(nodes) => nodes.nnz,
        }
    }

    /// Bytes of the pool, which [matrices may share](Self::share_subtrees).
    pub fn pool_bytes(&self) -> u64 {
        match &*self.content {
            Content::Host(matrix) => matrix.pool().len() as u64,
            Content::Machine(nodes) => size_of::<Unit>() as u64 * nodes.pool.len() as u64,
        }
    }

    /// The device that holds the matrix.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns whether the matrix is the transpose of the stored content.
    pub fn is_transposed(&self) -> bool {
        self.is_transposed
    }

    /// The factor that every stored value is multiplied by: 0 or infinity if it is out of the range of `V`.
    pub fn scale(&self) -> V {
        self.scale.rounded()
    }

    /// Returns the n x m transpose of an m x n matrix, in O(1). It shares this matrix's content.
    #[must_use]
    pub fn transpose(&self) -> Self {
        Self { is_transposed: !self.is_transposed, ..self.clone() }
    }

    /// Returns the m x n matrix times `factor`, in O(1). It shares this matrix's content. Factors are multiplied
    /// together before they are applied to values; their product may leave the range of `V`. Times 0, every
    /// entry is 0, even if the stored value is not a number.
    #[must_use]
    pub fn scaled(&self, factor: V) -> Self {
        Self { scale: self.scale.times(factor), ..self.clone() }
    }

    /// Copies the matrix to the host, keeping transposition and scale. On the CPU the content is shared instead.
    ///
    /// # Errors
    ///
    /// If the device was lost, or the host does not have enough memory.
    pub fn download(&self) -> Result<HiSparse<V, D>, DeviceError> {
        self.device.refuse_in_graph("a matrix is copied to the host")?;
        let content = match &*self.content {
            Content::Host(matrix) => matrix.clone(),
            Content::Machine(nodes) => {
                let tree = BuiltTree { pool: nodes.pool.download()?, root: nodes.root };
                HiSparse::from_tree(nodes.rows, nodes.cols, nodes.nnz, tree)
            }
        };
        Ok(content.with_state(self.is_transposed, self.scale))
    }

    /// The factor that every stored value is multiplied by.
    pub(super) fn factor(&self) -> Scale<V> {
        self.scale
    }

    /// Other nodes with the same transposition and scale.
    pub(super) fn with_nodes(&self, nodes: Nodes) -> Self {
        Self { content: Arc::new(Content::Machine(nodes)), ..self.clone() }
    }

    pub(super) fn content(&self) -> &Content<V, D> {
        &self.content
    }

    /// The matrix in host memory, if the device is the CPU.
    pub(super) fn host(&self) -> Option<HiSparse<V, D>> {
        match &*self.content {
            Content::Host(matrix) => Some(matrix.with_state(self.is_transposed, self.scale)),
            Content::Machine(_) => None,
        }
    }
}

impl<V: Value, const D: usize> Content<V, D> {
    fn shape(&self) -> (usize, usize) {
        match self {
            Self::Host(matrix) => matrix.content_shape(),
            Self::Machine(nodes) => (nodes.rows, nodes.cols),
        }
    }
}

impl Nodes {
    /// A view of the pool with slots of type `T`: references in inner nodes, values in leaves.
    pub(super) fn view<T: Word>(&self) -> Pool<T> {
        pool_view(&self.pool)
    }
}

/// A view of a pool with slots of type `T`.
pub(super) fn pool_view<T: Word>(pool: &DeviceSlice<Unit>) -> Pool<T> {
    Pool { words: pool.as_aligned_of(), coordinates: pool.as_global_of(), slots: pool.as_aligned_of() }
}

/// A mutable view of a pool with slots of type `T`.
pub(super) fn pool_view_mut<T: Word>(pool: &mut DeviceSlice<Unit>) -> PoolMut<T> {
    PoolMut {
        words: pool.as_aligned_mut_of(),
        coordinates: pool.as_global_mut_of(),
        slots: pool.as_aligned_mut_of(),
    }
}

impl<V: Value, const D: usize> fmt::Debug for DeviceHiSparse<V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols, nnz, bytes) = (self.nrows(), self.ncols(), self.nnz(), self.pool_bytes());
        let transposed = if self.is_transposed { ", transposed" } else { "" };
        write!(f, "DeviceHiSparse<{}, {D}>({rows} x {cols}, {nnz} nonzeros in {bytes} bytes", V::NAME)?;
        write!(f, "{transposed}, times {}, on {})", self.scale(), self.device)
    }
}
