//! Operations on a [`HiSparse`](crate::HiSparse): the tree is traversed level by level, then leaves are divided
//! among tasks.

mod add;
mod leaf;
mod multiply;
mod product;

pub(crate) use add::add;
pub(crate) use multiply::multiply;
pub(crate) use product::product;
