//! Threads that share a device, and plans: each gets what it would have got alone.

use std::sync::Barrier;

use evenpath::generate::{Kind, generate};
use evenpath::scan::Operator;
use evenpath::sets::SetOperation;
use evenpath::sort::SortOptions;
use evenpath::{
    Csr, Device, DeviceCsr, DeviceDense, DeviceHiSparse, DeviceKind, DeviceVec, HiSparseOptions,
    HiSparseSpmvMode, HiSparseSpmvOptions, HiSparseSpmvPlan, Layout, OpError, SpgemmOptions, SpmmOptions,
    SpmmPlan, SpmvMethod, SpmvOptions, SpmvPlan, SpmvTransposedPlan, TransposedOptions, scan, sets, sort,
    vector,
};
use evenpath_tests::devices;

const THREADS: usize = 4;

/// What all threads use at once.
struct Shared {
    a: DeviceCsr<f64>,
    tree: DeviceHiSparse<f64, 32>,
    x: DeviceVec<f64>,
    b: DeviceDense<f64>,
    keys: DeviceVec<u32>,
    sorted: DeviceVec<u32>,
    spmv: Vec<SpmvPlan<f64, u32>>,
    transposed: SpmvTransposedPlan<f64, u32>,
    spmm: SpmmPlan<f64, f64>,
    leaves: HiSparseSpmvPlan<f64, 32>,
}

impl Shared {
    fn new(device: &Device) -> Result<Self, OpError> {
        let side = 500;
        let a: Csr<f64> = generate(Kind::PowerLaw { rows: side }, 5).expect("a small matrix");
        let numbers: Vec<f64> = (0..side).map(|at| (at % 9) as f64 - 4.0).collect();
        let keys: Vec<u32> = (0..5000).map(|at| at * 7919 % 3001).collect();
        let sorted: Vec<u32> = (0..5000).map(|at| at / 3).collect();
        let b: Vec<f64> = (0..side * 3).map(|at| (at % 5) as f64 - 2.0).collect();
        let tree = a.to_hisparse(HiSparseOptions::default()).expect("a small tree");
        let (a, tree) = (device.upload(&a)?, device.upload_hisparse(&tree)?);
        let methods = SpmvMethod::all().filter(|method| method.runs_on(device.kind()));
        Ok(Self {
            spmv: methods
                .map(|method| a.plan_spmv(SpmvOptions::with_method(method)))
                .collect::<Result<_, _>>()?,
            transposed: a.plan_spmv_transposed(TransposedOptions::default())?,
            spmm: a.plan_spmm(SpmmOptions::new(3))?,
            leaves: tree.plan_spmv(HiSparseSpmvOptions::with_mode(HiSparseSpmvMode::Leaves))?,
            x: device.upload_slice(&numbers)?,
            b: DeviceDense::try_new(device.upload_slice(&b)?, side, 3, Layout::RowMajor).expect("its size"),
            keys: device.upload_slice(&keys)?,
            sorted: device.upload_slice(&sorted)?,
            tree,
            a,
        })
    }

    /// Everything once, beginning with another operation in each thread.
    fn run(&self, first: usize) -> Result<Vec<Vec<f64>>, OpError> {
        let operations: [&dyn Fn() -> Result<Vec<f64>, OpError>; 8] = [
            &|| self.products(),
            &|| numbers(&self.a.multiply_with(&self.a, SpgemmOptions::new())?),
            &|| numbers(&self.a.add_transpose(2.0, -1.0)?),
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
            let mut y = device.zeros(self.a.rows())?;
            plan.run(2.0, &self.x, 0.0, &mut y)?;
            all.extend(y.to_vec()?);
        }
        let mut y = device.zeros(self.a.cols())?;
        self.transposed.run(2.0, &self.x, 0.0, &mut y)?;
        all.extend(y.to_vec()?);
        let c = device.zeros(self.a.rows() * 3)?;
        let mut c = DeviceDense::try_new(c, self.a.rows(), 3, Layout::RowMajor).expect("its size");
        self.spmm.run(1.0, &self.b, 0.0, &mut c)?;
        all.extend(c.as_vec().to_vec()?);
        Ok(all)
    }

    fn sequences(&self) -> Result<Vec<f64>, OpError> {
        let lists = [
            scan::inclusive(&self.keys, Operator::Sum)?,
            sort::sort(&self.keys, &SortOptions::new())?,
            sets::keys(SetOperation::Union, &self.sorted, &self.sorted)?,
        ];
        let mut all = Vec::new();
        for list in lists {
            all.extend(list.to_vec()?.into_iter().map(f64::from));
        }
        Ok(all)
    }

    fn trees(&self) -> Result<Vec<f64>, OpError> {
        let mut y = self.a.device().zeros(self.a.rows())?;
        self.leaves.run(1.0, &self.x, 0.0, &mut y)?;
        let sum = self.tree.add(&self.tree.transpose())?;
        let made = self.a.to_hisparse::<64>(HiSparseOptions::default())?;
        Ok([y.to_vec()?, numbers(&sum.to_csr::<u32>()?)?, numbers(&made.to_csr::<u32>()?)?].concat())
    }
}

fn numbers(matrix: &DeviceCsr<f64>) -> Result<Vec<f64>, OpError> {
    let matrix = matrix.download()?;
    Ok(matrix.iter().flat_map(|(row, col, value)| [row as f64, col as f64, value]).collect())
}

#[test]
fn threads_that_share_a_device_get_what_they_would_alone() {
    for device in devices() {
        let shared = Shared::new(&device.device).expect("a small matrix");
        let alone = shared.run(0).expect("the device works");
        let in_use = device.device.memory().map(|memory| memory.in_use);
        let rounds = if device.device.kind() == DeviceKind::Simulated { 1 } else { 5 };
        let all_are_there = Barrier::new(THREADS);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (shared, alone, all_are_there) = (&shared, &alone, &all_are_there);
                scope.spawn(move || {
                    all_are_there.wait();
                    for round in 0..rounds {
                        let results = shared.run(thread * 2 + round).expect("the device works");
                        assert!(results == *alone, "thread {thread}, round {round}: another result");
                    }
                });
            }
        });
        let after = device.device.memory().map(|memory| memory.in_use);
        assert_eq!(after.ok(), in_use.ok(), "{:?}: memory leaks", device.device);
    }
}
