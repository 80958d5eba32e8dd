//! The two steps of the symbolic phase: the products of each row, then its entries.

use evenpath_kernels::spgemm::{SpgemmClassify, SpgemmListRows, SpgemmLongRowWork, SpgemmRowWork};

use super::bins::Bins;
use super::rows::{ClassifiedRows, spans};
use super::taken::{GivenRows, TakenRows};
use super::work::{RowProducts, listed_words, longest};
use super::zeroed::Zeroed;
use crate::device::{DeviceVec, Kernels};
use crate::op::spgemm::base::{Charge, SpgemmOperands, Workspace};
use crate::operand::OpError;
use crate::operand::requirement::Requirement;
use crate::operation::Operator;
use crate::sequence::scan::{self, ScanOptions, sum_kernel};
use crate::{Entry, Offset};

/// The kernels of the analysis, to be compiled ahead.
pub(in crate::op::spgemm) fn kernels<O: Offset>() -> Kernels {
    sum_kernel::<u64>()
        .and::<SpgemmRowWork<O>>()
        .and::<SpgemmLongRowWork<O>>()
        .and::<SpgemmClassify>()
        .and::<SpgemmListRows>()
}

/// The result of the symbolic phase.
pub(in crate::op::spgemm) struct Symbolic {
    /// Where the rows of C begin, and its entries at the end.
    pub(in crate::op::spgemm) row_offsets: DeviceVec<u64>,
    /// Entries of C.
    pub(in crate::op::spgemm) nonzeros: u64,
    /// Multiplications.
    pub(in crate::op::spgemm) products: u64,
    pub(in crate::op::spgemm) rows: ClassifiedRows,
    /// For what it keeps.
    _charge: Charge,
}

/// Device memory that the analysis of `rows` rows takes.
pub(in crate::op::spgemm) fn required(rows: usize) -> Requirement {
    let sizes = Requirement::of::<u64>(rows as u64 + 1);
    let classes = Requirement::of::<u8>(rows as u64 + 1);
    let counters = Zeroed::required(2, 0);
    let sums = scan::values_temporary_bytes(rows + 1, ScanOptions::<u64>::exclusive(Operator::Sum));
    Requirement::all_of([kept(rows), sizes, classes, counters, Requirement::new(sums)])
}

/// The part of it that stays until C is computed.
pub(super) fn kept(rows: usize) -> Requirement {
    let rows = rows as u64 + 1;
    let (row_offsets, of_rows) = (Requirement::of::<u64>(rows), Requirement::of::<u32>(rows));
    // The first and last columns, and the list of rows.
    Requirement::all_of([row_offsets, of_rows, of_rows, of_rows])
}

/// The products of each row, before the entries of C are counted.
pub(in crate::op::spgemm) struct Analysis {
    sizes: DeviceVec<u64>,
    zeroed: Zeroed,
    pub(in crate::op::spgemm) rows: ClassifiedRows,
    /// For what stays, and for the list of long rows.
    charge: (Charge, Charge),
}

impl Analysis {
    /// Counts products; waits for the device.
    pub(in crate::op::spgemm) fn find<V: Entry, O: Offset>(
        operands: SpgemmOperands<'_, V, O>,
        workspace: &Workspace,
    ) -> Result<Self, OpError> {
        let (a, b) = (operands.a.pattern(), operands.b.pattern());
        let charge = workspace.take("the workspace", required(a.rows))?;
        let longest = longest(a.column_indices.len(), a.row_offsets.device());
        let list_len = listed_words(a, longest);
        let list = workspace.take("the workspace", Zeroed::required(0, list_len))?;
        let mut zeroed = Zeroed::new(operands.device(), 2, list_len)?;
        let RowProducts { sizes, firsts, lasts } = RowProducts::of_product(a, b, longest, zeroed.list())?;
        let bins = Bins::find(&sizes, spans(&firsts, &lasts), a.rows, zeroed.next_count())?;
        let mean = bins.total as f64 / a.column_indices.len().max(1) as f64;
        Ok(Self { sizes, zeroed, rows: ClassifiedRows { bins, firsts, lasts, mean }, charge: (charge, list) })
    }

    /// Products of the rows before each, and of all at the end, with their charge.
    pub(in crate::op::spgemm) fn products_before(
        &self,
        workspace: &Workspace,
    ) -> Result<(DeviceVec<u64>, Charge), OpError> {
        let charge = workspace.take("the workspace", Requirement::of::<u64>(self.sizes.len() as u64))?;
        Ok((scan::values(&self.sizes, ScanOptions::exclusive(Operator::Sum))?, charge))
    }

    /// Takes the rows of some classes out, by a bit for each, to be computed elsewhere; waits for the device.
    pub(in crate::op::spgemm) fn take_rows(&mut self, classes: u32) -> Result<TakenRows, OpError> {
        let taken = TakenRows::take(&mut self.sizes, &self.rows, classes)?;
        self.rows.bins.filled.retain(|bin| classes >> bin.number & 1 == 0);
        Ok(taken)
    }

    /// Counts the entries of C; waits for the device.
    pub(in crate::op::spgemm) fn count<V: Entry, O: Offset>(
        self,
        operands: SpgemmOperands<'_, V, O>,
    ) -> Result<Symbolic, OpError> {
        self.count_beside(operands, None)
    }

    /// [`count`](Self::count), with the lengths of the rows that were taken out.
    pub(in crate::op::spgemm) fn count_beside<V: Entry, O: Offset>(
        self,
        operands: SpgemmOperands<'_, V, O>,
        given: Option<GivenRows<'_>>,
    ) -> Result<Symbolic, OpError> {
        let Self { mut sizes, mut zeroed, rows, charge: (mut charge, list) } = self;
        let products = rows.bins.total;
        // Rows without products keep their size, which is zero, and so do rows that were taken out.
        rows.count(operands, &mut sizes)?;
        let ClassifiedRows { bins, firsts, lasts, mean } = rows;
        drop(bins);
        let rows = operands.a.nrows();
        let offsets = |sizes: &_| scan::values(sizes, ScanOptions::exclusive(Operator::Sum));
        let mut classify = |sizes: &_| Bins::find(sizes, spans(&firsts, &lasts), rows, zeroed.next_count());
        let (row_offsets, bins, given) = match given {
            None => (offsets(&sizes)?, classify(&sizes)?, 0),
            Some(given) => {
                let bins = classify(&sizes)?;
                given.place_lengths(&mut sizes)?;
                (offsets(&sizes)?, bins, given.nonzeros)
            }
        };
        drop((zeroed, list));
        charge.shrink_to(kept(rows));
        let nonzeros = bins.total + given;
        let rows = ClassifiedRows { bins, firsts, lasts, mean };
        Ok(Symbolic { row_offsets, nonzeros, products, rows, _charge: charge })
    }
}

impl Analysis {
    /// Bytes of device memory that it takes.
    pub(in crate::op::spgemm) fn bytes(&self) -> u64 {
        let ClassifiedRows { bins, firsts, lasts, .. } = &self.rows;
        self.sizes.bytes() + self.zeroed.bytes() + bins.list.bytes() + firsts.bytes() + lasts.bytes()
    }
}

impl Symbolic {
    /// Device memory that it takes, at most.
    pub(in crate::op::spgemm) fn required(&self) -> Requirement {
        kept(self.row_offsets.len() - 1)
    }

    /// Bytes of device memory that it takes.
    pub(in crate::op::spgemm) fn bytes(&self) -> u64 {
        let ClassifiedRows { bins, firsts, lasts, .. } = &self.rows;
        self.row_offsets.bytes() + bins.list.bytes() + firsts.bytes() + lasts.bytes()
    }
}
