//! `y = alpha A x + beta y` in tiles of equal work.

mod cut;
mod even;
mod groups;
mod instructions;
mod kernel;
mod portable;
mod product;
mod rows;
mod scattered;
mod shares;
#[cfg(test)]
mod tests;
mod tiles;
mod wide;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use cut::SpmvCut;
pub(crate) use groups::SpmvGroups;
pub(crate) use product::spmv;
pub(crate) use tiles::SpmvTiles;
