use std::fmt;
use std::sync::{Arc, OnceLock};

use super::options::Allowance;
use super::ranked::Ranks;
use super::row_wise::{Analysis, Symbolic, Target};
use super::sorted::{self, Sorted};
use super::two_level_sort::{ProductOrder, Recorder};
use super::{Operands, Product, SpgemmMethod, SpgemmOptions, SpgemmPlanInfo};
use crate::cpu::Spgemm;
use crate::device::{Device, DeviceError, DeviceKind, DeviceVec, Event};
use crate::op::device_csr::Pattern;
use crate::op::{self, DeviceCsr, OpError, instance, tile_count};
use crate::{Offset, Value};
use evenpath_kernels::spgemm::SpgemmConvertOffsets;

/// `C = AB` for two sparse matrices, whose pattern is analyzed once, and which is computed as often as values change.
///
/// Results are bitwise those of [`DeviceCsr::multiply_with`], and share one pattern in memory. On devices with kernels the
/// plan keeps, if `memory_limit` has room for it beside the result, where each product goes:
/// [`SpgemmPlanInfo::kept_bytes`].
///
/// ```
/// use evenpath::spgemm::SpgemmOptions;
/// use evenpath::{Csr, Device};
///
/// let device = Device::cpu();
/// let a: Csr<f64> = Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0), (1, 1, 3.0)])?;
/// let a = device.upload(&a)?;
/// let plan = a.plan_multiply(&a, SpgemmOptions::default())?;
/// assert_eq!(plan.run()?.download()?.values(), [1.0, 8.0, 9.0]);
/// a.set_values(&[1.0, 1.0, 1.0])?;
/// assert_eq!(plan.run()?.download()?.values(), [1.0, 2.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SpgemmPlan<V: Value, O: Offset = u32, C: Offset = O> {
    a: DeviceCsr<V, O>,
    b: DeviceCsr<V, O>,
    options: SpgemmOptions,
    schedule: Schedule<O>,
    /// The pattern of the results, once there is one.
    pattern: OnceLock<Arc<Pattern<C>>>,
    analysis: (Event, Event),
    peak_bytes: u64,
}

/// How a device does it.
enum Schedule<O: Offset> {
    /// Row offsets of C, and the number of products.
    Cpu(Vec<u64>, u64),
    RowWise(Box<RowWise>),
    /// Once there was a run, what it found.
    TwoLevelSort(Box<OnceLock<Found<O>>>),
}

/// What products row by row need.
struct RowWise {
    symbolic: Symbolic,
    /// Once a run found a pattern that was known: where products go, if there is memory to keep that.
    ranks: OnceLock<Option<Ranks>>,
}

/// What the first product by two-level sorting finds.
struct Found<O: Offset> {
    products: u64,
    nonzeros: u64,
    /// What later products need. Nothing where memory was too short for all products at once: then each does everything.
    order: Option<ProductOrder<O>>,
}

/// The arrays of C.
pub(super) struct Arrays<V: Value> {
    pub(super) row_offsets: DeviceVec<u64>,
    pub(super) column_indices: DeviceVec<u32>,
    pub(super) values: DeviceVec<V>,
}

/// C, with nothing kept.
pub(super) fn multiply<V: Value, O: Offset, C: Offset>(
    operands: Operands<'_, V, O>,
    options: SpgemmOptions,
) -> Result<DeviceCsr<V, C>, OpError> {
    SpgemmPlan::new(operands, options)?.run()
}

impl<V: Value, O: Offset, C: Offset> SpgemmPlan<V, O, C> {
    pub(super) fn new(operands: Operands<'_, V, O>, options: SpgemmOptions) -> Result<Self, OpError> {
        let Operands { a, b } = operands;
        let device = a.device();
        let start = device.record()?;
        let mut allowance = Allowance::new(device, options)?;
        let schedule = match (device.kind(), options.method) {
            (DeviceKind::Cpu, _) => {
                let product = operands.product();
                let cpu = product.on_cpu();
                Schedule::Cpu(cpu.row_offsets(), cpu.products())
            }
            (_, SpgemmMethod::Auto | SpgemmMethod::RowWise) => {
                let analysis = Analysis::find(operands, &mut allowance)?;
                if options.method == SpgemmMethod::Auto && analysis.should_sort(operands, &allowance) {
                    analysis.give_up(&mut allowance);
                    Schedule::TwoLevelSort(Box::default())
                } else {
                    let symbolic = analysis.count(operands, &mut allowance)?;
                    Schedule::RowWise(Box::new(RowWise { symbolic, ranks: OnceLock::new() }))
                }
            }
            (_, SpgemmMethod::TwoLevelSort) => Schedule::TwoLevelSort(Box::default()),
        };
        let analysis = (start, device.record()?);
        let peak_bytes = allowance.peak();
        let pattern = OnceLock::new();
        Ok(Self { a: a.clone(), b: b.clone(), options, schedule, pattern, analysis, peak_bytes })
    }

    /// The product of the values that the matrices have now. The first run finds the columns, the next ones only
    /// values; only where [`SpgemmMethod::TwoLevelSort`] works in parts, every run does everything.
    ///
    /// # Errors
    ///
    /// If the product has more nonzeros than row offsets of its type count, or workspace and result would take more memory
    /// than they may. If the device was lost.
    pub fn run(&self) -> Result<DeviceCsr<V, C>, OpError> {
        let operands = Operands { a: &self.a, b: &self.b };
        let product = operands.product();
        let device = self.a.device();
        if let Some(pattern) = self.pattern.get() {
            return self.run_again(&product, pattern);
        }
        let mut allowance = Allowance::new(device, self.options)?;
        match &self.schedule {
            Schedule::Cpu(row_offsets, _) => {
                let nonzeros = row_offsets[row_offsets.len() - 1];
                let (mut column_indices, mut values) =
                    result_arrays::<V, C>(device, self.a.rows(), nonzeros, &mut allowance)?;
                if let (Some(columns), Some(values)) =
                    (column_indices.host_slice_mut(), values.host_slice_mut())
                {
                    product.on_cpu().fill(row_offsets, columns, values);
                }
                let row_offsets = device.upload(row_offsets)?;
                self.finish(Arrays { row_offsets, column_indices, values })
            }
            Schedule::RowWise(row_wise) => {
                let symbolic = &row_wise.symbolic;
                allowance.take("the workspace", symbolic.bytes())?;
                let (mut column_indices, mut values) =
                    result_arrays::<V, C>(device, self.a.rows(), symbolic.nonzeros, &mut allowance)?;
                let target = Target {
                    row_offsets: &symbolic.row_offsets,
                    column_indices: column_indices.as_global_mut(),
                    values: &mut values,
                    known: false,
                };
                let ranks = if Ranks::pay_at_once::<V>(device, symbolic.rows()) {
                    row_wise.ranks(operands, &target, allowance)?
                } else {
                    None
                };
                symbolic.rows().fill(&product, target, ranks)?;
                let row_offsets = convert_offsets(&symbolic.row_offsets)?;
                Ok(self.share(row_offsets, column_indices, values))
            }
            Schedule::TwoLevelSort(found) => {
                let Sorted { arrays, products, order } =
                    sorted::multiply::<V, O, C>(&product, &mut allowance, &mut Recorder::default())?;
                let nonzeros = arrays.column_indices.len() as u64;
                found.get_or_init(|| Found { products, nonzeros, order });
                self.finish(arrays)
            }
        }
    }

    /// Values for a pattern that is known.
    fn run_again(
        &self,
        product: &Product<'_, V, O>,
        pattern: &Arc<Pattern<C>>,
    ) -> Result<DeviceCsr<V, C>, OpError> {
        let device = self.a.device();
        let nonzeros = pattern.column_indices.len();
        let mut allowance = Allowance::new(device, self.options)?;
        allowance.take("the values of the result", (nonzeros * size_of::<V>()) as u64)?;
        let values = match &self.schedule {
            Schedule::Cpu(row_offsets, _) => {
                let mut values = device.uninitialized(nonzeros)?;
                if let (Some(columns), Some(values)) =
                    (pattern.column_indices.host_slice(), values.host_slice_mut())
                {
                    product.on_cpu().fill_pattern(row_offsets, columns, values);
                }
                values
            }
            Schedule::RowWise(row_wise) => {
                let mut values = device.uninitialized(nonzeros)?;
                let symbolic = &row_wise.symbolic;
                let columns = 4 * symbolic.nonzeros;
                let target = Target {
                    row_offsets: &symbolic.row_offsets,
                    column_indices: pattern.columns_of_known(),
                    values: &mut values,
                    known: true,
                };
                let ranks = match allowance.take("the workspace", symbolic.bytes() + columns) {
                    Ok(()) => row_wise.ranks(product.operands, &target, allowance)?,
                    Err(_) => None,
                };
                symbolic.rows().fill(product, target, ranks)?;
                values
            }
            Schedule::TwoLevelSort(found) => match found.get() {
                Some(Found { order: Some(order), .. }) => {
                    allowance.take("the workspace", order.temporary_bytes::<V>())?;
                    order.values(product, &mut Recorder::default())?
                }
                _ => unreachable!("no pattern is kept"),
            },
        };
        Ok(DeviceCsr::from_valid(Arc::clone(pattern), values))
    }

    /// The result of arrays that are whole.
    fn finish(&self, arrays: Arrays<V>) -> Result<DeviceCsr<V, C>, OpError> {
        let Arrays { row_offsets, column_indices, values } = arrays;
        let row_offsets = convert_offsets(&row_offsets)?;
        Ok(self.share(row_offsets, column_indices, values))
    }

    /// The result, whose pattern later runs use if they can.
    fn share(
        &self,
        row_offsets: DeviceVec<C>,
        column_indices: DeviceVec<u32>,
        values: DeviceVec<V>,
    ) -> DeviceCsr<V, C> {
        let pattern = Pattern::canonical(self.a.rows(), self.b.cols(), row_offsets, column_indices);
        let pattern = Arc::new(pattern);
        let can_run_again = match &self.schedule {
            Schedule::Cpu(..) | Schedule::RowWise(_) => true,
            Schedule::TwoLevelSort(found) => found.get().is_some_and(|found| found.order.is_some()),
        };
        if can_run_again {
            // If another run was first, its pattern is the same.
            let _ = self.pattern.set(Arc::clone(&pattern));
        }
        DeviceCsr::from_valid(pattern, values)
    }

    /// What the plan knows, and what it costs. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<SpgemmPlanInfo, DeviceError> {
        let (start, end) = &self.analysis;
        let (method, products, nonzeros, kept_bytes) = match &self.schedule {
            Schedule::Cpu(row_offsets, products) => {
                (SpgemmMethod::RowWise, *products, row_offsets[row_offsets.len() - 1], 0)
            }
            Schedule::RowWise(row_wise) => {
                let Symbolic { products, nonzeros, .. } = row_wise.symbolic;
                let ranks = row_wise.ranks.get().and_then(Option::as_ref).map_or(0, Ranks::bytes);
                (SpgemmMethod::RowWise, products, nonzeros, row_wise.symbolic.bytes() + ranks)
            }
            Schedule::TwoLevelSort(found) => match found.get() {
                Some(Found { products, nonzeros, order }) => {
                    let kept = order.as_ref().map_or(0, ProductOrder::bytes);
                    (SpgemmMethod::TwoLevelSort, *products, *nonzeros, kept)
                }
                None => (SpgemmMethod::TwoLevelSort, 0, 0, 0),
            },
        };
        let (workspace_bytes, analysis_ms) = (self.peak_bytes, end.elapsed_since(start)?);
        Ok(SpgemmPlanInfo { method, products, nnz: nonzeros, workspace_bytes, kept_bytes, analysis_ms })
    }
}

impl RowWise {
    /// Where products go, if what `allowance` has left is enough to keep that; found unless an earlier run did. Writes the
    /// columns of the rows that it is for, unless they are known.
    fn ranks<V: Value, O: Offset>(
        &self,
        operands: Operands<'_, V, O>,
        target: &Target<'_, V>,
        mut allowance: Allowance,
    ) -> Result<Option<&Ranks>, OpError> {
        if !target.known || self.ranks.get().is_none() {
            let ranks = Ranks::find(operands, self.symbolic.rows(), target, &mut allowance)?;
            let are_found = ranks.is_some();
            // If another run was first, its ranks are the same.
            let _ = self.ranks.set(ranks);
            if !are_found {
                return Ok(None);
            }
        }
        Ok(self.ranks.get().and_then(Option::as_ref))
    }
}

/// The number of nonzeros of C, if its row offsets count them.
pub(super) fn countable<C: Offset>(nonzeros: u64) -> Result<usize, OpError> {
    op::countable::<C>(nonzeros, "multiply_wide gives it row offsets of u64")
}

/// Room for the columns and values of C.
pub(super) fn result_arrays<V: Value, C: Offset>(
    device: &Device,
    rows: usize,
    nonzeros: u64,
    allowance: &mut Allowance,
) -> Result<(DeviceVec<u32>, DeviceVec<V>), OpError> {
    let len = countable::<C>(nonzeros)?;
    let offset_bytes = (rows as u64 + 1) * size_of::<C>() as u64;
    allowance.take("the result", nonzeros * (4 + size_of::<V>() as u64) + offset_bytes)?;
    Ok((device.uninitialized(len)?, device.uninitialized(len)?))
}

/// Row offsets of the type that the result has; they are no greater than it counts.
pub(super) fn convert_offsets<S: Offset, C: Offset>(offsets: &DeviceVec<S>) -> Result<DeviceVec<C>, OpError> {
    let device = offsets.device();
    let mut converted = device.uninitialized(offsets.len())?;
    if let (Some(from), Some(to)) = (offsets.host_slice(), converted.host_slice_mut()) {
        for (from, to) in from.iter().zip(to) {
            *to = C::from_bits(from.to_u64());
        }
        return Ok(converted);
    }
    let info = instance::<SpgemmConvertOffsets<S, C>>();
    let kernel = SpgemmConvertOffsets {
        source: offsets.as_global(),
        target: converted.as_global_mut(),
        len: offsets.len() as u64,
    };
    let blocks = tile_count("row offsets", info, offsets.len())?;
    // SAFETY: both have as many elements; buffers are freed in the stream's order.
    unsafe { device.launch(kernel, info, blocks, 0) }?;
    Ok(converted)
}

impl<V: Value, O: Offset> Product<'_, V, O> {
    /// The product on the CPU, where its matrices are.
    pub(super) fn on_cpu(&self) -> Spgemm<'_, V, O> {
        let Operands { a, b } = self.operands;
        match (a.pattern().host_view(&self.a_values), b.pattern().host_view(&self.b_values)) {
            (Some(a), Some(b)) => Spgemm::new(a, b),
            _ => unreachable!("the CPU's buffers are the host's"),
        }
    }
}

impl<V: Value, O: Offset, C: Offset> fmt::Debug for SpgemmPlan<V, O, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpgemmPlan({:?} times {:?})", self.a, self.b)
    }
}
