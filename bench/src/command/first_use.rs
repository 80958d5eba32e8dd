//! How long the first call of each operation takes on a new device, when the driver has to compile its kernels.

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use evenpath::ell::{EllR, PaddingLimit, SlicedEllOptions};
use evenpath::generate::{Kind, generate};
use evenpath::hisparse::{HiSparseOptions, HiSparseQueuedOptions, HiSparseSpmvMethod, HiSparseSpmvOptions};
use evenpath::hyb::HybOptions;
use evenpath::key::Pairs;
use evenpath::scan::{Operator, Scan};
use evenpath::sets::{self, SetOperation};
use evenpath::sort::{self, SortOptions};
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::spmm::SpmmOptions;
use evenpath::spmv::{SpmvMethod, SpmvOptions, SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::{Csr, Device, DeviceCsr, DeviceDense, DeviceVec, Layout, merge, reduce, vector};
use serde_json::json;

use crate::arguments::DeviceChoice;
use crate::input::random_vector;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Measure only operations with this in their name. Can be given several times.
    #[arg(long, value_name = "FILTER")]
    op: Vec<String>,
    /// Where to run: best, cuda:0 (or another number), cpu, simulated.
    #[arg(long, default_value_t = DeviceChoice::Best)]
    device: DeviceChoice,
    /// One JSON object per line, instead of a table.
    #[arg(long)]
    json: bool,
}

/// The result of an operation, which is dropped.
type Done = Result<(), Box<dyn Error>>;

/// What the operations work on, in the memory of a new device.
struct Operands {
    device: Device,
    host: Csr<f64>,
    /// A matrix of the same shape, whose rows have the same length, for the formats that pad rows.
    even: Csr<f64>,
    matrix: DeviceCsr<f64>,
    x: DeviceVec<f64>,
    y: DeviceVec<f64>,
    /// Ascending keys, one for each element of `x`.
    keys: DeviceVec<u32>,
}

impl Operands {
    fn new(choice: DeviceChoice) -> Result<Self, Box<dyn Error>> {
        let device = choice.open()?;
        let host: Csr<f64> = generate(Kind::PowerLaw { rows: 20_000 }, 1)?;
        let even = generate(Kind::Uniform { rows: 20_000 }, 1)?;
        let matrix = device.upload(&host)?;
        let x = device.upload(&random_vector(host.cols(), 1))?;
        let y = device.zeros(host.rows())?;
        let keys: Vec<u32> = (0..host.cols() as u32).map(|index| index / 3).collect();
        let keys = device.upload(&keys)?;
        Ok(Self { device, host, even, matrix, x, y, keys })
    }

    fn spmv(&mut self, method: SpmvMethod) -> Done {
        let plan = self.matrix.plan_spmv(SpmvOptions::default().with_method(method))?;
        Ok(plan.run(1.0, &self.x, 0.0, &mut self.y)?)
    }

    fn spmv_transposed(&mut self, mode: SpmvTransposedMethod) -> Done {
        let plan = self.matrix.plan_spmv_transposed(SpmvTransposedOptions::default().with_method(mode))?;
        Ok(plan.run(1.0, &self.x, 0.0, &mut self.y)?)
    }

    fn spmm(&mut self, columns: usize) -> Done {
        let (rows, layout) = (self.host.rows(), Layout::RowMajor);
        let b: DeviceDense<f64> = self.device.zeros_dense(rows, columns, layout)?;
        let mut c = self.device.zeros_dense(rows, columns, layout)?;
        let plan = self.matrix.plan_spmm(SpmmOptions::default().with_columns(columns))?;
        Ok(plan.run(1.0, &b, 0.0, &mut c)?)
    }

    fn spgemm(&self, method: SpgemmMethod) -> Done {
        self.matrix.multiply_with(&self.matrix, SpgemmOptions::default().with_method(method))?;
        Ok(())
    }

    fn pairs(&self) -> Pairs<'_, u32, u32> {
        Pairs { keys: &self.keys, values: &self.keys }
    }

    fn sets(&self, operation: SetOperation) -> Done {
        sets::keys(operation, &self.keys, &self.keys)?;
        Ok(())
    }
}

/// An operation's name and its call.
type Operation = (&'static str, fn(&mut Operands) -> Done);

/// Calls that need another operand create it on the host or with other kernels, which is included in the time.
const OPERATIONS: &[Operation] = &[
    ("vector::axpby", |o| Ok(vector::axpby(2.0, &o.x, 1.0, &mut o.y)?)),
    ("vector::dot", |o| Ok(vector::dot(&o.x, &o.y).map(drop)?)),
    ("scan, inclusive", |o| Ok(Scan::inclusive(Operator::Sum).run(&o.x).map(drop)?)),
    ("scan, by key", |o| Ok(Scan::inclusive(Operator::Sum).by_keys(&o.keys).run(&o.x).map(drop)?)),
    ("reduce, by key", |o| Ok(reduce::by_keys(&o.keys, &o.x, Operator::Sum).map(drop)?)),
    ("sort, keys", |o| Ok(sort::sort(&o.keys, SortOptions::default()).map(drop)?)),
    ("sort, pairs", |o| Ok(sort::sort_pairs(&o.keys, &o.keys, SortOptions::default()).map(drop)?)),
    ("sort, rows", |o| Ok(o.matrix.sort_rows().map(drop)?)),
    ("merge, keys", |o| Ok(merge::keys(&o.keys, &o.keys).map(drop)?)),
    ("merge, pairs", |o| Ok(merge::pairs(o.pairs(), o.pairs()).map(drop)?)),
    ("sets, union", |o| o.sets(SetOperation::Union)),
    ("sets, intersection", |o| o.sets(SetOperation::Intersection)),
    ("spmv, auto", |o| o.spmv(SpmvMethod::Auto)),
    ("spmv, flat", |o| o.spmv(SpmvMethod::Flat)),
    ("spmv, merge-path", |o| o.spmv(SpmvMethod::MergePath)),
    ("spmv, csr-adaptive", |o| o.spmv(SpmvMethod::CsrAdaptive)),
    ("spmv, light", |o| o.spmv(SpmvMethod::Light)),
    ("spmv, binned", |o| o.spmv(SpmvMethod::Binned)),
    ("spmv, row-tiles", |o| o.spmv(SpmvMethod::RowTiles)),
    ("spmv, windows", |o| o.spmv(SpmvMethod::Windows)),
    ("spmv, narrow-columns", |o| o.spmv(SpmvMethod::NarrowColumns)),
    ("spmv, hot-columns", |o| o.spmv(SpmvMethod::HotColumns)),
    ("spmv transposed, copied", |o| o.spmv_transposed(SpmvTransposedMethod::Copied)),
    ("spmv transposed, ordered", |o| o.spmv_transposed(SpmvTransposedMethod::Ordered)),
    ("spmv transposed, unordered", |o| o.spmv_transposed(SpmvTransposedMethod::Unordered)),
    ("transpose", |o| Ok(o.matrix.transpose().map(drop)?)),
    ("spmm, 4 columns", |o| o.spmm(4)),
    ("spmm, 32 columns", |o| o.spmm(32)),
    ("spadd", |o| Ok(o.matrix.add(1.0, &o.matrix, 2.0).map(drop)?)),
    ("spgemm, auto", |o| o.spgemm(SpgemmMethod::Auto)),
    ("spgemm, row-wise", |o| o.spgemm(SpgemmMethod::RowWise)),
    ("spgemm, two-level-sort", |o| o.spgemm(SpgemmMethod::TwoLevelSort)),
    ("spgemm, global-sort", |o| o.spgemm(SpgemmMethod::GlobalSort)),
    ("spgemm, plan and run", |o| {
        Ok(o.matrix.plan_multiply(&o.matrix, SpgemmOptions::default())?.run().map(drop)?)
    }),
    ("ell", |o| {
        let ell = o.device.upload(&o.even.to_ell(PaddingLimit::default())?)?;
        Ok(ell.spmv(1.0, &o.x, 0.0, &mut o.y)?)
    }),
    ("ell-r", |o| {
        let ell = o.device.upload(&EllR(&o.even.to_ell(PaddingLimit::default())?))?;
        Ok(ell.spmv(1.0, &o.x, 0.0, &mut o.y)?)
    }),
    ("sliced-ell", |o| {
        let ell = o.device.upload(&o.even.to_sliced_ell(SlicedEllOptions::default())?)?;
        Ok(ell.spmv(1.0, &o.x, 0.0, &mut o.y)?)
    }),
    ("hyb", |o| {
        let hyb = o.device.upload(&o.host.to_hyb(HybOptions::default())?)?;
        Ok(hyb.spmv(1.0, &o.x, 0.0, &mut o.y)?)
    }),
    ("coo", |o| Ok(o.device.upload(&o.host.to_coo()?)?.spmv(1.0, &o.x, 0.0, &mut o.y)?)),
    ("hisparse, from CSR", |o| Ok(o.matrix.to_hisparse::<32>(HiSparseOptions::default()).map(drop)?)),
    ("hisparse, from the host and back to CSR", |o| {
        let tree = o.device.upload(&o.host.to_hisparse::<32>(HiSparseOptions::default())?)?;
        Ok(tree.to_csr::<u32>().map(drop)?)
    }),
    ("hisparse spmv, leaves", |o| {
        let tree = o.device.upload(&o.host.to_hisparse::<32>(HiSparseOptions::default())?)?;
        let plan = tree.plan_spmv(HiSparseSpmvOptions::default().with_method(HiSparseSpmvMethod::Leaves))?;
        Ok(plan.run(1.0, &o.x, 0.0, &mut o.y)?)
    }),
    ("hisparse spmv, queues", |o| {
        let tree = o.device.upload(&o.host.to_hisparse::<32>(HiSparseOptions::default())?)?;
        Ok(tree.plan_spmv_queued(HiSparseQueuedOptions::default())?.run(1.0, &o.x, 0.0, &mut o.y)?)
    }),
    ("hisparse, sum", |o| {
        let tree = o.device.upload(&o.host.to_hisparse::<32>(HiSparseOptions::default())?)?;
        Ok(tree.add(&tree).map(drop)?)
    }),
    ("hisparse, product", |o| {
        let tree = o.device.upload(&o.host.to_hisparse::<32>(HiSparseOptions::default())?)?;
        Ok(tree.multiply(&tree).map(drop)?)
    }),
];

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let is_wanted =
        |name: &str| arguments.op.is_empty() || arguments.op.iter().any(|op| name.contains(&**op));
    if std::env::var_os("CUDA_CACHE_DISABLE").is_none_or(|value| value != "1") {
        eprintln!("note: without CUDA_CACHE_DISABLE=1 the driver may have the kernels in its cache");
    }
    if !arguments.json {
        println!("{:<42} {:>10} {:>10}", "operation", "first ms", "again ms");
    }
    for (name, call) in OPERATIONS.iter().filter(|(name, _)| is_wanted(name)) {
        let mut operands = Operands::new(arguments.device)?;
        let first = time(&mut operands, *call).map_err(|error| format!("{name}: {error}"))?;
        let again = time(&mut operands, *call)?;
        if arguments.json {
            println!("{}", json!({ "op": name, "first_ms": first, "again_ms": again }));
        } else {
            println!("{name:<42} {first:>10.1} {again:>10.1}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Milliseconds of a call, including the wait for the device.
fn time(operands: &mut Operands, call: fn(&mut Operands) -> Done) -> Result<f64, Box<dyn Error>> {
    operands.device.synchronize()?;
    let start = Instant::now();
    call(operands)?;
    operands.device.synchronize()?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}
