//! Graphs compute the same as the calls that they were captured from.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use evenpath::device::DeviceKind;
use evenpath::error::{DeviceError, OpError};
use evenpath::generate::{Kind, generate};
use evenpath::operator::Operator;
use evenpath::scan::{self, ScanOptions};
use evenpath::sort::{self, SortOptions};
use evenpath::spmm::SpmmOptions;
use evenpath::spmv::{SpmvMethod, SpmvOptions, SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::{Csr, Device, DeviceCsr, DeviceDense, DeviceVec, Layout, hisparse, reduce, vector};
use evenpath_kernels::testing::FaultOutOfBounds;
use evenpath_simt::kernel::Kernel;
use evenpath_tests::{UNLIMITED, devices};

const SIDE: usize = 400;

fn matrix() -> Csr<f64> {
    generate(Kind::PowerLaw { rows: SIDE }, 11).expect("a small matrix")
}

fn numbers(seed: usize) -> Vec<f64> {
    (0..SIDE).map(|at| ((at * 7 + seed) % 13) as f64 * 0.03125 - 0.125).collect()
}

/// A product y = αAx + βy.
type Product<'p> =
    Box<dyn Fn(f64, &DeviceVec<f64>, f64, &mut DeviceVec<f64>) -> Result<(), OpError> + Send + Sync + 'p>;

/// Every product with a vector.
fn products(device: &Device) -> Result<Vec<Product<'static>>, OpError> {
    let host = matrix();
    let a = device.upload(&host)?;
    let mut products: Vec<Product<'static>> = Vec::new();
    for method in SpmvMethod::ALL.into_iter().filter(|method| method.runs_on(device.kind())) {
        let plan = a.plan_spmv(SpmvOptions::default().with_method(method))?;
        products.push(Box::new(move |alpha, x, beta, y| plan.run(alpha, x, beta, y)));
    }
    for method in SpmvTransposedMethod::ALL {
        let plan = a.plan_spmv_transposed(SpmvTransposedOptions::default().with_method(method))?;
        // The order of atomic additions matters for numbers that are not small integers.
        if method != SpmvTransposedMethod::Unordered {
            products.push(Box::new(move |alpha, x, beta, y| plan.run(alpha, x, beta, y)));
        }
    }
    let tree = device.upload(&host.to_hisparse::<32>(hisparse::Options::default()).expect("a tree"))?;
    for method in [hisparse::SpmvMethod::Leaves, hisparse::SpmvMethod::Copied] {
        let plan = tree.plan_spmv(hisparse::SpmvOptions::default().with_method(method))?;
        products.push(Box::new(move |alpha, x, beta, y| plan.run(alpha, x, beta, y)));
    }
    products.push(Box::new(move |alpha, x, beta, y| a.spmv(alpha, x, beta, y)));
    let coo = device.upload(&host.to_coo()?)?;
    products.push(Box::new(move |alpha, x, beta, y| coo.spmv(alpha, x, beta, y)));
    let ell = device.upload(&host.to_ell(UNLIMITED).expect("ELL"))?;
    products.push(Box::new(move |alpha, x, beta, y| ell.spmv(alpha, x, beta, y)));
    Ok(products)
}

/// Results of runs in two vectors.
fn steps(products: &[Product<'_>], (x, y): &mut (DeviceVec<f64>, DeviceVec<f64>)) -> Result<(), OpError> {
    for (at, product) in products.iter().enumerate() {
        product(0.0625, x, 0.25 * (at % 3) as f64, y)?;
        product(0.0625, y, 0.5, x)?;
    }
    y.copy_from(x)?;
    vector::axpby(0.5, x, 0.25, y)?;
    let mut z = x.device().uninitialized(x.len())?;
    vector::multiply_elements(x, y, &mut z)?;
    vector::axpby(1.0, &z, 1.0, x)
}

type Vectors = (DeviceVec<f64>, DeviceVec<f64>);

fn vectors(device: &Device) -> Vectors {
    let upload = |seed| device.upload(&numbers(seed)).expect("memory");
    (upload(1), upload(2))
}

fn downloads(vectors: &(DeviceVec<f64>, DeviceVec<f64>)) -> [Vec<f64>; 2] {
    [&vectors.0, &vectors.1].map(|vector| vector.download().expect("the device works"))
}

#[test]
fn every_product_in_one_graph() {
    for device in devices() {
        let device = device.device;
        let products = products(&device).expect("plans");
        assert!(products.len() > 5);
        let mut plain = vectors(&device);
        let mut graph = device.capture(vectors(&device), |v| steps(&products, v)).expect("a graph");
        assert_eq!(downloads(graph.state()), downloads(&plain), "nothing is run yet");
        for run in 0..3 {
            graph.launch().expect("the device works");
            // Runs of the same plans between those of the graph.
            steps(&products, &mut plain).expect("the device works");
            assert_eq!(downloads(graph.state()), downloads(&plain), "run {run} on {device}");
        }
        let mut state = graph.into_state();
        steps(&products, &mut state).expect("the device works");
        steps(&products, &mut plain).expect("the device works");
        assert_eq!(downloads(&state), downloads(&plain));
    }
}

#[test]
fn other_operations_are_captured() {
    for device in devices() {
        let device = device.device;
        let a = device.upload(&matrix()).expect("memory");
        let spmm = a.plan_spmm(SpmmOptions::default().with_columns(2)).expect("a plan");
        let tree = a.to_hisparse::<32>(hisparse::Options::default()).expect("a tree");
        let queue = tree.plan_spmv_queued(hisparse::QueuedOptions::default()).expect("queues");
        let ones = device.upload(&[1.0; SIDE]).expect("memory");
        queue.run(1.0, &ones, 0.0, &mut device.zeros(SIDE).expect("memory")).expect("the device works");
        let keys: Vec<u32> = (0..3_000).map(|at| at * 7919 % 1001).collect();
        let keys = device.upload(&keys).expect("memory");
        let dense = |layout, seed| {
            let values = device.upload(&[numbers(seed), numbers(seed + 1)].concat()).expect("memory");
            DeviceDense::try_new(values, SIDE, 2, layout).expect("its size")
        };
        for layout in [Layout::RowMajor, Layout::ColumnMajor] {
            let state = (dense(layout, 0), dense(layout, 3), keys.clone_on_device(), vectors(&device));
            let run =
                |(b, c, keys, (x, y)): &mut (DeviceDense<f64>, DeviceDense<f64>, DeviceVec<u32>, Vectors)| {
                    spmm.run(0.125, b, 0.5, c)?;
                    *keys = scan::values(keys, ScanOptions::inclusive(Operator::Max))?;
                    *keys = sort::keys(keys, SortOptions::default())?;
                    // The queues add in no particular order.
                    queue.run(1.0, x, 0.0, y)?;
                    Ok::<(), OpError>(())
                };
            let mut graph = device.capture(state, run).expect("a graph");
            graph.launch().expect("the device works");
            graph.launch().expect("the device works");
            let (_, c, sorted, (x, y)) = graph.state();
            let mut plain = dense(layout, 3);
            for _ in 0..2 {
                spmm.run(0.125, &dense(layout, 0), 0.5, &mut plain).expect("the device works");
            }
            assert_eq!(c.download().expect("C"), plain.download().expect("C"), "{device}");
            let mut expected = keys.download().expect("keys");
            for at in 1..expected.len() {
                expected[at] = expected[at].max(expected[at - 1]);
            }
            assert_eq!(sorted.download().expect("keys"), expected, "{device}");
            let run_outside = |x: &DeviceVec<f64>, y: &DeviceVec<f64>| {
                let mut z = device.zeros(SIDE).expect("memory");
                queue.run(1.0, x, 0.0, &mut z).expect("the device works");
                vector::axpby(-1.0, y, 1.0, &mut z).expect("the device works");
                let difference = vector::dot(&z, &z).expect("the device works");
                assert!(difference < 1e-20, "{difference} on {device}");
            };
            run_outside(x, y);
            // The queues serve runs of the graph and others in turn.
            for others in [1, 2, 1, 3] {
                graph.launch().expect("the device works");
                let (_, _, _, (x, y)) = graph.state();
                (0..others).for_each(|_| run_outside(x, y));
            }
        }
    }
}

/// Partial sums of blocks are tagged with the number of the run. A graph's runs share one number, so each
/// starts with zeros.
#[test]
fn partial_sums_are_cleared_in_every_run() {
    for device in evenpath_tests::kernel_devices() {
        let device = device.device;
        let a = device.upload(&matrix()).expect("memory");
        for (method, operations) in [(SpmvMethod::MergePath, 2), (SpmvMethod::Scalar, 1)] {
            let plan = a.plan_spmv(SpmvOptions::default().with_method(method)).expect("a plan");
            let graph = device.capture(vectors(&device), |(x, y)| plan.run(1.0, x, 0.0, y)).expect("a graph");
            assert_eq!(graph.operations(), operations, "{method} on {device}");
        }
    }
}

/// Copies a vector on its device.
trait CloneOnDevice {
    fn clone_on_device(&self) -> Self;
}

impl CloneOnDevice for DeviceVec<u32> {
    fn clone_on_device(&self) -> Self {
        let mut copy = self.device().uninitialized(self.len()).expect("memory");
        copy.copy_from(self).expect("the device works");
        copy
    }
}

/// The captured function.
type Body<'b> = dyn Fn(&mut DeviceVec<f64>) -> Result<(), OpError> + Sync + 'b;

#[test]
fn operations_that_wait_are_refused_with_the_reason() {
    for device in devices() {
        let device = device.device;
        let run = |body: &Body<'_>| {
            let x = device.upload(&[1.0, 2.0]).expect("memory");
            let mut graph = device.capture(x, |x| body(x))?;
            graph.launch()
        };
        let offsets = device.upload(&[0_u32, 1, 2]).expect("memory");
        let stream = device.stream().expect("a stream");
        let refused: [(&str, &Body<'_>); 10] = [
            ("copied to the host", &|x| Ok(x.download().map(drop)?)),
            ("copied to the host", &|x| Ok(x.get(1).map(drop)?)),
            ("copied from the host", &|x| Ok(x.copy_from_slice(&[3.0, 4.0])?)),
            ("copied from the host", &|x| Ok(x.device().upload(&[1]).map(drop)?)),
            ("waits for the device", &|x| Ok(x.device().synchronize()?)),
            ("waits for a stream", &|_| Ok(stream.synchronize()?)),
            ("an event is recorded", &|x| Ok(x.device().record().map(drop)?)),
            ("vector::dot", &|x| vector::dot(x, x).map(drop)),
            ("vector::norm2", &|x| vector::norm2(x).map(drop)),
            ("already capturing a graph", &|x| {
                let inner = x.device().capture((), |()| Ok::<(), DeviceError>(()))?;
                let _ = inner;
                // On the CPU capturing runs nothing, and refuses nothing.
                if x.host_slice().is_some() {
                    return Err(DeviceError::Capture {
                        device: String::new(),
                        reason: "already capturing a graph",
                    }
                    .into());
                }
                Ok(())
            }),
        ];
        for (reason, body) in refused {
            let error = run(body).expect_err(reason);
            assert!(matches!(error, OpError::Device(DeviceError::Capture { .. })), "{error:?}");
            assert!(error.to_string().contains(reason), "{error}");
        }
        let sums = run(&|x| reduce::by_offsets(&offsets, x, Operator::Sum).map(drop));
        assert!(sums.is_err(), "{device}");
        // The thread captures nothing afterwards, also after a panic.
        let panics = std::panic::AssertUnwindSafe(|| run(&|_| std::panic::resume_unwind(Box::new(()))));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_eq!(device.upload(&[1]).and_then(|x| x.get(0)).expect("the device works"), 1);
    }
}

#[test]
fn other_vectors_and_scalars() {
    for device in devices() {
        let device = device.device;
        let state = (2.0, device.upload(&[1.0, 2.0]).expect("memory"), device.zeros(2).expect("memory"));
        let run = |(alpha, x, y): &mut (f64, DeviceVec<f64>, DeviceVec<f64>)| {
            vector::axpby(*alpha, x, 1.0, y)?;
            if *alpha > 50.0 { vector::axpby(1.0, x, 0.0, y) } else { Ok(()) }
        };
        let mut graph = device.capture(state, run).expect("a graph");
        graph.launch().expect("the device works");
        graph.update(|(alpha, ..)| *alpha = 3.0);
        graph.launch().expect("the device works");
        assert_eq!(graph.state().2.download().expect("y"), [5.0, 10.0]);
        // Another vector; the old one's memory is free for others.
        let other = device.upload(&[10.0, 20.0]).expect("memory");
        let old = graph.update(|(_, x, _)| std::mem::replace(x, other));
        drop(old);
        let fresh = device.upload(&[7.0, 7.0]).expect("memory");
        graph.launch().expect("the device works");
        assert_eq!(graph.state().2.download().expect("y"), [35.0, 70.0]);
        assert_eq!(fresh.download().expect("fresh"), [7.0, 7.0]);
        // A different number of operations.
        graph.update(|(alpha, ..)| *alpha = 100.0);
        graph.launch().expect("the device works");
        assert_eq!(graph.state().2.download().expect("y"), [10.0, 20.0]);
        // After an update that cannot be captured, the graph can be updated again.
        graph.update(|(_, x, _)| *x = device.upload(&[1.0]).expect("memory"));
        assert!(matches!(graph.launch(), Err(OpError::Length { .. })));
        graph.update(|(alpha, x, _)| {
            *alpha = 1.0;
            *x = device.upload(&[1.0, 1.0]).expect("memory");
        });
        graph.launch().expect("the device works");
        assert_eq!(graph.state().2.download().expect("y"), [11.0, 21.0]);
    }
}

#[test]
fn memory_lives_as_long_as_the_graph() {
    for device in devices() {
        let device = device.device;
        let shared = Arc::new(Mutex::new(device.upload(&[1.0, 2.0]).expect("memory")));
        let own = Arc::clone(&shared);
        let y = device.zeros(2).expect("memory");
        let run = move |y: &mut DeviceVec<f64>| vector::axpby(1.0, &*own.lock().expect("unlocked"), 1.0, y);
        let mut graph = device.capture(y, run).expect("a graph");
        graph.launch().expect("the device works");
        *shared.lock().expect("unlocked") = device.upload(&[0.0, 0.0]).expect("memory");
        let others: Vec<_> = (0..8).map(|_| device.upload(&[9.0, 9.0]).expect("memory")).collect();
        graph.launch().expect("the device works");
        let is_cpu = graph.state().host_slice().is_some();
        let expected = if is_cpu { [1.0, 2.0] } else { [2.0, 4.0] };
        assert_eq!(graph.state().download().expect("y"), expected);
        drop(graph);
        assert!(others.iter().all(|other| other.download().expect("the device works") == [9.0, 9.0]));
    }
}

#[test]
fn offsets_that_a_graph_writes_are_refused() {
    for device in devices() {
        let device = device.device;
        let (offsets, values) =
            (device.upload(&[0_u32, 1, 2]).expect("memory"), device.zeros::<f64>(2).expect("memory"));
        let shared = Arc::new(Mutex::new(offsets));
        let own = Arc::clone(&shared);
        let graph = device.capture((), move |()| own.lock().expect("unlocked").set_zero()).expect("a graph");
        let is_refused = || {
            let result = reduce::by_offsets(&shared.lock().expect("unlocked"), &values, Operator::Sum);
            matches!(result, Err(OpError::Device(DeviceError::WrittenByGraph { what: "row offsets" })))
        };
        assert_eq!(is_refused(), values.host_slice().is_none());
        drop(graph);
        assert!(!is_refused());
    }
}

#[test]
fn column_indices_that_a_graph_writes_are_refused() {
    for device in devices() {
        let device = device.device;
        let shared = Arc::new(Mutex::new(Some(device.upload(&[0_u32, 1]).expect("memory"))));
        let own = Arc::clone(&shared);
        let clear = move |(): &mut ()| match &mut *own.lock().expect("unlocked") {
            Some(columns) => columns.set_zero(),
            None => Ok(()),
        };
        let graph = device.capture((), clear).expect("a graph");
        let columns = shared.lock().expect("unlocked").take().expect("the vector");
        let (offsets, values) = (device.upload(&[0_u32, 1, 2]), device.upload(&[1.0, 2.0]));
        let result = DeviceCsr::try_new(2, 2, offsets.expect("memory"), columns, values.expect("memory"));
        match result {
            Ok(matrix) => assert_eq!(matrix.device().kind(), DeviceKind::Cpu, "nothing is captured there"),
            Err(OpError::Device(DeviceError::WrittenByGraph { what: "column indices" })) => (),
            Err(error) => panic!("{error} on {device}"),
        }
        drop(graph);
    }
}

#[test]
fn graphs_within_graphs_and_on_streams() {
    for device in devices() {
        let device = device.device;
        let stream = device.stream().expect("a stream");
        let x = device.upload(&[1.0; 300]).expect("memory");
        let y = device.zeros(300).expect("memory");
        let mut inner = device.capture(y, |y| vector::axpby(1.0, &x, 2.0, y)).expect("a graph");
        let mut outer = device
            .capture(device.zeros(300).expect("memory"), |z| {
                inner.launch()?;
                inner.launch()?;
                vector::axpby(1.0, inner.state(), 0.0, z)
            })
            .expect("a graph");
        outer.launch().expect("the device works");
        stream.scope(|| outer.launch()).expect("the device works");
        outer.launch().expect("the device works");
        assert_eq!(outer.state().download().expect("z"), [63.0; 300]);
    }
}

#[test]
fn a_fault_within_a_graph() {
    for device in evenpath_tests::kernel_devices() {
        if device.fast {
            continue; // it would end the use of the GPU for later tests
        }
        let device = device.device;
        let x = device.zeros::<u32>(10).expect("memory");
        let run = |x: &mut DeviceVec<u32>| {
            x.set_zero()?;
            let kernel = FaultOutOfBounds { data: x.as_global_mut(), index: 1 << 40 };
            // SAFETY: the simulated GPU checks the index.
            unsafe { device.launch(kernel, FaultOutOfBounds::INSTANCES[0], 1, 0) }
        };
        let mut graph = device.capture(x, run).expect("nothing is run yet");
        assert!(matches!(graph.launch(), Err(DeviceError::KernelFault { .. })));
        assert!(matches!(graph.launch(), Err(DeviceError::DeviceLost { .. })));
        assert!(device.capture((), |()| device.zeros::<f32>(5).map(drop)).is_err());
    }
}

#[test]
fn contents_may_change_without_another_capture() {
    for device in devices() {
        let device = device.device;
        let captures = AtomicU32::new(0);
        let state =
            (device.upload(&[2.0]).unwrap(), device.upload(&[1.0, 3.0]).unwrap(), device.zeros(2).unwrap());
        let run = |(alpha, x, y): &mut (DeviceVec<f64>, DeviceVec<f64>, DeviceVec<f64>)| {
            captures.fetch_add(1, Relaxed);
            vector::axpby(&*alpha, x, 1.0, y)
        };
        let mut graph = device.capture(state, run).expect("a graph");
        graph.launch().expect("the device works");
        graph.state_mut().0.copy_from_slice(&[10.0]).unwrap();
        graph.launch().expect("the device works");
        graph.state_mut().1.slice_mut(1..).unwrap().copy_from_slice(&[0.5]).unwrap();
        graph.launch().expect("the device works");
        assert_eq!(graph.state().2.download().unwrap(), [22.0, 41.0], "{device}");
        let launches = if device.kind() == DeviceKind::Cpu { 3 } else { 1 };
        assert_eq!(captures.load(Relaxed), launches, "{device}");
    }
}
