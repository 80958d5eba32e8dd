//! The method's name.

pub(super) const NAME: &str = "CG";
