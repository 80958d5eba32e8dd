//! Second differences on grids, with zeros outside.

use std::error::Error;

use evenpath::{Csr, Device, DeviceCsr};

type Matrix = Result<DeviceCsr<f64>, Box<dyn Error>>;

/// The sum of the second differences in two dimensions, with five points per unknown.
pub(crate) fn square(device: &Device, side: usize) -> Matrix {
    sum(&line(device, side)?, &line(device, side)?)
}

/// The sum of the second differences in three dimensions, with seven points per unknown.
pub(crate) fn cube(device: &Device, side: usize) -> Matrix {
    sum(&line(device, side)?, &square(device, side)?)
}

fn line(device: &Device, side: usize) -> Matrix {
    let differences = (0..side).flat_map(|at| {
        let beside = [at.checked_sub(1), Some(at + 1).filter(|&next| next < side)];
        let beside = beside.into_iter().flatten().map(move |other| (at, other, -1.0));
        beside.chain([(at, at, 2.0)])
    });
    Ok(device.upload(&Csr::from_triplets(side, side, differences)?)?)
}

/// The Kronecker sum of two matrices: the first acts on the slow index, the second on the fast one.
fn sum(slow: &DeviceCsr<f64>, fast: &DeviceCsr<f64>) -> Matrix {
    let [of_slow, of_fast] = [slow, fast].map(|matrix| DeviceCsr::identity(slow.device(), matrix.nrows()));
    Ok(slow.kronecker(&of_fast?)?.spadd(1.0, &of_slow?.kronecker(fast)?, 1.0)?)
}
