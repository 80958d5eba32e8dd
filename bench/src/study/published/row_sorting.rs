//! The study of row sorting.

/// A matrix of the study of row sorting.
pub(in crate::study) struct SortedMatrix {
    /// The name of the stand-in.
    pub(in crate::study) name: &'static str,
    /// Nonzeros (Table 5).
    pub(in crate::study) nonzeros: usize,
    /// True if these are the stored half of a symmetric matrix.
    pub(in crate::study) is_half: bool,
    /// Percentage of places with a nonzero, and nonzeros per row (Table 5): of the whole matrix, but ship's are of the stored
    /// half. Two percentages do not follow from the order and the nonzeros: epidemiology's, 0.0008, and ship's, 0.020.
    pub(in crate::study) percent: f64,
    pub(in crate::study) per_row: f64,
    /// Milliseconds to sort the rows (Table 5).
    pub(in crate::study) sort_ms: f64,
    /// Mean of the longest row of each warp before and after sorting (Table 5).
    pub(in crate::study) longest: (f64, f64),
    /// GTX 295, blocks of 32 (Table 4), milliseconds: CSR on the CPU, ELL, ELL-R, ELL-R sorted, CSR with a warp per row.
    pub(in crate::study) first_ms: [f64; 5],
    /// The same with x in texture memory: ELL-R, ELL-R sorted.
    pub(in crate::study) texture_ms: [f64; 2],
    /// 10⁹ operations per second in these times (Table 5).
    pub(in crate::study) gflops: [f64; 2],
    /// GTX 590, blocks of 32 (Table 6), milliseconds: ELL, ELL-R, ELL-R sorted.
    pub(in crate::study) small_ms: [f64; 3],
    /// GTX 590, best block size (Table 7), milliseconds: ELL, ELL-R, ELL-R sorted.
    pub(in crate::study) best_ms: [f64; 3],
    /// The best block size.
    pub(in crate::study) best_threads: u32,
    /// The same, reading x in sequence (Table 8): ELL-R, ELL-R sorted.
    pub(in crate::study) sequence_ms: [f64; 2],
}

macro_rules! sorted {
    ($($name:literal: $nonzeros:literal $($half:ident)?, percent $percent:literal, per row $per_row:literal,
       sort $sort:literal, longest $longest:expr,
       first $first:expr, texture $texture:expr, gflops $gflops:expr,
       small $small:expr, best $best:expr, at $threads:literal, sequence $sequence:expr;)*) => {
        [$(SortedMatrix {
            name: $name, nonzeros: $nonzeros, is_half: sorted!(@ $($half)?), percent: $percent, per_row: $per_row,
            sort_ms: $sort, longest: $longest, first_ms: $first, texture_ms: $texture, gflops: $gflops,
            small_ms: $small, best_ms: $best, best_threads: $threads, sequence_ms: $sequence,
        },)*]
    };
    (@ half) => { true };
    (@) => { false };
}

/// Tables 4 to 8 of the study of row sorting.
pub(in crate::study) const SORTED: [SortedMatrix; 10] = sorted! {
    "economics": 1_273_389, percent 0.003, per row 6.0, sort 12.2, longest (22.4, 6.18),
        first [5.24, 2.10, 1.60, 0.945, 3.81], texture [1.21, 0.708], gflops [2.1, 3.6],
        small [2.14, 0.986, 0.588], best [0.669, 0.415, 0.598], at 256, sequence [0.243, 0.099];
    "accelerator": 1_362_087 half, percent 0.009, per row 22.0, sort 7.3, longest (16.1, 11.2),
        first [5.27, 0.825, 0.665, 0.830, 2.25], texture [0.504, 0.685], gflops [5.4, 4.0],
        small [0.866, 0.502, 0.662], best [0.407, 0.346, 0.655], at 256, sequence [0.111, 0.082];
    "cantilever": 2_034_917 half, percent 0.050, per row 65.0, sort 3.9, longest (37.6, 32.6),
        first [7.10, 0.867, 0.751, 0.976, 1.35], texture [0.588, 0.622], gflops [6.9, 6.5],
        small [0.780, 0.452, 0.592], best [0.257, 0.224, 0.507], at 512, sequence [0.126, 0.110];
    "epidemiology": 2_100_225, percent 0.0003, per row 4.0, sort 9.8, longest (3.99, 3.99),
        first [7.02, 0.776, 0.745, 0.753, 7.54], texture [0.685, 0.687], gflops [6.1, 6.1],
        small [0.779, 0.571, 0.575], best [0.241, 0.234, 0.238], at 256, sequence [0.152, 0.151];
    "protein": 2_190_591 half, percent 0.165, per row 119.0, sort 3.6, longest (90.3, 60.3),
        first [7.76, 1.658, 1.08, 1.36, 1.26], texture [0.787, 0.857], gflops [5.6, 5.1],
        small [1.57, 0.667, 1.13], best [0.626, 0.391, 1.18], at 512, sequence [0.210, 0.171];
    "spheres": 3_046_907 half, percent 0.044, per row 72.0, sort 5.0, longest (42.2, 36.6),
        first [10.12, 1.41, 1.02, 1.45, 1.98], texture [0.827, 0.915], gflops [7.4, 6.7],
        small [1.41, 0.690, 0.927], best [0.533, 0.348, 0.792], at 128, sequence [0.186, 0.168];
    "ship": 3_977_139 half, percent 0.015, per row 28.0, sort 10.5, longest (40.0, 28.3),
        first [14.35, 2.26, 1.54, 2.84, 2.87], texture [1.23, 2.13], gflops [6.5, 3.7],
        small [2.40, 1.09, 1.79], best [0.732, 0.534, 1.92], at 512, sequence [0.293, 0.220];
    "wind-tunnel": 5_926_171 half, percent 0.012, per row 53.0, sort 5.3, longest (31.0, 27.2),
        first [20.60, 6.56, 2.01, 3.56, 4.27], texture [1.55, 2.14], gflops [7.6, 5.5],
        small [7.00, 1.35, 1.93], best [1.79, 0.701, 1.77], at 512, sequence [0.417, 0.367];
    "circuit": 958_936, percent 0.003, per row 6.0, sort 9.0, longest (14.1, 5.66),
        first [4.619, 9.90, 2.11, 0.919, 3.07], texture [1.78, 0.793], gflops [1.1, 2.4],
        small [9.26, 0.596, 0.697], best [2.90, 0.428, 0.635], at 128, sequence [0.271, 0.251];
    "harbor": 2_374_001, percent 0.110, per row 50.0, sort 3.5, longest (76.5, 50.7),
        first [4.578, 1.69, 1.27, 1.03, 1.41], texture [0.811, 0.614], gflops [5.8, 7.7],
        small [1.66, 0.732, 0.707], best [0.595, 0.369, 0.581], at 128, sequence [0.210, 0.160];
};

/// Milliseconds with a synthetic matrix, GTX 295 and a Core 2 Quad.
pub(in crate::study) struct SyntheticTimes {
    pub(in crate::study) ell_r: f64,
    pub(in crate::study) sorted: f64,
    /// CSR with a warp per row.
    pub(in crate::study) warp: f64,
    /// CSR on the CPU.
    pub(in crate::study) cpu: Option<f64>,
}

const fn synthetic(ell_r: f64, sorted: f64, warp: f64, cpu: Option<f64>) -> SyntheticTimes {
    SyntheticTimes { ell_r, sorted, warp, cpu }
}

/// Tables 1 and 2: order and percentage of nonzeros.
pub(in crate::study) const SYNTHETIC_BY_DENSITY: [(usize, f64, SyntheticTimes); 7] = [
    (4096, 10.0, synthetic(1.40, 1.23, 0.83, None)),
    (8192, 10.0, synthetic(4.64, 3.89, 2.98, None)),
    (16_384, 10.0, synthetic(17.55, 14.11, 11.45, None)),
    (16_384, 5.0, synthetic(9.77, 7.11, 6.77, Some(45.48))),
    (16_384, 2.0, synthetic(3.98, 2.90, 3.06, Some(18.50))),
    (16_384, 1.0, synthetic(2.07, 1.58, 1.67, Some(9.39))),
    (16_384, 0.1, synthetic(0.32, 0.27, 0.47, Some(1.23))),
];

/// Table 3: percentage of rows with up to 32 nonzeros, order 16384.
pub(in crate::study) const SYNTHETIC_BY_SHORT_ROWS: [(u64, SyntheticTimes); 6] = [
    (10, synthetic(9.22, 6.46, 6.35, Some(42.03))),
    (30, synthetic(8.32, 5.25, 5.22, Some(32.74))),
    (50, synthetic(7.30, 3.40, 4.31, Some(23.35))),
    (70, synthetic(6.21, 2.74, 3.63, Some(14.64))),
    (90, synthetic(5.09, 1.94, 3.11, Some(5.77))),
    (100, synthetic(0.32, 0.29, 0.66, Some(1.25))),
];

/// Table 1: milliseconds with a synthetic matrix of 10 % nonzeros and the threads per block with the best time, GTX 295.
pub(in crate::study) struct BestBlocks {
    pub(in crate::study) order: usize,
    /// CSR with a thread per row, and with sorted rows.
    pub(in crate::study) csr: [(f64, u64); 2],
    /// ELL-R, and with sorted rows.
    pub(in crate::study) ell_r: [(f64, u64); 2],
    /// CSR with a warp per row.
    pub(in crate::study) warp: (f64, u64),
}

/// Table 1.
pub(in crate::study) const BEST_BLOCKS: [BestBlocks; 3] = [
    BestBlocks {
        order: 4096,
        csr: [(4.24, 32), (3.72, 128)],
        ell_r: [(1.40, 32), (1.23, 32)],
        warp: (0.83, 32),
    },
    BestBlocks {
        order: 8192,
        csr: [(20.22, 128), (18.80, 64)],
        ell_r: [(4.64, 64), (3.89, 64)],
        warp: (2.98, 32),
    },
    BestBlocks {
        order: 16_384,
        csr: [(93.37, 128), (88.14, 128)],
        ell_r: [(17.55, 128), (14.11, 32)],
        warp: (11.45, 32),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_from_times() {
        for matrix in &SORTED {
            for (ms, gflops) in matrix.texture_ms.into_iter().zip(matrix.gflops) {
                // Two digits; the times have three.
                let rate = 2.0 * matrix.nonzeros as f64 / ms / 1e6;
                assert!((rate - gflops).abs() < 0.06, "{}: {rate}, not {gflops}", matrix.name);
            }
        }
    }
}
