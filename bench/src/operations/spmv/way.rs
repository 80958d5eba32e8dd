//! Ways of evenpath to multiply a matrix with a vector: plans by methods, the transpose in its modes, and other formats.

use std::time::Instant;

use evenpath::ell::{EllR, PaddingLimit, SlicedEllOptions};
use evenpath::error::{OpError, ParseNameError};
use evenpath::hyb::HybOptions;
use evenpath::spmv::{SpmvMethod, SpmvOptions, SpmvPlan, SpmvTransposedMethod, SpmvTransposedOptions};
use evenpath::{Csr, DeviceCsr, DeviceVec, Scalar, Value};
use evenpath_lab::LightByRows;

use crate::measure::median;
use crate::peers::Operation;
use crate::results::MAY_COPY;

/// The number of plans made to time one.
const PLANS: usize = 5;

/// The name of products without a plan.
const DIRECT: &str = "direct";

/// The name of products from BSR, with the block size that takes the fewest bytes; with `-3` at the end, of blocks of 3 x 3.
const BSR: &str = "bsr";

/// End of the name of a method that plans for each product.
const ANEW: &str = "+plan";

/// A way to multiply, with its name.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    pub(super) name: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A plan of a product with the matrix.
    Planned(SpmvOptions),
    /// A product without a plan.
    Unplanned,
    /// A plan that is made for each product.
    Anew(SpmvOptions),
    /// A plan by `light` with a block of this many threads for as many rows.
    LightByRows(u32),
    /// A mode of a product with the transpose.
    Transposed(SpmvTransposedMethod),
    Coo,
    Ell(PaddingLimit),
    /// ELL with the lengths of the rows.
    EllR(PaddingLimit),
    SlicedEll(SlicedEllOptions),
    Hyb(HybOptions),
    /// BSR with blocks of this size, or of the size that takes the fewest bytes.
    Bsr(Option<usize>),
}

/// Computes y = αAx + βy with a prepared matrix.
type Run<V> = Box<dyn Fn((V, V), &DeviceVec<V>, &mut DeviceVec<V>) -> Result<(), OpError>>;

/// A way that is ready to run, and what it reports.
pub(super) struct Ready<V: Scalar> {
    pub(super) run: Run<V>,
    pub(super) chosen: Option<String>,
    pub(super) reason: Option<String>,
    /// Milliseconds of planning or conversion.
    pub(super) setup_ms: f64,
    pub(super) workspace_bytes: u64,
    /// Bytes of a matrix in another format, and the values that are stored.
    pub(super) stored: Option<(u64, u64)>,
}

impl Way {
    /// A plan with these options.
    pub(crate) fn direct(name: impl Into<String>, options: SpmvOptions) -> Self {
        Self { name: name.into(), kind: Kind::Planned(options) }
    }

    /// A product without a plan.
    pub(crate) fn unplanned() -> Self {
        Self { name: DIRECT.into(), kind: Kind::Unplanned }
    }

    /// A plan of this method.
    pub(crate) fn method(method: SpmvMethod) -> Self {
        Self::direct(method.to_string(), SpmvOptions::default().with_method(method))
    }

    /// A plan of this method, made for each product: the time of a product without anything known of the matrix.
    pub(crate) fn anew(method: SpmvMethod) -> Self {
        let options = SpmvOptions::default().with_method(method);
        Self { name: format!("{method}{ANEW}"), kind: Kind::Anew(options) }
    }

    /// A plan by `light` with a block of `threads` threads for as many rows.
    pub(crate) fn light_by_rows(name: impl Into<String>, threads: u32) -> Self {
        Self { name: name.into(), kind: Kind::LightByRows(threads) }
    }

    /// A product with the transpose, in this mode.
    pub(crate) fn transposed(mode: SpmvTransposedMethod) -> Self {
        Self { name: mode.to_string(), kind: Kind::Transposed(mode) }
    }

    /// A product from HYB.
    pub(crate) fn hyb() -> Self {
        Self { name: "HYB".into(), kind: Kind::Hyb(HybOptions::default()) }
    }

    /// A product from BSR with blocks of this size, or of the size that takes the fewest bytes.
    pub(crate) fn bsr(block_size: Option<usize>) -> Self {
        let name = block_size.map_or_else(|| BSR.to_owned(), |size| format!("{BSR}-{size}"));
        Self { name, kind: Kind::Bsr(block_size) }
    }

    /// A product from ELL.
    pub(crate) fn ell(limit: PaddingLimit) -> Self {
        Self { name: "ELL".into(), kind: Kind::Ell(limit) }
    }

    /// Products from every format, with this limit on padding; CSR is multiplied by the default plan.
    pub(crate) fn formats(limit: PaddingLimit) -> Vec<Self> {
        let way = |name: &str, kind| Self { name: name.into(), kind };
        let sliced = |sorting_scope| {
            let options = SlicedEllOptions::default().with_slice_height(32).with_sorting_scope(sorting_scope);
            Kind::SlicedEll(options.with_limit(limit))
        };
        vec![
            way("CSR", Kind::Planned(SpmvOptions::default())),
            way("COO", Kind::Coo),
            Self::ell(limit),
            way("ELL-R", Kind::EllR(limit)),
            way("sliced ELL", sliced(1)),
            way("SELL-32-512", sliced(512)),
            way("SELL-32-all", sliced(usize::MAX)),
            way("HYB", Kind::Hyb(HybOptions::default().with_limit(limit))),
            way("BSR", Kind::Bsr(None)),
        ]
    }

    /// Parses a name on the command line: a method, `may-copy`, `direct`, `bsr` or `bsr-3`; with the transpose, a mode.
    ///
    /// # Errors
    ///
    /// If there is none of this name, as text.
    pub(crate) fn by_name(name: &str, operation: Operation) -> Result<Self, String> {
        if operation == Operation::Transposed {
            let mode: Result<SpmvTransposedMethod, _> = name.parse();
            return mode.map(Self::transposed).map_err(|error| error.to_string());
        }
        if let Some(method) = name.strip_suffix(ANEW) {
            return method.parse().map(Self::anew).map_err(|error: ParseNameError| error.to_string());
        }
        if name == DIRECT {
            return Ok(Self::unplanned());
        }
        if name == BSR {
            return Ok(Self::bsr(None));
        }
        if let Some(size) = name.strip_prefix(BSR).and_then(|size| size.strip_prefix('-')) {
            let size = size.parse().map_err(|error| format!("the block size of `{name}`: {error}"))?;
            return Ok(Self::bsr(Some(size)));
        }
        if name == MAY_COPY {
            return Ok(Self::direct(MAY_COPY, SpmvOptions::default().with_may_copy(true)));
        }
        let method: Result<SpmvMethod, _> = name.parse();
        method.map(Self::method).map_err(|error| error.to_string())
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether runs give the same bits: not if additions are unordered.
    pub(super) fn is_ordered(&self) -> bool {
        !matches!(self.kind, Kind::Transposed(SpmvTransposedMethod::Unordered))
    }

    /// Returns whether it multiplies CSR, of any type of values.
    pub(super) fn is_of_csr(&self) -> bool {
        matches!(self.kind, Kind::Planned(_) | Kind::Anew(_) | Kind::Unplanned)
    }

    /// Plans, if it multiplies CSR.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub(super) fn prepare_csr<V: Scalar>(&self, a: &DeviceCsr<V>) -> Result<Ready<V>, OpError> {
        match self.kind {
            Kind::Planned(options) => planned(|| of_plan(a.plan_spmv(options)?)),
            Kind::Anew(options) => {
                let a = a.clone();
                Ok(unprepared(move |(alpha, beta), x, y| a.plan_spmv(options)?.run(alpha, x, beta, y)))
            }
            Kind::Unplanned => {
                let a = a.clone();
                Ok(unprepared(move |(alpha, beta), x, y| a.spmv(alpha, x, beta, y)))
            }
            _ => unreachable!("{} multiplies another format", self.name),
        }
    }

    /// Plans, or converts the matrix.
    pub(super) fn prepare<V: Value>(&self, host: &Csr<V>, a: &DeviceCsr<V>) -> Result<Ready<V>, OpError> {
        match self.kind {
            Kind::Planned(_) | Kind::Anew(_) | Kind::Unplanned => self.prepare_csr(a),
            Kind::LightByRows(threads) => planned(|| of_plan(a.plan_light_by_rows(threads)?)),
            Kind::Transposed(mode) => planned(|| {
                let plan = a.plan_spmv_transposed(SpmvTransposedOptions::default().with_method(mode))?;
                let info = plan.info()?;
                Ok(Ready {
                    run: Box::new(move |(alpha, beta), x, y| plan.run(alpha, x, beta, y)),
                    chosen: Some(info.method.to_string()),
                    reason: None,
                    setup_ms: info.analysis_ms,
                    workspace_bytes: info.workspace_bytes + info.run_bytes,
                    stored: None,
                })
            }),
            other => other.convert(host, a),
        }
    }
}

/// A way that keeps nothing between products.
fn unprepared<V: Scalar>(
    run: impl Fn((V, V), &DeviceVec<V>, &mut DeviceVec<V>) -> Result<(), OpError> + 'static,
) -> Ready<V> {
    Ready { run: Box::new(run), chosen: None, reason: None, setup_ms: 0.0, workspace_bytes: 0, stored: None }
}

/// A plan of a product with the matrix, ready to run.
fn of_plan<V: Scalar>(plan: SpmvPlan<V>) -> Result<Ready<V>, OpError> {
    let info = plan.info()?;
    Ok(Ready {
        run: Box::new(move |(alpha, beta), x, y| plan.run(alpha, x, beta, y)),
        chosen: Some(info.method.to_string()),
        reason: Some(info.reason),
        setup_ms: info.analysis_ms,
        workspace_bytes: info.workspace_bytes,
        stored: None,
    })
}

/// The last of some plans, with the median time. The first also loads code.
fn planned<V: Scalar>(plan: impl Fn() -> Result<Ready<V>, OpError>) -> Result<Ready<V>, OpError> {
    let mut last = plan()?;
    let mut setups_ms = Vec::new();
    for _ in 0..PLANS {
        last = plan()?;
        setups_ms.push(last.setup_ms);
    }
    Ok(Ready { setup_ms: median(&setups_ms), ..last })
}

/// Makes a run of a matrix on the device, whose type depends on the format.
macro_rules! multiply {
    ($matrix:expr) => {{
        let matrix = $matrix;
        let run: Run<V> = Box::new(move |(alpha, beta), x, y| matrix.spmv(alpha, x, beta, y));
        run
    }};
}

impl Kind {
    /// Converts the matrix on the host, and copies it to the device.
    fn convert<V: Value>(self, host: &Csr<V>, a: &DeviceCsr<V>) -> Result<Ready<V>, OpError> {
        let (device, start) = (a.device(), Instant::now());
        let mut chosen = None;
        let (run, bytes, slots) = match self {
            Self::Coo => {
                let bytes = host.nnz() * (2 * size_of::<u32>() + size_of::<V>());
                (multiply!(device.upload(&host.to_coo()?)?), bytes as u64, host.nnz())
            }
            Self::Ell(limit) => {
                let ell = host.to_ell(limit)?;
                (multiply!(device.upload(&ell)?), ell.bytes(), ell.values().len())
            }
            Self::EllR(limit) => {
                let ell = host.to_ell(limit)?;
                let lengths = (host.nrows() * size_of::<u32>()) as u64;
                (multiply!(device.upload(&EllR(&ell))?), ell.bytes() + lengths, ell.values().len())
            }
            Self::SlicedEll(options) => {
                let sliced = host.to_sliced_ell(options)?;
                (multiply!(device.upload(&sliced)?), sliced.bytes(), sliced.values().len())
            }
            Self::Hyb(options) => {
                let hyb = host.to_hyb(options)?;
                let slots = hyb.ell().values().len() + hyb.coo().nnz();
                (multiply!(device.upload(&hyb)?), hyb.bytes(), slots)
            }
            Self::Bsr(size) => {
                let size = size.map_or_else(|| host.detect_block_size(), Ok)?;
                let bsr = host.to_bsr(size)?;
                chosen = Some(format!("blocks of {size} x {size}"));
                (multiply!(device.upload(&bsr)?), bsr.bytes(), bsr.values().len())
            }
            Self::Planned(_)
            | Self::LightByRows(_)
            | Self::Unplanned
            | Self::Anew(_)
            | Self::Transposed(_) => {
                unreachable!("the matrix is not converted")
            }
        };
        device.synchronize()?;
        let setup_ms = start.elapsed().as_secs_f64() * 1e3;
        let stored = Some((bytes, slots as u64));
        Ok(Ready { run, chosen, reason: None, setup_ms, workspace_bytes: 0, stored })
    }
}
