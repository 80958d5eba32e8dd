//! Products in a semiring, row by row.

use evenpath_kernels::semiring::SemiringZeros;
use evenpath_kernels::spgemm::{ResultEntries, ResultPattern, SpgemmWindowFill};

use super::base::{ProductArrays, SpgemmCall, SpgemmOperands, Workspace, convert_offsets, result_arrays};
use super::masked;
use super::options::SpgemmOptions;
use super::row_wise::Fill;
use super::symbolic::{self, Analysis, block_instance};
use crate::cpu::{SemiringProduct, in_pool};
use crate::device::{Device, DeviceError, DeviceKind, DeviceVec};
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::semiring::Semiring;
use crate::{Entry, Offset};

/// Threads of the block of a row that uses windows.
const WINDOW_BLOCK: u32 = 128;

impl<V: Entry, O: Offset> DeviceCsr<V, O> {
    /// Computes C = A·B in a [semiring](crate::semiring). A is m × k, B is k × n, C is m × n, and has an entry where entries of A and B
    /// meet. Its rows are sorted by column, without duplicates.
    ///
    /// By rows, like [`SpgemmMethod::RowWise`](crate::spgemm::SpgemmMethod::RowWise); `options` say what memory it may take, and
    /// the method is ignored. Waits for the size of the result. Values are the same to the bit in every run.
    ///
    /// ```
    /// use evenpath::semiring::MinPlus;
    /// use evenpath::spgemm::SpgemmOptions;
    /// use evenpath::{Csr, Device};
    ///
    /// // Edges from 0 to 1 and 2, and from both of them to 3: the shortest path of two edges.
    /// let edges = Csr::from_triplets(4, 4, [(0, 1, 1.0), (0, 2, 5.0), (1, 3, 7.0), (2, 3, 2.0)])?;
    /// let edges = Device::best()?.upload(&edges)?;
    /// let paths = edges.spgemm_over::<MinPlus>(&edges, SpgemmOptions::default())?.download()?;
    /// assert_eq!(paths.iter().collect::<Vec<_>>(), [(0, 3, 7.0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If B has not a row for each column of A or is on another device, a matrix is not canonical, or the product has more
    /// nonzeros than `O` counts. If workspace and result would take more memory than they may, this thread captures a graph, or
    /// the device was lost.
    pub fn spgemm_over<S: Semiring<V>>(&self, b: &Self, options: SpgemmOptions) -> Result<Self, OpError> {
        let product = SpgemmOperands::check(self, b)?.product();
        let workspace = Workspace::new(self.device(), options);
        if self.device().kind() == DeviceKind::Cpu {
            return on_cpu::<S, V, O>(&product, &workspace);
        }
        by_kernels::<S, V, O>(&product, &workspace)
    }

    /// Computes the entries of A·B in a [semiring](crate::semiring) where `mask` has entries, and nothing elsewhere. A is m × k, B is
    /// k × n, the mask and the result are m × n. The result has the mask's pattern, with the zero of the semiring where no products
    /// fall. The mask's values do not matter.
    ///
    /// Memory and options as for [`spgemm_masked`](Self::spgemm_masked).
    ///
    /// ```
    /// use evenpath::semiring::PlusPair;
    /// use evenpath::spgemm::SpgemmOptions;
    /// use evenpath::{Csr, Device};
    ///
    /// // Two triangles with a common edge, each edge once, from the greater vertex to the less.
    /// let edges = Csr::try_new(4, 4, vec![0_u32, 0, 1, 3, 5], vec![0, 0, 1, 1, 2], vec![1_u32; 5])?;
    /// let edges = Device::best()?.upload(&edges)?;
    /// let counts = edges.spgemm_masked_over::<PlusPair, _>(&edges, &edges, SpgemmOptions::default())?;
    /// assert_eq!(counts.download()?.values().iter().sum::<u32>(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`spgemm_over`](Self::spgemm_over), and if the mask has not the product's shape, is not canonical, or is on
    /// another device.
    pub fn spgemm_masked_over<S: Semiring<V>, M: Entry>(
        &self,
        b: &Self,
        mask: &DeviceCsr<M, O>,
        options: SpgemmOptions,
    ) -> Result<Self, OpError> {
        let operands = SpgemmOperands::check(self, b)?;
        let sums = (S::ZERO, S::multiply_add);
        masked::multiply_with::<S::Element, V, M, O>(operands, mask, options, sums, |len| {
            zeros::<S, V>(self.device(), len)
        })
    }
}

/// A vector of zeros of a semiring.
fn zeros<S: Semiring<V>, V: Entry>(device: &Device, len: usize) -> Result<DeviceVec<V>, OpError> {
    let mut zeros = device.uninitialized(len)?;
    let launch = device.kernel().threads(len)?;
    let kernel = SemiringZeros::<S::Element> { y: zeros.as_global_mut_of(), len: len as u64 };
    // SAFETY: the view is of `len` elements on this device; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(zeros)
}

/// The product on the CPU.
fn on_cpu<S: Semiring<V>, V: Entry, O: Offset>(
    product: &SpgemmCall<'_, V, O>,
    workspace: &Workspace,
) -> Result<DeviceCsr<V, O>, OpError> {
    let SpgemmOperands { a, b } = product.operands;
    let device = a.device();
    let cpu = SemiringProduct::new(product.host_views());
    let no_memory = |()| DeviceError::HostOutOfMemory { requested: cpu.row_bytes() };
    let row_offsets = in_pool(a.nrows(), || cpu.row_offsets()).map_err(no_memory)?;
    let (mut column_indices, mut values, _charge) =
        result_arrays::<V, O>(device, a.nrows(), row_offsets[a.nrows()], workspace)?;
    if let (Some(columns), Some(values)) = (column_indices.host_slice_mut(), values.host_slice_mut()) {
        in_pool(a.nrows(), || cpu.fill::<S>(&row_offsets, columns, values)).map_err(no_memory)?;
    }
    let row_offsets = convert_offsets(&device.adopt(row_offsets)?)?;
    let (pattern, values) =
        ProductArrays { row_offsets, column_indices, values }.into_pattern(a.nrows(), b.ncols());
    Ok(DeviceCsr::from_valid(pattern, values))
}

/// The product on a device with kernels.
fn by_kernels<S: Semiring<V>, V: Entry, O: Offset>(
    product: &SpgemmCall<'_, V, O>,
    workspace: &Workspace,
) -> Result<DeviceCsr<V, O>, OpError> {
    let operands = product.operands;
    let (device, rows) = (operands.device(), operands.a.nrows());
    device.prepare(symbolic::kernels::<O>)?;
    let symbolic = Analysis::find(operands, workspace)?.count(operands)?;
    let (mut column_indices, mut values, _charge) =
        result_arrays::<V, O>(device, rows, symbolic.nonzeros, workspace)?;
    let pattern = ResultPattern {
        row_offsets: symbolic.row_offsets.as_global(),
        column_indices: column_indices.as_global_mut(),
        is_known: 0,
    };
    let fill = Fill::<S::Element, O> {
        device,
        rows: &symbolic.rows,
        operands: product.views_as(),
        c: ResultEntries { pattern, values: values.as_global_mut_of() },
        window: |_| block_instance::<SpgemmWindowFill<S::Element, O>>(WINDOW_BLOCK),
    };
    fill.launch(true)?;
    let row_offsets = convert_offsets(&symbolic.row_offsets)?;
    let (pattern, values) =
        ProductArrays { row_offsets, column_indices, values }.into_pattern(rows, operands.b.ncols());
    Ok(DeviceCsr::from_valid(pattern, values))
}
