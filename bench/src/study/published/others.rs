//! The published figures.

/// Correlation of time with work over Table II: nonzeros (Figure 6), nonzeros of both matrices (Figure 8), products
/// (Figure 10). The paper's own methods, IPDPS 2015, GTX Titan.
pub(super) const MERGE_PATH_CORRELATION: [(&str, f64); 3] =
    [("SpMV", 0.97), ("SpAdd", 1.0), ("SpGEMM", 0.98)];

/// A matrix of the study of CSR-Adaptive and LightSpMV.
pub(super) struct AdaptiveMatrix {
    pub(super) name: &'static str,
    /// Rows and nonzeros per row of Table 1.
    pub(super) rows: usize,
    pub(super) nonzeros_per_row: f64,
    /// The CPU's time over that of CSR-Adaptive and that of LightSpMV (Table 2), in single and double precision.
    pub(super) over_adaptive: [f64; 2],
    pub(super) over_light: [f64; 2],
    /// Seconds on the CPU, single and double precision.
    pub(super) cpu_seconds: [f64; 2],
    /// The largest difference to the CPU's result, single and double precision.
    pub(super) difference: [&'static str; 2],
}

/// Tables 1 and 2 of the study of CSR-Adaptive and LightSpMV, GTX 1050 Ti, blocks of 512.
pub(super) const ADAPTIVE: [AdaptiveMatrix; 3] = [
    AdaptiveMatrix {
        name: "af_shell10",
        rows: 1_508_065,
        nonzeros_per_row: 17.96,
        over_adaptive: [5.8, 4.0],
        over_light: [9.3, 7.3],
        cpu_seconds: [0.027_826, 0.028_644],
        difference: ["0.2 (LightSpMV)", "0"],
    },
    AdaptiveMatrix {
        name: "nlpkkt80",
        rows: 1_062_400,
        nonzeros_per_row: 14.01,
        over_adaptive: [11.4, 6.9],
        over_light: [15.2, 9.5],
        cpu_seconds: [0.030_623, 0.027_181],
        difference: ["0", "0"],
    },
    AdaptiveMatrix {
        name: "StocF-1465",
        rows: 1_465_137,
        nonzeros_per_row: 7.67,
        over_adaptive: [6.7, 5.0],
        over_light: [7.0, 6.1],
        cpu_seconds: [0.013_622, 0.015_093],
        difference: ["infinite (LightSpMV)", "0"],
    },
];

/// A matrix of the study of row sorting.
pub(super) struct SortedMatrix {
    /// The name of the stand-in.
    pub(super) name: &'static str,
    /// Nonzeros (Table 5).
    pub(super) nonzeros: usize,
    /// True if these are the stored half of a symmetric matrix.
    pub(super) is_half: bool,
    /// Milliseconds to sort the rows (Table 5).
    pub(super) sort_ms: f64,
    /// Mean of the longest row of each warp before and after sorting (Table 5).
    pub(super) longest: (f64, f64),
    /// GTX 295, blocks of 32 (Table 4), milliseconds: CSR on the CPU, ELL-R, ELL-R sorted, CSR with a warp per row.
    pub(super) first_ms: [f64; 4],
    /// The same with x in texture memory: ELL-R, ELL-R sorted.
    pub(super) texture_ms: [f64; 2],
    /// GTX 590, blocks of 32 (Table 6), milliseconds: ELL, ELL-R, ELL-R sorted.
    pub(super) small_ms: [f64; 3],
    /// GTX 590, best block size (Table 7), milliseconds: ELL, ELL-R, ELL-R sorted.
    pub(super) best_ms: [f64; 3],
    /// The best block size.
    pub(super) best_threads: u32,
    /// The same, reading x in sequence (Table 8): ELL-R, ELL-R sorted.
    pub(super) sequence_ms: [f64; 2],
}

macro_rules! sorted {
    ($($name:literal: $nonzeros:literal $($half:ident)?, sort $sort:literal, longest $longest:expr,
       first $first:expr, texture $texture:expr, small $small:expr, best $best:expr, at $threads:literal,
       sequence $sequence:expr;)*) => {
        [$(SortedMatrix {
            name: $name, nonzeros: $nonzeros, is_half: sorted!(@ $($half)?), sort_ms: $sort, longest: $longest,
            first_ms: $first, texture_ms: $texture, small_ms: $small, best_ms: $best, best_threads: $threads,
            sequence_ms: $sequence,
        },)*]
    };
    (@ half) => { true };
    (@) => { false };
}

/// Tables 4 to 8 of the study of row sorting.
pub(super) const SORTED: [SortedMatrix; 10] = sorted! {
    "economics": 1_273_389, sort 12.2, longest (22.4, 6.18),
        first [5.24, 1.60, 0.945, 3.81], texture [1.21, 0.708],
        small [2.14, 0.986, 0.588], best [0.669, 0.415, 0.598], at 256, sequence [0.243, 0.099];
    "accelerator": 1_362_087 half, sort 7.3, longest (16.1, 11.2),
        first [5.27, 0.665, 0.830, 2.25], texture [0.504, 0.685],
        small [0.866, 0.502, 0.662], best [0.407, 0.346, 0.655], at 256, sequence [0.111, 0.082];
    "cantilever": 2_034_917 half, sort 3.9, longest (37.6, 32.6),
        first [7.10, 0.751, 0.976, 1.35], texture [0.588, 0.622],
        small [0.780, 0.452, 0.592], best [0.257, 0.224, 0.507], at 512, sequence [0.126, 0.110];
    "epidemiology": 2_100_225, sort 9.8, longest (3.99, 3.99),
        first [7.02, 0.745, 0.753, 7.54], texture [0.685, 0.687],
        small [0.779, 0.571, 0.575], best [0.241, 0.234, 0.238], at 256, sequence [0.152, 0.151];
    "protein": 2_190_591 half, sort 3.6, longest (90.3, 60.3),
        first [7.76, 1.08, 1.36, 1.26], texture [0.787, 0.857],
        small [1.57, 0.667, 1.13], best [0.626, 0.391, 1.18], at 512, sequence [0.210, 0.171];
    "spheres": 3_046_907 half, sort 5.0, longest (42.2, 36.6),
        first [10.12, 1.02, 1.45, 1.98], texture [0.827, 0.915],
        small [1.41, 0.690, 0.927], best [0.533, 0.348, 0.792], at 128, sequence [0.186, 0.168];
    "ship": 3_977_139 half, sort 10.5, longest (40.0, 28.3),
        first [14.35, 1.54, 2.84, 2.87], texture [1.23, 2.13],
        small [2.40, 1.09, 1.79], best [0.732, 0.534, 1.92], at 512, sequence [0.293, 0.220];
    "wind-tunnel": 5_926_171 half, sort 5.3, longest (31.0, 27.2),
        first [20.60, 2.01, 3.56, 4.27], texture [1.55, 2.14],
        small [7.00, 1.35, 1.93], best [1.79, 0.701, 1.77], at 512, sequence [0.417, 0.367];
    "circuit": 958_936, sort 9.0, longest (14.1, 5.66),
        first [4.619, 2.11, 0.919, 3.07], texture [1.78, 0.793],
        small [9.26, 0.596, 0.697], best [2.90, 0.428, 0.635], at 128, sequence [0.271, 0.251];
    "harbor": 2_374_001, sort 3.5, longest (76.5, 50.7),
        first [4.578, 1.27, 1.03, 1.41], texture [0.811, 0.614],
        small [1.66, 0.732, 0.707], best [0.595, 0.369, 0.581], at 128, sequence [0.210, 0.160];
};

/// Milliseconds with a synthetic matrix, GTX 295 and a Core 2 Quad.
pub(super) struct SyntheticTimes {
    pub(super) ell_r: f64,
    pub(super) sorted: f64,
    /// CSR with a warp per row.
    pub(super) warp: f64,
    /// CSR on the CPU.
    pub(super) cpu: Option<f64>,
}

const fn synthetic(ell_r: f64, sorted: f64, warp: f64, cpu: Option<f64>) -> SyntheticTimes {
    SyntheticTimes { ell_r, sorted, warp, cpu }
}

/// Tables 1 and 2: order and percentage of nonzeros.
pub(super) const SYNTHETIC_BY_DENSITY: [(usize, f64, SyntheticTimes); 7] = [
    (4096, 10.0, synthetic(1.40, 1.23, 0.83, None)),
    (8192, 10.0, synthetic(4.64, 3.89, 2.98, None)),
    (16_384, 10.0, synthetic(17.55, 14.11, 11.45, None)),
    (16_384, 5.0, synthetic(9.77, 7.11, 6.77, Some(45.48))),
    (16_384, 2.0, synthetic(3.98, 2.90, 3.06, Some(18.50))),
    (16_384, 1.0, synthetic(2.07, 1.58, 1.67, Some(9.39))),
    (16_384, 0.1, synthetic(0.32, 0.27, 0.47, Some(1.23))),
];

/// Table 3: percentage of rows with up to 32 nonzeros, order 16384.
pub(super) const SYNTHETIC_BY_SHORT_ROWS: [(u64, SyntheticTimes); 6] = [
    (10, synthetic(9.22, 6.46, 6.35, Some(42.03))),
    (30, synthetic(8.32, 5.25, 5.22, Some(32.74))),
    (50, synthetic(7.30, 3.40, 4.31, Some(23.35))),
    (70, synthetic(6.21, 2.74, 3.63, Some(14.64))),
    (90, synthetic(5.09, 1.94, 3.11, Some(5.77))),
    (100, synthetic(0.32, 0.29, 0.66, Some(1.25))),
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

/// Milliseconds over the matrices of Figure 7.1.
pub(super) struct HisparseMean {
    pub(super) name: &'static str,
    /// The mean and the standard deviation.
    pub(super) hisparse: (f64, f64),
    pub(super) cusparse: (f64, f64),
    pub(super) mkl: (f64, f64),
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
pub(super) const HISPARSE_MEANS: [HisparseMean; 5] = [
    mean("SpMV", (3.731, 3.504), (23.648, 67.23), (14.204, 15.398)),
    mean("SpMV with the transpose", (3.589, 3.971), (25.058, 38.305), (21.738, 26.704)),
    mean("A + A", (8.656, 8.449), (42.563, 92.844), (109.237, 104.462)),
    mean("A + Aᵀ, given the transpose", (23.382, 24.874), (46.973, 101.923), (126.597, 120.909)),
    mean("A + Aᵀ, transpose counted", (23.382, 24.874), (179.349, 189.016), (280.634, 255.756)),
];
