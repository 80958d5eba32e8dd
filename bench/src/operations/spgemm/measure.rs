use evenpath::device::DeviceKind;
use evenpath::error::OpError;
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::{Csr, Device, DeviceCsr};
use serde::Serialize;

use super::{Check, products};
use crate::measure::{Repetitions, median, single_times_ms};
use crate::peers::PeerValue;
use crate::peers::cusparse::{Cusparse, SpgemmRun};
use crate::statistics::spread;

/// All methods, and all algorithms of a peer, for one product.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Record {
    /// `spgemm`.
    pub(crate) op: &'static str,
    /// The suite.
    pub(crate) suite: String,
    /// The matrix A; B is the same, or its transpose if it is not square.
    pub(crate) matrix: String,
    /// The type of the values.
    pub(crate) value: &'static str,
    /// Rows of A.
    pub(crate) rows: usize,
    /// Columns of A.
    pub(crate) cols: usize,
    /// Nonzeros of A.
    pub(crate) nnz: usize,
    /// The number of products.
    pub(crate) products: u64,
    /// The methods.
    pub(crate) methods: Vec<MethodRecord>,
    /// The phases of two-level sort, if it was measured.
    pub(crate) phases: Option<Phases>,
    /// cuSPARSE's algorithms.
    pub(crate) cusparse: Vec<PeerRecord>,
}

/// A method of evenpath.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct MethodRecord {
    /// Its name.
    pub(crate) method: String,
    /// The outcome.
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

/// An algorithm of cuSPARSE.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PeerRecord {
    /// The version of the library; `None` if none was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// Its name.
    pub(crate) algorithm: String,
    /// The outcome.
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

/// Figures, or why there are none.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// Success.
    Measured(Figures),
    /// Failure.
    Failed {
        /// Why.
        error: String,
    },
}

/// The figures of a method or algorithm.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figures {
    /// Median milliseconds of a product, from operands to complete result.
    pub(crate) ms: f64,
    /// The [spread](crate::statistics::spread) of these times.
    pub(crate) spread: f64,
    /// Median milliseconds of a product with known pattern, if supported.
    pub(crate) numeric_ms: Option<f64>,
    /// 10⁹ operations per second, two per product.
    pub(crate) gflops: f64,
    /// The number of entries of the result.
    pub(crate) nonzeros: usize,
    /// Peak bytes of device memory besides the operands, including the result.
    pub(crate) peak_bytes: u64,
    /// How the result is wrong, if so.
    pub(crate) difference: Option<String>,
}

/// Milliseconds of the phases of two-level sort.
#[derive(Debug, Clone, Copy, Serialize)]
#[allow(missing_docs)]
pub(crate) struct Phases {
    pub(crate) setup: f64,
    pub(crate) block_sort: f64,
    pub(crate) global_sort: f64,
    pub(crate) placement: f64,
    pub(crate) product_compute: f64,
    pub(crate) reduce_by_key: f64,
    /// The rest of the product: allocation, and what runs between the phases.
    pub(crate) other: f64,
}

impl Phases {
    /// The whole product.
    pub(crate) fn total(&self) -> f64 {
        let Self { setup, block_sort, global_sort, placement, product_compute, reduce_by_key, other } = self;
        setup + block_sort + global_sort + placement + product_compute + reduce_by_key + other
    }
}

/// What to measure, and how.
pub(crate) struct Case<'c> {
    /// The device.
    pub(crate) device: &'c Device,
    /// The methods.
    pub(crate) methods: &'c [SpgemmMethod],
    /// The library to compare with, in all its versions.
    pub(crate) cusparse: Option<&'c Cusparse>,
    /// Limit on the bytes of a product. Default: the memory of the device.
    pub(crate) memory_limit: Option<u64>,
    /// How many products to time.
    pub(crate) repetitions: Repetitions,
    /// The suite.
    pub(crate) suite: &'c str,
    /// The matrix.
    pub(crate) matrix: &'c str,
}

impl Outcome {
    /// The figures, if the result is correct.
    pub(crate) fn right(&self) -> Option<&Figures> {
        match self {
            Self::Measured(figures) if figures.difference.is_none() => Some(figures),
            _ => None,
        }
    }
}

impl Record {
    /// The fastest algorithm of cuSPARSE, of all its versions, with a correct result.
    pub(crate) fn best_peer(&self) -> Option<(&str, &Figures)> {
        let right =
            self.cusparse.iter().filter_map(|peer| Some((peer.algorithm.as_str(), peer.outcome.right()?)));
        right.min_by(|a, b| a.1.ms.total_cmp(&b.1.ms))
    }

    /// cuSPARSE's best time over that of a method.
    pub(crate) fn ratio(&self, method: &MethodRecord) -> Option<f64> {
        Some(self.best_peer()?.1.ms / method.outcome.right()?.ms)
    }

    /// Whether no result of evenpath is wrong.
    pub(crate) fn is_right(&self) -> bool {
        self.methods.iter().all(|method| match &method.outcome {
            Outcome::Measured(figures) => figures.difference.is_none(),
            Outcome::Failed { .. } => true,
        })
    }
}

/// Measures all methods, and all algorithms of cuSPARSE.
///
/// # Errors
///
/// If there is not enough device memory for the operands, or the device was lost.
pub(crate) fn measure<V: PeerValue>(case: &Case<'_>, a: &Csr<V>, b: &Csr<V>) -> Result<Record, OpError> {
    let products = products(a, b);
    let check = Check::new(a, b);
    let mut record = Record {
        op: "spgemm",
        suite: case.suite.into(),
        matrix: case.matrix.into(),
        value: V::NAME,
        rows: a.rows(),
        cols: a.cols(),
        nnz: a.nnz(),
        products,
        methods: Vec::new(),
        phases: None,
        cusparse: measure_peer(case, a, b, &check, products),
    };
    let (a, b) = (case.device.upload(a)?, case.device.upload(b)?);
    let problem = Problem { case, a, b, check: &check, products };
    for &method in case.methods {
        let outcome = match problem.measure(method) {
            Ok(figures) => Outcome::Measured(figures),
            Err(error @ OpError::Device(evenpath::error::DeviceError::KernelFault { .. })) => {
                return Err(error);
            }
            Err(error) => Outcome::Failed { error: error.to_string() },
        };
        if let (SpgemmMethod::TwoLevelSort, Some(figures)) = (method, outcome.right()) {
            record.phases = problem.phases(case.repetitions.samples(figures.ms))?;
        }
        record.methods.push(MethodRecord { method: method.to_string(), outcome });
    }
    Ok(record)
}

/// Operands on the device.
struct Problem<'c, V: PeerValue> {
    case: &'c Case<'c>,
    a: DeviceCsr<V>,
    b: DeviceCsr<V>,
    check: &'c Check,
    products: u64,
}

impl<V: PeerValue> Problem<'_, V> {
    fn options(&self, method: SpgemmMethod) -> SpgemmOptions {
        SpgemmOptions::default().with_method(method).with_memory_limit(self.case.memory_limit)
    }

    fn measure(&self, method: SpgemmMethod) -> Result<Figures, OpError> {
        let device = self.case.device;
        let options = self.options(method);
        let before = device.memory()?.in_use;
        device.reset_peak_memory();
        let c = self.a.multiply_with(&self.b, options)?.download()?;
        let peak_bytes = device.memory()?.peak - before;
        let difference = self.check.check(c.row_offsets(), c.column_indices(), c.values()).err();
        let nonzeros = c.nnz();
        drop(c);
        let times = single_times_ms(device, self.case.repetitions, || {
            self.a.multiply_with(&self.b, options).map(drop)
        })?;
        let plan = self.a.plan_multiply(&self.b, options)?;
        // The second run may compute data that later runs reuse.
        plan.run()?;
        plan.run()?;
        let numeric_times = single_times_ms(device, self.case.repetitions, || plan.run().map(drop))?;
        let (ms, numeric_ms) = (median(&times), Some(median(&numeric_times)));
        Ok(Figures {
            ms,
            spread: spread(&times),
            numeric_ms,
            gflops: gflops(self.products, ms),
            nonzeros,
            peak_bytes,
            difference,
        })
    }

    /// The phases of the fastest of `count` products; `None` on the CPU.
    fn phases(&self, count: usize) -> Result<Option<Phases>, OpError> {
        if self.case.device.kind() == DeviceKind::Cpu {
            return Ok(None);
        }
        let device = self.case.device;
        let mut best: Option<Phases> = None;
        for _ in 0..count {
            device.synchronize()?;
            let start = device.record()?;
            let phases = self.a.two_level_sort_phases(&self.b, self.options(SpgemmMethod::TwoLevelSort))?;
            let whole_ms = device.record()?.elapsed_since(&start)?;
            let phases = Phases {
                setup: phases.setup,
                block_sort: phases.block_sort,
                global_sort: phases.global_sort,
                placement: phases.placement,
                product_compute: phases.product_compute,
                reduce_by_key: phases.reduce_by_key,
                other: whole_ms - phases.total(),
            };
            if best.is_none_or(|best| phases.total() < best.total()) {
                best = Some(phases);
            }
        }
        Ok(best)
    }
}

fn gflops(products: u64, ms: f64) -> f64 {
    2.0 * products as f64 / ms / 1e6
}

fn measure_peer<V: PeerValue>(
    case: &Case<'_>,
    a: &Csr<V>,
    b: &Csr<V>,
    check: &Check,
    products: u64,
) -> Vec<PeerRecord> {
    let Some(library) = case.cusparse else { return Vec::new() };
    let mut records = Vec::new();
    let mut take = |run: SpgemmRun<V>| {
        let outcome = match run.outcome {
            Ok(times) => {
                let (ms, c) = (median(&times.times_ms), times.result);
                Outcome::Measured(Figures {
                    ms,
                    spread: spread(&times.times_ms),
                    numeric_ms: (!times.numeric_ms.is_empty()).then(|| median(&times.numeric_ms)),
                    gflops: gflops(products, ms),
                    nonzeros: c.values.len(),
                    peak_bytes: times.bytes,
                    difference: check.check(&c.row_offsets, &c.column_indices, &c.values).err(),
                })
            }
            Err(error) => Outcome::Failed { error: error.to_string() },
        };
        records.push(PeerRecord { version: run.version, algorithm: run.algorithm, outcome });
    };
    match library.spgemm_problem(a, b) {
        Ok(problem) => problem.measure(case.repetitions, take),
        Err(error) => take(SpgemmRun { version: None, algorithm: "all".into(), outcome: Err(error) }),
    }
    records
}
