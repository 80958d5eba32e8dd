//! Steps of conjugate gradients on every device, beside the method in plain Rust.

// The same bits are meant.
#![allow(clippy::float_cmp)]

use evenpath::cg::{CgDirection, CgSteps};
use evenpath::error::OpError;
use evenpath::spmv::{SpmvOptions, SpmvPlan};
use evenpath::{Csr, Device, DeviceVec, Value, vector};
use evenpath_tests::devices;

/// How z is given to a step.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Residual,
    Scaled,
    Vector,
}

const FORMS: [Form; 3] = [Form::Residual, Form::Scaled, Form::Vector];

/// A symmetric positive definite band matrix.
fn band(len: usize) -> Csr<f64> {
    let entries = (0..len).flat_map(|row| {
        let diagonal = (row, row, 2.5 + (row % 7) as f64);
        let below = (row > 0).then(|| (row, row - 1, -1.0));
        let above = (row + 1 < len).then(|| (row, row + 1, -1.0));
        [Some(diagonal), below, above].into_iter().flatten()
    });
    Csr::from_triplets(len, len, entries).unwrap()
}

fn right_side(len: usize) -> Vec<f64> {
    (0..len).map(|at| ((at * 37 + 11) % 101) as f64 / 50.0 - 1.0).collect()
}

/// rᵀr after each step, and x, of the method as it is written in books.
fn reference(a: &Csr<f64>, d: &[f64], steps: usize) -> (Vec<f64>, Vec<f64>) {
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let scaled = |r: &[f64]| r.iter().zip(d).map(|(r, d)| r * d).collect::<Vec<f64>>();
    let (mut x, mut r) = (vec![0.0; d.len()], right_side(d.len()));
    let mut p = scaled(&r);
    let mut squares = Vec::new();
    for _ in 0..steps {
        let (ap, rz) = ((a * &p).unwrap(), dot(&r, &scaled(&r)));
        let alpha = rz / dot(&p, &ap);
        for (at, ap) in ap.iter().enumerate() {
            x[at] += alpha * p[at];
            r[at] -= alpha * ap;
        }
        let z = scaled(&r);
        let beta = dot(&r, &z) / rz;
        p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + beta * *p);
        squares.push(dot(&r, &r));
    }
    (squares, x)
}

struct State<V: Value> {
    steps: CgSteps<V>,
    vectors: [DeviceVec<V>; 5],
}

/// Residual, direction, Ap, z and x, before the first step.
fn start<V: Value>(device: &Device, d: &DeviceVec<V>, limit: f64, len: usize) -> State<V> {
    let b: Vec<V> = right_side(d.len()).into_iter().map(V::from_f64).collect();
    let (r, mut p) = (device.upload(&b).unwrap(), device.zeros(b.len()).unwrap());
    vector::multiply_elements(d, &r, &mut p).unwrap();
    let mut steps = CgSteps::new(device, len).unwrap();
    let (rz, rr) = (vector::dot(&r, &p).unwrap(), vector::dot(&r, &r).unwrap());
    steps.begin(rz, rr, V::from_f64(limit), V::ONE).unwrap();
    let zeros = || device.zeros(b.len()).unwrap();
    State { steps, vectors: [r, p, zeros(), zeros(), zeros()] }
}

/// A step of a form.
fn step<V: Value>(
    form: Form,
    at: usize,
    (plan, d): (&SpmvPlan<V>, &DeviceVec<V>),
    state: &mut State<V>,
) -> Result<(), OpError> {
    let State { steps, vectors: [r, p, ap, z, x] } = state;
    plan.run(V::ONE, p, V::ZERO, ap)?;
    steps.update_residual(at, (p, ap), (form == Form::Scaled).then_some(&**d), r)?;
    if form == Form::Vector {
        vector::multiply_elements(d, r, z)?;
    }
    let direction = match form {
        Form::Residual => CgDirection::Residual(r),
        Form::Scaled => CgDirection::Scaled { r, inverse: d },
        Form::Vector => CgDirection::Vector { r, z },
    };
    steps.update_direction(at, direction, p, x)
}

fn check<V: Value>(device: &Device, len: usize, tolerance: f64) {
    const STEPS: usize = 7;
    let a = band(len);
    let on_device = device.upload(&a.clone().into_values::<V>()).unwrap();
    let plan = on_device.plan_spmv(SpmvOptions::default()).unwrap();
    for form in FORMS {
        let d: Vec<f64> = match form {
            Form::Residual => vec![1.0; len],
            Form::Scaled | Form::Vector => (0..len).map(|row| 1.0 / (2.5 + (row % 7) as f64)).collect(),
        };
        let (squares, x) = reference(&a, &d, STEPS);
        let d = device.upload(&d.iter().copied().map(V::from_f64).collect::<Vec<V>>()).unwrap();
        // Scalars of fewer steps than are done, which start over.
        let mut state = start(device, &d, 0.0, 3);
        let mut found = Vec::new();
        for at in 0..STEPS {
            if at % 3 == 0 {
                state.steps.start_over().unwrap();
            }
            step(form, at % 3, (&plan, &d), &mut state).unwrap();
            let scalars = state.steps.scalars().unwrap();
            assert_eq!(scalars.len(), 4);
            found.push(scalars[at % 3 + 1].rr.to_f64());
        }
        let scale = squares[0].max(1e-300);
        for (found, expected) in found.iter().zip(&squares) {
            assert!(
                (found - expected).abs() <= tolerance * scale,
                "{form:?}, {len}, {device}: {found} for {expected}"
            );
        }
        for (found, expected) in state.vectors[4].download().unwrap().iter().zip(&x) {
            assert!((found.to_f64() - expected).abs() <= tolerance, "{form:?}, {len}, {device}");
        }
        // The same as one graph, to the bit.
        let graph_state = start(device, &d, 0.0, STEPS);
        let mut graph = device
            .capture(graph_state, |state| (0..STEPS).try_for_each(|at| step(form, at, (&plan, &d), state)))
            .unwrap();
        graph.launch().unwrap();
        let captured = graph.into_state();
        assert_eq!(captured.vectors[4].download().unwrap(), state.vectors[4].download().unwrap());
        assert_eq!(captured.vectors[0].download().unwrap(), state.vectors[0].download().unwrap());
        assert_eq!(captured.steps.scalars().unwrap()[STEPS].rr.to_f64(), found[STEPS - 1]);
    }
}

#[test]
fn steps_are_those_of_the_method() {
    for under_test in devices() {
        let device = &under_test.device;
        let lens: &[usize] = if under_test.fast { &[9, 1_025, 300_001] } else { &[9, 1_025, 2_300] };
        for &len in lens {
            check::<f64>(device, len, 1e-11);
            check::<f32>(device, len, 1e-3);
        }
    }
}

#[test]
fn nothing_changes_within_the_limit_or_in_a_wrong_direction() {
    for under_test in devices() {
        let device = &under_test.device;
        let a = band(50);
        let mut negative = a.clone();
        negative.map_values(|value| -value);
        for (matrix, limit) in [(&a, 1e30), (&negative, 0.0)] {
            let plan = device.upload(matrix).unwrap().plan_spmv(SpmvOptions::default()).unwrap();
            let d = device.upload(&[1.0; 50]).unwrap();
            let mut state = start(device, &d, limit, 2);
            let before = state.vectors.each_ref().map(|vector| vector.download().unwrap());
            for at in 0..2 {
                step(Form::Residual, at, (&plan, &d), &mut state).unwrap();
            }
            for at in [0, 1, 4] {
                assert_eq!(state.vectors[at].download().unwrap(), before[at], "{at} on {device}");
            }
            let scalars = state.steps.scalars().unwrap();
            assert_eq!((scalars[0].alpha, scalars[0].pap > 0.0), (0.0, limit > 0.0));
            assert_eq!(scalars[0].rr, scalars[1].rr);
        }
    }
}

#[test]
fn vectors_of_other_lengths_are_refused() {
    for under_test in devices() {
        let device = &under_test.device;
        let mut steps = CgSteps::new(device, 1).unwrap();
        let (p, short) = (device.upload(&[1.0; 3]).unwrap(), device.upload(&[1.0; 2]).unwrap());
        let (mut r, mut x) = (device.upload(&[1.0; 3]).unwrap(), device.upload(&[1.0; 3]).unwrap());
        steps.begin(1.0, 1.0, 0.0, 1.0).unwrap();
        for error in [
            steps.update_residual(0, (&short, &p), None, &mut r),
            steps.update_residual(0, (&p, &short), None, &mut r),
            steps.update_residual(0, (&p, &p), Some(&short), &mut r),
            steps.update_direction(0, CgDirection::Residual(&short), &mut r, &mut x),
            steps.update_direction(0, CgDirection::Scaled { r: &p, inverse: &short }, &mut r, &mut x),
            steps.update_direction(0, CgDirection::Vector { r: &p, z: &short }, &mut r, &mut x),
        ] {
            let error = error.unwrap_err().to_string();
            assert!(error.contains("has length 2, but 3 is needed"), "{error}");
        }
        for error in [
            steps.update_residual(1, (&p, &p), None, &mut r),
            steps.update_direction(1, CgDirection::Residual(&p), &mut r, &mut x),
        ] {
            let error = error.unwrap_err();
            assert!(
                matches!(error, OpError::Length { operand: "the list of steps", len: 1, needed: 2 }),
                "{error}"
            );
        }
        assert_eq!((r.download().unwrap(), x.download().unwrap()), (vec![1.0; 3], vec![1.0; 3]));
    }
}
