//! A solver of linear systems.

use evenpath::device::DeviceSlice;
use evenpath::error::OpError;
use evenpath::spmv::SpmvPlan;
use evenpath::vector;

/// Solves Ax = b by conjugate gradients with Jacobi preconditioning, from x, until the residual is 10⁻¹⁰ of b, and returns the number of
/// iterations.
pub(crate) fn conjugate_gradients(
    a: &SpmvPlan<f64>,
    inverse_diagonal: &DeviceSlice<f64>,
    b: &DeviceSlice<f64>,
    x: &mut DeviceSlice<f64>,
) -> Result<usize, OpError> {
    let zeros = || b.device().zeros(b.len());
    let (mut r, mut z, mut p, mut ap, mut last_rz) = (zeros()?, zeros()?, zeros()?, zeros()?, f64::INFINITY);
    r.copy_from(b)?;
    a.run(-1.0, x, 1.0, &mut r)?;
    let limit = 1e-10 * vector::norm2(b)?;
    for iteration in 0..10_000 {
        if vector::norm2(&r)? <= limit {
            return Ok(iteration);
        }
        vector::multiply_elements(inverse_diagonal, &r, &mut z)?;
        let rz = vector::dot(&r, &z)?;
        vector::axpby(1.0, &z, rz / last_rz, &mut p)?; // p = z at first
        a.run(1.0, &p, 0.0, &mut ap)?;
        let alpha = rz / vector::dot(&p, &ap)?;
        vector::axpby(alpha, &p, 1.0, x)?;
        vector::axpby(-alpha, &ap, 1.0, &mut r)?;
        last_rz = rz;
    }
    Ok(10_000)
}
