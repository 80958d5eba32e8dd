//! SpGEMM, `C = AB`, of CSR matrices.

pub mod two_level_sort;
