//! Rows with columns of the whole matrix, in host memory: what matrices are made of, and what travels between ranks.

mod block;
mod travel;

pub use block::RowBlock;
pub(crate) use block::canonicalize;
pub(crate) use travel::{Entries, assemble, by_owner, check_owned, exchange_entries, fetch, redistribute};
