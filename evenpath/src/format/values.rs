//! Values of a CSR matrix, which its clones share, and which plans may copy in another order.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use crate::Entry;
use crate::device::{DeviceError, DeviceKind, DeviceSlice, DeviceVec};
use crate::operand::OpError;

/// Values of a matrix. They change in place, so that graphs read the new ones.
///
/// On devices with kernels, an operation holds the lock for reading during its launches, so that all of them
/// read the same values: the device's work is in the order of the calls. On the CPU an operation keeps the
/// vector instead, and changed values go to another one: there, operations take long, and graphs have no
/// addresses.
pub(crate) struct MatrixValues<V: Entry> {
    current: RwLock<Current<V>>,
    /// Number of [`CsrValues`], which increases only under the lock.
    borrowed: AtomicUsize,
    /// Locked after `current`.
    copies: Mutex<Vec<Weak<dyn ValueCopy<V>>>>,
}

pub(crate) struct Current<V: Entry> {
    vector: Arc<DeviceVec<V>>,
    version: u64,
}

/// A plan's copy of the values.
pub(crate) trait ValueCopy<V: Entry>: Send + Sync {
    /// Copies the values again, in place.
    fn refresh(&self, values: &DeviceVec<V>, version: u64) -> Result<(), OpError>;
}

/// The current values, which do not change while this exists.
pub(crate) enum ValuesNow<'m, V: Entry> {
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

impl<V: Entry> MatrixValues<V> {
    pub(crate) fn new(vector: DeviceVec<V>) -> Self {
        let current = RwLock::new(Current { vector: Arc::new(vector), version: 0 });
        Self { current, borrowed: AtomicUsize::new(0), copies: Mutex::default() }
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
    /// If the values are borrowed. The errors of `write`, which then has written nothing. If a copy could not be
    /// updated, its next use updates it.
    pub(crate) fn write<E: Into<OpError>>(
        &self,
        write: impl FnOnce(&mut DeviceSlice<V>) -> Result<(), E>,
    ) -> Result<(), OpError> {
        self.replace(|vector| vector.device().uninitialized(vector.len()), write)
    }

    /// Replaces all values by `write`, which gets those of `source`; otherwise like [`write`](Self::write). The locks of both are taken in
    /// the order of their addresses, so that two threads that write two matrices, each from the other, do not wait for each other forever.
    pub(crate) fn write_from<E: Into<OpError>>(
        &self,
        source: &Self,
        write: impl FnOnce(&DeviceSlice<V>, &mut DeviceSlice<V>) -> Result<(), E>,
    ) -> Result<(), OpError> {
        let before = (std::ptr::from_ref(source) < std::ptr::from_ref(self)).then(|| source.now());
        self.write(|target| {
            let values = before.unwrap_or_else(|| source.now());
            write(&values, target)
        })
    }

    /// Changes the values by `change`, which gets the current ones, and updates the copies; as
    /// [`write`](Self::write), with its errors.
    pub(crate) fn change<E: Into<OpError>>(
        &self,
        change: impl FnOnce(&mut DeviceSlice<V>) -> Result<(), E>,
    ) -> Result<(), OpError> {
        self.replace(|vector| vector.copied(), change)
    }

    /// Writes to the vector or, if an operation on the CPU uses it, to the one that `other` makes.
    fn replace<E: Into<OpError>>(
        &self,
        other: impl FnOnce(&DeviceVec<V>) -> Result<DeviceVec<V>, DeviceError>,
        write: impl FnOnce(&mut DeviceSlice<V>) -> Result<(), E>,
    ) -> Result<(), OpError> {
        let mut current = self.current.write();
        if self.borrowed.load(Ordering::Acquire) > 0 {
            return Err(OpError::ValuesBorrowed);
        }
        let Current { vector, version } = &mut *current;
        if let Some(vector) = Arc::get_mut(vector) {
            write(vector).map_err(Into::into)?;
        } else {
            let mut other = other(vector)?;
            write(&mut other).map_err(Into::into)?;
            *vector = Arc::new(other);
        }
        if !vector.device().is_recording() {
            *version += 1;
        }
        let mut copies = self.copies.lock();
        copies.retain(|copy| copy.strong_count() > 0);
        copies.iter().filter_map(Weak::upgrade).try_for_each(|copy| copy.refresh(vector, *version))
    }

    /// Borrows the current values; until the result is dropped, they cannot be changed.
    pub(crate) fn borrow(&self) -> CsrValues<'_, V> {
        let current = self.current.read_recursive();
        self.borrowed.fetch_add(1, Ordering::Relaxed);
        CsrValues { vector: Arc::clone(&current.vector), borrowed: &self.borrowed }
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

/// Values of a matrix, borrowed by [`DeviceCsr::values`](super::DeviceCsr::values): one per nonzero, row by row. Until it
/// is dropped, a change of the values is refused with [`OpError::ValuesBorrowed`].
pub struct CsrValues<'m, V: Entry> {
    vector: Arc<DeviceVec<V>>,
    borrowed: &'m AtomicUsize,
}

impl<V: Entry> Deref for CsrValues<'_, V> {
    type Target = DeviceSlice<V>;

    fn deref(&self) -> &DeviceSlice<V> {
        &self.vector
    }
}

impl<V: Entry> Drop for CsrValues<'_, V> {
    fn drop(&mut self) {
        // Accesses through the borrow come before a change.
        self.borrowed.fetch_sub(1, Ordering::Release);
    }
}

impl<V: Entry> fmt::Debug for CsrValues<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CsrValues<{}>({} values, on {})", V::NAME, self.vector.len(), self.vector.device())
    }
}

impl<V: Entry> ValuesNow<'_, V> {
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

impl<V: Entry> Deref for ValuesNow<'_, V> {
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
    pub(crate) fn refreshed<V: Entry>(&mut self, values: &DeviceSlice<V>, version: u64) {
        if !values.device().is_recording() {
            self.version = version;
        }
    }
}
