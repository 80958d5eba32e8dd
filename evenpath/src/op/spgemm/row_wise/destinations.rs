//! The destinations of the products of rows that use windows: for plans that run again, and for rows whose sums do not fit
//! in shared memory.

use evenpath_kernels::spgemm::{
    Class, RowList, RowParts, SpgemmAddRanked, SpgemmCutByParts, SpgemmPartWork, SpgemmRankProducts,
    WINDOW_COLUMNS, add_ranked_shared_bytes, part_len, rank_shared_bytes,
};

use super::target::Target;
use crate::device::{Device, DeviceSlice, DeviceVec, Kernels};
use crate::op::spgemm::base::{SpgemmCall, SpgemmOperands, Workspace};
use crate::op::spgemm::symbolic::{Bin, ClassifiedRows, block_instance, sums_bytes};
use crate::operand::OpError;
use crate::operand::requirement::Requirement;
use crate::operation::Operator;
use crate::sequence::scan::{self, ScanOptions};
use crate::{Offset, Scalar};

/// The class of sizes whose rows use large blocks.
const LARGE: usize = 3;

/// The largest number of columns of a window, in units of [`WINDOW_COLUMNS`]: the shared memory of several blocks fits in a
/// multiprocessor.
const MOST_PACKETS: u32 = 512;

/// The kernels of destinations, to be compiled ahead.
pub(super) fn kernels<V: Scalar, O: Offset>() -> Kernels {
    Kernels::default()
        .and::<SpgemmPartWork<O>>()
        .and::<SpgemmRankProducts<O>>()
        .and::<SpgemmCutByParts<O>>()
        .and::<SpgemmAddRanked<V, O>>()
}

/// The destinations of the products of rows that use windows.
pub(super) struct ProductDestinations {
    /// The index of the first of the rows in the bins' list, and their number.
    rows: (u32, u32),
    /// The number of entries of the longest row.
    longest: u64,
    /// Products, parts and cuts before each of the rows, and at the end.
    first_products: DeviceVec<u64>,
    first_parts: DeviceVec<u64>,
    first_cuts: DeviceVec<u64>,
    /// The destination of each product, the cuts, and the row of each part.
    of_products: DeviceVec<u16>,
    cuts: DeviceVec<u32>,
    part_rows: DeviceVec<u32>,
}

/// The peak of device memory that counting `rows` rows takes.
fn counting(rows: u32) -> Requirement {
    let rows = u64::from(rows) + 1;
    // Products, parts and cuts of each row, and their sums.
    let counts = Requirement::each(6 * rows, size_of::<u64>());
    let sums = scan::values_temporary_bytes(rows as usize, ScanOptions::<u64>::exclusive(Operator::Sum));
    Requirement::all_of([counts, Requirement::new(sums)])
}

impl ProductDestinations {
    /// The destinations, if the workspace has room for them; `None` if no row uses windows. Writes the columns of the rows
    /// unless they are known. Waits for the device.
    pub(super) fn find<V: Scalar, O: Offset>(
        operands: SpgemmOperands<'_, V, O>,
        rows: &ClassifiedRows,
        target: &Target<'_, V>,
        workspace: &Workspace,
    ) -> Result<Option<Self>, OpError> {
        let Some(first) = window_bins(rows).next() else { return Ok(None) };
        let count = window_bins(rows).map(|bin| bin.rows).sum();
        if !workspace.has_room(counting(count)) {
            return Ok(None);
        }
        let work = PartWork::count(operands, rows, target.row_offsets, (first.start, count))?;
        let [products, parts, cuts] = work.totals()?;
        let required = Requirement::all_of([
            counting(count),
            Requirement::of::<u16>(products),
            Requirement::of::<u32>(parts),
            Requirement::of::<u32>(cuts),
        ]);
        let blocks = parts.max(count.into()) as usize;
        let fits_a_grid = operands.device().kernel::<SpgemmAddRanked<V, O>>().blocks(blocks).is_ok();
        if !workspace.has_room(required) || !fits_a_grid {
            return Ok(None);
        }
        let _charge = workspace.take("the workspace", required)?;
        work.rank(operands, rows, target, [products, parts, cuts]).map(Some)
    }

    /// Returns whether destinations pay off for a single product: if rows have more entries than a block can sum in shared
    /// memory, so that rows of B would be added one after the other in global memory.
    pub(super) fn pay_at_once<V: Scalar>(device: &Device, rows: &ClassifiedRows) -> bool {
        let room = u64::from(sums_bytes(device));
        window_bins(rows).any(|bin| bin.largest.saturating_mul(V::SIZE as u64) > room)
    }

    /// Bytes of device memory that it keeps.
    pub(super) fn bytes(&self) -> u64 {
        self.of_products.bytes()
            + self.cuts.bytes()
            + self.part_rows.bytes()
            + self.first_products.bytes()
            + self.first_parts.bytes()
            + self.first_cuts.bytes()
    }

    /// Writes the values of the rows.
    pub(super) fn add<V: Scalar, O: Offset>(
        &self,
        product: &SpgemmCall<'_, V, O>,
        rows: &ClassifiedRows,
        target: &mut Target<'_, V>,
    ) -> Result<(), OpError> {
        let (a, b) = product.views();
        let parts = self.part_rows.len();
        let sums = self.longest.min(u64::from(part_len(V::SIZE))) as u32;
        let shared = add_ranked_shared_bytes(sums, V::SIZE as u32, O::SIZE as u32);
        let launch = self.of_products.device().kernel().shared_bytes(shared).blocks(parts)?;
        let kernel = SpgemmAddRanked {
            a,
            b,
            c_row_offsets: target.row_offsets.as_global(),
            c_values: target.values.as_global_mut(),
            rows: self.listed(rows),
            before: self.before(),
            destinations: self.of_products.as_global(),
            cuts: self.cuts.as_global(),
            part_rows: self.part_rows.as_global(),
            parts: parts as u32,
            sums,
        };
        // SAFETY: the views are of matrices that fit together, of C with the row offsets for which the destinations
        // were found, and of these; the grid is one block per part. Buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// The rows, as kernels take them.
    fn listed(&self, all: &ClassifiedRows) -> RowList {
        all.bins.rows_from(self.rows.0, self.rows.1)
    }

    /// The sums before each row, as kernels take them.
    fn before(&self) -> RowParts {
        RowParts {
            first_products: self.first_products.as_global(),
            first_parts: self.first_parts.as_global(),
            first_cuts: self.first_cuts.as_global(),
        }
    }
}

/// Products, parts and cuts before each row, with the sum at the end.
struct PartWork {
    rows: (u32, u32),
    first_products: DeviceVec<u64>,
    first_parts: DeviceVec<u64>,
    first_cuts: DeviceVec<u64>,
}

impl PartWork {
    /// Counts it for the `rows.1` rows from the `rows.0`th of the list on.
    fn count<V: Scalar, O: Offset>(
        operands: SpgemmOperands<'_, V, O>,
        all: &ClassifiedRows,
        row_offsets: &DeviceSlice<u64>,
        rows: (u32, u32),
    ) -> Result<Self, OpError> {
        let (a, b) = operands.views();
        let device = row_offsets.device();
        let launch = device.kernel().warps(rows.1 as usize)?;
        let (mut products, mut parts, mut cuts) = (
            device.zeros(rows.1 as usize + 1)?,
            device.zeros(rows.1 as usize + 1)?,
            device.zeros(rows.1 as usize + 1)?,
        );
        let kernel = SpgemmPartWork {
            a,
            b,
            c_row_offsets: row_offsets.as_global(),
            rows: all.bins.rows_from(rows.0, rows.1),
            products: products.as_global_mut(),
            parts: parts.as_global_mut(),
            cuts: cuts.as_global_mut(),
            part_len: part_len(V::SIZE),
        };
        // SAFETY: the views are of matrices that fit together, and of arrays with an element for each of the rows.
        unsafe { launch.launch(kernel) }?;
        Ok(Self {
            rows,
            first_products: scan::values(&products, ScanOptions::exclusive(Operator::Sum))?,
            first_parts: scan::values(&parts, ScanOptions::exclusive(Operator::Sum))?,
            first_cuts: scan::values(&cuts, ScanOptions::exclusive(Operator::Sum))?,
        })
    }

    /// Products, parts and cuts of all; waits for the device.
    fn totals(&self) -> Result<[u64; 3], OpError> {
        let last = self.rows.1 as usize;
        Ok([self.first_products.get(last)?, self.first_parts.get(last)?, self.first_cuts.get(last)?])
    }

    /// Finds the destinations, and the columns of C unless they are known.
    fn rank<V: Scalar, O: Offset>(
        self,
        operands: SpgemmOperands<'_, V, O>,
        all: &ClassifiedRows,
        target: &Target<'_, V>,
        [products, parts, cuts]: [u64; 3],
    ) -> Result<ProductDestinations, OpError> {
        let device = target.row_offsets.device();
        let Self { rows, first_products, first_parts, first_cuts } = self;
        let mut destinations = ProductDestinations {
            of_products: device.uninitialized(products as usize)?,
            cuts: device.uninitialized(cuts as usize)?,
            part_rows: device.uninitialized(parts as usize)?,
            rows,
            longest: window_bins(all).map(|bin| bin.largest).max().unwrap_or(0),
            first_products,
            first_parts,
            first_cuts,
        };
        let (large, small): (Vec<_>, Vec<_>) =
            window_bins(all).partition(|bin| matches!(bin.class, Class::Window { size_class: LARGE }));
        destinations.rank(operands, all, target, &small, 128)?;
        destinations.rank(operands, all, target, &large, 512)?;
        destinations.cut::<V, O>(operands, all, target)?;
        Ok(destinations)
    }
}

impl ProductDestinations {
    /// Finds the destinations of some consecutive bins, with blocks of `block_size` threads.
    fn rank<V: Scalar, O: Offset>(
        &mut self,
        operands: SpgemmOperands<'_, V, O>,
        all: &ClassifiedRows,
        target: &Target<'_, V>,
        bins: &[&Bin],
        block_size: u32,
    ) -> Result<(), OpError> {
        let Some(first) = bins.first() else { return Ok(()) };
        let (a, b) = operands.views();
        let widest = bins.iter().map(|bin| bin.widest).max().unwrap_or(0);
        let packets = widest.div_ceil(WINDOW_COLUMNS).clamp(1, MOST_PACKETS);
        let rows: u32 = bins.iter().map(|bin| bin.rows).sum();
        let info = block_instance::<SpgemmRankProducts<O>>(block_size);
        let launcher = self.of_products.device().instance(info);
        let launch = launcher.shared_bytes(rank_shared_bytes(block_size, packets)).blocks(rows as usize)?;
        let kernel = SpgemmRankProducts {
            a,
            b,
            c: target.pattern(),
            rows: self.listed(all),
            spans: all.spans(),
            before: self.before(),
            destinations: self.of_products.as_global_mut(),
            part_rows: self.part_rows.as_global_mut(),
            first_row: first.start - self.rows.0,
            part_len: part_len(V::SIZE),
            packets,
        };
        // SAFETY: the views are of matrices that fit together, of C, and of arrays with as many elements as were counted;
        // the shared memory has room for the window. Buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// Finds the cuts, with the columns of C.
    fn cut<V: Scalar, O: Offset>(
        &mut self,
        operands: SpgemmOperands<'_, V, O>,
        all: &ClassifiedRows,
        target: &Target<'_, V>,
    ) -> Result<(), OpError> {
        if self.cuts.is_empty() {
            return Ok(());
        }
        let (a, b) = operands.views();
        let launch = self.of_products.device().kernel().blocks(self.part_rows.len())?;
        let kernel = SpgemmCutByParts {
            a,
            b,
            c: target.pattern(),
            rows: self.listed(all),
            before: self.before(),
            part_rows: self.part_rows.as_global(),
            cuts: self.cuts.as_global_mut(),
            part_len: part_len(V::SIZE),
        };
        // SAFETY: as above; every part has its row.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}

/// The bins of rows that use windows: the last ones of all, with the largest rows at the end.
fn window_bins(rows: &ClassifiedRows) -> impl Iterator<Item = &Bin> {
    rows.bins.filled.iter().filter(|bin| matches!(bin.class, Class::Window { .. }))
}
