//! Settings of measurements, and the contenders of peers.

use std::error::Error;

use evenpath::Device;

use crate::measure::{Repetitions, median};
use crate::peers::{PeerRun, Peers};
use crate::results::{Contender, Figures};

/// Settings of measurements.
#[derive(Clone, Copy)]
pub(crate) struct Bench<'b> {
    pub(crate) device: &'b Device,
    /// The copy rate of the device, in GB/s.
    pub(crate) copy_gbps: f64,
    /// The libraries to compare with.
    pub(crate) peers: &'b Peers,
    /// Number of runs to time.
    pub(crate) repetitions: Repetitions,
    /// The maximum number of nonzeros; studies leave out larger matrices.
    pub(crate) most_nonzeros: usize,
    /// The maximum number of products; larger sparse products are not measured.
    pub(crate) most_products: u64,
}

impl<'b> Bench<'b> {
    /// Without limits and copy rate.
    pub(crate) fn unlimited(
        device: &'b Device,
        peers: &'b Peers,
        repetitions: impl Into<Repetitions>,
    ) -> Self {
        let (copy_gbps, repetitions) = (1.0, repetitions.into());
        Self { device, copy_gbps, peers, repetitions, most_nonzeros: usize::MAX, most_products: u64::MAX }
    }
}

/// The result of a case: figures, or why there are none.
pub(crate) type Measured = Result<Figures, Box<dyn Error>>;

/// The contender that a run of a peer is.
pub(crate) fn contender<R>(run: PeerRun<R>, check: impl FnOnce(&R) -> Result<(), String>) -> Contender {
    let PeerRun { library, version, algorithm, format, outcome } = run;
    let contender = match outcome {
        Err(error) => Contender::refused(library, algorithm, &error),
        Ok(found) => Contender {
            setup_ms: Some(found.setup_ms),
            values_ms: found.values.as_deref().map(median),
            bytes: Some(found.bytes),
            ..Contender::ran(library, algorithm, &found.times, check(&found.result))
        },
    };
    Contender { format: (format != "csr").then(|| format.into()), ..contender.of_version(version.as_deref()) }
}
