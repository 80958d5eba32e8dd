use std::sync::PoisonError;

use evenpath_kernels::bsr::{BsrSpmv, shape};

use super::matrix::{DeviceBsr, DeviceBsrArrays};
use crate::device::DeviceSlice;
use crate::operand::aligned::Aligned;
use crate::operand::check::check_product;
use crate::operand::{Factor, OpError};
use crate::sequence::combine::with_numbers;
use crate::sequence::vector::update;
use crate::{Offset, Value};

impl<V: Value, O: Offset> DeviceBsr<V, O> {
    /// Computes y = `alpha`·A·`x` + `beta`·y. A has m rows and n columns, `x` has n elements, `y` has m.
    ///
    /// On a GPU warps read whole block rows, and several warps a long one. Kernels for blocks of 2, 3, 4, 5, 6, 8 and 16 rows are the
    /// fastest. Runs in the order of the device's stream; the call does not wait. Results are the same to the bit in every run. If
    /// `beta` is zero, y is overwritten without being read. `x` is copied if the number of columns is not a multiple of
    /// the block size, or if it is part of a vector that does not begin at a multiple of 16 bytes.
    ///
    /// # Errors
    ///
    /// If `x` does not have one element per column, or `y` one per row, or if a factor is not one element, or any of them
    /// is on another device; then nothing is written. If there is too little memory for a copy of `x`, or the device was lost.
    pub fn spmv<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        with_numbers(self.device(), (alpha, beta), y, |alpha, beta, y| {
            check_product(self.device(), self.shape(), x, y)?;
            let x = self.whole_blocks(x)?;
            self.multiply(alpha, &x, beta, y)
        })
    }

    /// Returns x with zeros up to a whole number of blocks.
    fn whole_blocks<'a>(&self, x: &'a DeviceSlice<V>) -> Result<Aligned<'a, V>, OpError> {
        if x.len().is_multiple_of(self.block_size()) {
            return Ok(Aligned::new(x)?);
        }
        let mut padded = self.device().zeros(self.block_cols() * self.block_size())?;
        padded.slice_mut(..x.len())?.copy_from(x)?;
        Ok(padded.into())
    }

    fn multiply(&self, alpha: V, x: &Aligned<'_, V>, beta: V, y: &mut DeviceSlice<V>) -> Result<(), OpError> {
        let DeviceBsrArrays { rows, block_size, tiles, pieces, piece_sums, row_slots, .. } = &*self.arrays;
        if let Some(arrays) = self.host_arrays() {
            if let (Some(x), Some(y)) = (x.host_slice(), y.host_slice_mut()) {
                tiles.multiply(arrays, alpha, x, beta, y);
            }
            return Ok(());
        }
        let mut sums = piece_sums.lock().unwrap_or_else(PoisonError::into_inner);
        let groups = shape::slots_of::<V>(*block_size) / row_slots;
        let items = pieces.count() + self.block_rows();
        let launcher = self.device().variant(shape::variant(*block_size));
        let launch = launcher.warps(items.div_ceil(groups as usize))?;
        let update = update(alpha, beta, y);
        let kernel = BsrSpmv {
            matrix: self.view(),
            x: x.view(),
            update,
            rows: *rows as u32,
            row_slots: *row_slots,
            pieces: pieces.view(&mut sums),
        };
        // SAFETY: the views are of a valid matrix's arrays; of x, which has elements for all block columns, and y, whose
        // lengths were checked; and of a sum for each row of each piece. All are on this device, and buffers are freed in the
        // stream's order. The lock keeps other products from coming between the launches.
        unsafe {
            launch.launch(kernel)?;
            pieces.add(&sums, (*block_size, *rows), update)?;
        }
        Ok(())
    }
}
