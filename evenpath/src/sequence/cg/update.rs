//! The two fused updates of a step of conjugate gradients.

use evenpath_kernels::cg::{ALPHA, PAP, RR, RZ, SCALARS, UpdateDirection, UpdateResidual};
use evenpath_kernels::vector::Dot;
use evenpath_simt::Global;

use super::steps::{CgDirection, CgSteps};
use crate::device::{Device, DeviceSlice, no_input};
use crate::operand::OpError;
use crate::operand::check::{check_room, check_vector};
use crate::sequence::fold::blocks;
use crate::{Value, cpu};

impl<'a, V: Value> CgDirection<'a, V> {
    /// The vector that z is, or is a multiple of.
    fn source(self) -> &'a DeviceSlice<V> {
        match self {
            Self::Residual(r) | Self::Scaled { r, .. } => r,
            Self::Vector { z, .. } => z,
        }
    }

    /// The diagonal of M⁻¹.
    fn inverse(self) -> Option<&'a DeviceSlice<V>> {
        match self {
            Self::Scaled { inverse, .. } => Some(inverse),
            Self::Residual(_) | Self::Vector { .. } => None,
        }
    }

    /// The residual, if z is a vector of its own.
    fn residual(self) -> Option<&'a DeviceSlice<V>> {
        match self {
            Self::Vector { r, .. } => Some(r),
            Self::Residual(_) | Self::Scaled { .. } => None,
        }
    }
}

impl<V: Value> CgSteps<V> {
    /// Computes α = rᵀz / pᵀq and r −= αq in a step, with q = Ap. `inverse` is the diagonal of M⁻¹ if M is diagonal. All vectors have n
    /// elements. Does not wait.
    ///
    /// # Errors
    ///
    /// If the vectors differ in length or are on another device, or there are no scalars for the step; then nothing is written. If the
    /// device was lost.
    pub fn update_residual(
        &mut self,
        step: usize,
        (p, q): (&DeviceSlice<V>, &DeviceSlice<V>),
        inverse: Option<&DeviceSlice<V>>,
        r: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        self.check_step(step)?;
        let (device, len) = (self.scalars.device().clone(), r.len());
        check_vectors(
            &device,
            len,
            [("p", Some(p)), ("q", Some(q)), ("the diagonal", inverse), ("r", Some(r))],
        )?;
        if let (Some(p), Some(q), Some(r)) = (p.host_slice(), q.host_slice(), r.host_slice_mut()) {
            self.update_residual_on_host(step, (p, q), inverse.and_then(DeviceSlice::host_slice), r);
            return Ok(());
        }
        let blocks = update_blocks::<V>(len);
        let launch = device.kernel().blocks(blocks)?;
        let dots = self.add_up_products(0, p, q)?;
        let [pap_sums, sums, _] = &mut self.sums;
        let update = UpdateResidual {
            ap: q.as_global(),
            inverse: inverse.map_or_else(no_input, DeviceSlice::as_global),
            r: r.as_global_mut(),
            pap_sums: pap_sums.as_global(),
            limit: self.settings.as_global(),
            scalars: self.scalars.as_global_mut(),
            sums: sums.as_global_mut(),
            len: len as u64,
            count: dots as u32,
            step: step as u32,
            is_diagonal: inverse.is_some().into(),
        };
        // SAFETY: the vectors have `len` elements, the sums two per block, the scalars those of every step, on this device;
        // buffers are freed in the stream's order.
        Ok(unsafe { launch.launch(update) }?)
    }

    /// Computes x += αp, β = new rᵀz / old rᵀz, and p = z + βp, with α of the same step's
    /// [`update_residual`](Self::update_residual). Does not wait.
    ///
    /// # Errors
    ///
    /// If the vectors differ in length or are on another device, or there are no scalars for the step; then nothing is written. If the
    /// device was lost.
    pub fn update_direction(
        &mut self,
        step: usize,
        z: CgDirection<V>,
        p: &mut DeviceSlice<V>,
        x: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        let (device, len) = (self.scalars.device().clone(), x.len());
        let (source, inverse, residual) = (z.source(), z.inverse(), z.residual());
        check_vectors(
            &device,
            len,
            [("z", Some(source)), ("the diagonal", inverse), ("r", residual), ("p", Some(p))],
        )?;
        self.check_step(step)?;
        if let (Some(p), Some(x)) = (p.host_slice_mut(), x.host_slice_mut()) {
            self.update_direction_on_host(step, z, p, x);
            return Ok(());
        }
        let updates = update_blocks::<V>(len);
        let launch = device.kernel().blocks(updates)?;
        let (rz_sums, rz_count): (Global<V>, usize) = match residual {
            Some(r) => {
                let count = self.add_up_products(2, r, source)?;
                (self.sums[2].as_global(), count)
            }
            None => (self.sums[1].slice(updates..)?.as_global(), updates),
        };
        let update = UpdateDirection {
            z: source.as_global(),
            inverse: inverse.map_or_else(no_input, DeviceSlice::as_global),
            p: p.as_global_mut(),
            x: x.as_global_mut(),
            rr_sums: self.sums[1].as_global(),
            rz_sums,
            scale: self.settings.slice(1..)?.as_global(),
            scalars: self.scalars.as_global_mut(),
            len: len as u64,
            rr_count: updates as u32,
            rz_count: rz_count as u32,
            step: step as u32,
            is_diagonal: inverse.is_some().into(),
        };
        // SAFETY: the vectors have `len` elements, the sums those counts, the scalars those of every step, on this device;
        // buffers are freed in the stream's order.
        Ok(unsafe { launch.launch(update) }?)
    }

    fn check_step(&self, step: usize) -> Result<(), OpError> {
        check_room("the list of steps", self.steps, step.saturating_add(1))
    }

    /// Writes the partial sums of xᵀy to `self.sums[to]`. Returns their number.
    fn add_up_products(
        &mut self,
        to: usize,
        x: &DeviceSlice<V>,
        y: &DeviceSlice<V>,
    ) -> Result<usize, OpError> {
        let blocks = blocks::<Dot<V>>(x.len()).max(1);
        let launch = x.device().kernel().blocks(blocks)?;
        let sums = self.sums[to].as_global_mut();
        // SAFETY: the vectors have that many elements, the sums one per block, on this device; buffers are freed in the
        // stream's order.
        unsafe { launch.launch(Dot { x: x.as_global(), y: y.as_global(), sums, len: x.len() as u64 }) }?;
        Ok(blocks)
    }

    fn update_residual_on_host(
        &mut self,
        step: usize,
        (p, q): (&[V], &[V]),
        inverse: Option<&[V]>,
        r: &mut [V],
    ) {
        let first = SCALARS * step;
        let (Some(&[limit, _]), Some(scalars)) = (self.settings.host_slice(), self.scalars.host_slice_mut())
        else {
            return;
        };
        let pap = cpu::dot(p, q);
        let goes_on = pap > V::ZERO && scalars[first + RR] > limit;
        let alpha = if goes_on { scalars[first + RZ] / pap } else { V::ZERO };
        (scalars[first + PAP], scalars[first + ALPHA]) = (pap, alpha);
        if alpha != V::ZERO {
            cpu::axpby(-alpha, q, V::ONE, r);
        }
        let rr = cpu::dot(r, r);
        scalars[first + SCALARS + RR] = rr;
        scalars[first + SCALARS + RZ] = inverse.map_or(rr, |inverse| cpu::scaled_square(inverse, r));
    }

    fn update_direction_on_host(&mut self, step: usize, z: CgDirection<V>, p: &mut [V], x: &mut [V]) {
        let first = SCALARS * step;
        let Some(&[_, scale]) = self.settings.host_slice() else { return };
        let (source, inverse, residual) = (z.source().host_slice(), z.inverse(), z.residual());
        let (Some(source), Some(scalars)) = (source, self.scalars.host_slice_mut()) else { return };
        if let Some(r) = residual.and_then(DeviceSlice::host_slice) {
            scalars[first + SCALARS + RZ] = cpu::dot(r, source);
        }
        let alpha = scalars[first + ALPHA];
        if alpha != V::ZERO {
            let beta = scalars[first + SCALARS + RZ] / scalars[first + RZ];
            cpu::axpby(scale * alpha, p, V::ONE, x);
            match inverse.and_then(DeviceSlice::host_slice) {
                Some(inverse) => cpu::add_product(inverse, source, beta, p),
                None => cpu::axpby(V::ONE, source, beta, p),
            }
        }
    }
}

/// Maximum number of blocks of both updates: enough to keep memory busy, few enough that each may add up the sums of all.
const UPDATE_BLOCKS: usize = 256;

/// Number of blocks of both updates.
fn update_blocks<V: Value>(len: usize) -> usize {
    blocks::<UpdateResidual<V>>(len).clamp(1, UPDATE_BLOCKS)
}

fn check_vectors<V: Value, const N: usize>(
    device: &Device,
    len: usize,
    vectors: [(&'static str, Option<&DeviceSlice<V>>); N],
) -> Result<(), OpError> {
    vectors.into_iter().try_for_each(|(name, vector)| match vector {
        Some(vector) => check_vector(device, (name, vector), len),
        None => Ok(()),
    })
}
