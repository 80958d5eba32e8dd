//! Operations on the entries of a tree with the queue scheduler: norm and diagonal.

use evenpath_kernels::hisparse::queue::{Diagonal, HiSparseDiagonal, HiSparseSquares};
use evenpath_kernels::norm::{SUMS, Squares};

use super::QueuedOptions;
use super::device::{Content, DeviceHiSparse};
use super::queues::{QueueMemory, grid};
use crate::device::DeviceVec;
use crate::operand::OpError;
use crate::scale::Scale;
use crate::{HiSparse, Value};

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// Returns the Frobenius norm of an m x n matrix: the square root of the sum of all squares, with the scale applied.
    /// Waits for the device.
    ///
    /// It is computed in `f64`, and the squares neither overflow nor underflow. On GPUs they are added in no particular order, so rounding
    /// differs from run to run.
    ///
    /// ```
    /// use evenpath::{Csr, Device, hisparse};
    ///
    /// let a: Csr<f32> = Csr::from_triplets(200, 300, [(0, 299, 3.0), (199, 1, 4.0)])?;
    /// let a = Device::best()?.upload(&a.to_hisparse::<128>(hisparse::Options::default())?)?;
    /// assert_eq!(a.scaled(-2.0).frobenius_norm(hisparse::QueuedOptions::default())?, 10.0);
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is not enough memory for the queues, or the device was lost.
    pub fn frobenius_norm(&self, options: QueuedOptions) -> Result<f64, OpError> {
        self.device().refuse_in_graph("the norm of a matrix is given to the host")?;
        let nodes = match self.content() {
            Content::Host(matrix) => return Ok(norm(squares_of(matrix), self.factor())),
            Content::Machine(nodes) => nodes,
        };
        if nodes.root.is_null() {
            return Ok(norm(Squares::ZERO, self.factor()));
        }
        let device = self.device();
        let mut sums = device.zeros::<f64>(SUMS)?;
        let mut queues = QueueMemory::for_tree(nodes, options)?;
        let launch = grid(device.kernel(), options, nodes.nnz)?;
        let kernel = HiSparseSquares {
            tree: nodes.tree::<V, D>(launch.grid()),
            queues: queues.next_run()?,
            sums: sums.as_global_mut(),
        };
        // SAFETY: the tree is valid and of this height; the queues are new. All are on this device, and buffers are freed in
        // the stream's order.
        unsafe { launch.launch(kernel) }?;
        let sums = sums.download()?;
        let squares = Squares { plain: sums[0], large: sums[1], small: sums[2] };
        Ok(norm(squares, self.factor()))
    }

    /// Returns the diagonal of an m x n matrix, with the scale applied: min(m, n) elements, and 0 where nothing is
    /// stored. Only the nodes on the diagonal are visited. The launch is asynchronous.
    ///
    /// ```
    /// use evenpath::{Csr, Device, hisparse};
    ///
    /// let a: Csr<f32> = Csr::from_triplets(2, 300, [(0, 0, 3.0), (1, 299, 4.0)])?;
    /// let a = Device::best()?.upload(&a.to_hisparse::<128>(hisparse::Options::default())?)?;
    /// assert_eq!(a.diagonal(hisparse::QueuedOptions::default())?.download()?, [3.0, 0.0]);
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is not enough memory for the diagonal and the queues, or the device was lost.
    pub fn diagonal(&self, options: QueuedOptions) -> Result<DeviceVec<V>, OpError> {
        let device = self.device();
        let mut elements = device.zeros(self.nrows().min(self.ncols()))?;
        if let (Some(matrix), Some(elements)) = (self.host(), elements.host_slice_mut()) {
            for (at, element) in elements.iter_mut().enumerate() {
                *element = matrix.get(at, at).unwrap_or(V::ZERO);
            }
        }
        let nodes = match self.content() {
            Content::Machine(nodes) if !nodes.root.is_null() => nodes,
            _ => return Ok(elements),
        };
        let mut queues = QueueMemory::for_tree(nodes, options)?;
        let launch = grid(device.kernel(), options, elements.len())?;
        let (scale, _) = self.factor().number_and_power();
        let kernel = HiSparseDiagonal {
            tree: nodes.tree::<V, D>(launch.grid()),
            queues: queues.next_run()?,
            diagonal: Diagonal {
                elements: elements.as_global_mut(),
                scale,
                is_scaled: u32::from(scale != V::ONE),
            },
        };
        // SAFETY: the tree is valid and of this height, the queues are new, and there is an element for each entry that the
        // diagonal can have. All are on this device, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        self.finish_scaling(&mut elements)?;
        Ok(elements)
    }
}

/// The sums of the squares of the stored values.
fn squares_of<V: Value, const D: usize>(matrix: &HiSparse<V, D>) -> Squares<f64> {
    let mut squares = Squares::ZERO;
    matrix.iter().for_each(|(_, _, value)| squares.add(value.to_f64()));
    squares
}

/// Norm of values with these squares, times a scale. Out of range only if the norm itself is.
fn norm<V: Value>(squares: Squares<f64>, scale: Scale<V>) -> f64 {
    if scale.is_zero() {
        return 0.0;
    }
    let (number, power) = scale.number_and_power();
    let (number, power) = (number.abs().to_f64(), power.to_f64());
    let (root, inverse) = squares.scaled_root();
    // Both steps scale in the same direction, so intermediate results are in range if the result is.
    let half = inverse.sqrt();
    root * half * number * half * power * power
}
