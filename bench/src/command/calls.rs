//! Operations as calls that can be repeated: those that `first-use` and `launch-cost` measure.

use std::error::Error;

use evenpath::ell::{EllR, PaddingLimit, SlicedEllOptions};
use evenpath::error::OpError;
use evenpath::generate::{Kind, generate};
use evenpath::hyb::HybOptions;
use evenpath::key::Pairs;
use evenpath::operator::Operator;
use evenpath::scan::{self, ScanOptions};
use evenpath::sets::{self, SetOperation};
use evenpath::sort::{self, SortOptions};
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::spmm::SpmmOptions;
use evenpath::spmv::{SpmvMethod, SpmvOptions, SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::{Csr, Device, DeviceCsr, DeviceVec, Layout, hisparse, merge, reduce, vector};

use crate::input::random_vector;

/// A call that can be repeated.
pub(crate) type Call<'o> = Box<dyn FnMut() -> Result<(), OpError> + Send + 'o>;

/// An operation's name, and how its call is made ready.
pub(crate) type Operation = (&'static str, fn(&Operands) -> Result<Call<'_>, OpError>);

/// The operations whose names contain one of these; all without one.
pub(crate) fn selected(filters: &[String]) -> impl Iterator<Item = &'static Operation> {
    let is_wanted = |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(&**filter));
    OPERATIONS.iter().filter(move |(name, _)| is_wanted(name))
}

/// Operands of the operations.
pub(crate) struct Operands {
    pub(crate) device: Device,
    host: Csr<f64>,
    /// A matrix of the same shape, whose rows have the same length, for the formats that pad rows.
    even: Csr<f64>,
    pub(crate) matrix: DeviceCsr<f64>,
    x: DeviceVec<f64>,
    /// Ascending keys, one for each element of `x`.
    keys: DeviceVec<u32>,
}

impl Operands {
    /// Creates operands with a square matrix of this kind. Vectors have an element per row.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, or there is not enough memory.
    pub(crate) fn new(device: &Device, kind: Kind) -> Result<Self, Box<dyn Error>> {
        let host: Csr<f64> = generate(kind, 1)?;
        let rows = host.nrows();
        if host.ncols() != rows {
            return Err(format!("{kind} is {rows} x {}, and must be square", host.ncols()).into());
        }
        let keys: Vec<u32> = (0..rows as u32).map(|index| index / 3).collect();
        Ok(Self {
            device: device.clone(),
            even: generate(Kind::Uniform { rows }, 1)?,
            matrix: device.upload(&host)?,
            x: device.upload(&random_vector(rows, 1))?,
            keys: device.upload(&keys)?,
            host,
        })
    }

    /// y = Ax by what was prepared.
    fn product<'o>(
        &'o self,
        run: impl Fn(&DeviceVec<f64>, &mut DeviceVec<f64>) -> Result<(), OpError> + Send + 'o,
    ) -> Result<Call<'o>, OpError> {
        let mut y = self.device.zeros(self.matrix.nrows())?;
        Ok(Box::new(move || run(&self.x, &mut y)))
    }

    fn spmv(&self, method: SpmvMethod) -> Result<Call<'_>, OpError> {
        self.spmv_with(SpmvOptions::default().with_method(method))
    }

    fn spmv_lanes(&self, lanes: u32) -> Result<Call<'_>, OpError> {
        self.spmv_with(SpmvOptions::default().with_method(SpmvMethod::Vector { lanes: Some(lanes) }))
    }

    fn spmv_with(&self, options: SpmvOptions) -> Result<Call<'_>, OpError> {
        let plan = self.matrix.plan_spmv(options)?;
        self.product(move |x, y| plan.run(1.0, x, 0.0, y))
    }

    fn spmv_transposed(&self, mode: SpmvTransposedMethod) -> Result<Call<'_>, OpError> {
        let plan = self.matrix.plan_spmv_transposed(SpmvTransposedOptions::default().with_method(mode))?;
        self.product(move |x, y| plan.run(1.0, x, 0.0, y))
    }

    fn spmm(&self, columns: usize) -> Result<Call<'_>, OpError> {
        let plan = self.matrix.plan_spmm(SpmmOptions::default().with_columns(columns))?;
        let (rows, layout) = (self.matrix.nrows(), Layout::RowMajor);
        let b = self.device.zeros_dense::<f64>(rows, columns, layout)?;
        let mut c = self.device.zeros_dense::<f64>(rows, columns, layout)?;
        Ok(Box::new(move || plan.run(1.0, &b, 0.0, &mut c)))
    }

    fn spgemm(&self, method: SpgemmMethod) -> Call<'_> {
        let options = SpgemmOptions::default().with_method(method);
        Box::new(move || self.matrix.spgemm(&self.matrix, options).map(drop))
    }

    fn pairs(&self) -> Pairs<'_, u32, u32> {
        Pairs { keys: &self.keys, values: &self.keys }
    }
}

const OPERATIONS: &[Operation] = &[
    ("allocate and free", |o| Ok(Box::new(|| Ok(o.device.uninitialized::<f64>(o.x.len()).map(drop)?)))),
    ("set to zero", |o| {
        let mut y = o.device.zeros::<f64>(o.x.len())?;
        Ok(Box::new(move || Ok(y.set_zero()?)))
    }),
    ("copy", |o| {
        let mut y = o.device.zeros::<f64>(o.x.len())?;
        Ok(Box::new(move || Ok(y.copy_from(&o.x)?)))
    }),
    ("download of one element", |o| Ok(Box::new(|| Ok(o.x.get(0).map(drop)?)))),
    ("axpby", |o| {
        let mut y = o.device.zeros(o.x.len())?;
        Ok(Box::new(move || vector::axpby(2.0, &o.x, 0.5, &mut y)))
    }),
    ("dot", |o| Ok(Box::new(|| vector::dot(&o.x, &o.x).map(drop)))),
    ("spmv, auto", |o| o.spmv(SpmvMethod::Auto)),
    ("spmv, scalar", |o| o.spmv(SpmvMethod::Scalar)),
    ("spmv, vector", |o| o.spmv(SpmvMethod::Vector { lanes: None })),
    ("spmv, vector, 4 lanes", |o| o.spmv_lanes(4)),
    ("spmv, vector, 8 lanes", |o| o.spmv_lanes(8)),
    ("spmv, warp", |o| o.spmv(SpmvMethod::Warp)),
    ("spmv, row-tiles", |o| o.spmv(SpmvMethod::RowTiles)),
    ("spmv, row-blocks", |o| o.spmv(SpmvMethod::RowBlocks)),
    ("spmv, windows", |o| o.spmv(SpmvMethod::Windows)),
    ("spmv, flat", |o| o.spmv(SpmvMethod::Flat)),
    ("spmv, merge-path", |o| o.spmv(SpmvMethod::MergePath)),
    ("spmv, direct", |o| o.product(move |x, y| o.matrix.spmv(1.0, x, 0.0, y))),
    ("spmv transposed", |o| o.spmv_transposed(SpmvTransposedMethod::default())),
    ("spmm, 8 columns", |o| o.spmm(8)),
    ("hisparse spmv, leaves", |o| {
        let tree = o.matrix.to_hisparse::<32>(hisparse::Options::default())?;
        let plan =
            tree.plan_spmv(hisparse::SpmvOptions::default().with_method(hisparse::SpmvMethod::Leaves))?;
        o.product(move |x, y| plan.run(1.0, x, 0.0, y))
    }),
    ("hisparse spmv, queues", |o| {
        let tree = o.matrix.to_hisparse::<32>(hisparse::Options::default())?;
        let plan = tree.plan_spmv_queued(hisparse::QueuedOptions::default())?;
        o.product(move |x, y| plan.run(1.0, x, 0.0, y))
    }),
    ("scan", |o| Ok(Box::new(|| scan::values(&o.x, ScanOptions::inclusive(Operator::Sum)).map(drop)))),
    ("scan by key", |o| {
        Ok(Box::new(|| scan::by_keys(&o.keys, &o.x, ScanOptions::inclusive(Operator::Sum)).map(drop)))
    }),
    ("reduce by key", |o| Ok(Box::new(|| reduce::by_keys(&o.keys, &o.x, Operator::Sum).map(drop)))),
    ("sort of keys", |o| Ok(Box::new(|| sort::keys(&o.keys, SortOptions::default()).map(drop)))),
    ("sort of pairs", |o| {
        Ok(Box::new(|| sort::pairs(Pairs::new(&o.keys, &o.x), SortOptions::default()).map(drop)))
    }),
    ("merge of keys", |o| Ok(Box::new(|| merge::keys(&o.keys, &o.keys).map(drop)))),
    ("union of keys", |o| Ok(Box::new(|| sets::keys(&o.keys, &o.keys, SetOperation::Union).map(drop)))),
    ("spadd", |o| Ok(Box::new(|| o.matrix.spadd(1.0, &o.matrix, 2.0).map(drop)))),
    ("spadd, values", |o| {
        let plan = o.matrix.plan_spadd(&o.matrix)?;
        Ok(Box::new(move || plan.run(1.0, 2.0).map(drop)))
    }),
    ("spgemm", |o| Ok(o.spgemm(SpgemmMethod::Auto))),
    ("transpose", |o| Ok(Box::new(|| o.matrix.transpose().map(drop)))),
    ("spmv, csr-adaptive", |o| o.spmv(SpmvMethod::CsrAdaptive { block_size: None })),
    ("spmv, light", |o| o.spmv(SpmvMethod::Light { lanes: None, block_size: None })),
    ("spmv, binned", |o| o.spmv(SpmvMethod::Binned)),
    ("spmv, narrow-columns", |o| o.spmv(SpmvMethod::NarrowColumns)),
    ("spmv, hot-columns", |o| o.spmv(SpmvMethod::HotColumns)),
    ("spmv transposed, copied", |o| o.spmv_transposed(SpmvTransposedMethod::Copied)),
    ("spmv transposed, ordered", |o| o.spmv_transposed(SpmvTransposedMethod::Ordered)),
    ("spmv transposed, unordered", |o| o.spmv_transposed(SpmvTransposedMethod::Unordered)),
    ("spmm, 4 columns", |o| o.spmm(4)),
    ("spmm, 32 columns", |o| o.spmm(32)),
    ("sort of rows", |o| Ok(Box::new(|| o.matrix.sort_rows().map(drop)))),
    ("merge of pairs", |o| Ok(Box::new(|| merge::pairs(o.pairs(), o.pairs()).map(drop)))),
    ("intersection of keys", |o| {
        Ok(Box::new(|| sets::keys(&o.keys, &o.keys, SetOperation::Intersection).map(drop)))
    }),
    ("spgemm, row-wise", |o| Ok(o.spgemm(SpgemmMethod::RowWise))),
    ("spgemm, two-level-sort", |o| Ok(o.spgemm(SpgemmMethod::TwoLevelSort))),
    ("spgemm, global-sort", |o| Ok(o.spgemm(SpgemmMethod::GlobalSort))),
    ("spgemm, plan and run", |o| {
        Ok(Box::new(|| o.matrix.plan_spgemm(&o.matrix, SpgemmOptions::default())?.run().map(drop)))
    }),
    ("ell", |o| {
        let ell = o.device.upload(&o.even.to_ell(PaddingLimit::default())?)?;
        o.product(move |x, y| ell.spmv(1.0, x, 0.0, y))
    }),
    ("ell-r", |o| {
        let ell = o.device.upload(&EllR(&o.even.to_ell(PaddingLimit::default())?))?;
        o.product(move |x, y| ell.spmv(1.0, x, 0.0, y))
    }),
    ("sliced-ell", |o| {
        let ell = o.device.upload(&o.even.to_sliced_ell(SlicedEllOptions::default())?)?;
        o.product(move |x, y| ell.spmv(1.0, x, 0.0, y))
    }),
    ("hyb", |o| {
        let hyb = o.device.upload(&o.host.to_hyb(HybOptions::default())?)?;
        o.product(move |x, y| hyb.spmv(1.0, x, 0.0, y))
    }),
    ("coo", |o| {
        let coo = o.device.upload(&o.host.to_coo()?)?;
        o.product(move |x, y| coo.spmv(1.0, x, 0.0, y))
    }),
    ("hisparse, from CSR", |o| {
        Ok(Box::new(|| o.matrix.to_hisparse::<32>(hisparse::Options::default()).map(drop)))
    }),
    ("hisparse, from the host and back to CSR", |o| {
        Ok(Box::new(|| {
            let tree = o.device.upload(&o.host.to_hisparse::<32>(hisparse::Options::default())?)?;
            tree.to_csr().map(drop)
        }))
    }),
    ("hisparse, sum", |o| {
        let tree = o.matrix.to_hisparse::<32>(hisparse::Options::default())?;
        Ok(Box::new(move || tree.spadd(&tree, hisparse::SpaddOptions::default()).map(drop)))
    }),
    ("hisparse, product", |o| {
        let tree = o.matrix.to_hisparse::<32>(hisparse::Options::default())?;
        Ok(Box::new(move || tree.spgemm(&tree, hisparse::SpgemmOptions::default()).map(drop)))
    }),
];
