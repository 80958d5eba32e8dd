//! HYB: the first nonzeros of each row in ELL, the rest in COO.

use std::fmt;

use super::padding::{PaddingLimit, longest, slot_bytes};
use super::refused::refused;
use super::{Coo, Csr, CsrView, Duplicates, Ell, MatrixError};
use crate::{Offset, Value, parallel};

/// A sparse matrix in hybrid form: the first few nonzeros of every row in [`Ell`], all others in [`Coo`] (Bell and
/// Garland, *Implementing sparse matrix-vector multiplication on throughput-oriented processors*, SC 2009).
///
/// ```
/// use evenpath::hyb::{HybOptions, HybWidth};
/// use evenpath::Csr;
///
/// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 1, 2.0), (0, 2, 3.0), (1, 1, 4.0)])?;
/// let hyb = a.to_hyb(HybOptions::default().with_width(HybWidth::Slots(1)))?;
/// assert_eq!((hyb.ell().nnz(), hyb.coo().nnz()), (2, 2));
/// assert_eq!(hyb.to_csr()?, a);
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Hyb<V> {
    ell: Ell<V>,
    coo: Coo<V>,
}

/// Number of nonzeros per row in the ELL part of a [`Hyb`].
///
/// ```
/// use evenpath::hyb::{HybOptions, HybWidth};
/// use evenpath::Csr;
///
/// let a = Csr::from_triplets(2, 2, [(0, 0, 1.0), (1, 0, 2.0), (1, 1, 3.0)])?;
/// let typical = a.to_hyb(HybOptions::default())?;
/// assert_eq!(typical.ell().width(), 0); // fewer than 4096 rows: all nonzeros in COO
/// let one = a.to_hyb(HybOptions::default().with_width(HybWidth::Slots(1)))?;
/// assert_eq!((one.ell().nnz(), one.coo().nnz()), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HybWidth {
    /// Bell and Garland's rule: the largest K such that at least max(4096, rows / 3) rows have K nonzeros or more; 0 if
    /// there is none. They found that a full ELL slot is three times as fast as a COO entry, and that ELL needs about
    /// 4096 rows to be efficient.
    #[default]
    Typical,
    /// This many, but no more than the longest row has.
    Slots(usize),
}

/// Options of [`Csr::to_hyb`].
///
/// ```
/// use evenpath::hyb::{HybOptions, HybWidth};
/// use evenpath::ell::PaddingLimit;
/// use evenpath::Csr;
///
/// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (1, 0, 2.0), (1, 1, 3.0), (1, 2, 4.0)])?;
/// let options = HybOptions::default().with_limit(PaddingLimit::Bytes(24)); // two slots of f64
/// assert_eq!(a.to_hyb(options.with_width(HybWidth::Slots(1)))?.coo().nnz(), 2);
/// assert!(a.to_hyb(options.with_width(HybWidth::Slots(3))).is_err()); // six slots
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HybOptions {
    /// Slots per row of the ELL part.
    pub width: HybWidth,
    /// Limit on the memory of the ELL part. With the typical width at least a third of the rows are full, so
    /// there are at most three slots per nonzero, which the default limit always allows.
    pub limit: PaddingLimit,
}

impl HybOptions {
    /// Sets the width of the ELL part.
    #[must_use]
    pub fn with_width(self, width: HybWidth) -> Self {
        Self { width, ..self }
    }

    /// Sets the limit on the memory of the ELL part.
    #[must_use]
    pub fn with_limit(self, limit: PaddingLimit) -> Self {
        Self { limit, ..self }
    }
}

impl<V: Value> Hyb<V> {
    /// Builds a matrix from its parts, of which it is the sum. Both parts and the matrix are m × n.
    ///
    /// # Errors
    ///
    /// If their shapes differ. The error returns the parts.
    pub fn try_new(ell: Ell<V>, coo: Coo<V>) -> Result<Self, InvalidHyb<V>> {
        let (ell_shape, coo_shape) = (ell.shape(), coo.shape());
        if ell_shape == coo_shape {
            return Ok(Self { ell, coo });
        }
        let error = MatrixError::PartShapes { ell: ell_shape, coo: coo_shape };
        Err(InvalidHyb { error, parts: Box::new((ell, coo)) })
    }

    /// Builds a matrix from parts of equal shape, unchecked.
    pub(crate) fn from_valid(ell: Ell<V>, coo: Coo<V>) -> Self {
        Self { ell, coo }
    }

    /// Returns the parts.
    pub fn into_parts(self) -> (Ell<V>, Coo<V>) {
        (self.ell, self.coo)
    }

    /// The ELL part: the first nonzeros of every row.
    pub fn ell(&self) -> &Ell<V> {
        &self.ell
    }

    /// The COO part: all other nonzeros.
    pub fn coo(&self) -> &Coo<V> {
        &self.coo
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.ell.nrows()
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.ell.ncols()
    }

    /// Number of rows and number of columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }

    /// Number of nonzeros, that is, of stored entries: a stored zero counts, padding does not.
    pub fn nnz(&self) -> usize {
        self.ell.nnz() + self.coo.nnz()
    }

    /// Bytes of the arrays of both parts.
    pub fn bytes(&self) -> u64 {
        self.ell.bytes() + self.coo.nnz() as u64 * (slot_bytes::<V>() + 4)
    }

    /// Converts to CSR. Each row has the nonzeros of the ELL part, then those of the COO part, both in order.
    ///
    /// # Errors
    ///
    /// If `O` cannot count the nonzeros.
    pub fn to_csr(&self) -> Result<Csr<V>, MatrixError> {
        self.to_csr_with_offsets()
    }

    /// [`to_csr`](Self::to_csr) with row offsets of type `O`: `u64` counts more entries than `u32`.
    ///
    /// # Errors
    ///
    /// The same as for [`to_csr`](Self::to_csr).
    pub fn to_csr_with_offsets<O: Offset>(&self) -> Result<Csr<V, O>, MatrixError> {
        let nnz = self.nnz();
        let overflow = || MatrixError::offset_overflow::<O>(nnz);
        let ell: Csr<V, O> = self.ell.to_csr_with_offsets()?;
        let coo: Csr<V, O> = self.coo.to_csr_with_offsets(Duplicates::Keep)?;
        if self.coo.nnz() == 0 {
            return Ok(ell);
        }
        let out_of_memory = |_| MatrixError::OutOfMemory { rows: self.nrows(), nnz };
        let mut offsets: Vec<O> = Vec::new();
        offsets.try_reserve_exact(self.nrows() + 1).map_err(out_of_memory)?;
        for (a, b) in ell.row_offsets().iter().zip(coo.row_offsets()) {
            offsets.push(O::try_from_usize(a.to_usize() + b.to_usize()).ok_or_else(overflow)?);
        }
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        columns.try_reserve_exact(nnz).map_err(out_of_memory)?;
        values.try_reserve_exact(nnz).map_err(out_of_memory)?;
        for (a, b) in ell.iter_rows().zip(coo.iter_rows()) {
            for row in [a, b] {
                columns.extend_from_slice(row.columns());
                values.extend_from_slice(row.values());
            }
        }
        Ok(Csr::from_valid(self.nrows(), self.ncols(), offsets, columns, values))
    }
}

/// The minimum number of rows that must use a slot (Bell and Garland).
const MIN_ROWS: usize = 4096;

/// The largest K such that at least max(4096, rows / 3) rows have K nonzeros or more.
fn typical_width<V: Value, O: Offset>(matrix: CsrView<'_, V, O>) -> usize {
    let rows = matrix.nrows();
    let needed = MIN_ROWS.max(rows.div_ceil(3));
    if rows < needed {
        return 0;
    }
    let mut lengths = parallel::map(rows, 1, |row| matrix.range(row).len());
    // That is the length of the `needed`-th longest row.
    *lengths.select_nth_unstable(rows - needed).1
}

impl<V: Value, O: Offset> Csr<V, O> {
    /// Converts to the hybrid format, in the same shape: the first nonzeros of each row in ELL and the rest
    /// in COO, both in order.
    ///
    /// ```
    /// use evenpath::Csr;
    /// use evenpath::hyb::{HybOptions, HybWidth};
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 1, 2.0), (0, 2, 3.0), (1, 1, 4.0)])?;
    /// let hyb = a.to_hyb(HybOptions::default().with_width(HybWidth::Slots(2)))?;
    /// assert_eq!(hyb.ell().row_lengths(), [2, 1]);
    /// assert_eq!(hyb.coo().values(), [3.0]); // the third nonzero of row 0
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the ELL part exceeds the limit or the available memory, or its rows have 2³² slots or more.
    pub fn to_hyb(&self, options: HybOptions) -> Result<Hyb<V>, MatrixError> {
        let matrix = self.view();
        let (rows, nnz) = (self.nrows(), self.nnz());
        let width = match options.width {
            HybWidth::Typical => typical_width(matrix),
            HybWidth::Slots(width) => width.min(longest(matrix)),
        };
        if u32::try_from(width).is_err() {
            return Err(MatrixError::RowTooLong { row: 0, nonzeros: width });
        }
        let slots = options.limit.check::<V>(rows, width, nnz, rows as u128 * width as u128)?;
        let ell = Ell::of_first(matrix, width, slots)?;
        let rest = nnz - ell.nnz();
        let (mut row_indices, mut columns, mut values) =
            (Vec::with_capacity(rest), Vec::with_capacity(rest), Vec::with_capacity(rest));
        for row in 0..rows {
            let range = matrix.range(row);
            let behind = range.start + width.min(range.len())..range.end;
            row_indices.resize(row_indices.len() + behind.len(), row as u32);
            columns.extend_from_slice(&self.column_indices()[behind.clone()]);
            values.extend_from_slice(&self.values()[behind]);
        }
        let coo = Coo::from_valid(rows, self.ncols(), row_indices, columns, values);
        Ok(Hyb { ell, coo })
    }
}

impl<V: Value> fmt::Debug for Hyb<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols, width) = (self.nrows(), self.ncols(), self.ell.width());
        let (ell, coo) = (self.ell.nnz(), self.coo.nnz());
        write!(f, "Hyb<{}> {rows} x {cols}, {ell} nonzeros in {width} slots per row, {coo} entries", V::NAME)
    }
}

/// A rejected hybrid matrix: the reason, and the parts, so that no data is lost.
///
/// ```
/// use evenpath::ell::Ell;
/// use evenpath::error::MatrixError;
/// use evenpath::hyb::Hyb;
/// use evenpath::Coo;
///
/// let ell = Ell::<f64>::try_new(2, 1, 0, vec![], vec![])?;
/// let coo = Coo::try_new(1, 1, vec![0], vec![0], vec![5.0])?;
/// let refused = Hyb::try_new(ell, coo).unwrap_err();
/// assert!(matches!(refused.kind(), MatrixError::PartShapes { ell: (2, 1), coo: (1, 1) }));
/// let (_, coo) = refused.into_parts(); // the parts come back
/// assert_eq!(coo.nnz(), 1);
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
pub struct InvalidHyb<V> {
    pub(super) error: MatrixError,
    pub(super) parts: Box<(Ell<V>, Coo<V>)>,
}

impl<V> InvalidHyb<V> {
    /// The reason.
    pub fn kind(&self) -> &MatrixError {
        &self.error
    }

    /// Returns the parts unchanged.
    pub fn into_parts(self) -> (Ell<V>, Coo<V>) {
        *self.parts
    }
}

refused!(InvalidHyb<V>);
