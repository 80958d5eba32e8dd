//! Streams of one device compute the same as the device without them.

use evenpath::device::Stream;
use evenpath::generate::{Kind, generate};
use evenpath::spmv::{SpmvOptions, SpmvPlan};
use evenpath::{Csr, Device, DeviceVec, Factor, vector};
use evenpath_tests::devices;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const SIDE: usize = 300;

/// A step of a program: an operation on some of three vectors, and its stream.
#[derive(Debug, Clone)]
enum Step {
    /// The second becomes the matrix times the first plus itself.
    Multiply(usize, usize),
    Axpby(usize, usize),
    Copy(usize, usize),
    SetZero(usize),
    Upload(usize),
    /// A vector replaces another, whose memory is free again.
    Replace(usize),
    /// The sum of products, returned to the host, becomes an element of the second.
    Dot(usize, usize),
    /// The sum of products becomes the first element of the third, and is a factor of the first that is added to the second.
    Project(usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let two = || (0..3_usize, 1..3_usize).prop_map(|(x, y)| (x, (x + y) % 3));
    let step = prop_oneof![
        two().prop_map(|(x, y)| Step::Multiply(x, y)),
        two().prop_map(|(x, y)| Step::Axpby(x, y)),
        two().prop_map(|(x, y)| Step::Copy(x, y)),
        (0..3_usize).prop_map(Step::SetZero),
        (0..3_usize).prop_map(Step::Upload),
        (0..3_usize).prop_map(Step::Replace),
        two().prop_map(|(x, y)| Step::Dot(x, y)),
        two().prop_map(|(x, y)| Step::Project(x, y)),
    ];
    proptest::collection::vec((0..4_usize, step), 1..25)
}

fn numbers(seed: usize) -> Vec<f64> {
    (0..SIDE).map(|at| ((at * 7 + seed) % 11) as f64 * 0.125 - 0.5).collect()
}

fn run(device: &Device, plan: &SpmvPlan<f64>, v: &mut [DeviceVec<f64>; 3], at: usize, step: &Step) {
    match *step {
        Step::Multiply(x, y) => {
            let [x, y] = v.get_disjoint_mut([x, y]).expect("different");
            plan.run(0.03, x, 0.5, y).expect("the device works");
        }
        Step::Axpby(x, y) => {
            let [x, y] = v.get_disjoint_mut([x, y]).expect("different");
            vector::axpby(0.75, x, -0.5, y).expect("the device works");
        }
        Step::Copy(x, y) => {
            let [x, y] = v.get_disjoint_mut([x, y]).expect("different");
            y.copy_from(x).expect("the device works");
        }
        Step::SetZero(y) => v[y].set_zero().expect("the device works"),
        Step::Upload(y) => v[y].copy_from_slice(&numbers(at)).expect("the device works"),
        Step::Replace(y) => v[y] = device.upload(&numbers(at + 5)).expect("the device works"),
        Step::Dot(x, y) => {
            let dot = vector::dot(&v[x], &v[y]).expect("the device works");
            let mut values = vec![dot * 0.01; SIDE];
            values[at % SIDE] = 1.0;
            v[y].copy_from_slice(&values).expect("the device works");
        }
        Step::Project(x, y) => {
            let [x, y, z] = v.get_disjoint_mut([x, y, 3 - x - y]).expect("different");
            let mut factor = z.slice_mut(..1).expect("inside");
            vector::dot_into(x, y, &mut factor).expect("the device works");
            // Numbers do not grow from step to step.
            vector::axpby(Factor::from(&factor).scaled(0.001), x, 0.5, y).expect("the device works");
        }
    }
}

/// Contents of the vectors after the steps, each on its stream, or all on the device's own if there are no
/// streams.
fn outcome(
    device: &Device,
    plan: &SpmvPlan<f64>,
    streams: &[Stream],
    steps: &[(usize, Step)],
) -> Vec<Vec<f64>> {
    let mut vectors = [0, 1, 2].map(|seed| device.upload(&numbers(seed)).expect("memory"));
    for (at, (stream, step)) in steps.iter().enumerate() {
        match streams.get(*stream) {
            Some(stream) => stream.scope(|| run(device, plan, &mut vectors, at, step)),
            None => run(device, plan, &mut vectors, at, step),
        }
    }
    vectors.iter().map(|vector| vector.download().expect("the device works")).collect()
}

#[test]
fn any_steps_on_any_streams() {
    let a: Csr<f64> = generate(Kind::PowerLaw { rows: SIDE }, 3).expect("a small matrix");
    for device in devices() {
        let cases = if device.fast { 200 } else { 12 };
        let device = device.device;
        let a = device.upload(&a).expect("memory");
        let plan = a.plan_spmv(SpmvOptions::default()).expect("a plan");
        let three: Vec<Stream> = (0..3).map(|_| device.stream().expect("the device works")).collect();
        let mut runner = TestRunner::new_with_rng(
            Config { cases, failure_persistence: None, ..Config::default() },
            proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
        );
        let result = runner.run(&steps(), |steps| {
            prop_assert_eq!(outcome(&device, &plan, &three, &steps), outcome(&device, &plan, &[], &steps));
            Ok(())
        });
        if let Err(error) = result {
            panic!("{device}: {error}");
        }
    }
}

#[test]
fn more_operations_than_events_of_a_stream() {
    for device in devices() {
        let device = device.device;
        let (one, two) = (device.stream().expect("a stream"), device.stream().expect("a stream"));
        let x = device.upload(&[1.0; 500]).expect("memory");
        let (mut y, mut z) = (device.zeros(500).expect("memory"), device.zeros::<f64>(500).expect("memory"));
        let first = one.scope(|| {
            let first = device.upload(&[3.0; 500]).expect("memory");
            for _ in 0..200 {
                vector::axpby(1.0, &x, 1.0, &mut y).expect("the device works");
            }
            first
        });
        // The event after the upload is reused by now.
        two.scope(|| vector::axpby(1.0, &first, 0.0, &mut z)).expect("the device works");
        assert_eq!(z.download().expect("the device works"), [3.0; 500]);
        assert_eq!(y.download().expect("the device works"), [200.0; 500]);
        one.synchronize().and_then(|()| device.synchronize()).expect("the device works");
    }
}
