//! Products and sums beside MKL, which runs on the CPU.

use super::figures::{Figures, ProductTimes, SumTimes};
use crate::study::name::Study;
use crate::study::table::{Cell, Table};

/// The table of a type, if MKL took part.
pub(super) struct BesideMkl {
    table: Table,
    takes_part: bool,
}

impl BesideMkl {
    pub(super) fn new(value: &str) -> Self {
        let mut table = Table::new(
            Study::Hisparse,
            &format!("Products and sums beside MKL, milliseconds, {value}"),
            "Figures 7.2 and 7.3; the thesis has only plots.",
            &[
                "matrix",
                "SpMV: HiSparse",
                "CSR",
                "MKL",
                "transposed: HiSparse",
                "CSR",
                "MKL",
                "A + A: HiSparse",
                "CSR",
                "MKL",
                "A + Aᵀ: HiSparse",
                "CSR",
                "MKL",
                "MKL's transpose",
            ],
        );
        table.note("MKL runs on all cores of the CPU, the rest on the device; SpMV with HiSparse has the frozen schedule");
        Self { table, takes_part: false }
    }

    /// Adds the row of a matrix.
    pub(super) fn add(&mut self, name: &str, figures: &Figures) {
        let mut cells = vec![Cell::from(name)];
        for ProductTimes { frozen, csr, mkl, .. } in figures.products {
            self.takes_part |= mkl.is_some();
            cells.extend([frozen, csr, mkl].map(Cell::from));
        }
        for sum in figures.sums {
            let times = sum.map(|SumTimes { tree, csr, .. }| [tree, csr]);
            cells.extend([0, 1].map(|which| Cell::from(times.map(|times| times[which]))));
            cells.push(sum.and_then(|sum| sum.mkl).into());
        }
        cells.push(figures.sums[1].and_then(|sum| sum.mkl_transpose).into());
        self.table.row(cells);
    }

    pub(super) fn finish(self) -> Option<Table> {
        self.takes_part.then_some(self.table)
    }
}
