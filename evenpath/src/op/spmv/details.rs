/// Details of a plan's method: sizes that it found or chose, for methods that have any.
///
/// ```
/// use evenpath::spmv::{SpmvDetails, SpmvOptions};
/// use evenpath::{Csr, Device};
///
/// let device = Device::simulated(Default::default());
/// let a = device.upload(&Csr::from_triplets(3, 2, [(0, 1, 2.0), (2, 0, 3.0)])?)?;
/// let info = a.plan_spmv(SpmvOptions::default().with_method("flat".parse()?))?.info()?;
/// assert_eq!(info.details, Some(SpmvDetails::Flat { filled_rows: 2 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpmvDetails {
    /// `scalar`, `vector` and `warp`.
    Lanes {
        /// Lanes per row.
        lanes: u32,
    },
    /// `light`.
    Light {
        /// Lanes per row.
        lanes: u32,
        /// Rows that each vector takes from the counter at once.
        rows_per_draw: u32,
    },
    /// `flat`.
    Flat {
        /// Number of rows that have nonzeros.
        filled_rows: u32,
    },
    /// `csr-adaptive`.
    RowBlocks {
        /// Number of row blocks of more rows than a block has warps.
        by_stream: u64,
        /// Number of row blocks of several rows, each of which a warp sums.
        by_vector: u64,
        /// Number of row blocks of one row, which a whole block sums.
        by_long_vector: u64,
    },
    /// `one-column`, on GPUs.
    OneColumn {
        /// Number of rows that are cut into pieces.
        long_rows: u64,
        /// Number of their pieces.
        pieces: u64,
        /// Number of nonzeros up to which a row is not cut.
        longest: u32,
        /// Number of nonzeros of the longest piece.
        longest_piece: u32,
    },
    /// `row-tiles`.
    RowTiles {
        /// Number of rows of each warp.
        rows_per_warp: u32,
    },
    /// `binned`.
    Binned {
        /// Number of rows of each warp, other than long ones.
        rows_per_warp: u32,
        /// Number of rows that are cut into pieces.
        long_rows: u64,
        /// Number of their pieces.
        pieces: u64,
    },
    /// `windows`.
    Windows {
        /// Number of rows of each warp.
        rows_per_warp: u32,
        /// Elements of x in the longest window.
        longest_window: u64,
    },
    /// `narrow-columns`.
    NarrowColumns {
        /// Number of nonzeros whose columns are read from the matrix.
        without_code: u64,
        /// Number of nonzeros whose columns are read from the codes of others.
        with_others_codes: u64,
    },
    /// `hot-columns`.
    HotColumns {
        /// Number of columns whose elements of x are in shared memory.
        columns: u64,
        /// Number of their nonzeros.
        nonzeros: u64,
    },
    /// `sliced-ell`.
    SlicedEll {
        /// Number of slots of the copy, with padding.
        slots: u64,
        /// True if rows are sorted by length within windows.
        is_sorted: bool,
    },
}

impl SpmvDetails {
    /// Lists the details as numbers with names, for reports.
    pub fn figures(&self) -> Vec<(&'static str, u64)> {
        match *self {
            Self::Lanes { lanes } => vec![("lanes per row", lanes.into())],
            Self::Light { lanes, rows_per_draw } => {
                vec![("lanes per row", lanes.into()), ("rows per draw of each vector", rows_per_draw.into())]
            }
            Self::Flat { filled_rows } => vec![("rows with nonzeros", filled_rows.into())],
            Self::RowBlocks { by_stream, by_vector, by_long_vector } => {
                vec![("by stream", by_stream), ("by vector", by_vector), ("by long vector", by_long_vector)]
            }
            Self::OneColumn { long_rows, pieces, longest, longest_piece } => vec![
                ("long rows", long_rows),
                ("pieces", pieces),
                ("nonzeros up to which a row is not cut", longest.into()),
                ("nonzeros of the longest piece", longest_piece.into()),
            ],
            Self::RowTiles { rows_per_warp } => vec![("rows a warp", rows_per_warp.into())],
            Self::Binned { rows_per_warp, long_rows, pieces } => {
                vec![("rows a warp", rows_per_warp.into()), ("long rows", long_rows), ("pieces", pieces)]
            }
            Self::Windows { rows_per_warp, longest_window } => {
                vec![
                    ("rows a warp", rows_per_warp.into()),
                    ("elements of the longest window", longest_window),
                ]
            }
            Self::NarrowColumns { without_code, with_others_codes } => {
                vec![
                    ("columns without a code", without_code),
                    ("columns with others' codes", with_others_codes),
                ]
            }
            Self::HotColumns { columns, nonzeros } => {
                vec![("hot columns", columns), ("nonzeros in hot columns", nonzeros)]
            }
            Self::SlicedEll { slots, is_sorted } => {
                vec![("slots", slots), ("rows sorted in windows", is_sorted.into())]
            }
        }
    }
}
