//! Conjugate gradients of small systems: several steps are one launch of one block.

use evenpath::cg::{CgSteps, CgVectors};
use evenpath::device::DeviceKind;
use evenpath::{DeviceSlice, DeviceVec, Scalar};

use super::limits::Limits;
use crate::driver::{Cycle, Progress};
use crate::error::{Error, Result};
use crate::work::Work;
use crate::{Breakdown, RealCsr, SolverOptions};

/// Maximum size of a matrix for which one block is chosen by itself, on GPUs.
///
/// Measured on an H200 by `evenpath-bench solve --preconditioner jacobi --generate stencil5:SIDE,stencil7:SIDE`, with `--one-block true` and
/// `--one-block false`: 4380 nonzeros take half the time of launches, 17,760 take 1.2 times as long.
const ONE_BLOCK: Size = Size { rows: 2048, nonzeros: 12_288 };

struct Size {
    rows: usize,
    nonzeros: usize,
}

pub(super) struct BlockSteps<'a, V: Scalar> {
    matrix: RealCsr<'a, V::Real>,
    /// The diagonal of M⁻¹, unless M is the identity.
    inverse: Option<&'a DeviceSlice<V>>,
    steps: CgSteps<V::Real>,
    p: DeviceVec<V>,
    ap: DeviceVec<V>,
    /// Number of steps of a launch.
    len: usize,
}

impl<'a, V: Scalar> BlockSteps<'a, V> {
    /// Returns the steps if the options ask for them, or if they suit and the options do not forbid them.
    ///
    /// # Errors
    ///
    /// If the options ask for them, and they cannot be done; or there is too little memory.
    pub(super) fn if_chosen(work: &Work<'a, V>, options: &SolverOptions) -> Result<Option<Self>> {
        let matrix = if options.is_flexible || options.is_profiled { None } else { work.operator.csr() };
        let inverse = work.preconditioner.diagonal();
        let matrix = matrix.filter(|_| inverse.is_some() || work.preconditioner.is_identity());
        match (options.one_block, matrix) {
            (Some(true), None) => Err(Error::NoOneBlock),
            (Some(false), _) | (None, None) => Ok(None),
            (None, Some(matrix)) if !is_small(matrix, work) => Ok(None),
            (_, Some(matrix)) => Ok(Some(Self {
                matrix,
                inverse,
                steps: CgSteps::new(work.device(), options.check_steps)?,
                p: work.zeros()?,
                ap: work.zeros()?,
                len: options.check_steps,
            })),
        }
    }
}

/// Returns whether steps by one block are faster. On the CPU they are the same as others.
fn is_small<V: Scalar>(matrix: RealCsr<V::Real>, work: &Work<V>) -> bool {
    let is_gpu = work.device().kind() != DeviceKind::Cpu;
    is_gpu && matrix.nrows() <= ONE_BLOCK.rows && matrix.nnz() <= ONE_BLOCK.nonzeros
}

impl<V: Scalar> Cycle<V> for BlockSteps<'_, V> {
    fn run(
        &mut self,
        work: &mut Work<V>,
        x: &mut DeviceSlice<V>,
        r: &mut DeviceSlice<V>,
        progress: &mut Progress,
    ) -> Result<Option<Breakdown>> {
        let Self { matrix, inverse, steps, p, ap, len } = self;
        let Some(limits) = Limits::begin(work, progress, steps, (r, p))? else {
            return Ok(Some(Breakdown::IndefinitePreconditioner));
        };
        let inverse = inverse.map(DeviceSlice::as_parts);
        limits.follow(*len, progress, |count| {
            let vectors = CgVectors {
                x: &mut x.as_parts_mut(),
                r: &mut r.as_parts_mut(),
                p: &mut p.as_parts_mut(),
                q: &mut ap.as_parts_mut(),
            };
            matrix.run_in_one_block(steps, count, inverse.as_deref(), vectors)?;
            Ok(steps.scalars()?)
        })
    }
}
