//! Device calls that fail, one after the other: the error arrives, and the solver can be used again.

use evenpath::Device;
use evenpath::device::SimulatedOptions;
use evenpath_lab::Diagnostics;
use evenpath_solvers::{
    Chebyshev, CsrOperator, Identity, IncompleteLu, Jacobi, Lobpcg, Method, MulticolorGaussSeidel,
    Preconditioner, Result, SolverOptions, SymmetricGaussSeidel,
};

use crate::support::{complex, spd, vector};

/// Device calls between two that fail.
const STRIDE: usize = 5;

fn device() -> Device {
    // One thread, so that the order of calls is fixed.
    Device::simulated(SimulatedOptions::default().with_memory_bytes(64 << 20).with_threads(1))
}

/// Runs `run` with every fifth of its device calls failing in turn, and then once more without a failure.
fn drive<T: PartialEq>(device: &Device, name: &str, mut run: impl FnMut() -> Result<T>) {
    let expected = run().unwrap_or_else(|error| panic!("{name}: {error}"));
    for calls in (0..).step_by(STRIDE) {
        device.inject_failure(Some(calls));
        let result = run();
        let is_over = device.injected_failure().is_some();
        device.inject_failure(None);
        if is_over {
            assert!(calls > 0 && result.is_ok_and(|result| result == expected), "{name}");
            break;
        }
        let message =
            result.err().unwrap_or_else(|| panic!("{name}: call {calls} fails unnoticed")).to_string();
        assert!(message.contains("failed on request"), "{name}, call {calls}: {message}");
        assert!(run().is_ok_and(|result| result == expected), "{name}, after call {calls} failed");
    }
}

#[test]
fn methods_work_after_failures() {
    let device = device();
    let operator =
        CsrOperator::new(&device.upload(&spd::<f64>(4)).unwrap()).unwrap().with_transpose().unwrap();
    let b = device.upload(&vector(4)).unwrap();
    let options = SolverOptions::default().with_max_steps(2).with_restart(2);
    // CG owns graphs, and has tests of its own.
    let methods = || Method::ALL.into_iter().filter(|&method| method != Method::Cg);
    for method in methods() {
        let mut solver = method.solver::<f64>(&operator, &Identity, options).unwrap();
        drive(&device, method.name(), || {
            let mut x = device.zeros(4)?;
            let report = solver.solve(&b, &mut x)?;
            Ok((report.history, x.download()?))
        });
    }
    let a = device.upload(&complex::definite::<complex::C64>(4)).unwrap();
    let (of_complex, b) = (CsrOperator::new(&a).unwrap().with_transpose().unwrap(), complex::vector(4));
    let b = device.upload(&b).unwrap();
    for method in methods() {
        let mut solver = method.solver(&of_complex, &Identity, options).unwrap();
        drive(&device, &format!("complex {method}"), || {
            let mut x = device.zeros(4)?;
            let report = solver.solve(&b, &mut x)?;
            Ok((report.history, x.download()?))
        });
    }
    let mut solver = Lobpcg::new(&operator, &Identity, 1, options).unwrap();
    drive(&device, "lobpcg", || {
        let mut x = device.zeros_dense(4, 1, evenpath::Layout::ColumnMajor)?;
        let report = solver.solve(&mut x)?;
        Ok((report.history, x.download()?))
    });
}

#[test]
fn preconditioners_work_after_failures() {
    let device = device();
    let a = device.upload(&spd::<f64>(4)).unwrap();
    let operator = CsrOperator::new(&a).unwrap();
    let r = device.upload(&vector(4)).unwrap();
    let (lu, sweeps) = (IncompleteLu::new(&a).unwrap(), SymmetricGaussSeidel::new(&a).unwrap());
    let jacobi = Jacobi::new(&a).unwrap();
    let polynomial = Chebyshev::new(&operator, &jacobi, 3).unwrap();
    let colored = MulticolorGaussSeidel::new(&a).unwrap();
    let all: [(&str, &dyn Preconditioner<f64>); 4] =
        [("ilu", &lu), ("gauss-seidel", &sweeps), ("multicolor", &colored), ("chebyshev", &polynomial)];
    for (name, preconditioner) in all {
        drive(&device, name, || {
            let mut z = device.zeros(4)?;
            preconditioner.apply(&r, &mut z)?;
            Ok(z.download()?)
        });
    }
    drive(&device, "set-up", || {
        let lu = IncompleteLu::new(&a)?;
        let sweeps = SymmetricGaussSeidel::new(&a)?;
        let bounds = Chebyshev::new(&operator, &jacobi, 2)?.bounds();
        let colors = MulticolorGaussSeidel::new(&a)?.colors();
        Ok((lu.factors().download()?, sweeps.can_capture(), colors, [bounds.0, bounds.1]))
    });
}
