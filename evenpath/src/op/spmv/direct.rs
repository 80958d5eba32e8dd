//! y = αAx + βy without a plan, by merge path.

use evenpath_kernels::coo::CarryFixup;
use evenpath_kernels::spmv::MergeSearchTile;
use evenpath_simt::WidenTo;

use crate::cpu::{SpmvCut, SpmvTiles, spmv};
use crate::device::{DeviceKind, DeviceSlice};
use crate::format::DeviceCsr;
use crate::op::product::SpmvCall;
use crate::operand::{Factor, OpError};
use crate::sequence::combine::with_numbers;
use crate::{Multiplies, Offset, Scalar, Storage};

impl<V: Scalar, O: Offset> DeviceCsr<V, O> {
    /// Computes y = `alpha`·A·`x` + `beta`·y without a plan. A has m rows and n columns, `x` has n elements, `y` has m. The matrix
    /// need not be canonical: duplicates are summed.
    ///
    /// For a matrix that is multiplied once, and for patterns that change with each product. Nothing is known of the matrix before,
    /// and nothing is kept. A product takes longer than that of a [plan](Self::plan_spmv) with the same method, by 8 to 22 % for matrices of 1
    /// to 60 million nonzeros and rows on an H200; but a plan has to be made first, which pays if several products follow.
    ///
    /// Merge path as it was published (Merrill and Garland, "Merge-based Parallel Sparse Matrix-Vector Multiplication", SC 2016):
    /// tiles of equal numbers of row ends and nonzeros, whatever the lengths of rows. Each block searches where its tile begins and
    /// ends; a second launch adds the parts of rows that tiles cut. They take a row number and a value for each tile of 1152 row
    /// ends and nonzeros, which are freed after the call. On the CPU, tiles are cut and multiplied in the same call.
    ///
    /// Runs in the order of the device's stream; the call does not wait. Results are the same to the bit in every run, and on all
    /// GPUs, real and simulated. With `beta` zero, y is overwritten, whatever it held. With `alpha` zero the product is still computed:
    /// infinity and NaN in A or `x` propagate to y. In a row that is cut, `alpha` multiplies the parts and not their sum. With a
    /// [`Factor`] on the device, the product is computed alone, and then added.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let device = Device::cpu();
    /// let a = device.upload(&a)?;
    /// let x = device.upload(&[1.0, 10.0, 100.0])?;
    /// let mut y = device.upload(&[0.5, 0.5])?;
    /// a.spmv(1.0, &x, 2.0, &mut y)?;
    /// assert_eq!(y.download()?, [202.0, 31.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `x` does not have one element per column, or `y` one per row, a factor is not one element, any of them is on another device,
    /// the matrix is too large for one launch, or there is no memory for the parts or for what a [`Factor`] on the device takes; then
    /// nothing is written. If the device was lost.
    pub fn spmv<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        with_numbers(self.device(), (alpha, beta), y, |alpha, beta, y| {
            let product = SpmvCall::new(self, (alpha, x), (beta, y))?;
            if self.device().kind() == DeviceKind::Cpu {
                multiply_on_cpu(product);
                return Ok(());
            }
            launch(product)
        })
    }

    /// Computes y = `alpha`·A·`x` + `beta`·y without a plan, like [`spmv`](Self::spmv), with x, y and factors of a type that the
    /// values [multiply](Multiplies): `f64` for a matrix of `f32`. A has m rows and n columns, `x` has n elements, `y` has m.
    ///
    /// Values are converted exactly, and products are computed and summed in the type of the vectors. For iterations in `f64` with a
    /// copy of the matrix in `f32`, which takes two thirds of the memory. [`plan_spmv_mixed`](Self::plan_spmv_mixed) makes a plan. With
    /// vectors of the matrix's own type, GPUs give the bits of `spmv`; the CPU may sum in another order.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let a: Csr<f32> = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let device = Device::best()?;
    /// let a = device.upload(&a)?;
    /// let x = device.upload(&[1.0, 1e-12, 0.5])?; // f64
    /// let mut y = device.zeros(2)?;
    /// a.spmv_mixed(1.0, &x, 0.0, &mut y)?;
    /// assert_eq!(y.download()?, [2.0, 3e-12]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`spmv`](Self::spmv).
    pub fn spmv_mixed<'f, T: Scalar>(
        &self,
        alpha: impl Into<Factor<'f, T>>,
        x: &DeviceSlice<T>,
        beta: impl Into<Factor<'f, T>>,
        y: &mut DeviceSlice<T>,
    ) -> Result<(), OpError>
    where
        V: Multiplies<T>,
    {
        with_numbers(self.device(), (alpha, beta), y, |alpha, beta, y| {
            let product = SpmvCall::new(self, (alpha, x), (beta, y))?;
            if self.device().kind() == DeviceKind::Cpu {
                multiply_wide_on_cpu(product);
                return Ok(());
            }
            launch(product)
        })
    }
}

fn multiply_wide_on_cpu<S: Storage + WidenTo<V>, O: Offset, V: Scalar>(product: SpmvCall<'_, S, O, V>) {
    let SpmvCall { matrix, alpha, x, beta, y, .. } = product;
    let values = matrix.values_now();
    let view = matrix.pattern().host_view(&values);
    if let (Some(view), Some(x), Some(y)) = (view, x.host_slice(), y.host_slice_mut()) {
        let tiles = SpmvTiles::by_rows(view.row_offsets(), view.column_indices(), SpmvCut::MergePath);
        tiles.multiply_wide(view, alpha, x, beta, y);
    }
}

fn multiply_on_cpu<V: Scalar, O: Offset>(SpmvCall { matrix, alpha, x, beta, y, .. }: SpmvCall<'_, V, O>) {
    let values = matrix.values_now();
    let view = matrix.pattern().host_view(&values);
    if let (Some(view), Some(x), Some(y)) = (view, x.host_slice(), y.host_slice_mut()) {
        spmv(view, SpmvCut::MergePath, (alpha, x), (beta, y));
    }
}

/// Launches the tiles, and the fix-up if there are several.
fn launch<S: Storage, O: Offset, V: Scalar>(mut product: SpmvCall<'_, S, O, V>) -> Result<(), OpError> {
    let matrix = product.matrix;
    let device = matrix.device();
    let tiles = device.kernel().items(matrix.nrows() + matrix.nnz())?.room_for(u32::MAX);
    // Nothing follows the last tile.
    let count = (tiles.grid() as usize).saturating_sub(1);
    let fixup = device.kernel().threads(count)?;
    let mut carry_rows = device.uninitialized(count)?;
    let mut carries = device.uninitialized(count)?;
    let tile = |product| MergeSearchTile {
        product,
        carry_rows: carry_rows.as_global_mut(),
        carries: carries.as_global_mut(),
    };
    // SAFETY: there is a block for each tile, and memory for a carry of each but the last.
    unsafe { product.launch(&tiles, tile) }?;
    let kernel = CarryFixup {
        carry_rows: carry_rows.as_global(),
        carries: carries.as_global(),
        y: product.y.as_global_mut(),
        count: count as u32,
        // The carries are multiplied already: the parts of a row with no nonzeros in a tile must be zero with any factor.
        alpha: V::ONE,
    };
    // SAFETY: there are `count` carries, and a row with nonzeros or an end after each tile, so that it has an element of y. All are on
    // this device, and buffers are freed in the stream's order.
    unsafe { fixup.launch(kernel) }?;
    Ok(())
}
