//! Where the products of rows that are done by windows go, for plans that run again.

use evenpath_kernels::spgemm::{
    Class, SpgemmAddRanked, SpgemmPartWork, SpgemmRankProducts, WINDOW_COLUMNS, add_ranked_shared_bytes,
    part_len, rank_shared_bytes,
};

use super::options::Allowance;
use super::row_wise::{Rows, Target};
use super::{Operands, Product};
use crate::device::DeviceVec;
use crate::op::scan::{self, Operator};
use crate::op::{OpError, grid, instance};
use crate::{Offset, Value};

/// Columns of a window, at most, in units of [`WINDOW_COLUMNS`]: 16 blocks have room on a multiprocessor.
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
    ranks: DeviceVec<u16>,
    cuts: DeviceVec<u32>,
    part_rows: DeviceVec<u32>,
}

/// Bytes of device memory that counting so many rows takes at once at most.
fn count_bytes(rows: u32) -> u64 {
    let rows = u64::from(rows) + 1;
    6 * 8 * rows + scan::temporary_bytes::<u64>(rows as usize)
}

impl Ranks {
    /// The ranks, if `allowance` has memory for them, where they stay; nothing where no row is done by windows. The
    /// columns of C are there. Waits for the device.
    pub(super) fn find<V: Value, O: Offset>(
        operands: Operands<'_, V, O>,
        rows: &Rows,
        row_offsets: &DeviceVec<u64>,
        column_indices: &DeviceVec<u32>,
        allowance: &mut Allowance,
    ) -> Result<Option<Self>, OpError> {
        let mut windows = rows.bins.filled.iter().filter(|bin| matches!(bin.class, Class::Window { .. }));
        let Some(first) = windows.next() else { return Ok(None) };
        let rest: Vec<_> = windows.collect();
        let count = first.rows + rest.iter().map(|bin| bin.rows).sum::<u32>();
        let widest = rest.iter().map(|bin| bin.widest).fold(first.widest, u32::max);
        let longest = rest.iter().map(|bin| bin.largest).fold(first.largest, u64::max);
        if allowance.left() < count_bytes(count) {
            return Ok(None);
        }
        let work = PartWork::count(operands, rows, row_offsets, (first.start, count))?;
        let [products, parts, cuts] = work.totals()?;
        let bytes = count_bytes(count) + 2 * products + 4 * (parts + cuts);
        if allowance.left() < bytes || grid(count as usize, 0, parts).is_err() {
            return Ok(None);
        }
        allowance.take("the workspace", bytes)?;
        work.rank(operands, rows, row_offsets, column_indices, (widest, longest)).map(Some)
    }

    /// Bytes of device memory that it keeps.
    pub(super) fn bytes(&self) -> u64 {
        2 * self.ranks.len() as u64
            + 4 * (self.cuts.len() + self.part_rows.len()) as u64
            + 3 * 8 * self.first_products.len() as u64
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
            ranks: self.ranks.as_global(),
            cuts: self.cuts.as_global(),
            part_rows: self.part_rows.as_global(),
            listed,
            parts,
            sums,
        };
        let info = instance::<SpgemmAddRanked<V, O>>();
        let shared = add_ranked_shared_bytes(sums, V::SIZE as u32, O::SIZE as u32);
        // SAFETY: the views are of matrices that fit together, of C as it was when the ranks were found, and of what was
        // found; the grid is one block a part. Buffers are freed in the stream's order.
        unsafe { self.ranks.device().launch(kernel, info, parts, shared) }?;
        Ok(())
    }
}

/// What the rows take; each with the sum at the end.
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
            first_products: scan::exclusive(&products, Operator::Sum)?,
            first_parts: scan::exclusive(&parts, Operator::Sum)?,
            first_cuts: scan::exclusive(&cuts, Operator::Sum)?,
        })
    }

    /// Products, parts and cuts of all; waits for the device.
    fn totals(&self) -> Result<[u64; 3], OpError> {
        let last = self.rows.1 as usize;
        Ok([self.first_products.get(last)?, self.first_parts.get(last)?, self.first_cuts.get(last)?])
    }

    /// Finds the ranks.
    fn rank<V: Value, O: Offset>(
        self,
        operands: Operands<'_, V, O>,
        all: &Rows,
        row_offsets: &DeviceVec<u64>,
        column_indices: &DeviceVec<u32>,
        (widest, longest): (u32, u64),
    ) -> Result<Ranks, OpError> {
        let (a, b) = (operands.a.pattern(), operands.b.pattern());
        let device = row_offsets.device();
        let [products, parts, cuts] = self.totals()?;
        let Self { rows, first_products, first_parts, first_cuts } = self;
        let mut ranks = device.uninitialised(products as usize)?;
        let mut cuts = device.uninitialised(cuts as usize)?;
        let mut part_rows = device.uninitialised(parts as usize)?;
        let (list, listed) = all.bins.list_from(rows.0);
        let packets = widest.div_ceil(WINDOW_COLUMNS).clamp(1, MOST_PACKETS);
        let kernel = SpgemmRankProducts {
            a_row_offsets: a.row_offsets.as_global(),
            a_columns: a.column_indices.as_global(),
            b_row_offsets: b.row_offsets.as_global(),
            b_columns: b.column_indices.as_global(),
            c_row_offsets: row_offsets.as_global(),
            c_columns: column_indices.as_global(),
            list,
            firsts: all.firsts.as_global(),
            lasts: all.lasts.as_global(),
            first_products: first_products.as_global(),
            first_parts: first_parts.as_global(),
            first_cuts: first_cuts.as_global(),
            ranks: ranks.as_global_mut(),
            cuts: cuts.as_global_mut(),
            part_rows: part_rows.as_global_mut(),
            listed,
            part_len: part_len(V::SIZE),
            packets,
        };
        let info = instance::<SpgemmRankProducts<O>>();
        // SAFETY: the views are of matrices that fit together, of C's pattern, and of arrays with as many elements as were
        // counted; the shared memory has room for the window.
        unsafe { device.launch(kernel, info, rows.1, rank_shared_bytes(info.block_size, packets)) }?;
        Ok(Ranks { rows, longest, first_products, first_parts, first_cuts, ranks, cuts, part_rows })
    }
}
