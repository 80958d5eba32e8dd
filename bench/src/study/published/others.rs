//! Merge path, merge-spmv and HiSparse.

/// Correlation of time with work over Table II: nonzeros (Figure 6), nonzeros of both matrices (Figure 8), products
/// (Figure 10). The paper's own methods, IPDPS 2015, GTX Titan.
pub(in crate::study) const MERGE_PATH_CORRELATION: [(&str, f64); 3] =
    [("SpMV", 0.97), ("SpAdd", 1.0), ("SpGEMM", 0.98)];

/// Nonzeros of circuit5M.
pub(in crate::study) const CIRCUIT5M_NONZEROS: usize = 59_524_291;

/// circuit5M in f64, from sample output in the README of merge-spmv: method and machine, and milliseconds.
pub(in crate::study) const CIRCUIT5M: [(&str, f64); 5] = [
    ("merge CsrMV, Tesla K40", 6.9239),
    ("cuSPARSE CsrMV, Tesla K40", 316.7821),
    ("cuSPARSE HybMV, Tesla K40", 8.6398),
    ("merge CsrMV, 48 threads of two Xeon E5-2695 v2", 12.6356),
    ("MKL CsrMV, the same CPUs", 53.6234),
];

/// Mean ratio of bytes per nonzero to those of CSR, single precision (thesis on HiSparse, Section 3, about Figure 3.2).
pub(in crate::study) const HISPARSE_OVER_CSR: f64 = 0.8;
/// The same for COO.
pub(in crate::study) const HISPARSE_OVER_COO: f64 = 0.5;

/// Milliseconds over the matrices of Figure 7.1.
pub(in crate::study) struct HisparseMean {
    pub(in crate::study) name: &'static str,
    /// The mean and the standard deviation.
    pub(in crate::study) hisparse: (f64, f64),
    pub(in crate::study) cusparse: (f64, f64),
    pub(in crate::study) mkl: (f64, f64),
}

const fn mean(
    name: &'static str,
    hisparse: (f64, f64),
    cusparse: (f64, f64),
    mkl: (f64, f64),
) -> HisparseMean {
    HisparseMean { name, hisparse, cusparse, mkl }
}

/// Single precision, GTX 1080, and MKL on the CPU (thesis, Tables 7.1 and 7.2).
pub(in crate::study) const HISPARSE_MEANS: [HisparseMean; 5] = [
    mean("SpMV", (3.731, 3.504), (23.648, 67.23), (14.204, 15.398)),
    mean("SpMV with the transpose", (3.589, 3.971), (25.058, 38.305), (21.738, 26.704)),
    mean("A + A", (8.656, 8.449), (42.563, 92.844), (109.237, 104.462)),
    mean("A + Aᵀ, given the transpose", (23.382, 24.874), (46.973, 101.923), (126.597, 120.909)),
    mean("A + Aᵀ, transpose counted", (23.382, 24.874), (179.349, 189.016), (280.634, 255.756)),
];
