//! Clusters to test with, and matrices with small integers, whose sums are exact in any order.

use std::sync::OnceLock;

use evenpath::device::{DeviceError, SimulatedOptions};
use evenpath::{Csr, Device, Value};
use evenpath_distributed::{Cluster, Engine, Error, ExchangeEngine};
use parking_lot::{Mutex, MutexGuard};
use proptest::prelude::*;

/// Kinds of devices that tests run on.
const KINDS: [&str; 3] = ["cpu", "simulated", "cuda"];

/// Returns from a test unless tests run on these kinds of devices.
macro_rules! needs {
    ($($kind:literal),+) => {
        if !($(crate::support::is_wanted($kind))&&+) {
            return crate::support::LeftOut::left_out();
        }
    };
}

/// Result of a test that is skipped.
pub(crate) trait LeftOut {
    fn left_out() -> Self;
}

impl LeftOut for () {
    fn left_out() -> Self {}
}

impl LeftOut for Result<(), TestCaseError> {
    fn left_out() -> Self {
        Ok(())
    }
}

/// Returns whether tests run on a kind of device: `EVENPATH_TEST_DEVICES` lists them, separated by commas;
/// all if it is not set.
pub(crate) fn is_wanted(kind: &str) -> bool {
    let Ok(list) = std::env::var("EVENPATH_TEST_DEVICES") else { return true };
    let names: Vec<&str> = list.split(',').map(str::trim).collect();
    for name in &names {
        assert!(KINDS.contains(name), "EVENPATH_TEST_DEVICES: `{name}` is not one of {}", KINDS.join(", "));
    }
    names.contains(&kind)
}

/// The GPUs of this machine, for one test at a time: two NCCL communicators may wait for each other.
pub(crate) struct Gpus {
    devices: Vec<Device>,
    _turn: MutexGuard<'static, ()>,
}

/// All GPUs; `None` if there are none, or tests do not run on them. A missing GPU is reported in the output;
/// it is a failure if `EVENPATH_REQUIRE_GPU` is set or `EVENPATH_TEST_DEVICES` lists it.
pub(crate) fn gpus() -> Option<Gpus> {
    static TURN: Mutex<()> = Mutex::new(());
    static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
    if !is_wanted("cuda") {
        return None;
    }
    let turn = TURN.lock();
    let devices = DEVICES.get_or_init(open_gpus).clone();
    (!devices.is_empty()).then_some(Gpus { devices, _turn: turn })
}

fn open_gpus() -> Vec<Device> {
    let is_required = ["EVENPATH_REQUIRE_GPU", "EVENPATH_TEST_DEVICES"]
        .into_iter()
        .any(|name| std::env::var_os(name).is_some());
    let mut devices = Vec::new();
    loop {
        match Device::cuda_primary(devices.len() as u32) {
            Ok(device) => devices.push(device),
            Err(
                error @ (DeviceError::NoDriver { .. }
                | DeviceError::NoSuchGpu { .. }
                | DeviceError::NoCudaSupport),
            ) => {
                assert!(!is_required || !devices.is_empty(), "a GPU is required: {error}");
                if devices.len() < 2 {
                    eprintln!("skipped: clusters of several GPUs; there are {} ({error})", devices.len());
                }
                return devices;
            }
            Err(error) => panic!("GPU {} cannot be used: {error}", devices.len()),
        }
    }
}

impl Gpus {
    /// Number of GPUs.
    pub(crate) fn count(&self) -> usize {
        self.devices.len()
    }

    /// A rank on each GPU, with exchanges by the host.
    pub(crate) fn by_host(&self) -> Cluster {
        Cluster::local(self.devices.clone()).expect("there are GPUs").with_engine(Engine::Host)
    }

    /// One rank on the first GPU.
    pub(crate) fn first_alone(&self) -> Cluster {
        Cluster::local([self.devices[0].clone()]).expect("there is a GPU")
    }

    /// A rank on each GPU, with exchanges by NCCL; `None`, with the reason in the output, if the library is
    /// missing.
    pub(crate) fn by_nccl(&self) -> Option<Cluster> {
        static REASON: OnceLock<Option<String>> = OnceLock::new();
        let cluster =
            || Cluster::local(self.devices.clone()).expect("there are GPUs").with_engine(Engine::Nccl);
        let reason = REASON.get_or_init(|| match cluster().run(|rank| Ok::<_, Error>(rank.exchange())) {
            Ok(engines) => {
                assert!(engines.iter().all(|engine| matches!(engine, ExchangeEngine::Nccl { .. })));
                eprintln!("{} GPUs, exchange by {}", self.count(), engines[0]);
                None
            }
            Err(error) => {
                let reason = error.to_string();
                assert!(reason.contains("NCCL was not found"), "NCCL exists but cannot be used: {reason}");
                eprintln!("skipped: {reason}");
                Some(reason)
            }
        });
        reason.is_none().then(cluster)
    }

    /// Both clusters.
    pub(crate) fn clusters(&self) -> Vec<Cluster> {
        std::iter::once(self.by_host()).chain(self.by_nccl()).collect()
    }
}

/// The clusters of all GPUs, and two ranks on the CPU, which test these tests on machines without GPUs.
pub(crate) struct Everywhere {
    gpus: Option<Gpus>,
}

/// Waits until no other test uses the GPUs.
pub(crate) fn everywhere() -> Everywhere {
    Everywhere { gpus: gpus() }
}

impl Everywhere {
    /// The clusters of at least this many ranks.
    pub(crate) fn clusters(&self, ranks: usize) -> Vec<Cluster> {
        let gpus = self.gpus.as_ref().filter(|gpus| gpus.count() >= ranks);
        let cpu = is_wanted("cpu").then(|| on_cpu(2));
        cpu.into_iter().chain(gpus.into_iter().flat_map(Gpus::clusters)).collect()
    }
}

/// Entries of a matrix: its shape, and row, column and value of each; duplicates are allowed.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) entries: Vec<(usize, usize, i8)>,
}

impl Matrix {
    /// The matrix on one device, with duplicates summed.
    pub(crate) fn csr<V: Value>(&self) -> Csr<V> {
        let entries = self.entries.iter().map(|&(row, col, value)| (row, col, V::from_f64(f64::from(value))));
        Csr::from_triplets(self.rows, self.cols, entries).expect("entries are inside")
    }
}

/// Matrices of any shape: few rows or many, rectangular or square, one dense row, rows without entries,
/// duplicates.
pub(crate) fn matrices() -> impl Strategy<Value = Matrix> {
    matrices_of(1..40_usize, 1..40_usize)
}

pub(crate) fn matrices_of(
    rows: impl Strategy<Value = usize>,
    cols: impl Strategy<Value = usize>,
) -> impl Strategy<Value = Matrix> {
    (rows, cols).prop_flat_map(|(rows, cols)| {
        let entry = (0..rows, 0..cols, -9..10_i8);
        (proptest::collection::vec(entry, 0..120), proptest::option::of(0..rows)).prop_map(
            move |(mut entries, dense)| {
                entries.extend(dense.into_iter().flat_map(|row| (0..cols).map(move |col| (row, col, 1))));
                Matrix { rows, cols, entries }
            },
        )
    })
}

/// A cluster of ranks on the CPU.
pub(crate) fn on_cpu(ranks: usize) -> Cluster {
    Cluster::local(vec![Device::cpu(); ranks]).expect("there are ranks")
}

/// A cluster of simulated GPUs.
pub(crate) fn simulated(ranks: usize) -> Cluster {
    let device = |_| Device::simulated(SimulatedOptions::default().with_threads(1));
    Cluster::local((0..ranks).map(device)).expect("there are ranks")
}

/// Small integers.
pub(crate) fn number<V: Value>(index: u64) -> V {
    V::from_f64((index * 7 % 11) as f64 - 5.0)
}

pub(crate) fn numbers<V: Value>(len: usize) -> Vec<V> {
    (0..len as u64).map(number).collect()
}

/// Values whose sums depend on their order.
pub(crate) fn rough(index: u64) -> f64 {
    ((index * 2_654_435_761) as f64).sin()
}

/// Checks that four ranks give the same bits in every run, and in every cluster of the same devices.
pub(crate) fn check_same_bits(bits: fn(&mut Cluster) -> Vec<u64>) {
    for cluster in [on_cpu, simulated] {
        let first = bits(&mut cluster(4));
        let mut other = cluster(4);
        for _ in 0..3 {
            assert_eq!(bits(&mut other), first);
        }
    }
}

/// A partition of `rows` rows at arbitrary positions.
pub(crate) fn any_partition(rows: usize, ranks: usize, cuts: &[u64]) -> evenpath_distributed::RowPartition {
    let mut boundaries: Vec<u64> =
        (1..ranks).map(|rank| cuts[rank % cuts.len()] % (rows as u64 + 1)).collect();
    boundaries.sort_unstable();
    boundaries.insert(0, 0);
    boundaries.push(rows as u64);
    evenpath_distributed::RowPartition::from_boundaries(boundaries).expect("they ascend")
}

/// αAx + βy.
pub(crate) fn expected<V: Value>(a: &Csr<V>, alpha: V, x: &[V], beta: V, y: &[V]) -> Vec<V> {
    let rows = a.iter_rows().zip(y);
    rows.map(|(row, &y)| {
        let sum: V = row.iter().map(|(column, value)| value * x[column as usize]).sum();
        if beta == V::ZERO { alpha * sum } else { alpha * sum + beta * y }
    })
    .collect()
}
