//! Threads that share a device and plans get the same results as a single thread.

use std::sync::Barrier;

use evenpath::device::DeviceKind;
use evenpath::error::OpError;
use evenpath::generate::{Kind, generate};
use evenpath::hisparse::{self, DeviceHiSparse};
use evenpath::operator::Operator;
use evenpath::scan::{self, ScanOptions};
use evenpath::sets::{self, SetOperation};
use evenpath::sort::{self, SortOptions};
use evenpath::spgemm::SpgemmOptions;
use evenpath::spmm::{SpmmOptions, SpmmPlan};
use evenpath::spmv::{SpmvMethod, SpmvOptions, SpmvPlan, SpmvTransposedOptions, SpmvTransposedPlan};
use evenpath::{Csr, Device, DeviceCsr, DeviceDense, DeviceVec, Layout, vector};
use evenpath_tests::devices;

const THREADS: usize = 4;

/// Objects that all threads share.
struct Shared {
    a: DeviceCsr<f64>,
    tree: DeviceHiSparse<f64, 32>,
    x: DeviceVec<f64>,
    b: DeviceDense<f64>,
    keys: DeviceVec<u32>,
    sorted: DeviceVec<u32>,
    spmv: Vec<SpmvPlan<f64, u32>>,
    transposed: SpmvTransposedPlan<f64, u32>,
    spmm: SpmmPlan<f64>,
    leaves: hisparse::SpmvPlan<f64, 32>,
}

impl Shared {
    fn new(device: &Device) -> Result<Self, OpError> {
        let side = 500;
        let a: Csr<f64> = generate(Kind::PowerLaw { rows: side }, 5).expect("a small matrix");
        let numbers: Vec<f64> = (0..side).map(|at| (at % 9) as f64 - 4.0).collect();
        let keys: Vec<u32> = (0..5000).map(|at| at * 7919 % 3001).collect();
        let sorted: Vec<u32> = (0..5000).map(|at| at / 3).collect();
        let b: Vec<f64> = (0..side * 3).map(|at| (at % 5) as f64 - 2.0).collect();
        let tree = a.to_hisparse(hisparse::Options::default()).expect("a small tree");
        let (a, tree) = (device.upload(&a)?, device.upload(&tree)?);
        let methods = SpmvMethod::ALL.into_iter().filter(|method| method.runs_on(device.kind()));
        Ok(Self {
            spmv: methods
                .map(|method| a.plan_spmv(SpmvOptions::default().with_method(method)))
                .collect::<Result<_, _>>()?,
            transposed: a.plan_spmv_transposed(SpmvTransposedOptions::default())?,
            spmm: a.plan_spmm(SpmmOptions::default().with_columns(3))?,
            leaves: tree
                .plan_spmv(hisparse::SpmvOptions::default().with_method(hisparse::SpmvMethod::Leaves))?,
            x: device.upload(&numbers)?,
            b: DeviceDense::try_new(device.upload(&b)?, side, 3, Layout::RowMajor).expect("its size"),
            keys: device.upload(&keys)?,
            sorted: device.upload(&sorted)?,
            tree,
            a,
        })
    }

    /// Runs everything once, starting with a different operation in each thread.
    fn run(&self, first: usize) -> Result<Vec<Vec<f64>>, OpError> {
        let operations: [&dyn Fn() -> Result<Vec<f64>, OpError>; 8] = [
            &|| self.products(),
            &|| numbers(&self.a.spgemm(&self.a, SpgemmOptions::default())?),
            &|| numbers(&self.a.spadd(2.0, &self.a.transpose()?, -1.0)?),
            &|| self.sequences(),
            &|| self.products(),
            &|| self.trees(),
            &|| numbers(&self.a.transpose()?),
            &|| Ok(vec![vector::dot(&self.x, &self.x)?]),
        ];
        let mut results = vec![Vec::new(); operations.len()];
        for at in 0..operations.len() {
            let at = (first + at) % operations.len();
            results[at] = operations[at]()?;
        }
        Ok(results)
    }

    fn products(&self) -> Result<Vec<f64>, OpError> {
        let device = self.a.device();
        let mut all = Vec::new();
        for plan in &self.spmv {
            let mut y = device.zeros(self.a.nrows())?;
            plan.run(2.0, &self.x, 0.0, &mut y)?;
            all.extend(y.download()?);
        }
        let mut y = device.zeros(self.a.nrows())?;
        self.a.spmv(2.0, &self.x, 0.0, &mut y)?;
        all.extend(y.download()?);
        let mut y = device.zeros(self.a.ncols())?;
        self.transposed.run(2.0, &self.x, 0.0, &mut y)?;
        all.extend(y.download()?);
        let c = device.zeros(self.a.nrows() * 3)?;
        let mut c = DeviceDense::try_new(c, self.a.nrows(), 3, Layout::RowMajor).expect("its size");
        self.spmm.run(1.0, &self.b, 0.0, &mut c)?;
        all.extend(c.as_vec().download()?);
        Ok(all)
    }

    fn sequences(&self) -> Result<Vec<f64>, OpError> {
        let lists = [
            scan::values(&self.keys, ScanOptions::inclusive(Operator::Sum))?,
            sort::keys(&self.keys, SortOptions::default())?,
            sets::keys(&self.sorted, &self.sorted, SetOperation::Union)?,
        ];
        let mut all = Vec::new();
        for list in lists {
            all.extend(list.download()?.into_iter().map(f64::from));
        }
        Ok(all)
    }

    fn trees(&self) -> Result<Vec<f64>, OpError> {
        let mut y = self.a.device().zeros(self.a.nrows())?;
        self.leaves.run(1.0, &self.x, 0.0, &mut y)?;
        let sum = self.tree.spadd(&self.tree.transpose(), hisparse::SpaddOptions::default())?;
        let made = self.a.to_hisparse::<64>(hisparse::Options::default())?;
        Ok([y.download()?, numbers(&sum.to_csr()?)?, numbers(&made.to_csr()?)?].concat())
    }
}

fn numbers(matrix: &DeviceCsr<f64>) -> Result<Vec<f64>, OpError> {
    let matrix = matrix.download()?;
    Ok(matrix.iter().flat_map(|(row, col, value)| [row as f64, col as f64, value]).collect())
}

/// Runs everything in several threads at once, each within `scope`.
fn check(device: &Device, scope: impl Fn(&mut dyn FnMut()) + Sync) {
    let shared = Shared::new(device).expect("a small matrix");
    let alone = shared.run(0).expect("the device works");
    let in_use = device.memory().map(|memory| memory.in_use);
    let rounds = if device.kind() == DeviceKind::Simulated { 1 } else { 5 };
    let all_are_there = Barrier::new(THREADS);
    std::thread::scope(|threads| {
        for thread in 0..THREADS {
            let (shared, alone, all_are_there, scope) = (&shared, &alone, &all_are_there, &scope);
            threads.spawn(move || {
                all_are_there.wait();
                for round in 0..rounds {
                    scope(&mut || {
                        let results = shared.run(thread * 2 + round).expect("the device works");
                        assert!(results == *alone, "thread {thread}, round {round}: the result differs");
                    });
                }
            });
        }
    });
    let after = device.memory().map(|memory| memory.in_use);
    assert_eq!(after.ok(), in_use.ok(), "{device:?}: memory leaks");
}

#[test]
fn threads_that_share_a_device_get_the_same_results() {
    for device in devices() {
        check(&device.device, |body| body());
    }
}

#[test]
fn threads_with_their_own_streams_get_the_same_results() {
    for device in devices() {
        check(&device.device, |body| device.device.stream().expect("the device works").scope(body));
    }
}

/// Uses devices when its thread ends and destroys its thread-locals.
struct AtTheEnd(Vec<Device>, std::sync::mpsc::Sender<String>);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        for device in &self.0 {
            let used = || {
                let stream = device.stream()?;
                let x = stream.scope(|| device.upload(&[1.0, 2.0]))?;
                let mut y = device.zeros::<f64>(2)?;
                vector::axpby(2.0, &x, 1.0, &mut y)?;
                Ok::<_, OpError>(y.download()?)
            };
            self.1.send(format!("{:?}", used().map_err(|error| error.to_string()))).expect("someone waits");
        }
    }
}

thread_local! {
    static AT_THE_END: std::cell::RefCell<Option<AtTheEnd>> = const { std::cell::RefCell::new(None) };
}

#[test]
fn the_destructor_of_a_thread_local_uses_devices() {
    let all: Vec<Device> = devices().into_iter().map(|device| device.device).collect();
    let (sender, receiver) = std::sync::mpsc::channel();
    let own = all.clone();
    let thread = std::thread::spawn(move || {
        // Thread-locals are destroyed in reverse order of first use: this one after those of the devices.
        AT_THE_END.set(Some(AtTheEnd(own.clone(), sender)));
        for device in &own {
            device.stream().expect("a stream").scope(|| device.zeros::<f64>(1)).expect("memory");
        }
    });
    thread.join().expect("no panic");
    assert_eq!(receiver.iter().collect::<Vec<_>>(), vec!["Ok([2.0, 4.0])"; all.len()]);
}
