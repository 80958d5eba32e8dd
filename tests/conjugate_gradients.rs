//! Whole iterations of conjugate gradients in one graph, whose scalars stay on the device.

// The same operations give the same bits.
#![allow(clippy::float_cmp)]

use evenpath::error::OpError;
use evenpath::generate::{Kind, generate};
use evenpath::spmv::{SpmvMethod, SpmvOptions, SpmvPlan};
use evenpath::{Csr, Device, DeviceVec, Factor, Value, vector};
use evenpath_tests::devices;

/// State of an iteration: x, the residual, the direction, the matrix times that; and rᵀr, pᵀAp, α, β.
struct State<V: Value> {
    vectors: [DeviceVec<V>; 4],
    scalars: DeviceVec<V>,
}

impl<V: Value> State<V> {
    fn new(device: &Device, b: &[V]) -> Result<Self, OpError> {
        let (x, r, p, ap) =
            (device.zeros(b.len())?, device.upload(b)?, device.upload(b)?, device.zeros(b.len())?);
        let mut scalars = device.zeros(4)?;
        vector::dot_into(&r, &r, &mut scalars.slice_mut(..1)?)?;
        Ok(Self { vectors: [x, r, p, ap], scalars })
    }

    /// Runs an iteration without the host.
    fn step(&mut self, plan: &SpmvPlan<V>) -> Result<(), OpError> {
        let [x, r, p, ap] = &mut self.vectors;
        let (mut sums, mut factors) = self.scalars.split_at_mut(2)?;
        let ((mut rr, mut pap), (mut alpha, mut beta)) = (sums.split_at_mut(1)?, factors.split_at_mut(1)?);
        plan.run(V::ONE, p, V::ZERO, ap)?;
        vector::dot_into(p, ap, &mut pap)?;
        vector::divide_elements(&rr, &pap, &mut alpha)?;
        vector::axpby(&alpha, p, V::ONE, x)?;
        vector::axpby(-Factor::from(&alpha), ap, V::ONE, r)?;
        // β is the new rᵀr divided by the old one, which is not needed afterwards.
        vector::dot_into(r, r, &mut pap)?;
        vector::divide_elements(&pap, &rr, &mut beta)?;
        rr.copy_from(&pap)?;
        vector::axpby(V::ONE, r, &beta, p)
    }
}

/// x, r and p after some iterations with scalars computed by the host.
fn plain<V: Value>(
    device: &Device,
    plan: &SpmvPlan<V>,
    b: &[V],
    steps: usize,
) -> Result<[Vec<V>; 3], OpError> {
    let (mut x, mut r, mut p) = (device.zeros(b.len())?, device.upload(b)?, device.upload(b)?);
    let mut ap = device.zeros(b.len())?;
    let mut rr = vector::dot(&r, &r)?;
    for _ in 0..steps {
        plan.run(V::ONE, &p, V::ZERO, &mut ap)?;
        let alpha = rr / vector::dot(&p, &ap)?;
        vector::axpby(alpha, &p, V::ONE, &mut x)?;
        vector::axpby(-alpha, &ap, V::ONE, &mut r)?;
        let next = vector::dot(&r, &r)?;
        vector::axpby(V::ONE, &r, next / rr, &mut p)?;
        rr = next;
    }
    Ok([x.download()?, r.download()?, p.download()?])
}

/// Iterations in graphs of one and of three.
fn check<V: Value>(device: &Device, a: &Csr<V>, options: SpmvOptions) {
    let b: Vec<V> = (0..a.nrows()).map(|row| V::from_f64((row as f64 * 0.7).sin())).collect();
    let plan = device.upload(a).expect("memory").plan_spmv(options).expect("a plan");
    for steps in [1, 3] {
        let state = State::new(device, &b).expect("memory");
        let run = |state: &mut State<V>| (0..steps).try_for_each(|_| state.step(&plan));
        let mut graph = device.capture(state, run).expect("nothing that waits");
        for launch in 1..=3 {
            graph.launch().expect("the device works");
            let expected = plain(device, &plan, &b, launch * steps).expect("the device works");
            let state = graph.state();
            for (found, expected) in state.vectors.iter().zip(&expected) {
                let found = found.download().expect("the device works");
                assert_eq!(&found, expected, "launch {launch} of {steps} steps on {device}");
            }
            assert!(expected[1].iter().all(|value| value.is_finite()), "not converged to 0 / 0");
        }
    }
}

#[test]
fn captured_iterations_equal_plain_ones() {
    let stencil: Csr<f64> = generate(Kind::Stencil5 { side: 25 }, 1).expect("a matrix");
    for device in devices() {
        let device = device.device;
        check(&device, &stencil, SpmvOptions::default());
        check(&device, &stencil, SpmvOptions::default().with_method(SpmvMethod::MergePath));
        check(&device, &stencil.clone().into_values::<f32>(), SpmvOptions::default());
    }
}

#[test]
fn graphs_keep_dropped_factors() {
    for device in devices() {
        let device = device.device;
        let x = device.upload(&vec![1.0; 3000]).expect("memory");
        let mut graph = device
            .capture((x, device.zeros(3000).expect("memory")), |(x, y)| -> Result<(), OpError> {
                let mut factor = x.device().uninitialized(1)?;
                vector::norm2_into(x, &mut factor)?;
                vector::axpby(&factor, x, 0.5, y)
            })
            .expect("nothing that waits");
        // If the factor's memory were freed, one of these would reuse and overwrite it.
        let others: Vec<DeviceVec<f64>> = (0..8).map(|_| device.upload(&[-1.0]).expect("memory")).collect();
        for launch in 1..=3 {
            graph.launch().expect("the device works");
            let factor = 3000.0_f64.sqrt();
            let expected = [factor, factor + factor * 0.5, factor + (factor + factor * 0.5) * 0.5];
            let found = graph.state().1.download().expect("the device works");
            let close = |value: &f64| (value - expected[launch - 1]).abs() < 1e-12 * value.abs();
            assert!(found.iter().all(close), "launch {launch} on {device}: {found:?}");
        }
        drop(others);
    }
}

/// A factor in the graph's state, changed between launches: by another operation, and by another vector.
#[test]
fn factors_of_a_graph_may_change() {
    for device in devices() {
        let device = device.device;
        let (x, y) = (device.upload(&[1.0, 2.0]).expect("memory"), device.zeros(2).expect("memory"));
        let factor = device.upload(&[3.0]).expect("memory");
        let mut graph = device
            .capture((x, factor, y), |(x, factor, y)| vector::axpby(&*factor, x, 0.0, y))
            .expect("nothing that waits");
        graph.launch().expect("the device works");
        assert_eq!(graph.state().2.download().expect("the device works"), [3.0, 6.0], "{device}");
        graph.update(|state| state.1.copy_from_slice(&[5.0])).expect("the device works");
        graph.launch().expect("the device works");
        assert_eq!(graph.state().2.download().expect("the device works"), [5.0, 10.0], "{device}");
        let other = device.upload(&[7.0]).expect("memory");
        graph.update(|state| state.1 = other);
        graph.launch().expect("the device works");
        assert_eq!(graph.state().2.download().expect("the device works"), [7.0, 14.0], "{device}");
    }
}
