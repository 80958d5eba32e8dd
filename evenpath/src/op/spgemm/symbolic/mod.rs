//! The symbolic phase: the products, class and entries of each row of C, from the patterns of A and B.

mod bins;
mod count;
mod shapes;
mod work;
mod zeroed;

use evenpath_kernels::spgemm::{Spans, SpgemmClassify, SpgemmListRows, SpgemmLongRowWork, SpgemmRowWork};

use self::bins::Bins;
use self::work::{Work, listed_words, longest};
use self::zeroed::Zeroed;
use super::base::{Charge, Operands, Workspace};
use crate::device::{DeviceSlice, DeviceVec, Kernels};
use crate::format::csr::Pattern;
use crate::operand::OpError;
use crate::operand::requirement::Requirement;
use crate::sequence::scan;
use crate::sequence::scan::{Operator, Scan, sum_kernel};
use crate::{Offset, Value};

pub(super) use self::bins::Bin;
pub(super) use self::shapes::{
    HashShape, WindowShape, block_instance, lanes_log2, sums_bytes, window_instance,
};

/// The kernels of the analysis, to be compiled ahead.
pub(super) fn kernels<O: Offset>() -> Kernels {
    sum_kernel::<u64>()
        .and::<SpgemmRowWork<O>>()
        .and::<SpgemmLongRowWork<O>>()
        .and::<SpgemmClassify>()
        .and::<SpgemmListRows>()
}

/// The result of the symbolic phase.
pub(super) struct Symbolic {
    /// Where the rows of C begin, and its entries at the end.
    pub(super) row_offsets: DeviceVec<u64>,
    /// Entries of C.
    pub(super) nonzeros: u64,
    /// Multiplications.
    pub(super) products: u64,
    pub(super) rows: Rows,
    /// For what it keeps.
    _charge: Charge,
}

/// The rows of C, by class.
pub(super) struct Rows {
    pub(super) bins: Bins,
    /// First and last column of each row that may use windows.
    pub(super) firsts: DeviceVec<u32>,
    pub(super) lasts: DeviceVec<u32>,
    /// Mean length of the rows of B that are added.
    pub(super) mean: f64,
}

/// Device memory that the analysis of `rows` rows takes.
pub(super) fn required(rows: usize) -> Requirement {
    let sizes = Requirement::of::<u64>(rows as u64 + 1);
    let classes = Requirement::of::<u8>(rows as u64 + 1);
    let counters = Zeroed::required(2, 0);
    let scan = Requirement::new(scan::temporary_bytes::<u64>(rows + 1));
    Requirement::all_of([kept(rows), sizes, classes, counters, scan])
}

/// The part of it that stays until C is computed.
fn kept(rows: usize) -> Requirement {
    let rows = rows as u64 + 1;
    let (row_offsets, of_rows) = (Requirement::of::<u64>(rows), Requirement::of::<u32>(rows));
    // The first and last columns, and the list of rows.
    Requirement::all_of([row_offsets, of_rows, of_rows, of_rows])
}

/// The products of each row, before the entries of C are counted.
pub(super) struct Analysis {
    sizes: DeviceVec<u64>,
    zeroed: Zeroed,
    pub(super) rows: Rows,
    /// For what stays, and for the list of long rows.
    charge: (Charge, Charge),
}

impl Analysis {
    /// Counts products; waits for the device.
    pub(super) fn find<V: Value, O: Offset>(
        operands: Operands<'_, V, O>,
        workspace: &Workspace,
    ) -> Result<Self, OpError> {
        let (a, b) = (operands.a.pattern(), operands.b.pattern());
        let charge = workspace.take("the workspace", required(a.rows))?;
        let longest = longest(a.column_indices.len(), a.row_offsets.device());
        let list_len = listed_words(a, longest);
        let list = workspace.take("the workspace", Zeroed::required(0, list_len))?;
        let mut zeroed = Zeroed::new(operands.device(), 2, list_len)?;
        let Work { sizes, firsts, lasts } = Work::of_product(a, b, longest, zeroed.list())?;
        let bins = Bins::find(&sizes, spans(&firsts, &lasts), a.rows, zeroed.next_count())?;
        let mean = bins.total as f64 / a.column_indices.len().max(1) as f64;
        Ok(Self { sizes, zeroed, rows: Rows { bins, firsts, lasts, mean }, charge: (charge, list) })
    }

    /// Products of the rows before each, and of all at the end, with their charge.
    pub(super) fn products_before(&self, workspace: &Workspace) -> Result<(DeviceVec<u64>, Charge), OpError> {
        let charge = workspace.take("the workspace", Requirement::of::<u64>(self.sizes.len() as u64))?;
        Ok((Scan::exclusive(Operator::Sum).run(&self.sizes)?, charge))
    }

    /// Counts the entries of C; waits for the device.
    pub(super) fn count<V: Value, O: Offset>(
        self,
        operands: Operands<'_, V, O>,
    ) -> Result<Symbolic, OpError> {
        let Self { mut sizes, mut zeroed, rows, charge: (mut charge, list) } = self;
        let products = rows.bins.total;
        // Rows without products keep their size, which is zero.
        rows.count(operands, &mut sizes)?;
        let Rows { bins, firsts, lasts, mean } = rows;
        drop(bins);
        let row_offsets = Scan::exclusive(Operator::Sum).run(&sizes)?;
        let rows = operands.a.rows();
        let bins = Bins::find(&sizes, spans(&firsts, &lasts), rows, zeroed.next_count())?;
        drop((zeroed, list));
        charge.shrink_to(kept(rows));
        let nonzeros = bins.total;
        let rows = Rows { bins, firsts, lasts, mean };
        Ok(Symbolic { row_offsets, nonzeros, products, rows, _charge: charge })
    }
}

impl Symbolic {
    /// Device memory that it takes, at most.
    pub(super) fn required(&self) -> Requirement {
        kept(self.row_offsets.len() - 1)
    }

    /// Bytes of device memory that it takes.
    pub(super) fn bytes(&self) -> u64 {
        let Rows { bins, firsts, lasts, .. } = &self.rows;
        self.row_offsets.bytes() + bins.list.bytes() + firsts.bytes() + lasts.bytes()
    }
}

/// A view of the spans of rows.
fn spans(firsts: &DeviceSlice<u32>, lasts: &DeviceSlice<u32>) -> Spans {
    Spans { firsts: firsts.as_global(), lasts: lasts.as_global() }
}

impl Rows {
    /// The columns that the rows span.
    pub(super) fn spans(&self) -> Spans {
        spans(&self.firsts, &self.lasts)
    }

    /// The rows of a pattern that is given, for a product with B.
    pub(super) fn of_pattern<O: Offset>(pattern: &Pattern<O>, b: &Pattern<O>) -> Result<Self, OpError> {
        let Work { sizes, firsts, lasts } = Work::of_pattern(pattern)?;
        let mut zeroed = Zeroed::new(b.row_offsets.device(), 1, 0)?;
        let bins = Bins::find(&sizes, spans(&firsts, &lasts), pattern.rows, zeroed.next_count())?;
        let mean = b.column_indices.len() as f64 / b.rows.max(1) as f64;
        Ok(Self { bins, firsts, lasts, mean })
    }
}
