//! The study of CSR-Adaptive and LightSpMV.

/// A matrix of the study of CSR-Adaptive and LightSpMV.
pub(in crate::study) struct AdaptiveMatrix {
    pub(in crate::study) name: &'static str,
    /// Rows and nonzeros per row of Table 1.
    pub(in crate::study) rows: usize,
    pub(in crate::study) nonzeros_per_row: f64,
    /// The CPU's time over that of CSR-Adaptive and that of LightSpMV (Table 2), in single and double precision.
    pub(in crate::study) over_adaptive: [f64; 2],
    pub(in crate::study) over_light: [f64; 2],
    /// Seconds on the CPU, single and double precision.
    pub(in crate::study) cpu_seconds: [f64; 2],
    /// The largest difference to the CPU's result, single and double precision.
    pub(in crate::study) difference: [&'static str; 2],
}

impl AdaptiveMatrix {
    /// Milliseconds on the CPU, by CSR-Adaptive and by LightSpMV, in single (0) or double precision (1).
    pub(in crate::study) fn ms(&self, precision: usize) -> [f64; 3] {
        let cpu = 1e3 * self.cpu_seconds[precision];
        [cpu, cpu / self.over_adaptive[precision], cpu / self.over_light[precision]]
    }
}

/// The published milliseconds with a matrix on the CPU, by CSR-Adaptive and by LightSpMV, in single (0) or double precision (1);
/// `None` for other matrices.
pub(in crate::study) fn adaptive_ms(name: &str, precision: usize) -> Option<[f64; 3]> {
    ADAPTIVE.iter().find(|matrix| matrix.name == name).map(|matrix| matrix.ms(precision))
}

/// GB/s of the CPU with `af_shell10` in double precision, as the text prints it: of fewer bytes than the rates of the GPU.
pub(in crate::study) const ADAPTIVE_CPU_GBPS: f64 = 3.371_469;

/// Tables 1 and 2 of the study of CSR-Adaptive and LightSpMV, GTX 1050 Ti, blocks of 512.
pub(in crate::study) const ADAPTIVE: [AdaptiveMatrix; 3] = [
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
