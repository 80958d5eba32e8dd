//! The headings of the tables over Table II.

use crate::study::figures::SPREAD;
use crate::study::name::Study;
use crate::study::table::Table;

pub(super) fn spmv() -> Table {
    let mut table = Table::new(
        Study::MergePath,
        "SpMV over Table II, f64",
        "Figure 5; the source has only a plot. Its own SpMV (section III-A) is the method flat; Cusp's is vectorized CSR.",
        &[
            "matrix",
            "nonzeros",
            "flat, ms",
            "flat, GFLOP/s",
            "merge path, ms",
            "merge path, GFLOP/s",
            "vector, ms",
            "vector, GFLOP/s",
            "warp, ms",
            "automatic, ms",
            "cuSPARSE CSR, ms",
            "cuSPARSE CSR, GFLOP/s",
            "vector over flat",
            "cuSPARSE over flat",
            SPREAD,
        ],
    );
    table.note("merge path also divides row ends evenly; it is a later publication's (SC 2016)");
    table
        .note("vectorized CSR: vector has 2 to 32 lanes per row, by the mean row length; warp always has 32");
    table
}

pub(super) fn spadd() -> Table {
    Table::new(
        Study::MergePath,
        "SpAdd over Table II, A + A, f64",
        "Figure 7, speed-up over a sequential CPU; the source has only a plot, of the balanced path.",
        &[
            "matrix",
            "nonzeros of both",
            "merge path, ms",
            "cuSPARSE, ms",
            "one CPU thread, ms",
            "speed-up, merge path",
            "speed-up, cuSPARSE",
            "cuSPARSE over merge path",
            SPREAD,
        ],
    )
}

pub(super) fn spgemm() -> Table {
    Table::new(
        Study::MergePath,
        "SpGEMM over Table II, AA (lp: AAᵀ), f64",
        "Figure 9, speed-up over a sequential CPU; the source has only a plot, with Cusp's sort of all products for the \
         global sort. Its GPU did not have enough memory for the dense matrix.",
        &[
            "matrix",
            "products",
            "two-level sort, ms",
            "global sort, ms",
            "automatic, ms",
            "cuSPARSE, ms",
            "one CPU thread, ms",
            "speed-up, two-level sort",
            "speed-up, global sort",
            "speed-up, automatic",
            "speed-up, cuSPARSE",
            "global over two-level sort",
            "cuSPARSE over two-level sort",
            "cuSPARSE over automatic",
            SPREAD,
        ],
    )
}

pub(super) fn phases() -> Table {
    let mut table = Table::new(
        Study::MergePath,
        "Two-level sort by phase, percent of the time",
        "Figure 11; the source has only a plot: the two sorts and the product are the bulk.",
        &[
            "matrix",
            "ms",
            "setup",
            "block sort",
            "global sort",
            "placement",
            "product compute",
            "reduce by key",
            "other",
        ],
    );
    table.note("of the fastest product; other is the whole product less its phases, mostly allocation");
    table
}
