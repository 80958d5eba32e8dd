//! Many steps of conjugate gradients in one launch.

use evenpath_kernels::cg::OneBlockSteps;

use crate::device::{Device, DeviceKind, DeviceSlice, no_input};
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::operand::check::{check_room, check_shape, check_vector};
use crate::sequence::cg::{CgDirection, CgSteps};
use crate::{Offset, Value};

/// Threads of the block.
const BLOCK: usize = 512;

/// The vectors of conjugate gradients, of n elements each.
#[derive(Debug)]
pub struct CgVectors<'a, V: Value> {
    /// The solution x.
    pub x: &'a mut DeviceSlice<V>,
    /// The residual r.
    pub r: &'a mut DeviceSlice<V>,
    /// The direction p.
    pub p: &'a mut DeviceSlice<V>,
    /// Output: Ap of the last step. Its old contents are not read.
    pub q: &'a mut DeviceSlice<V>,
}

impl<V: Value> CgSteps<V> {
    /// Does the first `count` steps for a matrix A in one launch, by one block of 512 threads: for small systems, whose steps take less
    /// time than their launches. The preconditioner is the diagonal M⁻¹ = `inverse`, or none.
    ///
    /// The first step follows the last of the previous call, or [`begin`](Self::begin); no [`start_over`](Self::start_over) is needed.
    /// Steps after rᵀr was within the limit, or where pᵀAp is not positive, change nothing: they have an α of zero, and rᵀz and rᵀr of the
    /// last that did. On the CPU the same steps are done one after the other. Does not wait.
    ///
    /// Sums have another order than those of [`update_residual`](Self::update_residual), but always the same: one call gives the same
    /// bits in every run, and on all GPUs, real and simulated, however many steps are done at a time. Duplicate entries of A are summed.
    ///
    /// ```
    /// use evenpath::cg::{CgSteps, CgVectors};
    /// use evenpath::{Csr, Device, vector};
    ///
    /// let device = Device::best()?;
    /// let a = device.upload(&Csr::from_triplets(2, 2, [(0, 0, 4.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 3.0)])?)?;
    /// let (mut x, mut q) = (device.zeros(2)?, device.zeros(2)?);
    /// let (mut r, mut p) = (device.upload(&[1.0, 2.0])?, device.upload(&[1.0, 2.0])?);
    /// let mut steps = CgSteps::new(&device, 16)?;
    /// let rr = vector::dot(&r, &r)?;
    /// steps.begin(rr, rr, 1e-20, 1.0)?;
    /// steps.run_in_one_block(16, &a, None, CgVectors { x: &mut x, r: &mut r, p: &mut p, q: &mut q })?;
    /// assert!((x.get(0)? - 1.0_f64 / 11.0).abs() < 1e-15);
    /// assert_eq!(steps.scalars()?[2].alpha, 0.0); // solved by two steps
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If A is not square, a vector has not one element per row, any of them is on another device, or there are scalars of fewer than
    /// `count` steps; then nothing is written. If the device was lost.
    pub fn run_in_one_block<O: Offset>(
        &mut self,
        count: usize,
        a: &DeviceCsr<V, O>,
        inverse: Option<&DeviceSlice<V>>,
        vectors: CgVectors<V>,
    ) -> Result<(), OpError> {
        let (device, rows) = (self.device().clone(), a.nrows());
        check_shape("the matrix", a.shape(), (rows, rows))?;
        device.check_same(a.device())?;
        check_vectors(&device, rows, inverse, &vectors)?;
        check_room("the list of steps", self.capacity(), count)?;
        if count == 0 {
            return Ok(());
        }
        if device.kind() == DeviceKind::Cpu {
            return self.run_one_by_one(count, a, inverse, vectors);
        }
        let launch = device.kernel().blocks(1)?;
        let capacity = self.capacity() as u32;
        let (settings, scalars) = self.settings_and_scalars();
        let kernel = OneBlockSteps {
            a: a.pattern().with_values(&a.values_now()),
            inverse: inverse.map_or_else(no_input, DeviceSlice::as_global),
            x: vectors.x.as_global_mut(),
            r: vectors.r.as_global_mut(),
            p: vectors.p.as_global_mut(),
            q: vectors.q.as_global_mut(),
            settings: settings.as_global(),
            capacity,
            scalars: scalars.as_global_mut(),
            steps: count as u32,
            lanes: lanes(rows, a.nnz()),
            is_diagonal: inverse.is_some().into(),
        };
        // SAFETY: A is valid and square, the vectors have an element for each of its rows, the scalars those of every step, all on
        // this device; buffers are freed in the stream's order.
        Ok(unsafe { launch.launch(kernel) }?)
    }

    /// The same steps, each by itself.
    fn run_one_by_one<O: Offset>(
        &mut self,
        count: usize,
        a: &DeviceCsr<V, O>,
        inverse: Option<&DeviceSlice<V>>,
        CgVectors { x, r, p, q }: CgVectors<V>,
    ) -> Result<(), OpError> {
        self.start_over()?;
        for step in 0..count {
            a.spmv(V::ONE, &*p, V::ZERO, q)?;
            self.update_residual(step, (p, q), inverse, r)?;
            let direction = match inverse {
                Some(inverse) => CgDirection::Scaled { r, inverse },
                None => CgDirection::Residual(r),
            };
            self.update_direction(step, direction, p, x)?;
        }
        self.finish_on_host(count);
        Ok(())
    }
}

fn check_vectors<V: Value>(
    device: &Device,
    rows: usize,
    inverse: Option<&DeviceSlice<V>>,
    CgVectors { x, r, p, q }: &CgVectors<V>,
) -> Result<(), OpError> {
    for (name, vector) in [("x", x), ("r", r), ("p", p), ("q", q)] {
        check_vector(device, (name, vector), rows)?;
    }
    inverse.map_or(Ok(()), |inverse| check_vector(device, ("the diagonal", inverse), rows))
}

/// Threads per row: as many as the mean row has entries, and as a block has for each row.
fn lanes(rows: usize, nonzeros: usize) -> u32 {
    let rows = rows.max(1);
    let wanted = nonzeros.div_ceil(rows).min(BLOCK / rows).clamp(1, 32);
    1 << wanted.ilog2()
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, lanes};

    #[test]
    fn lanes_are_a_power_of_two_for_every_matrix() {
        let sizes =
            [(0, 0), (5, 0), (10, 1000), (BLOCK / 2, 10 * BLOCK), (BLOCK / 9, 10 * BLOCK), (2000, 200_000)];
        assert_eq!(sizes.map(|(rows, nonzeros)| lanes(rows, nonzeros)), [1, 1, 32, 2, 8, 1]);
    }
}
