//! y = Ax: work, measurements beside other libraries, and checks.

mod choice;
mod figures;
mod measure;
mod peers;
mod summary;

pub(crate) use choice::ChoiceError;
pub(crate) use evenpath_bench_support::spmv::{Reference, check, work};
pub(crate) use figures::{Figures, MethodRecord, Outcome, PeerFigures, PeerRecord, Record};
pub(crate) use measure::{Case, MAY_COPY, Way, measure};
pub(crate) use peers::{PeerName, Peers};
pub(crate) use summary::{Named, Summary};
