//! The trait that SpMV methods implement.

use super::features::{Copies, Features};
use super::lengths::Lengths;
use super::method::SpmvMethod;
use super::reason::Reason;
use super::schedule::{Boxed, SpmvSchedule};
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::{Offset, Scalar};

/// One of the methods: what it can do, which matrices it suits, and how it is prepared for one.
///
/// A new method is a variant of [`SpmvMethod`], a file of `methods` that implements this trait, and a line of the list in
/// `methods.rs`. Without the functions of the choice it runs only where it is asked for.
pub(super) trait Strategy<V: Scalar, O: Offset>: Sync {
    /// The method by which users ask for it, without parameters.
    fn method(&self) -> SpmvMethod;

    /// Devices of the method, and its memory.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// Prepares the method, which was asked for.
    ///
    /// # Errors
    ///
    /// If the matrix is not for it, there is no memory, or the device was lost.
    fn build(&self, matrix: &DeviceCsr<V, O>, request: Request) -> Result<Boxed<V, O>, OpError>;

    /// Part of the choice: measures what only this method needs to know, before any method is chosen. Returns the prepared
    /// method where measuring gives that, too.
    fn examine(
        &self,
        _matrix: &DeviceCsr<V, O>,
        _features: &mut Features,
    ) -> Result<Option<Boxed<V, O>>, OpError> {
        Ok(None)
    }

    /// Part of the choice: the estimated microseconds of a product; `None` for a method that is not chosen by its estimate.
    fn estimate(&self, _features: &Features) -> Option<f64> {
        None
    }

    /// Part of the choice: the reason to take the method before all that have estimates, the lowest of which is that of `fastest`.
    fn rule(&self, _features: &Features, _fastest: Option<SpmvMethod>) -> Option<Reason> {
        None
    }

    /// Part of the choice: returns whether the method can be built for such a matrix, whatever its rows, and so may come last.
    fn takes_any_rows(&self, _features: &Features) -> bool {
        false
    }

    /// Prepares the method, which was chosen. `None` if rows are too long for its kernels or it turns out not to pay.
    fn build_chosen(
        &self,
        matrix: &DeviceCsr<V, O>,
        features: &Features,
    ) -> Result<Option<Boxed<V, O>>, OpError> {
        self.build(matrix, Request { method: self.method(), copies: features.copies }).map(Some)
    }
}

/// A schedule that may not be there, boxed.
pub(super) fn boxed<V: Scalar, O: Offset>(
    schedule: Option<impl SpmvSchedule<V, O> + 'static>,
) -> Option<Boxed<V, O>> {
    schedule.map(|schedule| Box::new(schedule) as Boxed<V, O>)
}

/// A schedule that was asked for, boxed, or the error that the matrix has a row that is too long for it.
pub(super) fn or_too_long<V: Scalar, O: Offset>(
    schedule: Option<impl SpmvSchedule<V, O> + 'static>,
    method: SpmvMethod,
    lengths: Lengths,
) -> Result<Boxed<V, O>, OpError> {
    boxed(schedule).ok_or_else(|| too_long(method, lengths))
}

/// The error that the matrix has a row that is too long for a method.
pub(super) fn too_long(method: SpmvMethod, lengths: Lengths) -> OpError {
    OpError::RowTooLong { method: method.to_string(), len: lengths.longest }
}

/// Options that reach a method that is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    /// The method, with its parameters.
    pub(super) method: SpmvMethod,
    /// Copies that the plan may keep.
    pub(super) copies: Copies,
}

/// Devices of a method, and its memory.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Abilities {
    /// Devices that have the method.
    pub(super) devices: Devices,
    /// True if plans keep another form of the matrix.
    pub(super) copies: bool,
}

/// Kinds of devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Devices {
    /// GPUs, real and simulated.
    #[default]
    Gpus,
    /// The CPU.
    Cpu,
    /// All.
    All,
}
