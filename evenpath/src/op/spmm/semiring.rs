//! Products with dense matrices in a semiring, without a plan.

use evenpath_kernels::spmm::{SemiringCarries, SemiringOperand, SemiringResult, SemiringSpmm, SemiringTiles};

use crate::cpu::{Dense, DenseMut, semiring_spmm};
use crate::device::{DeviceKind, DeviceVec};
use crate::format::dense::check_dense;
use crate::format::path_tiles::PathTiles;
use crate::format::{DeviceCsr, DeviceDense, Layout};
use crate::matrix::check_threads;
use crate::operand::OpError;
use crate::operand::check::check_len;
use crate::semiring::Semiring;
use crate::{Csr, CsrView, Entry, Offset};

/// Maximum number of tiles: enough for every lane of the largest GPU. The same for all devices, since the ends of tiles determine how sums
/// are rounded.
const TILES: usize = 1 << 16;

/// Minimum row ends plus nonzeros of a tile.
const LEAST_ITEMS: usize = 32;

/// Maximum number of columns that are computed at a time, which limits the memory for carries.
const COLUMNS: usize = 64;

/// log2 of the maximum number of lanes over columns.
const MOST_LANES_LOG2: u32 = 5;

impl<V: Entry, O: Offset> DeviceCsr<V, O> {
    /// Computes C = A·B in a [semiring](crate::semiring), for dense B and C: the sum of the products of a row is its minimum, for instance.
    /// A has m rows and n columns, B has n rows and k columns, C has m rows and k columns. The matrix need not be canonical: products of
    /// duplicates are summed too.
    ///
    /// Work is divided by row ends and nonzeros, whatever the lengths of rows. B and C may have different layouts; by rows is faster.
    /// Takes temporary memory for at most 2¹⁶ elements per column of C, and 2¹⁶ row numbers, for 64 columns at a time. Runs in the order of
    /// the device's stream; the call does not wait, and may be captured in a graph. Results are the same to the bit in every run.
    ///
    /// ```
    /// use evenpath::semiring::MinPlus;
    /// use evenpath::{Csr, Device, DeviceDense, Layout};
    ///
    /// // Lengths of edges, and distances from two vertices, a column each.
    /// let device = Device::best()?;
    /// let edges = Csr::try_new(2, 2, vec![0_u32, 2, 3], vec![0, 1, 0], vec![5_u32, 1, 7])?;
    /// let edges = device.upload(&edges)?;
    /// let b = DeviceDense::try_new(device.upload(&[2_u32, 0, 10, 3])?, 2, 2, Layout::RowMajor)?;
    /// let mut c = device.zeros_dense(2, 2, Layout::RowMajor)?;
    /// edges.spmm_over::<MinPlus>(&b, &mut c)?;
    /// assert_eq!(c.download()?, [7, 4, 9, 7]); // min(5 + 2, 1 + 10), min(5 + 0, 1 + 3), …
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If B does not have one row per column of A, or C not the rows of A and the columns of B; if either is on another device, the matrix
    /// is too large for one launch, or there is no memory for the parts of rows that tiles cut; then nothing is written. If the device
    /// was lost.
    pub fn spmm_over<S: Semiring<V>>(
        &self,
        b: &DeviceDense<V>,
        c: &mut DeviceDense<V>,
    ) -> Result<(), OpError> {
        multiply::<S, V, O>(self, b, c, false)
    }

    /// Computes C = C + A·B in a [semiring](crate::semiring), like [`spmm_over`](Self::spmm_over): each element of C is one of the sum.
    ///
    /// # Errors
    ///
    /// The same as for [`spmm_over`](Self::spmm_over).
    pub fn add_spmm_over<S: Semiring<V>>(
        &self,
        b: &DeviceDense<V>,
        c: &mut DeviceDense<V>,
    ) -> Result<(), OpError> {
        multiply::<S, V, O>(self, b, c, true)
    }
}

impl<V: Entry, O: Offset> CsrView<'_, V, O> {
    /// Computes C = A·B in a [semiring](crate::semiring), for dense B and C by rows. A has m rows and n columns, B n rows and `columns`
    /// columns, C m rows and `columns` columns. Runs on all threads of the CPU, and gives the bits of
    /// [`DeviceCsr::spmm_over`] there.
    ///
    /// ```
    /// use evenpath::Csr;
    /// use evenpath::semiring::MinPlus;
    ///
    /// let edges = Csr::try_new(2, 2, vec![0_u32, 2, 3], vec![0, 1, 0], vec![5_u32, 1, 7])?;
    /// let mut c = [0; 4];
    /// edges.view().spmm_over::<MinPlus>(2, &[2, 0, 10, 3], &mut c)?;
    /// assert_eq!(c, [7, 4, 9, 7]); // min(5 + 2, 1 + 10), min(5 + 0, 1 + 3), …
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If B or C has the wrong number of elements; then nothing is written.
    pub fn spmm_over<S: Semiring<V>>(self, columns: usize, b: &[V], c: &mut [V]) -> Result<(), OpError> {
        multiply_on_host::<S, V, O>(self, columns, (b, c), false)
    }

    /// Computes C = C + A·B in a [semiring](crate::semiring), like [`spmm_over`](Self::spmm_over): each element of C is one of the sum.
    ///
    /// # Errors
    ///
    /// The same as for [`spmm_over`](Self::spmm_over).
    pub fn add_spmm_over<S: Semiring<V>>(self, columns: usize, b: &[V], c: &mut [V]) -> Result<(), OpError> {
        multiply_on_host::<S, V, O>(self, columns, (b, c), true)
    }
}

impl<V: Entry, O: Offset> Csr<V, O> {
    /// Computes C = A·B in a [semiring](crate::semiring), like [`CsrView::spmm_over`].
    ///
    /// # Errors
    ///
    /// The same as for [`CsrView::spmm_over`].
    pub fn spmm_over<S: Semiring<V>>(&self, columns: usize, b: &[V], c: &mut [V]) -> Result<(), OpError> {
        self.view().spmm_over::<S>(columns, b, c)
    }

    /// Computes C = C + A·B in a [semiring](crate::semiring), like [`CsrView::add_spmm_over`].
    ///
    /// # Errors
    ///
    /// The same as for [`CsrView::spmm_over`].
    pub fn add_spmm_over<S: Semiring<V>>(&self, columns: usize, b: &[V], c: &mut [V]) -> Result<(), OpError> {
        self.view().add_spmm_over::<S>(columns, b, c)
    }
}

/// The product of slices by rows, without gaps.
fn multiply_on_host<S: Semiring<V>, V: Entry, O: Offset>(
    a: CsrView<'_, V, O>,
    columns: usize,
    (b, c): (&[V], &mut [V]),
    adds: bool,
) -> Result<(), OpError> {
    check_threads()?;
    check_len("B", b.len(), a.ncols().saturating_mul(columns))?;
    check_len("C", c.len(), a.nrows().saturating_mul(columns))?;
    if c.is_empty() {
        return Ok(());
    }
    let b = Dense { values: b, strides: (columns, 1) };
    let c = DenseMut { values: c, columns, by_columns: false, leading_dimension: columns };
    semiring_spmm::<S, V, O>(a, b, c, adds);
    Ok(())
}

fn multiply<S: Semiring<V>, V: Entry, O: Offset>(
    a: &DeviceCsr<V, O>,
    b: &DeviceDense<V>,
    c: &mut DeviceDense<V>,
    adds: bool,
) -> Result<(), OpError> {
    check_dense(a.device(), ("B", b), (a.ncols(), b.ncols()))?;
    check_dense(a.device(), ("C", c), (a.nrows(), b.ncols()))?;
    if c.nrows() == 0 || c.ncols() == 0 {
        return Ok(());
    }
    if a.device().kind() != DeviceKind::Cpu {
        return launch::<S, V, O>(a, b, c, adds);
    }
    let values = a.values_now();
    let (columns, leading_dimension) = (c.ncols(), c.leading_dimension());
    let by_columns = c.layout() == Layout::ColumnMajor;
    let strides = b.strides();
    let operands =
        (a.pattern().host_view(&values), b.as_vec().host_slice(), c.as_mut_slice().host_slice_mut());
    if let (Some(a), Some(b), Some(c)) = operands {
        let c = DenseMut { values: c, columns, by_columns, leading_dimension };
        semiring_spmm::<S, V, O>(a, Dense { values: b, strides }, c, adds);
    }
    Ok(())
}

/// Launches the tiles, and what adds their carries if there are several.
fn launch<S: Semiring<V>, V: Entry, O: Offset>(
    a: &DeviceCsr<V, O>,
    b: &DeviceDense<V>,
    c: &mut DeviceDense<V>,
    adds: bool,
) -> Result<(), OpError> {
    let device = a.device();
    let work = a.nrows() + a.nnz();
    let items = work.div_ceil(TILES).max(LEAST_ITEMS);
    let count = work.div_ceil(items);
    let columns = c.ncols().min(COLUMNS);
    let lanes_log2 = columns.next_power_of_two().ilog2().min(MOST_LANES_LOG2);
    let launcher = device.kernel::<SemiringSpmm<S::Element, O>>();
    let block_tiles = launcher.info().block_size as usize >> lanes_log2;
    let blocks = |columns: usize| count.div_ceil(block_tiles) * columns.div_ceil(1 << lanes_log2);
    // The grids are checked before C is written.
    launcher.blocks(blocks(columns))?;
    let add_carries = device.kernel().blocks(count)?;
    let rows = PathTiles::rows_of(device, a.pattern().view(), (count as u32, items as u32))?;
    let tiles = SemiringTiles { rows: rows.as_global(), count: count as u32, items: items as u32 };
    let mut carries: DeviceVec<V> = device.uninitialized((count - 1) * columns)?;
    let values = a.values_now();
    let ((b_row, b_column), (c_row, c_column)) = (b.strides(), c.strides());
    for first in (0..c.ncols()).step_by(COLUMNS) {
        let pass = COLUMNS.min(c.ncols() - first);
        // B may have no rows, and then there are no columns to skip.
        let b_start = (first * b_column).min(b.as_vec().len());
        let result = SemiringResult {
            values: c.as_mut_slice().as_global_mut_of().skip(first * c_column),
            row_stride: c_row as u64,
            column_stride: c_column as u64,
            columns: pass as u32,
        };
        let kernel = SemiringSpmm::<S::Element, O> {
            matrix: a.pattern().with_values_as(&values),
            tiles,
            b: SemiringOperand {
                values: b.as_vec().as_global_of().skip(b_start),
                row_stride: b_row as u64,
                column_stride: b_column as u64,
            },
            c: result,
            carries: carries.as_global_mut_of(),
            lanes_log2,
            adds: u32::from(adds),
        };
        // SAFETY: the operands were checked, the tiles are the matrix's, and there is memory for a carry of each but the last in each
        // column. Buffers are freed in the stream's order.
        unsafe { device.kernel().blocks(blocks(pass))?.launch(kernel) }?;
        if count > 1 {
            let kernel = SemiringCarries::<S::Element, O> {
                row_offsets: a.pattern().row_offsets.as_global(),
                tiles,
                carries: carries.as_global_of(),
                c: result,
            };
            // SAFETY: the same.
            unsafe { add_carries.launch(kernel) }?;
        }
    }
    Ok(())
}
