//! Changing values, under plans and under graphs captured with them.

use evenpath::device::{DeviceKind, SimulatedOptions};
use evenpath::error::OpError;
use evenpath::generate::{Kind, generate};
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::spmm::SpmmOptions;
use evenpath::spmv::{SpmvMethod, SpmvOptions, SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::{Csr, Device, DeviceCsr, DeviceDense, DeviceVec, Layout};
use evenpath_lab::Diagnostics;
use evenpath_tests::devices;

const SIDE: usize = 200;

/// Writes a result that depends on all values of a matrix to a vector.
type Run = Box<dyn Fn(&mut DeviceVec<f64>) -> Result<(), OpError> + Send + Sync>;

/// Makes a plan for a matrix.
type Plan = fn(&DeviceCsr<f64>) -> Result<Run, OpError>;

/// Makes a plan with options.
type BoxedPlan = Box<dyn Fn(&DeviceCsr<f64>) -> Result<Run, OpError>>;

fn matrix() -> Csr<f64> {
    generate(Kind::PowerLaw { rows: SIDE }, 3).expect("a small matrix")
}

/// `nonzeros` small numbers; sums of their products are exact in any order.
fn values(nonzeros: usize, seed: usize) -> Vec<f64> {
    (0..nonzeros).map(|at| (1 + (at * 7 + seed * 5) % 11) as f64).collect()
}

fn ones(device: &Device) -> Result<DeviceVec<f64>, OpError> {
    Ok(device.upload(&[1.0; SIDE])?)
}

fn spmv(a: &DeviceCsr<f64>, options: SpmvOptions) -> Result<Run, OpError> {
    let (plan, x) = (a.plan_spmv(options)?, ones(a.device())?);
    Ok(Box::new(move |out| plan.run(1.0, &x, 0.0, &mut out.slice_mut(..SIDE)?)))
}

fn transposed(a: &DeviceCsr<f64>, options: SpmvTransposedOptions) -> Result<Run, OpError> {
    let (plan, x) = (a.plan_spmv_transposed(options)?, ones(a.device())?);
    Ok(Box::new(move |out| plan.run(1.0, &x, 0.0, &mut out.slice_mut(..SIDE)?)))
}

/// Values of the matrix that each run computes.
fn entries(
    run: impl Fn() -> Result<DeviceCsr<f64>, OpError> + Send + Sync + 'static,
) -> Result<Run, OpError> {
    // The first run finds the pattern, and the second computes data for later ones.
    run().and_then(|_| run())?;
    Ok(Box::new(move |out| {
        let (_, _, values) = run()?.into_parts()?;
        let len = values.len().min(out.len());
        Ok(out.slice_mut(..len)?.copy_from(&*values.slice(..len)?)?)
    }))
}

fn spgemm(a: &DeviceCsr<f64>, method: SpgemmMethod) -> Result<Run, OpError> {
    let plan = a.plan_spgemm(a, SpgemmOptions::default().with_method(method))?;
    entries(move || plan.run())
}

fn spmm(a: &DeviceCsr<f64>, layout: Layout) -> Result<Run, OpError> {
    let plan = a.plan_spmm(SpmmOptions::default().with_columns(2).with_layout(layout))?;
    let b = DeviceDense::try_new(a.device().upload(&[1.0; 2 * SIDE])?, SIDE, 2, layout).expect("its size");
    Ok(Box::new(move |out| {
        let mut c = a_dense(out.device(), layout)?;
        plan.run(1.0, &b, 0.0, &mut c)?;
        Ok(out.slice_mut(..2 * SIDE)?.copy_from(c.as_vec())?)
    }))
}

fn a_dense(device: &Device, layout: Layout) -> Result<DeviceDense<f64>, OpError> {
    Ok(device.zeros_dense(SIDE, 2, layout)?)
}

/// Plans for every operation, by every method, of a matrix whose values may change.
fn plans(device: &Device) -> Vec<(String, BoxedPlan)> {
    let mut plans: Vec<(String, BoxedPlan)> = Vec::new();
    for method in SpmvMethod::ALL.into_iter().filter(|method| method.runs_on(device.kind())) {
        let options = SpmvOptions::default().with_method(method).with_may_copy(true);
        plans.push((format!("SpMV, {method}"), Box::new(move |a| spmv(a, options))));
    }
    for method in SpmvTransposedMethod::ALL {
        let options = SpmvTransposedOptions::default().with_method(method);
        plans.push((format!("SpMV transposed, {method}"), Box::new(move |a| transposed(a, options))));
    }
    if SpmvMethod::SlicedEll.runs_on(device.kind()) {
        // A copy of a copy.
        let options = SpmvTransposedOptions::default()
            .with_method(SpmvTransposedMethod::Copied)
            .with_spmv(SpmvOptions::default().with_method(SpmvMethod::SlicedEll));
        plans.push(("SpMV transposed, copied, sliced".into(), Box::new(move |a| transposed(a, options))));
    }
    let others: [(&str, Plan); 6] = [
        ("SpMM, by rows", |a| spmm(a, Layout::RowMajor)),
        ("SpMM, by columns", |a| spmm(a, Layout::ColumnMajor)),
        ("SpGEMM, row-wise", |a| spgemm(a, SpgemmMethod::RowWise)),
        ("SpGEMM, two-level sort", |a| spgemm(a, SpgemmMethod::TwoLevelSort)),
        ("SpGEMM, mixed", |a| spgemm(a, SpgemmMethod::Mixed)),
        ("SpAdd", |a| {
            let plan = a.plan_spadd(a)?;
            entries(move || plan.run(2.0, 1.0))
        }),
    ];
    plans.extend(others.map(|(name, plan)| (name.to_string(), Box::new(plan) as _)));
    plans
}

/// A vector large enough for every result.
fn room(device: &Device) -> DeviceVec<f64> {
    device.zeros(2 * SIDE * SIDE).expect("memory")
}

/// Result of a run.
fn result(run: &Run, device: &Device) -> Vec<f64> {
    let mut out = room(device);
    run(&mut out).expect("a run");
    out.download().expect("a download")
}

/// Result of a fresh plan for a matrix of these values.
fn expected(
    plan: &dyn Fn(&DeviceCsr<f64>) -> Result<Run, OpError>,
    device: &Device,
    seed: usize,
) -> Vec<f64> {
    let host = matrix();
    let values = values(host.nnz(), seed);
    let (offsets, columns, _) = host.into_parts();
    let a = Csr::try_new(SIDE, SIDE, offsets, columns, values).expect("a matrix");
    result(&plan(&device.upload(&a).expect("memory")).expect("a plan"), device)
}

#[test]
fn a_graph_reads_the_values_at_its_launch() {
    for device in devices() {
        let device = device.device;
        for (name, plan) in plans(&device) {
            let a = device.upload(&matrix()).expect("memory");
            a.set_values(&values(a.nnz(), 0)).expect("as many");
            let run = plan(&a).expect(&name);
            let mut graph = device.capture(room(&device), &run).expect(&name);
            for seed in [0, 1, 2] {
                if seed == 1 {
                    a.set_values(&values(a.nnz(), seed)).expect("as many");
                } else {
                    let other = device.upload(&values(a.nnz(), seed)).expect("memory");
                    a.set_values_from(&other).expect("as many");
                }
                graph.launch().expect(&name);
                let expected = expected(&*plan, &device, seed);
                assert!(
                    graph.state().download().expect("out") == expected,
                    "{name}, graph, {seed}, {device}"
                );
                assert!(result(&run, &device) == expected, "{name}, plain, {seed}, {device}");
            }
        }
    }
}

#[test]
fn values_set_by_a_graph_change_at_its_launch() {
    for device in devices() {
        let device = device.device;
        for (name, plan) in plans(&device) {
            let a = device.upload(&matrix()).expect("memory");
            a.set_values(&values(a.nnz(), 0)).expect("as many");
            let (before, after) = (expected(&*plan, &device, 0), expected(&*plan, &device, 1));
            let run = plan(&a).expect(&name);
            let other = device.upload(&values(a.nnz(), 1)).expect("memory");
            // One that fails after the call, and one that is not launched yet.
            let failing = device.capture((), |()| {
                a.set_values_from(&other)?;
                Err(OpError::InitialValue { is_segmented: false })
            });
            let is_refused = failing.map(drop).is_err();
            let mut graph = device
                .capture(room(&device), |out| a.set_values_from(&other).and_then(|()| run(out)))
                .expect(&name);
            assert!(is_refused || device.kind() == DeviceKind::Cpu);
            assert!(result(&run, &device) == before, "{name}, before the launch, {device}");
            // A plan that the graph does not know, and a graph of it.
            let later = plan(&a).expect(&name);
            let mut of_later = device.capture(room(&device), &later).expect(&name);
            assert!(result(&later, &device) == before, "{name}, before the launch, later plan, {device}");
            graph.launch().expect(&name);
            assert!(graph.state().download().expect("out") == after, "{name}, graph, {device}");
            assert!(result(&run, &device) == after, "{name}, after the launch, {device}");
            of_later.launch().expect(&name);
            assert!(of_later.state().download().expect("out") == after, "{name}, later graph, {device}");
            assert!(result(&later, &device) == after, "{name}, after the launch, later plan, {device}");
            // And back, without the graph.
            a.set_values(&values(a.nnz(), 0)).expect("as many");
            assert!(result(&later, &device) == before, "{name}, back, later plan, {device}");
            of_later.launch().expect(&name);
            assert!(
                of_later.state().download().expect("out") == before,
                "{name}, back, later graph, {device}"
            );
        }
    }
}

/// The memory stays the same, so users of its address are not affected.
#[test]
fn values_are_written_in_place() {
    for device in devices() {
        let device = device.device;
        let a = device.upload(&matrix()).expect("memory");
        let before = device.memory().expect("memory");
        device.set_memory_limit(Some(before.in_use));
        a.set_values(&values(a.nnz(), 1)).expect("no memory is needed");
        device.set_memory_limit(None);
        let (_, _, own) = a.into_parts().expect("parts");
        assert_eq!(own.download().expect("a download"), values(own.len(), 1), "{device}");
    }
}

/// After a failure between the values and a copy, the copy is updated in its next run.
#[test]
fn copies_follow_after_a_failure() {
    let device = Device::simulated(SimulatedOptions::default());
    for (name, plan) in plans(&device) {
        let a = device.upload(&matrix()).expect("memory");
        a.set_values(&values(a.nnz(), 0)).expect("as many");
        let run = plan(&a).expect(&name);
        for calls in 0..3 {
            let seed = 1 + calls as usize;
            device.inject_failure(Some(calls));
            let changed = a.set_values(&values(a.nnz(), seed));
            let is_injected = device.injected_failure().is_none();
            device.inject_failure(None);
            assert_eq!(changed.is_err(), is_injected, "{name}");
            let now = a.download().expect("a download").values().to_vec();
            let seed = if now == values(now.len(), seed) { seed } else { seed - 1 };
            assert!(result(&run, &device) == expected(&*plan, &device, seed), "{name}, {calls}");
        }
    }
}
