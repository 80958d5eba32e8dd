//! Preconditioners in single precision.

use std::sync::{Mutex, PoisonError};

use evenpath::{Device, DeviceSlice, DeviceVec, vector};

use crate::Preconditioner;
use crate::error::Result;

/// A preconditioner of `f32` in a method of `f64`: half the memory and half the traffic of one of `f64`.
///
/// Elements of r that are out of the range of `f32` become infinite or zero. The methods of this crate divide residuals by their norm,
/// and stay in the range.
///
/// ```
/// use evenpath::prelude::*;
/// use evenpath_solvers::{CsrOperator, Gmres, IncompleteLu, SinglePrecision, SolverOptions};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let device = Device::best()?;
///     let a: Csr<f64> = Csr::from_triplets(2, 2, [(0, 0, 4.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 3.0)])?;
///     let single: Csr<f32> = a.clone().into_values();
///     let preconditioner = IncompleteLu::new(&device.upload(&single)?)?;
///     let preconditioner = SinglePrecision::new(&device, 2, preconditioner)?;
///     let operator = CsrOperator::new(&device.upload(&a)?)?;
///     let (b, mut x) = (device.upload(&[1.0, 2.0])?, device.zeros(2)?);
///     let options = SolverOptions::default().with_tolerance(1e-14);
///     let report = Gmres::new(&operator, &preconditioner, options)?.solve(&b, &mut x)?;
///     assert!(report.is_converged(), "{report}");
///     Ok(())
/// }
/// ```
pub struct SinglePrecision<P: Preconditioner<f32>> {
    preconditioner: P,
    /// r and z, of one application at a time.
    vectors: Mutex<[DeviceVec<f32>; 2]>,
}

impl<P: Preconditioner<f32>> SinglePrecision<P> {
    /// Takes a preconditioner on `device` for vectors of `len` elements.
    ///
    /// # Errors
    ///
    /// If there is too little memory, or the device was lost.
    pub fn new(device: &Device, len: usize, preconditioner: P) -> Result<Self> {
        let vectors = [device.zeros(len)?, device.zeros(len)?];
        Ok(Self { preconditioner, vectors: Mutex::new(vectors) })
    }

    /// The preconditioner.
    pub fn get(&self) -> &P {
        &self.preconditioner
    }

    /// The preconditioner, to update it.
    pub fn get_mut(&mut self) -> &mut P {
        &mut self.preconditioner
    }
}

impl<P: Preconditioner<f32>> Preconditioner<f64> for SinglePrecision<P> {
    fn apply(&self, r: &DeviceSlice<f64>, z: &mut DeviceSlice<f64>) -> Result<()> {
        let [single_r, single_z] = &mut *self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        vector::narrow(r, single_r)?;
        self.preconditioner.apply(single_r, single_z)?;
        Ok(vector::widen(single_z, z)?)
    }

    fn can_capture(&self) -> bool {
        self.preconditioner.can_capture()
    }

    fn is_linear(&self) -> bool {
        self.preconditioner.is_linear()
    }
}
