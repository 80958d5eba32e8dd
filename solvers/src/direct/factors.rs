//! Factors by faer, of matrices in host memory.

use evenpath::{Csr, Offset};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, LltRegularization};
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, IntranodeLbltRef, LltRef, SymbolicCholesky, SymbolicCholeskyRaw,
    SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::linalg::lu::{LuRef, LuSymbolicParams, NumericLu, SymbolicLu, factorize_symbolic_lu};
use faer::sparse::linalg::{LuError, SupernodalThreshold};
use faer::sparse::{FaerError, SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side, Spec};

use super::equilibrate::Scales;
use super::options::Factorization;
use super::value::DirectValue;
use crate::error::{Error, Result};

/// The triangle that symmetric factorizations read, in faer's view by columns: the lower one by rows.
const SIDE: Side = Side::Upper;

/// A pattern, and the factors of a matrix that has it. faer reads matrices by columns, so that it sees the transpose.
pub(super) struct Factors<V: DirectValue> {
    offsets: Vec<usize>,
    columns: Vec<usize>,
    kind: Kind<V>,
}

/// Analysis of the pattern, and factors.
enum Kind<V: DirectValue> {
    Lu { symbolic: SymbolicLu<usize>, numeric: NumericLu<usize, V>, scales: Option<Scales> },
    Cholesky { symbolic: SymbolicCholesky<usize>, values: Vec<V> },
    Ldlt { symbolic: SymbolicCholesky<usize>, values: Vec<V>, subdiagonal: Vec<V>, order: [Vec<usize>; 2] },
}

impl<V: DirectValue> Factors<V> {
    /// Analyzes the pattern of a square, canonical matrix.
    pub(super) fn analyze<O: Offset>(a: &Csr<V, O>, factorization: Factorization) -> Result<Self> {
        let offsets: Vec<usize> = a.row_offsets().iter().map(|offset| offset.to_usize()).collect();
        let columns: Vec<usize> = a.column_indices().iter().map(|&column| column as usize).collect();
        let rows = a.nrows();
        let pattern = SymbolicSparseColMatRef::new_checked(rows, rows, &offsets, None, &columns);
        let cholesky = |threshold| {
            let parameters = CholeskySymbolicParams {
                supernodal_flop_ratio_threshold: threshold,
                ..CholeskySymbolicParams::default()
            };
            factorize_symbolic_cholesky(pattern, SIDE, SymmetricOrdering::Amd, parameters).map_err(failed)
        };
        let kind = match factorization {
            Factorization::Lu => Kind::Lu {
                symbolic: factorize_symbolic_lu(pattern, LuSymbolicParams::default()).map_err(failed)?,
                numeric: NumericLu::new(),
                scales: None,
            },
            Factorization::Cholesky => {
                let symbolic = cholesky(SupernodalThreshold::AUTO)?;
                Kind::Cholesky { values: zeros(symbolic.len_val())?, symbolic }
            }
            Factorization::Ldlt => {
                // Only factorizations by supernodes choose pivots.
                let symbolic = cholesky(SupernodalThreshold::FORCE_SUPERNODAL)?;
                let (values, subdiagonal) = (zeros(symbolic.len_val())?, zeros(rows)?);
                Kind::Ldlt { symbolic, values, subdiagonal, order: [vec![0; rows], vec![0; rows]] }
            }
        };
        Ok(Self { offsets, columns, kind })
    }

    /// Number of elements that the factors store, if faer tells it.
    pub(super) fn nonzeros(&self) -> Option<usize> {
        match &self.kind {
            Kind::Lu { .. } => None,
            Kind::Cholesky { symbolic, .. } | Kind::Ldlt { symbolic, .. } => Some(symbolic.len_val()),
        }
    }

    /// Factorizes the matrix with these values.
    pub(super) fn factorize(&mut self, values: &[V]) -> Result<()> {
        let (rows, par) = (self.offsets.len() - 1, Par::rayon(0));
        let pattern = SymbolicSparseColMatRef::new_checked(rows, rows, &self.offsets, None, &self.columns);
        let a = SparseColMatRef::new(pattern, values);
        match &mut self.kind {
            Kind::Lu { symbolic, numeric, scales } => {
                let (new_scales, scaled) = Scales::new(&self.offsets, &self.columns, values);
                *scales = Some(new_scales);
                let a = SparseColMatRef::new(pattern, scaled.as_slice());
                let mut memory = memory(symbolic.factorize_numeric_lu_scratch::<V>(par, Spec::default()))?;
                let stack = MemStack::new(&mut memory);
                match symbolic.factorize_numeric_lu(numeric, a, par, stack, Spec::default()) {
                    Ok(_) => Ok(()),
                    // Columns of the transpose are rows of the matrix.
                    Err(LuError::SymbolicSingular { index }) => {
                        Err(Error::ZeroPivot { row: Some(symbolic.col_perm().arrays().0[index]) })
                    }
                    Err(LuError::Generic(error)) => Err(failed(error)),
                }
            }
            Kind::Cholesky { symbolic, values } => {
                let scratch = symbolic.factorize_numeric_llt_scratch::<V>(par, Spec::default());
                let (mut memory, none) = (memory(scratch)?, LltRegularization::default());
                let stack = MemStack::new(&mut memory);
                match symbolic.factorize_numeric_llt(values, a, SIDE, none, par, stack, Spec::default()) {
                    Ok(_) => Ok(()),
                    Err(LltError::NonPositivePivot { index }) => {
                        // Without supernodes, faer counts from 1.
                        let is_simplicial = matches!(symbolic.raw(), SymbolicCholeskyRaw::Simplicial(_));
                        let step = index - usize::from(is_simplicial);
                        let row = symbolic.perm().map_or(step, |order| order.arrays().0[step]);
                        Err(Error::NotPositiveDefinite { row: Some(row) })
                    }
                }
            }
            Kind::Ldlt { symbolic, values, subdiagonal, order: [forward, inverse] } => {
                let scratch = symbolic.factorize_numeric_intranode_lblt_scratch::<V>(par, Spec::default());
                let mut memory = memory(scratch)?;
                let (stack, parameters) = (MemStack::new(&mut memory), Spec::default());
                symbolic.factorize_numeric_intranode_lblt(
                    values,
                    subdiagonal,
                    forward,
                    inverse,
                    a,
                    SIDE,
                    par,
                    stack,
                    parameters,
                );
                Ok(())
            }
        }
    }

    /// Replaces right-hand sides, column by column, by the solutions.
    pub(super) fn solve(&self, x: &mut [V], columns: usize) -> Result<()> {
        let (par, rows) = (Par::rayon(0), self.offsets.len() - 1);
        let matrix = |x| MatMut::from_column_major_slice_mut(x, rows, columns);
        match &self.kind {
            Kind::Lu { symbolic, numeric, scales } => {
                let mut memory = memory(symbolic.solve_transpose_in_place_scratch::<V>(columns, par))?;
                let (stack, factors) = (MemStack::new(&mut memory), LuRef::new_unchecked(symbolic, numeric));
                let Some(scales) = scales else { return Err(Error::NotFactorized) };
                for b in x.chunks_exact_mut(rows) {
                    scales.scale_rows(b);
                }
                factors.solve_transpose_in_place_with_conj(Conj::No, matrix(x), par, stack);
                for x in x.chunks_exact_mut(rows) {
                    scales.scale_columns(x);
                }
            }
            Kind::Cholesky { symbolic, values } => {
                let mut memory = memory(symbolic.solve_in_place_scratch::<V>(columns, par))?;
                let factors = LltRef::new(symbolic, values);
                factors.solve_in_place_with_conj(Conj::No, matrix(x), par, MemStack::new(&mut memory));
            }
            Kind::Ldlt { symbolic, values, subdiagonal, order: [forward, inverse] } => {
                let mut memory = memory(symbolic.solve_in_place_scratch::<V>(columns, par))?;
                let order = faer::perm::PermRef::new_checked(forward, inverse, subdiagonal.len());
                let factors = IntranodeLbltRef::new(symbolic, values, subdiagonal, order);
                factors.solve_in_place_with_conj(Conj::No, matrix(x), par, MemStack::new(&mut memory));
            }
        }
        Ok(())
    }
}

fn memory(scratch: faer::dyn_stack::StackReq) -> Result<MemBuffer> {
    MemBuffer::try_new(scratch).map_err(|_| failed(FaerError::OutOfMemory))
}

fn zeros<V: DirectValue>(len: usize) -> Result<Vec<V>> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(len).map_err(|_| failed(FaerError::OutOfMemory))?;
    zeros.resize(len, V::ZERO);
    Ok(zeros)
}

fn failed(error: FaerError) -> Error {
    let reason = match error {
        FaerError::OutOfMemory => "too little memory on the host".to_owned(),
        FaerError::IndexOverflow => "the factors have too many nonzeros for its indices".to_owned(),
        other => format!("{other:?}"),
    };
    Error::Library { library: "faer", reason }
}
