use crate::names::{self, named};

/// Methods of SpMV, which sum in different orders: with the same one, GPUs agree to the last bit.
/// Each has a [name](Self::name). Some have parameters; `None` is a value that suits the matrix, as in [`ALL`](Self::ALL) and in
/// methods parsed from names.
///
/// ```
/// use evenpath::spmv::{SpmvMethod, SpmvOptions};
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 3.0)])?;
/// let device = Device::best()?;
/// let a = device.upload(&a)?;
/// for method in SpmvMethod::ALL.into_iter().filter(|method| method.runs_on(device.kind())) {
///     let (x, mut y) = (device.upload(&[1.0, 1.0])?, device.zeros(2)?);
///     a.plan_spmv(SpmvOptions::default().with_method(method))?.run(1.0, &x, 0.0, &mut y)?;
///     assert_eq!(y.download()?, [2.0, 3.0], "{method}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SpmvMethod {
    /// `auto`: whatever the plan takes to be fastest.
    #[default]
    Auto,
    /// `scalar`: a thread per row (Bell, Garland, SC 2009).
    Scalar,
    /// `vector`: 2, 4, 8, 16 or 32 lanes of a warp per row, by the mean row length (Bell, Garland, SC 2009; Dalton et al.,
    /// IPDPS 2015, section III-A).
    Vector {
        /// Lanes per row: 1, 2, 4, 8, 16 or 32.
        lanes: Option<u32>,
    },
    /// `warp`: a warp per row (Bell, Garland, SC 2009).
    Warp,
    /// `block`: a block per row, for few and long rows.
    Block,
    /// `flat`: equal shares of the nonzeros; partition, reduction, update (Dalton et al., IPDPS 2015, section III-A).
    /// The plan looks for empty rows and waits for the answer: where there are some, it keeps a copy of the row offsets
    /// without them.
    Flat,
    /// `merge-path`: 2D merge path, equal shares of row ends and nonzeros, whatever the shape (Merrill, Garland, SC 2016).
    MergePath,
    /// `csr-adaptive`: row blocks that fit into shared memory together, and long rows alone (Greathouse, Daga, SC 2014).
    /// The plan makes the row blocks on the host, to which it copies the row offsets, once.
    CsrAdaptive {
        /// Threads per block, and nonzeros of a row block: 128, 256, 512 or 1024, for row offsets of `u32`, as in the study of this
        /// method and `light`. `None` is the fastest tile, which may have several nonzeros for each thread.
        block_size: Option<u32>,
    },
    /// `light`: rows handed out from a counter to vectors of 2, 4, 8, 16 or 32 lanes (Liu, Schmidt, ASAP 2015).
    Light {
        /// Lanes per row: 1, 2, 4, 8, 16 or 32.
        lanes: Option<u32>,
        /// Threads per block: 128, 256, 512 or 1024, for row offsets of `u32`.
        block_size: Option<u32>,
    },
    /// `one-column`: a product with a dense matrix of one column, by the kernels of [SpMM](crate::spmm). The only method for 16-bit
    /// values. The plan waits for the device, which lists the rows that are long enough to be cut.
    OneColumn {
        /// Number of multiprocessors for which the work is divided, which determines the order of sums on GPUs.
        multiprocessors: Option<u32>,
    },
    /// `row-parallel`, on the CPU: every thread takes whole rows, of equal shares of row ends and nonzeros.
    RowParallel,
    /// `row-blocks`: as `csr-adaptive`, with row blocks that the device makes; the host does where a row is longer than
    /// half a row block.
    RowBlocks,
    /// `row-tiles`: every warp takes equally many consecutive rows, with their products in shared memory.
    RowTiles,
    /// `binned`: row tiles, with the rows that are much longer than most cut into pieces, each a warp's work.
    Binned,
    /// `windows`: row tiles, with the elements of x that a block of rows uses in shared memory too.
    Windows,
    /// `narrow-columns`: as `row-tiles` (f32) or `row-blocks` (f64), with columns of 16 bits, relative to up to 32 segments
    /// of 2048 columns that some rows have. The plan keeps these, 2 bytes per nonzero, beside the matrix, whose own columns are
    /// read for rows that need more segments; rows whose neighbors look alike, as in a grid, read the same codes. `auto`
    /// chooses it only if the options [may copy](super::SpmvOptions::may_copy), because of that memory.
    NarrowColumns,
    /// `hot-columns`: equal shares of the nonzeros for each warp, with the elements of x that the columns with the most nonzeros
    /// have in shared memory, for as many columns as fit there. For matrices of which few columns have most of the nonzeros, as
    /// those of many graphs. The plan keeps 4 bytes per nonzero beside the matrix, whose own columns it does not read, and for
    /// rows that are empty an offset and 4 bytes per row. For up to 2³¹ columns, together with those that are hot. `auto` chooses
    /// it only if the options [may copy](super::SpmvOptions::may_copy).
    HotColumns,
    /// `sliced-ell`: a copy of the matrix in slices of 32 rows, padded to the longest of each and stored by columns, one thread per
    /// row; rows are sorted by length within windows of 512 where that saves more than 3 % of the slots (SELL-C-σ; Kreutzer et al.,
    /// SIAM J. Sci. Comput. 36, 2014). For matrices that need at most three slots a nonzero, or a million. The plan keeps the copy
    /// beside the matrix, 4 bytes and a value for each slot; new values are copied in the next run, which a graph cannot
    /// capture. `auto` chooses it only if the options [may copy](super::SpmvOptions::may_copy).
    SlicedEll,
}

named! {
    SpmvMethod, "SpMV method":
    Auto = "auto",
    Scalar = "scalar",
    Vector { lanes } = "vector",
    Warp = "warp",
    Block = "block",
    Flat = "flat",
    MergePath = "merge-path",
    CsrAdaptive { block_size } = "csr-adaptive",
    Light { lanes, block_size } = "light",
    OneColumn { multiprocessors } = "one-column",
    RowParallel = "row-parallel",
    RowBlocks = "row-blocks",
    RowTiles = "row-tiles",
    Binned = "binned",
    Windows = "windows",
    NarrowColumns = "narrow-columns",
    HotColumns = "hot-columns",
    SlicedEll = "sliced-ell",
}

impl SpmvMethod {
    /// The method with `None` for its parameters, to compare methods whatever their parameters.
    ///
    /// ```
    /// use evenpath::spmv::SpmvMethod;
    ///
    /// let with_lanes = SpmvMethod::Vector { lanes: Some(8) };
    /// assert_eq!(with_lanes.without_parameters(), "vector".parse()?);
    /// # Ok::<(), evenpath::error::ParseNameError>(())
    /// ```
    #[must_use]
    pub const fn without_parameters(self) -> Self {
        match self {
            Self::Vector { .. } => Self::Vector { lanes: None },
            Self::CsrAdaptive { .. } => Self::CsrAdaptive { block_size: None },
            Self::Light { .. } => Self::Light { lanes: None, block_size: None },
            Self::OneColumn { .. } => Self::OneColumn { multiprocessors: None },
            plain => plain,
        }
    }

    /// The names of the methods for which `is_wanted` holds, with commas between.
    pub(super) fn names(is_wanted: impl Fn(Self) -> bool) -> String {
        names::list(&Self::ALL, is_wanted, Self::name)
    }
}
