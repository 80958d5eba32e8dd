//! Assembly from triplets.

use evenpath::assembly::{AssemblyOptions, AssemblyPlan};
use evenpath::{Device, Offset, Value};

use super::operations::{Run, download, numbers};
use super::products::download_csr;

const UNKNOWNS: usize = 50;
const TRIPLETS: usize = 2000;

/// A plan with fixed unknowns.
fn plan<O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> AssemblyPlan<O> {
    let indices = |factor: usize| -> Vec<u32> {
        (0..TRIPLETS).map(|at| ((at * factor) % 1009 % UNKNOWNS) as u32).collect()
    };
    let upload = |indices: &[u32]| device.upload(indices).expect("upload");
    let (rows, columns, fixed) = (upload(&indices(31)), upload(&indices(17)), upload(&[7, 3]));
    uploaded();
    let options = AssemblyOptions::default().with_fixed(&fixed);
    AssemblyPlan::new_with(UNKNOWNS, UNKNOWNS, &rows, &columns, options).expect("plan")
}

pub(super) fn assemble<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (plan, values) =
        (plan::<O>(device, uploaded), device.upload(&numbers::<V>(TRIPLETS)).expect("upload"));
    Box::new(move || Ok(download_csr(plan.assemble(&values)?)))
}

pub(super) fn assemble_into<V: Value, O: Offset>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let (plan, values) =
        (plan::<O>(device, uploaded), device.upload(&numbers::<V>(TRIPLETS)).expect("upload"));
    let matrix = plan.assemble(&values).expect("a matrix");
    Box::new(move || {
        plan.assemble_into(&values, &matrix)?;
        Ok(download_csr(matrix.clone()))
    })
}

pub(super) fn correct_rhs<V: Value>(device: &Device, uploaded: &mut dyn FnMut()) -> Run {
    let plan = plan::<u32>(device, uploaded);
    let upload = |len: usize| device.upload(&numbers::<V>(len)).expect("upload");
    let (values, unknowns) = (upload(TRIPLETS), upload(UNKNOWNS));
    let device = device.clone();
    Box::new(move || {
        let mut rhs = device.zeros(UNKNOWNS)?;
        plan.correct_rhs(&values, &unknowns, &mut rhs)?;
        Ok(download(rhs))
    })
}
