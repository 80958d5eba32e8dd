//! Operations on a [`HiSparse`](crate::HiSparse): the tree is walked level by level, then leaves are shared out.

mod add;
mod leaf;
mod multiply;
mod product;

pub(crate) use add::add;
pub(crate) use multiply::multiply;
pub(crate) use product::product;
