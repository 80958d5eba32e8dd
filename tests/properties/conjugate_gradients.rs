//! Steps of conjugate gradients.

use evenpath::cg::{CgSteps, CgVectors};
use evenpath::generate::{Kind, generate};
use evenpath::{Device, Offset, Value};

use super::operations::{ELEMENTS, Run, download, numbers};

/// Steps of a launch.
const STEPS: usize = 40;

pub(super) fn cg_residual<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (device, x) = (device.clone(), device.upload(&numbers::<V>(ELEMENTS)).expect("upload"));
    let mut steps = CgSteps::new(&device, 1).expect("scalars");
    steps.begin(V::from_f64(3.0), V::ONE, V::ZERO, V::ONE).expect("scalars");
    uploaded();
    Box::new(move || {
        let mut r = device.uninitialized(ELEMENTS)?;
        r.copy_from(&x)?;
        steps.update_residual(0, (&x, &x), Some(&x), &mut r)?;
        Ok(download(r))
    })
}

/// The first run solves the system, and later ones change nothing.
pub(super) fn cg_one_block<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let device = device.clone();
    let a =
        device.upload(&generate::<V, O>(Kind::Stencil5 { side: 8 }, 0).expect("a matrix")).expect("upload");
    let (ones, rows) = (vec![V::ONE; a.nrows()], V::from_f64(a.nrows() as f64));
    let [mut r, mut p, inverse] = [(); 3].map(|()| device.upload(&ones).expect("upload"));
    let [mut x, mut q] = [(); 2].map(|()| device.zeros(a.nrows()).expect("zeros"));
    let mut steps = CgSteps::new(&device, STEPS).expect("scalars");
    steps.begin(rows, rows, V::from_f64(1e-4), V::ONE).expect("scalars");
    uploaded();
    Box::new(move || {
        let vectors = CgVectors { x: &mut x, r: &mut r, p: &mut p, q: &mut q };
        steps.run_in_one_block(STEPS, &a, Some(&inverse), vectors)?;
        let mut solution = device.uninitialized(x.len())?;
        solution.copy_from(&x)?;
        Ok(download(solution))
    })
}
