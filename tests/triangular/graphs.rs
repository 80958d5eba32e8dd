use evenpath::error::{DeviceError, OpError};
use evenpath::triangular::{Triangle, TriangularMethod, TriangularOptions};
use evenpath::{DeviceDense, Layout};
use evenpath_tests::{DeviceUnderTest, devices, vector};

use super::matrices::{scattered, with_entries};
use super::oracle::check;

/// Launches of a graph and other solves follow each other, with the same words between rows.
#[test]
fn launches_and_other_solves_take_turns() {
    let a = with_entries::<f64, u32>(90, scattered(90, 500));
    let b: Vec<f64> = vector(90);
    for DeviceUnderTest { device, .. } in devices() {
        for (method, transposed) in [(TriangularMethod::Tickets, false), (TriangularMethod::Levels, true)] {
            let options = TriangularOptions::default().with_method(method).with_transposed(transposed);
            let plan = device.upload(&a).expect("upload").plan_triangular_solve(options).expect("a plan");
            let state = (device.upload(&b).expect("upload"), device.zeros(90).expect("zeros"));
            let mut graph = device
                .capture(state, |(b, x)| {
                    plan.solve(1.0, b, x)?;
                    plan.solve_in_place(3.0, x)
                })
                .expect("a graph");
            let mut expected = None;
            for _ in 0..3 {
                graph.launch().expect("a launch");
                let found = graph.state().1.download().expect("download");
                assert_eq!(expected.get_or_insert_with(|| found.clone()), &found, "{method}, {device}");
                let mut x = device.upload(&b).expect("upload");
                plan.solve_in_place(1.0, &mut x).expect("a solution");
                let x = x.download().expect("download");
                check(&a, options, 1.0, &b, &x).expect("the solution");
                check(&a, options, 3.0, &x, &found).expect("the solution");
            }
        }
    }
}

#[test]
fn several_systems_in_a_graph() {
    let a = with_entries::<f32, u32>(40, scattered(40, 200));
    for DeviceUnderTest { device, .. } in devices() {
        let plan = device.upload(&a).expect("upload").plan_triangular_solve(TriangularOptions::default());
        let plan = plan.expect("a plan");
        let dense = || {
            let values = device.upload(&vector::<f32>(40 * 6)).expect("upload");
            DeviceDense::try_new(values, 40, 6, Layout::ColumnMajor).expect("a matrix")
        };
        let mut graph =
            device.capture((dense(), dense()), |(b, x)| plan.solve_many(1.0, b, x)).expect("a graph");
        for _ in 0..3 {
            graph.state_mut().1.as_mut_slice().set_zero().expect("zeros");
            graph.launch().expect("a launch");
            let x = graph.state().1.download().expect("download");
            for (b, x) in vector::<f32>(240).chunks(40).zip(x.chunks(40)) {
                check(&a, TriangularOptions::default(), 1.0, b, x).expect("the solution");
            }
        }
    }
}

/// A graph follows the values of the matrix, also through the transpose.
#[test]
fn a_launch_uses_the_values_of_then() {
    let a = with_entries::<f64, u32>(30, scattered(30, 100));
    let halves: Vec<f64> = a.values().iter().map(|value| value / 2.0).collect();
    for DeviceUnderTest { device, .. } in devices() {
        for transposed in [false, true] {
            let options =
                TriangularOptions::default().with_triangle(Triangle::Upper).with_transposed(transposed);
            let matrix = device.upload(&a).expect("upload");
            let plan = matrix.plan_triangular_solve(options).expect("a plan");
            let state =
                (device.upload(&vector::<f64>(30)).expect("upload"), device.zeros(30).expect("zeros"));
            let mut graph = device.capture(state, |(b, x)| plan.solve(1.0, b, x)).expect("a graph");
            graph.launch().expect("a launch");
            let before = graph.state().1.download().expect("download");
            matrix.set_values(&halves).expect("as many");
            graph.launch().expect("a launch");
            let doubled: Vec<f64> = before.iter().map(|x| 2.0 * x).collect();
            assert_eq!(graph.state().1.download().expect("download"), doubled, "{transposed}, {device}");
        }
    }
}

#[test]
fn what_waits_is_refused() {
    let a = with_entries::<f64, u32>(4, []);
    for DeviceUnderTest { device, .. } in devices() {
        let matrix = device.upload(&a).expect("upload");
        let plan = matrix.plan_triangular_solve(TriangularOptions::default()).expect("a plan");
        let is_refused =
            |result: Result<(), OpError>| matches!(result, Err(OpError::Device(DeviceError::Capture { .. })));
        let checks = device.capture((), |()| plan.check_pivots()).and_then(|mut graph| graph.launch());
        assert!(is_refused(checks), "{device}");
        let plans = device
            .capture((), |()| matrix.plan_triangular_solve(TriangularOptions::default()).map(drop))
            .and_then(|mut graph| graph.launch());
        assert!(is_refused(plans), "{device}");
        plan.check_pivots().expect("no zeros");
    }
}

#[test]
fn streams_take_turns_with_a_plan() {
    let a = with_entries::<f64, u32>(90, scattered(90, 500));
    let b: Vec<f64> = vector(90);
    for DeviceUnderTest { device, .. } in devices() {
        let plan = device.upload(&a).expect("upload").plan_triangular_solve(TriangularOptions::default());
        let plan = plan.expect("a plan");
        let streams = [device.stream().expect("a stream"), device.stream().expect("a stream")];
        let mut x = [device.upload(&b).expect("upload"), device.upload(&b).expect("upload")];
        for (stream, x) in streams.iter().zip(&mut x) {
            stream.scope(|| plan.solve_in_place(1.0, x)).expect("a solution");
        }
        for x in x {
            check(&a, TriangularOptions::default(), 1.0, &b, &x.download().expect("download"))
                .expect("the solution");
        }
    }
}
