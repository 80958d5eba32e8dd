use crate::names::named;

/// Methods of multiplying sparse matrices. Each has a [name](Self::name).
///
/// They differ on GPUs, real and simulated; on the CPU all are the same. Results have the same pattern with each, and
/// values that differ by rounding.
///
/// ```
/// use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 3.0)])?;
/// let a = Device::best()?.upload(&a)?;
/// for method in SpgemmMethod::ALL {
///     let square = a.spgemm(&a, SpgemmOptions::default().with_method(method))?.download()?;
///     assert_eq!(square.to_dense()?, [6.0, 0.0, 0.0, 6.0]);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SpgemmMethod {
    /// `auto`: what suits the matrices.
    #[default]
    Auto,
    /// `row-wise`: each row of C by itself, in shared memory, by a method that suits its size; the products of an entry are
    /// added in the order of A's entries. Takes a few words of memory per row beside the result, and, where rows have
    /// more entries than shared memory holds, 2 bytes per product if there is room.
    RowWise,
    /// `row-tiles`: small products in two launches. Each block expands the products of some whole rows of C in shared memory,
    /// sorts them by row and column, and adds up those of an entry in the order of A's entries, so the bits are those of
    /// `row-wise`. Takes 4 bytes per row, and the result keeps memory for as many entries as there are products. For matrices of
    /// up to 2¹⁸ nonzeros, 2²⁰ products and 3584 products a row; other products, plans, and results with
    /// offsets of another type go by `row-wise`.
    RowTiles,
    /// `two-level-sort`: all products are expanded and sorted, first within tiles and then all together (after Dalton, Baxter,
    /// Merrill, Olson, Garland, "Optimizing sparse matrix operations on GPUs using merge path", IPDPS 2015, section
    /// III-C). Its time goes with the products, whatever the rows; it takes memory for all of them, or works in batches of rows. Tiles
    /// are sorted by row and column, so that only rows that tiles cut are sorted again.
    TwoLevelSort,
    /// `mixed`: rows in two regions, one computed as by `row-wise`, the other as by `two-level-sort`. Rows are divided by their numbers
    /// of products and of columns, so that the estimated time is least: rows whose entries of A name very many rows of B are
    /// sorted beside many short ones. This is what the publication of `two-level-sort` leaves to future work (IPDPS 2015, section V:
    /// segmented approaches where necessary, and a model of the trade-off between both regions). An entry's products are
    /// added in the order of its region's method. If no division takes less time than one of both methods for all rows, or if there is
    /// no room for the products to be sorted and for as many entries of the result as there are products, it is that method, or
    /// `row-wise`.
    Mixed,
    /// `column-sort`: `two-level-sort` as it was published: tiles are sorted by column alone, and the entries of all tiles are
    /// sorted again. For comparisons: `auto` never takes it.
    ColumnSort,
    /// `global-sort`: all products are expanded in global memory and sorted there together, by row and column; then those
    /// of each entry are added, in a fixed order (Bell, Dalton, Olson, SIAM J. Sci. Comput. 34, 2012). For
    /// comparisons: `auto` never takes it. It takes three times 8 bytes and a value per product beside the result,
    /// and fails where there is no room for them; every run of a plan does everything.
    GlobalSort,
}

named! {
    SpgemmMethod, "SpGEMM method":
    Auto = "auto",
    RowWise = "row-wise",
    RowTiles = "row-tiles",
    TwoLevelSort = "two-level-sort",
    Mixed = "mixed",
    ColumnSort = "column-sort",
    GlobalSort = "global-sort",
}
