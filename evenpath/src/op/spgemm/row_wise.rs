//! Products row by row: rows are put into classes, and each class has a launch.

use evenpath_kernels::spgemm::{
    COUNTERS, Class, SpgemmHashCount, SpgemmHashFill, SpgemmLongRowWork, SpgemmMaskWork, SpgemmRowWork,
    SpgemmWindowCount, SpgemmWindowFill, WINDOW_COLUMNS, hash_shared_bytes, window_shared_bytes,
};
use evenpath_simt::kernel::{Kernel, KernelInfo};
use evenpath_simt::{Global, GlobalMut};

use super::bins::{ALWAYS_HASH, Bin, Bins};
use super::choose::sorting_is_faster;
use super::options::Allowance;
use super::ranked::Ranks;
use super::{Operands, Product, two_level_sort};
use crate::device::{Device, DeviceVec};
use crate::op::scan::{self, Operator, Scan};
use crate::op::{OpError, device_csr::Pattern, grid, instance};
use crate::{Offset, Value};

/// Bytes of shared memory, about, that a block's hash tables take at most: several blocks have room.
const TABLES_BYTES: u32 = 49152;

/// Bytes of shared memory up to which a block's sums are there: two blocks have room on a multiprocessor.
const SUMS_BYTES: u32 = 110 << 10;

/// Entries of a row of A whose products one warp counts, if none has more.
const LONGEST_ROW: u32 = 1024;

/// Blocks a multiprocessor that count the products of longer rows.
const LONG_ROW_BLOCKS: u32 = 4;

/// What of a product only the patterns determine.
pub(super) struct Symbolic {
    /// Where the rows of C begin, and its entries at the end.
    pub(super) row_offsets: DeviceVec<u64>,
    /// Entries of C.
    pub(super) nonzeros: u64,
    /// Multiplications.
    pub(super) products: u64,
    rows: Rows,
}

/// The rows of C, by class.
pub(super) struct Rows {
    pub(super) bins: Bins,
    /// First and last column of each row that may be done by windows.
    pub(super) firsts: DeviceVec<u32>,
    pub(super) lasts: DeviceVec<u32>,
    /// Mean length of the rows of B that are added.
    mean: f64,
}

/// C, as far as the numeric phase needs and writes it.
pub(super) struct Target<'c, V: Value> {
    pub(super) row_offsets: &'c DeviceVec<u64>,
    pub(super) column_indices: GlobalMut<u32>,
    pub(super) values: &'c mut DeviceVec<V>,
    /// Whether the column indices are there already.
    pub(super) known: bool,
}

/// Bytes of device memory that the analysis of so many rows takes.
pub(super) fn bytes(rows: usize) -> u64 {
    let (rows, scan) = (rows as u64 + 1, scan::temporary_bytes::<u64>(rows + 1));
    // Sizes and row offsets; first and last columns; classes and the list of rows; counters.
    rows * (8 + 8 + 4 + 4 + 1 + 4) + scan + 8 * COUNTERS as u64
}

/// Bytes of them that stay until C is computed.
fn kept_bytes(rows: usize) -> u64 {
    (rows as u64 + 1) * (8 + 4 + 4 + 4)
}

/// What the rows of C take, before their entries are counted.
pub(super) struct Analysis {
    sizes: DeviceVec<u64>,
    rows: Rows,
}

impl Analysis {
    /// Counts products; waits for the device. What it takes is counted in `allowance`.
    pub(super) fn find<V: Value, O: Offset>(
        operands: Operands<'_, V, O>,
        allowance: &mut Allowance,
    ) -> Result<Self, OpError> {
        let (a, b) = (operands.a.pattern(), operands.b.pattern());
        allowance.take("the workspace", bytes(a.rows))?;
        let longest = longest(a.column_indices.len(), a.row_offsets.device());
        let list_bytes = 4 * listed_words(a, longest) as u64;
        allowance.take("the workspace", list_bytes)?;
        let Work { sizes, firsts, lasts } = Work::of_product(a, b, longest)?;
        allowance.give_back(list_bytes);
        let bins = Bins::find(&sizes, &firsts, &lasts, a.rows)?;
        let mean = bins.total as f64 / a.column_indices.len().max(1) as f64;
        Ok(Self { sizes, rows: Rows { bins, firsts, lasts, mean } })
    }

    /// Whether it is better to sort all products: if that is faster, and memory for all of them at once is left.
    pub(super) fn should_sort<V: Value, O: Offset>(
        &self,
        operands: Operands<'_, V, O>,
        allowance: &Allowance,
    ) -> bool {
        let Rows { bins, mean, .. } = &self.rows;
        let (rows, entries) = (operands.a.rows() as u64, operands.a.nnz() as u64);
        sorting_is_faster(bins, *mean)
            && two_level_sort::bytes::<V>(rows, entries, bins.total) <= allowance.left()
    }

    /// Products of the rows before each, and of all at the end. They stay in `allowance`.
    pub(super) fn products_before(&self, allowance: &mut Allowance) -> Result<DeviceVec<u64>, OpError> {
        allowance.take("the workspace", 8 * self.sizes.len() as u64)?;
        Scan::exclusive(Operator::Sum).run(&self.sizes)
    }

    /// Gives back what it took.
    pub(super) fn give_up(self, allowance: &mut Allowance) {
        allowance.give_back(bytes(self.sizes.len() - 1));
    }

    /// Counts the entries of C; waits for the device. What it keeps stays in `allowance`.
    pub(super) fn count<V: Value, O: Offset>(
        self,
        operands: Operands<'_, V, O>,
        allowance: &mut Allowance,
    ) -> Result<Symbolic, OpError> {
        let (a, b) = (operands.a.pattern(), operands.b.pattern());
        let Self { mut sizes, rows } = self;
        let products = rows.bins.total;
        // Rows without products keep their size, which is zero.
        rows.count(a.row_offsets.device(), a, b, &mut sizes)?;
        let Rows { bins, firsts, lasts, mean } = rows;
        drop(bins);
        let row_offsets = Scan::exclusive(Operator::Sum).run(&sizes)?;
        let bins = Bins::find(&sizes, &firsts, &lasts, a.rows)?;
        allowance.give_back(bytes(a.rows) - kept_bytes(a.rows));
        let nonzeros = bins.total;
        Ok(Symbolic { row_offsets, nonzeros, products, rows: Rows { bins, firsts, lasts, mean } })
    }
}

impl Symbolic {
    /// Bytes of device memory that it takes.
    pub(super) fn bytes(&self) -> u64 {
        kept_bytes(self.row_offsets.len() - 1)
    }

    /// The rows, for the numeric phase.
    pub(super) fn rows(&self) -> &Rows {
        &self.rows
    }
}

/// What the rows of C take.
struct Work {
    sizes: DeviceVec<u64>,
    firsts: DeviceVec<u32>,
    lasts: DeviceVec<u32>,
}

impl Work {
    fn with_room(device: &Device, rows: usize) -> Result<Self, OpError> {
        // One size more, which is zero, so that their scan ends with the sum.
        let mut sizes = device.uninitialized(rows + 1)?;
        sizes.set_zero()?;
        Ok(Self { sizes, firsts: device.uninitialized(rows)?, lasts: device.uninitialized(rows)? })
    }

    /// Products of each row; all warps take pieces of rows of A with more than `longest` entries.
    fn of_product<O: Offset>(a: &Pattern<O>, b: &Pattern<O>, longest: u32) -> Result<Self, OpError> {
        let device = a.row_offsets.device();
        let mut work = Self::with_room(device, a.rows)?;
        let info = instance::<SpgemmRowWork<O>>();
        let mut long_rows = device.zeros(listed_words(a, longest))?;
        // A lane has four entries on their way.
        let lanes_log2 = lanes_log2(a.column_indices.len() as f64 / a.rows.max(1) as f64 / 4.0, 0, 5);
        let kernel = SpgemmRowWork {
            a_row_offsets: a.row_offsets.as_global(),
            a_columns: a.column_indices.as_global(),
            b_row_offsets: b.row_offsets.as_global(),
            b_columns: b.column_indices.as_global(),
            products: work.sizes.as_global_mut(),
            firsts: work.firsts.as_global_mut(),
            lasts: work.lasts.as_global_mut(),
            long_rows: long_rows.as_global_mut(),
            rows: a.rows as u32,
            longest,
            short: ALWAYS_HASH,
            lanes_log2,
        };
        let blocks = blocks(a, a.rows, info.block_size >> lanes_log2)?;
        // SAFETY: the views are of matrices that fit together, and of arrays with an element a row; there is room for all
        // rows that are longer; buffers are freed in the stream's order.
        unsafe { device.launch(kernel, info, blocks, 0) }?;
        if a.column_indices.len() <= longest as usize {
            return Ok(work);
        }
        let blocks = device.properties().multiprocessors.max(1) * LONG_ROW_BLOCKS;
        let kernel = SpgemmLongRowWork {
            a_row_offsets: a.row_offsets.as_global(),
            a_columns: a.column_indices.as_global(),
            b_row_offsets: b.row_offsets.as_global(),
            b_columns: b.column_indices.as_global(),
            products: work.sizes.as_global_mut(),
            firsts: work.firsts.as_global_mut(),
            lasts: work.lasts.as_global_mut(),
            long_rows: long_rows.as_global(),
            blocks,
        };
        // SAFETY: as above; the rows that are listed are rows of A.
        unsafe { device.launch(kernel, instance::<SpgemmLongRowWork<O>>(), blocks, 0) }?;
        Ok(work)
    }

    /// Entries of each row of a pattern.
    fn of_pattern<O: Offset>(pattern: &Pattern<O>) -> Result<Self, OpError> {
        let device = pattern.row_offsets.device();
        let mut work = Self::with_room(device, pattern.rows)?;
        let info = instance::<SpgemmMaskWork<O>>();
        let kernel = SpgemmMaskWork {
            row_offsets: pattern.row_offsets.as_global(),
            columns: pattern.column_indices.as_global(),
            lengths: work.sizes.as_global_mut(),
            firsts: work.firsts.as_global_mut(),
            lasts: work.lasts.as_global_mut(),
            rows: pattern.rows as u32,
        };
        let blocks = blocks(pattern, pattern.rows, info.block_size)?;
        // SAFETY: as above.
        unsafe { device.launch(kernel, info, blocks, 0) }?;
        Ok(work)
    }
}

impl Rows {
    /// The rows of a pattern that is given, for a product with B.
    pub(super) fn of_pattern<O: Offset>(pattern: &Pattern<O>, b: &Pattern<O>) -> Result<Self, OpError> {
        let Work { sizes, firsts, lasts } = Work::of_pattern(pattern)?;
        let bins = Bins::find(&sizes, &firsts, &lasts, pattern.rows)?;
        let mean = b.column_indices.len() as f64 / b.rows.max(1) as f64;
        Ok(Self { bins, firsts, lasts, mean })
    }

    /// Writes the entries of each row that has products.
    fn count<O: Offset>(
        &self,
        device: &Device,
        a: &Pattern<O>,
        b: &Pattern<O>,
        lengths: &mut DeviceVec<u64>,
    ) -> Result<(), OpError> {
        let lengths = lengths.as_global_mut();
        for bin in &self.bins.filled {
            let (list, listed) = self.bins.list(bin);
            match bin.class {
                Class::Empty => {}
                Class::Hash { .. } => {
                    let info = instance::<SpgemmHashCount<O>>();
                    let shape = HashShape::new(bin, self.mean, info, 0);
                    let kernel = SpgemmHashCount {
                        a_row_offsets: a.row_offsets.as_global(),
                        a_columns: a.column_indices.as_global(),
                        b_row_offsets: b.row_offsets.as_global(),
                        b_columns: b.column_indices.as_global(),
                        list,
                        lengths,
                        rows: bin.rows,
                        listed,
                        lanes_log2: shape.lanes_log2,
                        table_log2: shape.table_log2,
                    };
                    let blocks = blocks(a, bin.rows as usize, info.block_size >> shape.lanes_log2)?;
                    // SAFETY: the views are of matrices that fit together, of a list of rows, and of an array with an
                    // element a row; tables have room for the products of the class's rows. Buffers are freed in the
                    // stream's order.
                    unsafe { device.launch(kernel, info, blocks, shape.shared_bytes) }?;
                }
                Class::Window { size_class } => {
                    let info = window_instance::<SpgemmWindowCount<O>>(size_class);
                    let shape = WindowShape::new(device, bin, self.mean, info, 0, size_of::<O>() as u32);
                    let kernel = SpgemmWindowCount {
                        a_row_offsets: a.row_offsets.as_global(),
                        a_columns: a.column_indices.as_global(),
                        b_row_offsets: b.row_offsets.as_global(),
                        b_columns: b.column_indices.as_global(),
                        list,
                        firsts: self.firsts.as_global(),
                        lasts: self.lasts.as_global(),
                        lengths,
                        listed,
                        packets: shape.packets,
                        lanes_log2: shape.lanes_log2,
                    };
                    // SAFETY: as above.
                    unsafe {
                        device.launch(kernel, info, blocks(a, bin.rows as usize, 1)?, shape.shared_bytes)
                    }?;
                }
            }
        }
        Ok(())
    }

    /// The numeric phase; rows that are done by windows by the ranks of their products, if these are known.
    pub(super) fn fill<V: Value, O: Offset>(
        &self,
        product: &Product<'_, V, O>,
        mut target: Target<'_, V>,
        ranks: Option<&Ranks>,
    ) -> Result<(), OpError> {
        if let Some(ranks) = ranks {
            ranks.add(product, self, &mut target)?;
        }
        let (a, b) = (product.operands.a.pattern(), product.operands.b.pattern());
        let device = a.row_offsets.device();
        let Target { row_offsets, column_indices, values, known } = target;
        let (c_values, known) = (values.as_global_mut(), u32::from(known));
        for bin in &self.bins.filled {
            let (list, listed) = self.bins.list(bin);
            match bin.class {
                Class::Empty => {}
                Class::Hash { .. } => {
                    let info = instance::<SpgemmHashFill<V, O>>();
                    let shape = HashShape::new(bin, self.mean, info, size_of::<V>() as u32);
                    let kernel = SpgemmHashFill {
                        a_row_offsets: a.row_offsets.as_global(),
                        a_columns: a.column_indices.as_global(),
                        a_values: product.a_values.as_global(),
                        b_row_offsets: b.row_offsets.as_global(),
                        b_columns: b.column_indices.as_global(),
                        b_values: product.b_values.as_global(),
                        c_row_offsets: row_offsets.as_global(),
                        c_columns: column_indices,
                        c_values,
                        list,
                        rows: bin.rows,
                        listed,
                        known,
                        lanes_log2: shape.lanes_log2,
                        table_log2: shape.table_log2,
                    };
                    let blocks = blocks(a, bin.rows as usize, info.block_size >> shape.lanes_log2)?;
                    // SAFETY: as for counting; C has room for the entries that were counted, or its columns are there.
                    unsafe { device.launch(kernel, info, blocks, shape.shared_bytes) }?;
                }
                Class::Window { .. } if ranks.is_some() => {}
                Class::Window { size_class } => {
                    let info = window_instance::<SpgemmWindowFill<V, O>>(size_class);
                    let shape = WindowShape::new(
                        device,
                        bin,
                        self.mean,
                        info,
                        size_of::<V>() as u32,
                        size_of::<O>() as u32,
                    );
                    let kernel = SpgemmWindowFill {
                        a_row_offsets: a.row_offsets.as_global(),
                        a_columns: a.column_indices.as_global(),
                        a_values: product.a_values.as_global(),
                        b_row_offsets: b.row_offsets.as_global(),
                        b_columns: b.column_indices.as_global(),
                        b_values: product.b_values.as_global(),
                        c_row_offsets: row_offsets.as_global(),
                        c_columns: column_indices,
                        c_values,
                        list,
                        firsts: self.firsts.as_global(),
                        lasts: self.lasts.as_global(),
                        listed,
                        known,
                        packets: shape.packets,
                        sums: shape.sums,
                        lanes_log2: shape.lanes_log2,
                    };
                    // SAFETY: as above.
                    unsafe {
                        device.launch(kernel, info, blocks(a, bin.rows as usize, 1)?, shape.shared_bytes)
                    }?;
                }
            }
        }
        Ok(())
    }
}

/// How a class of rows is done by hash tables.
struct HashShape {
    lanes_log2: u32,
    table_log2: u32,
    shared_bytes: u32,
}

impl HashShape {
    fn new(bin: &Bin, mean: f64, info: &KernelInfo, value_bytes: u32) -> Self {
        let table_log2 = (bin.largest * 3 / 2 + 1).next_power_of_two().ilog2().max(5);
        let shared = |lanes_log2| hash_shared_bytes(info.block_size, lanes_log2, table_log2, value_bytes);
        let mut lanes_log2 = lanes_log2(mean, 2, 5);
        while lanes_log2 < 5 && shared(lanes_log2) > TABLES_BYTES {
            lanes_log2 += 1;
        }
        Self { lanes_log2, table_log2, shared_bytes: shared(lanes_log2) }
    }
}

/// How a class of rows is done by windows.
struct WindowShape {
    packets: u32,
    sums: u32,
    lanes_log2: u32,
    shared_bytes: u32,
}

impl WindowShape {
    fn new(
        device: &Device,
        bin: &Bin,
        mean: f64,
        info: &KernelInfo,
        value_bytes: u32,
        offset_bytes: u32,
    ) -> Self {
        let block = info.block_size;
        let shared = |packets, sums| window_shared_bytes(block, packets, sums, value_bytes, offset_bytes);
        let limit = shared_limit(device);
        let packet_bytes = shared(1, 0) - shared(0, 0);
        let most_packets = (limit - shared(0, 0)) / packet_bytes;
        let packets = bin.widest.div_ceil(WINDOW_COLUMNS).clamp(1, most_packets);
        let room = sums_bytes(device).saturating_sub(shared(packets, 0));
        let sums =
            room.checked_div(value_bytes).unwrap_or(0).min(u32::try_from(bin.largest).unwrap_or(u32::MAX));
        let lanes_log2 = lanes_log2(mean, block.ilog2() - 5, block.ilog2());
        Self { packets, sums, lanes_log2, shared_bytes: shared(packets, sums) }
    }
}

/// Bytes of shared memory of a block at most.
fn shared_limit(device: &Device) -> u32 {
    device.properties().max_shared_bytes.unwrap_or(48 << 10)
}

/// Bytes of shared memory up to which a block's sums, and what else it needs, are there.
pub(super) fn sums_bytes(device: &Device) -> u32 {
    SUMS_BYTES.min(shared_limit(device))
}

/// As many lanes as the mean, as a power of two within limits.
fn lanes_log2(mean: f64, least: u32, most: u32) -> u32 {
    (mean.min(1e9).ceil() as u32).next_power_of_two().ilog2().clamp(least, most)
}

/// Entries of a row of A from which on all warps take pieces of it: many for one warp, and few rows have so many.
fn longest(entries: usize, device: &Device) -> u32 {
    let share = entries / (64 * device.properties().multiprocessors.max(1) as usize);
    u32::try_from(4 * share).unwrap_or(u32::MAX).max(LONGEST_ROW)
}

/// Words of the list of A's rows with more than `longest` entries: their number, and as many as there can be.
fn listed_words<O: Offset>(a: &Pattern<O>, longest: u32) -> usize {
    1 + a.column_indices.len() / longest as usize
}

/// The instance for rows of a class of sizes.
fn window_instance<K: Kernel>(size_class: usize) -> &'static KernelInfo {
    block_instance::<K>([32, 128, 128, 512][size_class])
}

/// The instance with blocks of so many threads.
pub(super) fn block_instance<K: Kernel>(block: u32) -> &'static KernelInfo {
    match K::instance(block, 1) {
        Some(info) => info,
        None => unreachable!("the kernel's table has blocks of {block} threads"),
    }
}

/// Blocks for `rows` rows of a matrix, so many a block.
fn blocks<O: Offset>(matrix: &Pattern<O>, rows: usize, block_rows: u32) -> Result<u32, OpError> {
    grid(matrix.rows, matrix.column_indices.len(), (rows as u64).div_ceil(u64::from(block_rows)))
}

impl Bins {
    /// The rows of a bin, and whether they are listed.
    fn list(&self, bin: &Bin) -> (Global<u32>, u32) {
        self.list_from(bin.start)
    }

    /// The rows from the `start`th on, and whether they are listed.
    pub(super) fn list_from(&self, start: u32) -> (Global<u32>, u32) {
        let is_listed = !self.list.is_empty();
        (self.list.as_global().skip(if is_listed { start as usize } else { 0 }), u32::from(is_listed))
    }
}
