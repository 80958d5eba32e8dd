//! Products in a semiring, row by row.

use std::sync::Arc;

use evenpath_kernels::GlobalCsr;
use evenpath_kernels::semiring::SemiringZeros;
use evenpath_kernels::spgemm::{Class, ResultEntries, ResultPattern, SpgemmHashFill, SpgemmWindowFill};
use evenpath_simt::Arithmetic;

use super::base::{ProductArrays, SpgemmOperands, Workspace, convert_offsets, result_arrays};
use super::masked::{self, MaskedProduct};
use super::options::SpgemmOptions;
use super::symbolic::{self, Analysis, Bin, ClassifiedRows, HashShape, WindowShape, block_instance};
use crate::cpu::{SemiringProduct, in_pool};
use crate::device::{Device, DeviceError, DeviceKind, DeviceSlice, DeviceVec};
use crate::format::DeviceCsr;
use crate::format::values::ValuesNow;
use crate::operand::OpError;
use crate::operand::requirement::Requirement;
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
        let product = Product::new(self, b)?;
        let workspace = Workspace::new(self.device(), options);
        if self.device().kind() == DeviceKind::Cpu {
            return product.on_cpu::<S>(&workspace);
        }
        product.by_kernels::<S>(&workspace)
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
        let device = self.device();
        let product = Product::new(self, b)?;
        masked::check_mask(product.patterns(), mask)?;
        let workspace = Workspace::new(device, options);
        let _values = workspace.take("the values of the result", Requirement::of::<V>(mask.nnz() as u64))?;
        let pattern = mask.pattern();
        let values = if device.kind() == DeviceKind::Cpu {
            let mut values = device.uninitialized(mask.nnz())?;
            let arrays = (pattern.row_offsets.host_slice(), pattern.column_indices.host_slice());
            if let ((Some(row_offsets), Some(columns)), Some(values)) = (arrays, values.host_slice_mut()) {
                in_pool(self.nrows(), || {
                    product.on_host().fill_pattern::<S>(row_offsets, columns, values);
                });
            }
            values
        } else {
            let (a, b) = (self.pattern(), b.pattern());
            MaskedProduct { device, a, b, mask: pattern, operands: product.operands::<S>() }
                .multiply(&workspace, |len| zeros::<S, V>(device, len))?
        };
        Ok(Self::from_valid(Arc::clone(mask.pattern()), values))
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

/// The matrices of a product, with the values that they have now.
struct Product<'a, V: Entry, O: Offset> {
    a: &'a DeviceCsr<V, O>,
    b: &'a DeviceCsr<V, O>,
    /// Their patterns alone, which is what the symbolic phase reads.
    patterns: (DeviceCsr<f32, O>, DeviceCsr<f32, O>),
    values: (ValuesNow<'a, V>, ValuesNow<'a, V>),
}

/// A matrix of the same pattern that has no values.
fn without_values<V: Entry, O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<DeviceCsr<f32, O>, DeviceError> {
    Ok(DeviceCsr::from_valid(Arc::clone(matrix.pattern()), matrix.device().uninitialized(0)?))
}

impl<'a, V: Entry, O: Offset> Product<'a, V, O> {
    /// The matrices, if they can be multiplied.
    fn new(a: &'a DeviceCsr<V, O>, b: &'a DeviceCsr<V, O>) -> Result<Self, OpError> {
        let patterns = (without_values(a)?, without_values(b)?);
        SpgemmOperands::check(&patterns.0, &patterns.1)?;
        Ok(Self { a, b, patterns, values: (a.values_now(), b.values_now()) })
    }

    fn patterns(&self) -> SpgemmOperands<'_, f32, O> {
        SpgemmOperands { a: &self.patterns.0, b: &self.patterns.1 }
    }

    /// The matrices, as kernels take them.
    fn operands<S: Semiring<V>>(&self) -> (GlobalCsr<S::Element, O>, GlobalCsr<S::Element, O>) {
        (self.a.pattern().with_values_as(&self.values.0), self.b.pattern().with_values_as(&self.values.1))
    }

    fn device(&self) -> &'a Device {
        self.a.device()
    }

    /// The product on the CPU, where its matrices are.
    fn on_host(&self) -> SemiringProduct<'_, V, O> {
        match (self.a.pattern().host_view(&self.values.0), self.b.pattern().host_view(&self.values.1)) {
            (Some(a), Some(b)) => SemiringProduct::new(a, b),
            _ => unreachable!("the CPU's buffers are the host's"),
        }
    }

    fn on_cpu<S: Semiring<V>>(&self, workspace: &Workspace) -> Result<DeviceCsr<V, O>, OpError> {
        let (device, rows) = (self.device(), self.a.nrows());
        let row_offsets = in_pool(rows, || self.on_host().row_offsets());
        let (mut columns, mut values, _charge) =
            result_arrays::<V, O>(device, rows, row_offsets[rows], workspace)?;
        if let (Some(columns), Some(values)) = (columns.host_slice_mut(), values.host_slice_mut()) {
            in_pool(rows, || self.on_host().fill::<S>(&row_offsets, columns, values));
        }
        let row_offsets = convert_offsets(&device.upload(&row_offsets)?)?;
        Ok(self.result(ProductArrays { row_offsets, column_indices: columns, values }))
    }

    fn by_kernels<S: Semiring<V>>(&self, workspace: &Workspace) -> Result<DeviceCsr<V, O>, OpError> {
        let device = self.device();
        device.prepare(symbolic::kernels::<O>)?;
        let operands = self.patterns();
        let symbolic = Analysis::find(operands, workspace)?.count(operands)?;
        let (mut column_indices, mut values, _charge) =
            result_arrays::<V, O>(device, self.a.nrows(), symbolic.nonzeros, workspace)?;
        let pattern = ResultPattern {
            row_offsets: symbolic.row_offsets.as_global(),
            column_indices: column_indices.as_global_mut(),
            is_known: 0,
        };
        self.fill::<S>(&symbolic.rows, pattern, &mut values)?;
        let row_offsets = convert_offsets(&symbolic.row_offsets)?;
        Ok(self.result(ProductArrays { row_offsets, column_indices, values }))
    }

    fn result(&self, arrays: ProductArrays<V, O>) -> DeviceCsr<V, O> {
        let (pattern, values) = arrays.into_pattern(self.a.nrows(), self.b.ncols());
        DeviceCsr::from_valid(pattern, values)
    }

    /// Launches the numeric phase: the columns, unless they are known, and the values of C.
    fn fill<S: Semiring<V>>(
        &self,
        rows: &ClassifiedRows,
        pattern: ResultPattern,
        values: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        let c = ResultEntries { pattern, values: values.as_global_mut_of() };
        let fill = Fill::<S::Element, O> { device: self.device(), rows, operands: self.operands::<S>(), c };
        for bin in &rows.bins.launches(self.device()) {
            match bin.class {
                Class::Empty => {}
                Class::Hash { .. } => fill.by_hash(bin)?,
                Class::Window { .. } => fill.by_windows(bin)?,
            }
        }
        Ok(())
    }
}

/// The operands and the result, as kernels take them.
struct Fill<'a, E: Arithmetic, O: Offset> {
    device: &'a Device,
    rows: &'a ClassifiedRows,
    operands: (GlobalCsr<E, O>, GlobalCsr<E, O>),
    c: ResultEntries<E>,
}

impl<E: Arithmetic, O: Offset> Fill<'_, E, O> {
    /// Computes the rows of a class with a hash table for each.
    fn by_hash(&self, bin: &Bin) -> Result<(), OpError> {
        let Self { device, rows, operands: (a, b), c } = *self;
        let launcher = device.kernel();
        let shape = HashShape::new(bin, rows.mean, launcher.info(), E::SIZE as u32);
        let launch = shape.launch(launcher, bin)?;
        let (lanes_log2, table_log2) = (shape.lanes_log2, shape.table_log2);
        let kernel = SpgemmHashFill { a, b, c, rows: rows.bins.rows(bin), lanes_log2, table_log2 };
        // SAFETY: the operands were checked; C has room for the counted entries, or its columns are given. Tables have room
        // for the rows of the class, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// Computes the rows of a class, each with a block that covers its columns by windows.
    fn by_windows(&self, bin: &Bin) -> Result<(), OpError> {
        let Self { device, rows, operands: (a, b), c } = *self;
        let info = block_instance::<SpgemmWindowFill<E, O>>(WINDOW_BLOCK);
        let shape = WindowShape::new(device, bin, rows.mean, info, E::SIZE as u32, size_of::<O>() as u32);
        let launch = shape.launch(device.instance(info), bin)?;
        let kernel = SpgemmWindowFill {
            a,
            b,
            c,
            rows: rows.bins.rows(bin),
            spans: rows.spans(),
            packets: shape.packets,
            sums: shape.sums,
            lanes_log2: shape.lanes_log2,
        };
        // SAFETY: as above.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}
