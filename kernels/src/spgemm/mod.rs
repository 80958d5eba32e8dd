//! SpGEMM, `C = AB`, of CSR matrices.
