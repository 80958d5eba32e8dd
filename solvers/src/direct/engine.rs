//! The library that solves.

use evenpath::device::DeviceKind;
use evenpath::{Csr, DeviceCsr, DeviceSlice, Offset};

use super::columns::Columns;
use super::cudss::{Cudss, Functions};
use super::host::Host;
use super::info::DirectBackend;
use super::options::DirectOptions;
use super::value::DirectValue;
use crate::error::{Error, Result};

/// Factors of a matrix, by one of the libraries.
pub(super) enum Engine<V: DirectValue> {
    Host(Box<Host<V>>),
    Cudss(Box<Cudss<V>>),
}

impl<V: DirectValue> Engine<V> {
    /// Analyzes a canonical matrix of at least one row, which is also on the host.
    pub(super) fn analyze<O: Offset>(
        a: &DeviceCsr<V, O>,
        on_host: &Csr<V, O>,
        options: &DirectOptions,
    ) -> Result<Self> {
        let offsets = on_host.row_offsets();
        if let Some(row) = offsets.windows(2).position(|ends| ends[0] == ends[1]) {
            return Err(Error::ZeroPivot { row: Some(row) });
        }
        if matches!(a.device().kind(), DeviceKind::Cuda(_)) {
            match Functions::load() {
                Ok(functions) => {
                    let cudss = Cudss::analyze(functions, a, on_host, options.factorization)?;
                    return Ok(Self::Cudss(Box::new(cudss)));
                }
                Err(missing) if !options.has_host_fallback => return Err(missing),
                Err(_) => {}
            }
        }
        Ok(Self::Host(Box::new(Host::analyze(on_host, options.factorization)?)))
    }

    pub(super) fn backend(&self) -> DirectBackend {
        match self {
            Self::Host(_) => DirectBackend::Faer,
            Self::Cudss(cudss) => DirectBackend::Cudss { version: cudss.version() },
        }
    }

    /// Number of stored elements of the factors, if known.
    pub(super) fn nonzeros(&self) -> Option<usize> {
        match self {
            Self::Host(host) => host.factors.nonzeros(),
            Self::Cudss(cudss) => cudss.nonzeros(),
        }
    }

    /// Factorizes the values that the matrix has now.
    pub(super) fn factorize<O: Offset>(&mut self, a: &DeviceCsr<V, O>) -> Result<()> {
        let values = a.values();
        match self {
            Self::Host(host) => match values.host_slice() {
                Some(values) => host.factors.factorize(values),
                None => host.factors.factorize(&values.download()?),
            },
            Self::Cudss(cudss) => cudss.factorize(a.nrows(), &values),
        }
    }

    /// Returns whether the next factorization keeps the pivots of an earlier one.
    pub(super) fn has_pivots(&self) -> bool {
        match self {
            Self::Host(_) => false,
            Self::Cudss(cudss) => cudss.has_pivots(),
        }
    }

    /// Forgets the pivots of an earlier factorization.
    pub(super) fn forget_pivots(&mut self) {
        match self {
            Self::Host(_) => {}
            Self::Cudss(cudss) => cudss.forget_pivots(),
        }
    }

    /// Solves for the columns of B.
    pub(super) fn solve(
        &self,
        b: (&DeviceSlice<V>, Columns),
        x: (&mut DeviceSlice<V>, Columns),
    ) -> Result<()> {
        match self {
            Self::Host(host) => host.solve(b, x),
            Self::Cudss(cudss) => cudss.solve(b, x),
        }
    }
}
