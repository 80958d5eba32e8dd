//! Other libraries to compare with, opened at run time. Nothing is linked; libraries that are not installed
//! are reported.

mod cuda;
mod cusparse;
mod host;
mod library;
mod mkl;
mod open;
mod peer;
mod sprs;

pub(crate) use open::{PeerName, Peers};
pub(crate) use peer::{
    Operation, PeerError, PeerRun, PeerScalar, PeerTimes, PeerValue, PreparedPeer, Ready, SpmvOperands,
};
