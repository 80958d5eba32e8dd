//! A level that is gathered on every rank.

use std::sync::{Mutex, PoisonError};

use evenpath::{DeviceCsr, DeviceSlice, DeviceVec, Value};
use evenpath_distributed::{DistributedCsr, Rank};

use super::build::Built;
use super::coarse::Solve;
use super::hierarchy::SmoothedAggregation;
use super::info::AmgInfo;
use super::options::AmgOptions;
use crate::Preconditioner;
use crate::error::Result;

/// The hierarchy of a level of all ranks, which every rank has and runs by itself.
pub(super) struct Gathered<V: Value> {
    rank: Rank,
    /// The first of this rank's rows.
    first: usize,
    multigrid: SmoothedAggregation<V>,
    /// Right-hand side and solution of all rows.
    vectors: Mutex<[DeviceVec<V>; 2]>,
}

impl<V: Value> Gathered<V> {
    /// Continues from the last level of `built`. A collective operation, as are the others.
    pub(super) fn new(built: &Built<V, DistributedCsr<V>>, options: &AmgOptions) -> Result<Option<Self>> {
        let Some(level) = built.levels.last() else { return Ok(None) };
        let (rank, device) = (level.a.rank(), level.a.rank().device());
        let gathered = |vector: &DeviceVec<V>| on_all(rank, vector);
        let near_null = built.near_null.iter().map(gathered).collect::<Result<Vec<_>>>()?;
        let bound = built.bound.as_ref().map(gathered).transpose()?;
        let options = AmgOptions {
            block_size: built.block_size,
            max_levels: options.max_levels - (built.levels.len() - 1),
            ..*options
        };
        let a = matrix(&level.a)?;
        let rows = a.nrows();
        Ok(Some(Self {
            rank: rank.clone(),
            first: level.a.row_partition().range(rank.index()).start as usize,
            multigrid: SmoothedAggregation::of_level(&a, (&near_null, bound.as_deref()), options)?,
            vectors: Mutex::new([device.zeros(rows)?, device.zeros(rows)?]),
        }))
    }

    /// Takes other values of the level. `bound` has what its diagonal would be without cancellation, if it is a coarse one.
    pub(super) fn update(&mut self, a: &DistributedCsr<V>, bound: Option<&DeviceVec<V>>) -> Result<()> {
        let bound = bound.map(|bound| on_all(&self.rank, bound)).transpose()?;
        self.multigrid.update_level(&matrix(a)?, bound.as_deref())
    }

    /// The gathered level and those below it.
    pub(super) fn info(&self) -> Result<AmgInfo> {
        self.multigrid.info()
    }
}

impl<V: Value> Solve<V> for Gathered<V> {
    fn solve(&self, b: &DeviceSlice<V>, x: &mut DeviceSlice<V>) -> Result<()> {
        let [all_b, all_x] = &mut *self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        all_b.copy_from_slice(&self.rank.all_gather(&b.download()?)?.concat())?;
        self.multigrid.apply(all_b, all_x)?;
        Ok(x.copy_from(&all_x.slice(self.first..self.first + x.len())?)?)
    }
}

/// All rows of a matrix, on this rank's device.
fn matrix<V: Value>(a: &DistributedCsr<V>) -> Result<DeviceCsr<V>> {
    let whole = a.all_gather()?.try_into_offsets::<u32>();
    Ok(a.rank().device().upload(&whole.map_err(evenpath::error::MatrixError::from)?)?)
}

/// All elements of a vector, on this rank's device.
fn on_all<V: Value>(rank: &Rank, own: &DeviceVec<V>) -> Result<DeviceVec<V>> {
    Ok(rank.device().upload(&rank.all_gather(&own.download()?)?.concat())?)
}
