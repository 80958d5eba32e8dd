//! Where the products of rows that are done by windows go: for plans that run again, and for rows whose sums do not fit
//! shared memory.

use evenpath_kernels::spgemm::{
    Class, SpgemmAddRanked, SpgemmCutByParts, SpgemmPartWork, SpgemmRankProducts, WINDOW_COLUMNS,
    add_ranked_shared_bytes, part_len, rank_shared_bytes,
};

use super::target::Target;
use crate::device::{Device, DeviceVec};
use crate::op::requirement::Requirement;
use crate::op::scan::{self, Operator, Scan};
use crate::op::spgemm::base::{Operands, Product, Workspace};
use crate::op::spgemm::symbolic::{Bin, Rows, block_instance, sums_bytes};
use crate::op::{OpError, grid, instance};
use crate::{Offset, Value};

/// The class of sizes whose rows have large blocks.
const LARGE: usize = 3;

/// Columns of a window, at most, in units of [`WINDOW_COLUMNS`]: all that ranks want beside fits many times
/// into a multiprocessor's memory.
const MOST_PACKETS: u32 = 512;

/// The ranks of the products of rows that are done by windows.
pub(super) struct Ranks {
    /// The first of the rows in the bins' list, and how many they are.
    rows: (u32, u32),
    /// Entries of the longest.
    longest: u64,
    /// Products, parts and cuts before each of the rows, and at the end.
    first_products: DeviceVec<u64>,
    first_parts: DeviceVec<u64>,
    first_cuts: DeviceVec<u64>,
    /// The rank of each product, the cuts, and the row of each part.
    of_products: DeviceVec<u16>,
    cuts: DeviceVec<u32>,
    part_rows: DeviceVec<u32>,
}

/// Device memory that counting so many rows takes at once at most.
fn counting(rows: u32) -> Requirement {
    let rows = u64::from(rows) + 1;
    // Products, parts and cuts of each row, and their sums.
    let counts = Requirement::each(6 * rows, size_of::<u64>());
    Requirement::all_of([counts, Requirement::new(scan::temporary_bytes::<u64>(rows as usize))])
}

impl Ranks {
    /// The ranks, if the workspace has room for them; nothing where no row is done by windows. Writes the
    /// columns of the rows unless they are known. Waits for the device.
    pub(super) fn find<V: Value, O: Offset>(
        operands: Operands<'_, V, O>,
        rows: &Rows,
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
        if !workspace.has_room(required) || grid(count as usize, 0, parts.max(count.into())).is_err() {
            return Ok(None);
        }
        let _charge = workspace.take("the workspace", required)?;
        work.rank(operands, rows, target, [products, parts, cuts]).map(Some)
    }

    /// Whether ranks pay for a single product: where rows have more entries than a block can sum in shared memory, so that
    /// rows of B would be added one after the other in global memory.
    pub(super) fn pay_at_once<V: Value>(device: &Device, rows: &Rows) -> bool {
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
    pub(super) fn add<V: Value, O: Offset>(
        &self,
        product: &Product<'_, V, O>,
        rows: &Rows,
        target: &mut Target<'_, V>,
    ) -> Result<(), OpError> {
        let (a, b) = (product.operands.a.pattern(), product.operands.b.pattern());
        let (list, listed) = rows.bins.list_from(self.rows.0);
        let parts = self.part_rows.len() as u32;
        let sums = self.longest.min(u64::from(part_len(V::SIZE))) as u32;
        let kernel = SpgemmAddRanked {
            a_row_offsets: a.row_offsets.as_global(),
            a_columns: a.column_indices.as_global(),
            a_values: product.a_values.as_global(),
            b_row_offsets: b.row_offsets.as_global(),
            b_values: product.b_values.as_global(),
            c_row_offsets: target.row_offsets.as_global(),
            c_values: target.values.as_global_mut(),
            list,
            first_products: self.first_products.as_global(),
            first_parts: self.first_parts.as_global(),
            first_cuts: self.first_cuts.as_global(),
            ranks: self.of_products.as_global(),
            cuts: self.cuts.as_global(),
            part_rows: self.part_rows.as_global(),
            listed,
            parts,
            sums,
        };
        let info = instance::<SpgemmAddRanked<V, O>>();
        let shared = add_ranked_shared_bytes(sums, V::SIZE as u32, O::SIZE as u32);
        // SAFETY: the views are of matrices that fit together, of C as it was when the ranks were found, and of what was
        // found; the grid is one block per part. Buffers are freed in the stream's order.
        unsafe { self.of_products.device().launch(kernel, info, parts, shared) }?;
        Ok(())
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
    fn count<V: Value, O: Offset>(
        operands: Operands<'_, V, O>,
        all: &Rows,
        row_offsets: &DeviceVec<u64>,
        rows: (u32, u32),
    ) -> Result<Self, OpError> {
        let (a, b) = (operands.a.pattern(), operands.b.pattern());
        let device = row_offsets.device();
        let (list, listed) = all.bins.list_from(rows.0);
        let (mut products, mut parts, mut cuts) = (
            device.zeros(rows.1 as usize + 1)?,
            device.zeros(rows.1 as usize + 1)?,
            device.zeros(rows.1 as usize + 1)?,
        );
        let kernel = SpgemmPartWork {
            a_row_offsets: a.row_offsets.as_global(),
            a_columns: a.column_indices.as_global(),
            b_row_offsets: b.row_offsets.as_global(),
            c_row_offsets: row_offsets.as_global(),
            list,
            products: products.as_global_mut(),
            parts: parts.as_global_mut(),
            cuts: cuts.as_global_mut(),
            rows: rows.1,
            listed,
            part_len: part_len(V::SIZE),
        };
        let info = instance::<SpgemmPartWork<O>>();
        let blocks = rows.1.div_ceil(info.block_size / 32);
        // SAFETY: the views are of matrices that fit together, and of arrays with an element for each of the rows.
        unsafe { device.launch(kernel, info, blocks, 0) }?;
        Ok(Self {
            rows,
            first_products: Scan::exclusive(Operator::Sum).run(&products)?,
            first_parts: Scan::exclusive(Operator::Sum).run(&parts)?,
            first_cuts: Scan::exclusive(Operator::Sum).run(&cuts)?,
        })
    }

    /// Products, parts and cuts of all; waits for the device.
    fn totals(&self) -> Result<[u64; 3], OpError> {
        let last = self.rows.1 as usize;
        Ok([self.first_products.get(last)?, self.first_parts.get(last)?, self.first_cuts.get(last)?])
    }

    /// Finds the ranks, and the columns of C unless they are known.
    fn rank<V: Value, O: Offset>(
        self,
        operands: Operands<'_, V, O>,
        all: &Rows,
        target: &Target<'_, V>,
        [products, parts, cuts]: [u64; 3],
    ) -> Result<Ranks, OpError> {
        let device = target.row_offsets.device();
        let Self { rows, first_products, first_parts, first_cuts } = self;
        let mut ranks = Ranks {
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
        ranks.rank(operands, all, target, &small, 128)?;
        ranks.rank(operands, all, target, &large, 512)?;
        ranks.cut::<V, O>(operands, all, target)?;
        Ok(ranks)
    }
}

impl Ranks {
    /// Finds the ranks of some bins, which follow each other, by blocks of so many threads.
    fn rank<V: Value, O: Offset>(
        &mut self,
        operands: Operands<'_, V, O>,
        all: &Rows,
        target: &Target<'_, V>,
        bins: &[&Bin],
        block_size: u32,
    ) -> Result<(), OpError> {
        let Some(first) = bins.first() else { return Ok(()) };
        let (a, b) = (operands.a.pattern(), operands.b.pattern());
        let (list, listed) = all.bins.list_from(self.rows.0);
        let widest = bins.iter().map(|bin| bin.widest).max().unwrap_or(0);
        let packets = widest.div_ceil(WINDOW_COLUMNS).clamp(1, MOST_PACKETS);
        let kernel = SpgemmRankProducts {
            a_row_offsets: a.row_offsets.as_global(),
            a_columns: a.column_indices.as_global(),
            b_row_offsets: b.row_offsets.as_global(),
            b_columns: b.column_indices.as_global(),
            c_row_offsets: target.row_offsets.as_global(),
            c_columns: target.column_indices,
            list,
            firsts: all.firsts.as_global(),
            lasts: all.lasts.as_global(),
            first_products: self.first_products.as_global(),
            first_parts: self.first_parts.as_global(),
            ranks: self.of_products.as_global_mut(),
            part_rows: self.part_rows.as_global_mut(),
            first_row: first.start - self.rows.0,
            listed,
            known: u32::from(target.known),
            part_len: part_len(V::SIZE),
            packets,
        };
        let info = block_instance::<SpgemmRankProducts<O>>(block_size);
        let rows = bins.iter().map(|bin| bin.rows).sum();
        let shared = rank_shared_bytes(block_size, packets);
        // SAFETY: the views are of matrices that fit together, of C, and of arrays with as many elements as were counted;
        // the shared memory has room for the window. Buffers are freed in the stream's order.
        unsafe { self.of_products.device().launch(kernel, info, rows, shared) }?;
        Ok(())
    }

    /// Finds the cuts; the columns of C are there.
    fn cut<V: Value, O: Offset>(
        &mut self,
        operands: Operands<'_, V, O>,
        all: &Rows,
        target: &Target<'_, V>,
    ) -> Result<(), OpError> {
        if self.cuts.is_empty() {
            return Ok(());
        }
        let (a, b) = (operands.a.pattern(), operands.b.pattern());
        let (list, listed) = all.bins.list_from(self.rows.0);
        let kernel = SpgemmCutByParts {
            a_row_offsets: a.row_offsets.as_global(),
            a_columns: a.column_indices.as_global(),
            b_row_offsets: b.row_offsets.as_global(),
            b_columns: b.column_indices.as_global(),
            c_row_offsets: target.row_offsets.as_global(),
            c_columns: target.column_indices,
            list,
            first_parts: self.first_parts.as_global(),
            first_cuts: self.first_cuts.as_global(),
            part_rows: self.part_rows.as_global(),
            cuts: self.cuts.as_global_mut(),
            listed,
            part_len: part_len(V::SIZE),
        };
        let info = instance::<SpgemmCutByParts<O>>();
        // SAFETY: as above; all parts have their row.
        unsafe { self.of_products.device().launch(kernel, info, self.part_rows.len() as u32, 0) }?;
        Ok(())
    }
}

/// The bins of rows that are done by windows: the last of all, the largest rows behind.
fn window_bins(rows: &Rows) -> impl Iterator<Item = &Bin> {
    rows.bins.filled.iter().filter(|bin| matches!(bin.class, Class::Window { .. }))
}
