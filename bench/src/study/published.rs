//! The published figures.

/// Correlation of time with work over Table II: nonzeros (Figure 6), nonzeros of both matrices (Figure 8), products
/// (Figure 10). The paper's own methods, IPDPS 2015, GTX Titan.
pub(super) const MERGE_PATH_CORRELATION: [(&str, f64); 3] =
    [("SpMV", 0.97), ("SpAdd", 1.0), ("SpGEMM", 0.98)];

/// A matrix of the study of CSR-Adaptive and LightSpMV.
pub(super) struct AdaptiveMatrix {
    pub(super) name: &'static str,
    /// From Table 1.
    pub(super) rows: usize,
    pub(super) nonzeros_a_row: f64,
    /// The CPU's time over that of CSR-Adaptive and that of LightSpMV (Table 2), in single and double precision.
    pub(super) over_adaptive: [f64; 2],
    pub(super) over_light: [f64; 2],
    /// Seconds on the CPU, single and double precision.
    pub(super) cpu_seconds: [f64; 2],
}

/// Tables 1 and 2 of the study of CSR-Adaptive and LightSpMV, GTX 1050 Ti, blocks of 512.
pub(super) const ADAPTIVE: [AdaptiveMatrix; 3] = [
    AdaptiveMatrix {
        name: "af_shell10",
        rows: 1_508_065,
        nonzeros_a_row: 17.96,
        over_adaptive: [5.8, 4.0],
        over_light: [9.3, 7.3],
        cpu_seconds: [0.027_826, 0.028_644],
    },
    AdaptiveMatrix {
        name: "nlpkkt80",
        rows: 1_062_400,
        nonzeros_a_row: 14.01,
        over_adaptive: [11.4, 6.9],
        over_light: [15.2, 9.5],
        cpu_seconds: [0.030_623, 0.027_181],
    },
    AdaptiveMatrix {
        name: "StocF-1465",
        rows: 1_465_137,
        nonzeros_a_row: 7.67,
        over_adaptive: [6.7, 5.0],
        over_light: [7.0, 6.1],
        cpu_seconds: [0.013_622, 0.015_093],
    },
];

/// A matrix of the study of row sorting.
pub(super) struct SortedMatrix {
    /// The name of the stand-in.
    pub(super) name: &'static str,
    /// Mean of the longest row of each warp before and after sorting (Table 5).
    pub(super) longest: (f64, f64),
    /// GTX 590, best block size (Table 7), milliseconds: ELL, ELL-R, ELL-R sorted.
    pub(super) best_ms: [f64; 3],
    /// The same, reading x in sequence (Table 8): ELL-R, ELL-R sorted.
    pub(super) sequence_ms: [f64; 2],
}

const fn sorted(
    name: &'static str,
    longest: (f64, f64),
    best_ms: [f64; 3],
    sequence_ms: [f64; 2],
) -> SortedMatrix {
    SortedMatrix { name, longest, best_ms, sequence_ms }
}

/// Tables 5, 7 and 8 of the study of row sorting.
pub(super) const SORTED: [SortedMatrix; 10] = [
    sorted("economics", (22.4, 6.18), [0.669, 0.415, 0.598], [0.243, 0.099]),
    sorted("accelerator", (16.1, 11.2), [0.407, 0.346, 0.655], [0.111, 0.082]),
    sorted("cantilever", (37.6, 32.6), [0.257, 0.224, 0.507], [0.126, 0.110]),
    sorted("epidemiology", (3.99, 3.99), [0.241, 0.234, 0.238], [0.152, 0.151]),
    sorted("protein", (90.3, 60.3), [0.626, 0.391, 1.18], [0.210, 0.171]),
    sorted("spheres", (42.2, 36.6), [0.533, 0.348, 0.792], [0.186, 0.168]),
    sorted("ship", (40.0, 28.3), [0.732, 0.534, 1.92], [0.293, 0.220]),
    sorted("wind-tunnel", (31.0, 27.2), [1.79, 0.701, 1.77], [0.417, 0.367]),
    sorted("circuit", (14.1, 5.66), [2.90, 0.428, 0.635], [0.271, 0.251]),
    sorted("harbor", (76.5, 50.7), [0.595, 0.369, 0.581], [0.210, 0.160]),
];

/// Nonzeros of circuit5M.
pub(super) const CIRCUIT5M_NONZEROS: usize = 59_524_291;

/// circuit5M in f64, from sample output in the README of merge-spmv: method and machine, and milliseconds.
pub(super) const CIRCUIT5M: [(&str, f64); 5] = [
    ("merge CsrMV, Tesla K40", 6.9239),
    ("cuSPARSE CsrMV, Tesla K40", 316.7821),
    ("cuSPARSE HybMV, Tesla K40", 8.6398),
    ("merge CsrMV, 48 threads of two Xeon E5-2695 v2", 12.6356),
    ("MKL CsrMV, the same CPUs", 53.6234),
];

/// Mean ratio of bytes per nonzero to those of CSR, single precision (thesis on HiSparse, Section 3, about Figure 3.2).
pub(super) const HISPARSE_OVER_CSR: f64 = 0.8;
/// The same for COO.
pub(super) const HISPARSE_OVER_COO: f64 = 0.5;

/// Mean milliseconds over the matrices of Figure 7.1, single precision, GTX 1080 (thesis, Tables 7.1 and 7.2): HiSparse,
/// then cuSPARSE.
pub(super) const HISPARSE_MEANS: [(&str, f64, f64); 5] = [
    ("SpMV", 3.731, 23.648),
    ("SpMV with the transpose", 3.589, 25.058),
    ("A + A", 8.656, 42.563),
    ("A + Aᵀ, given the transpose", 23.382, 46.973),
    ("A + Aᵀ, with csr2csc", 23.382, 179.349),
];
