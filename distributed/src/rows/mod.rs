//! Rows with global columns in host memory: the input of matrices, and the content of messages.

mod block;
mod travel;

pub use block::RowBlock;
pub(crate) use block::canonicalize;
pub(crate) use travel::{
    TripletArrays, assemble, by_owner, check_owned, exchange_entries, fetch, receive_rows, redistribute,
};
