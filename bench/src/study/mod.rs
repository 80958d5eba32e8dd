//! The experiments of publications, with evenpath's figures beside the published ones.
//!
//! A study measures cases, mostly rows as other commands have them, is resumed from these, and reports [`Table`]s of them.
//! Published figures are in `published`; only those printed as numbers are included. The published matrices are replaced by
//! stand-ins of the same shape ([`Published`](evenpath::generate::Published)), those of HiSparse with the same tree
//! ([`TreeMatrix`](crate::random::TreeMatrix)).

mod csr_adaptive;
mod each;
mod figures;
mod file;
mod hisparse;
mod merge_path;
mod merge_spmv;
mod name;
mod published;
mod report;
mod row_sorting;
mod run;
mod source;
mod table;

pub(crate) use file::StudyFile;
pub(crate) use name::Study;
pub(crate) use report::Report;
pub(crate) use run::run;
pub(crate) use table::{Cell, Table};
