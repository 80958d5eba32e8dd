//! Values of a CSR matrix, which its clones share, and which plans may copy in another order.

use std::ops::Deref;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use crate::Storage;
use crate::device::{DeviceError, DeviceKind, DeviceSlice, DeviceVec};
use crate::operand::OpError;

/// Values of a matrix. They change in place, so that graphs read the new ones.
///
/// On devices with kernels, an operation holds the lock for reading during its launches, so that all of them
/// read the same values: the device's work is in the order of the calls. On the CPU an operation keeps the
/// vector instead, and changed values go to another one: there, operations take long, and graphs have no
/// addresses.
pub(crate) struct MatrixValues<V: Storage> {
    current: RwLock<Current<V>>,
    /// Locked after `current`.
    copies: Mutex<Vec<Weak<dyn ValueCopy<V>>>>,
}

pub(crate) struct Current<V: Storage> {
    vector: Arc<DeviceVec<V>>,
    version: u64,
}

/// A plan's copy of the values.
pub(crate) trait ValueCopy<V: Storage>: Send + Sync {
    /// Copies the values again, in place.
    fn refresh(&self, values: &DeviceVec<V>, version: u64) -> Result<(), OpError>;
}

/// The current values, which do not change while this exists.
pub(crate) enum ValuesNow<'m, V: Storage> {
    Kept(Arc<DeviceVec<V>>, u64),
    Locked(RwLockReadGuard<'m, Current<V>>),
}

/// Version of the values that a copy has.
#[derive(Clone, Copy)]
pub(crate) struct CopyState {
    version: u64,
    /// True if a graph that does not update the copy writes to the values.
    is_behind: bool,
}

impl<V: Storage> MatrixValues<V> {
    pub(crate) fn new(vector: DeviceVec<V>) -> Self {
        let current = RwLock::new(Current { vector: Arc::new(vector), version: 0 });
        Self { current, copies: Mutex::default() }
    }

    /// Returns the current values.
    pub(crate) fn now(&self) -> ValuesNow<'_, V> {
        // An operation may use the values of one matrix for both of its operands.
        let current = self.current.read_recursive();
        match current.vector.device().kind() {
            DeviceKind::Cpu => ValuesNow::Kept(Arc::clone(&current.vector), current.version),
            DeviceKind::Simulated | DeviceKind::Cuda(_) => ValuesNow::Locked(current),
        }
    }

    /// Replaces all values by `write`, and updates the copies. In a captured graph, both happen at each
    /// launch.
    ///
    /// # Errors
    ///
    /// The errors of `write`, which then has written nothing. If a copy could not be updated, its next use
    /// updates it.
    pub(crate) fn write(
        &self,
        write: impl FnOnce(&mut DeviceSlice<V>) -> Result<(), DeviceError>,
    ) -> Result<(), OpError> {
        let mut current = self.current.write();
        let Current { vector, version } = &mut *current;
        if let Some(vector) = Arc::get_mut(vector) {
            write(vector)?;
        } else {
            let mut other = vector.device().uninitialized(vector.len())?;
            write(&mut other)?;
            *vector = Arc::new(other);
        }
        if !vector.device().is_recording() {
            *version += 1;
        }
        let mut copies = self.copies.lock();
        copies.retain(|copy| copy.strong_count() > 0);
        copies.iter().filter_map(Weak::upgrade).try_for_each(|copy| copy.refresh(vector, *version))
    }

    /// Makes a copy of these values follow their changes.
    pub(crate) fn follow(&self, copy: Weak<dyn ValueCopy<V>>) {
        let mut copies = self.copies.lock();
        copies.retain(|copy| copy.strong_count() > 0);
        copies.push(copy);
    }

    /// Returns the vector, or a copy if another thread uses it.
    pub(crate) fn into_vector(self) -> Result<DeviceVec<V>, DeviceError> {
        Arc::try_unwrap(self.current.into_inner().vector).or_else(|shared| shared.copied())
    }
}

impl<V: Storage> ValuesNow<'_, V> {
    /// State of a copy that is made of the current values. A graph that was captured before and writes to
    /// them does not update the copy.
    pub(crate) fn copy_state(&self) -> CopyState {
        CopyState { version: self.version(), is_behind: self.is_in_graph() }
    }

    /// Number of times that the values were written.
    pub(crate) fn version(&self) -> u64 {
        match self {
            Self::Kept(_, version) => *version,
            Self::Locked(current) => current.version,
        }
    }
}

impl<V: Storage> Deref for ValuesNow<'_, V> {
    type Target = DeviceVec<V>;

    fn deref(&self) -> &DeviceVec<V> {
        match self {
            Self::Kept(vector, _) => vector,
            Self::Locked(current) => &current.vector,
        }
    }
}

impl CopyState {
    /// Returns whether the copy must be made again before it is used for the values.
    pub(crate) fn is_stale(self, version: u64) -> bool {
        self.is_behind || self.version != version
    }

    /// Records that the copy was updated, unless this thread captures a graph, which has not run.
    pub(crate) fn refreshed<V: Storage>(&mut self, values: &DeviceSlice<V>, version: u64) {
        if !values.device().is_recording() {
            self.version = version;
        }
    }
}
