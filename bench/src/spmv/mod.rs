//! y = Ax: work, measurements beside other libraries, and checks.

mod choice;
mod figures;
mod measure;
mod peers;
mod summary;

pub use choice::ChoiceError;
pub use evenpath_bench_support::spmv::{Reference, check, work};
pub use figures::{Figures, MethodRecord, Outcome, PeerFigures, PeerRecord, Record};
pub use measure::{Case, MAY_COPY, Way, measure};
pub use peers::{PeerName, Peers};
pub use summary::{Named, Summary};
