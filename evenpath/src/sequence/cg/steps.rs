//! Scalars of conjugate gradients on a device.

use evenpath_kernels::cg::{ALPHA, PAP, RR, RZ, SCALARS};

use crate::Value;
use crate::device::{Device, DeviceSlice, DeviceVec};
use crate::operand::OpError;
use crate::sequence::fold::BLOCKS;

/// Scalars of steps of preconditioned conjugate gradients, in a device's memory. The host never waits in a step, so
/// that many may be one [graph](crate::device::Graph).
///
/// A step from x, r = b − Ax, z = M⁻¹r and the direction p is
///
/// 1. q = Ap, computed by the program,
/// 2. [`update_residual`](Self::update_residual): α = rᵀz / pᵀq, r −= αq,
/// 3. z = M⁻¹r, computed by the program unless M is diagonal,
/// 4. [`update_direction`](Self::update_direction): x += αp, β = new rᵀz / old rᵀz, p = z + βp.
///
/// These move the bytes of each vector as seldom as the dependences allow: with a diagonal M, 12 elements a row beside the
/// product, in three launches. α is zero, and nothing changes, in steps after rᵀr was within the limit, or where pᵀq was not
/// positive. So a program may do steps ahead and look later.
///
/// Source: Hestenes and Stiefel, J. Res. Nat. Bur. Standards 49, 1952.
///
/// ```
/// use evenpath::cg::{CgDirection, CgSteps};
/// use evenpath::{Csr, Device, vector};
///
/// let device = Device::best()?;
/// let a = device.upload(&Csr::from_triplets(2, 2, [(0, 0, 4.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 3.0)])?)?;
/// let plan = a.plan_spmv(Default::default())?;
/// let mut x = device.zeros(2)?;
/// let (mut r, mut p, mut q) = (device.upload(&[1.0, 2.0])?, device.upload(&[1.0, 2.0])?, device.zeros(2)?);
/// let mut steps = CgSteps::new(&device, 16)?;
/// let rr = vector::dot(&r, &r)?;
/// steps.begin(rr, rr, 1e-20, 1.0)?;
/// for step in 0..3 {
///     plan.run(1.0, &p, 0.0, &mut q)?;
///     steps.update_residual(step, (&p, &q), None, &mut r)?;
///     steps.update_direction(step, CgDirection::Residual(&r), &mut p, &mut x)?;
/// }
/// assert!((x.get(0)? - 1.0_f64 / 11.0).abs() < 1e-15);
/// assert_eq!(steps.scalars()?[2].alpha, 0.0); // solved by two steps
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CgSteps<V: Value> {
    /// [`SCALARS`] for each step, and those before the next.
    pub(super) scalars: DeviceVec<V>,
    /// The limit of rᵀr, and the factor of x.
    pub(super) settings: DeviceVec<V>,
    /// Partial sums of pᵀAp, of rᵀr and after them rᵀz, and of rᵀz by itself.
    pub(super) sums: [DeviceVec<V>; 3],
    /// Number of steps with scalars of their own.
    pub(super) steps: usize,
}

/// Where z = M⁻¹r is. Each step takes the same form.
#[derive(Debug, Clone, Copy)]
pub enum CgDirection<'a, V: Value> {
    /// There is no preconditioner: z is r.
    Residual(&'a DeviceSlice<V>),
    /// z is d ∘ r, which is not stored.
    Scaled {
        /// The residual r.
        r: &'a DeviceSlice<V>,
        /// The diagonal d of M⁻¹.
        inverse: &'a DeviceSlice<V>,
    },
    /// z was computed by the program.
    Vector {
        /// The residual r.
        r: &'a DeviceSlice<V>,
        /// M⁻¹r.
        z: &'a DeviceSlice<V>,
    },
}

/// Scalars of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CgScalars<V> {
    /// rᵀz before the step.
    pub rz: V,
    /// rᵀr before the step.
    pub rr: V,
    /// pᵀAp.
    pub pap: V,
    /// α, or zero for a step that changed nothing.
    pub alpha: V,
}

impl<V: Value> CgSteps<V> {
    /// Allocates scalars of `steps` steps, which are numbered from 0. After the last, [`start_over`](Self::start_over) continues with the
    /// first.
    ///
    /// # Errors
    ///
    /// If there is too little memory for the scalars and 4096 elements, or the device was lost.
    pub fn new(device: &Device, steps: usize) -> Result<Self, OpError> {
        let sums = [device.zeros(BLOCKS)?, device.zeros(2 * BLOCKS)?, device.zeros(BLOCKS)?];
        let scalars = device.zeros(SCALARS * (steps + 1))?;
        Ok(Self { scalars, settings: device.zeros(2)?, sums, steps })
    }

    /// Begins with step 0, from the products `rz` and `rr` of the residual. Steps change nothing once rᵀr ≤ `limit`. x is
    /// increased by `scale` times αp: a residual divided by its norm, whose products neither overflow nor vanish, takes
    /// that norm. Waits for the device.
    ///
    /// # Errors
    ///
    /// If this thread captures a graph, or the device was lost.
    pub fn begin(&mut self, rz: V, rr: V, limit: V, scale: V) -> Result<(), OpError> {
        let last = SCALARS * self.steps;
        self.scalars.slice_mut(last..last + 2)?.copy_from_slice(&[rz, rr])?;
        self.start_over()?;
        Ok(self.settings.copy_from_slice(&[limit, scale])?)
    }

    pub(crate) fn device(&self) -> &Device {
        self.scalars.device()
    }

    /// Number of steps with scalars of their own.
    pub(crate) fn capacity(&self) -> usize {
        self.steps
    }

    /// The limit of rᵀr and the factor of x; the scalars of all steps.
    pub(crate) fn settings_and_scalars(&mut self) -> (&DeviceSlice<V>, &mut DeviceSlice<V>) {
        (&self.settings, &mut self.scalars)
    }

    /// Makes rᵀz and rᵀr after `count` steps those of all later steps, which have an α of zero: on the CPU.
    pub(crate) fn finish_on_host(&mut self, count: usize) {
        let Some(scalars) = self.scalars.host_slice_mut() else { return };
        let (rz, rr) = (scalars[SCALARS * count + RZ], scalars[SCALARS * count + RR]);
        for later in scalars[SCALARS * count..].chunks_exact_mut(SCALARS) {
            (later[RZ], later[RR], later[ALPHA]) = (rz, rr, V::ZERO);
        }
    }

    /// Copies rᵀz and rᵀr after the last step to those before the first, which is then next. Right after [`begin`](Self::begin) it changes
    /// nothing, so that a graph of all steps may start with it. Does not wait.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn start_over(&mut self) -> Result<(), OpError> {
        if self.steps > 0 {
            let (mut first, last) = self.scalars.split_at_mut(SCALARS * self.steps)?;
            first.slice_mut(..2)?.copy_from(&last.slice(..2)?)?;
        }
        Ok(())
    }

    /// Returns the scalars of all steps, and of the one that would follow the last, whose pᵀAp and α are not known. Those of steps
    /// that were not done are of no use, but for rᵀz and rᵀr of the first of them. Waits for the device.
    ///
    /// # Errors
    ///
    /// If this thread captures a graph, or the device was lost.
    pub fn scalars(&self) -> Result<Vec<CgScalars<V>>, OpError> {
        let scalars = self.scalars.download()?;
        let of_step = |own: &[V]| CgScalars { rz: own[RZ], rr: own[RR], pap: own[PAP], alpha: own[ALPHA] };
        Ok(scalars.chunks_exact(SCALARS).map(of_step).collect())
    }
}
