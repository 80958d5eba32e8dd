//! The library that solves.

use evenpath::{Csr, DeviceCsr, DeviceSlice, Offset};

use super::host::{Columns, Host};
use super::info::DirectBackend;
use super::options::DirectOptions;
use super::value::DirectValue;
use crate::error::Result;

/// Factors of a matrix, by one of the libraries.
pub(super) enum Engine<V: DirectValue> {
    Host(Box<Host<V>>),
}

impl<V: DirectValue> Engine<V> {
    /// Analyzes a canonical matrix of at least one row, which is also on the host.
    pub(super) fn analyze<O: Offset>(
        _a: &DeviceCsr<V, O>,
        on_host: &Csr<V, O>,
        options: &DirectOptions,
    ) -> Result<Self> {
        Ok(Self::Host(Box::new(Host::analyze(on_host, options.factorization)?)))
    }

    pub(super) fn backend(&self) -> DirectBackend {
        match self {
            Self::Host(_) => DirectBackend::Faer,
        }
    }

    /// Number of stored elements of the factors, if known.
    pub(super) fn nonzeros(&self) -> Option<usize> {
        match self {
            Self::Host(host) => host.factors.nonzeros(),
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
        }
    }
}
