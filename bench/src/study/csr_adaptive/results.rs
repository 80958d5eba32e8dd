//! Results with one matrix: by method, on the CPU, and by the size of blocks.

use std::error::Error;

use evenpath::Csr;
use evenpath::device::DeviceKind;
use evenpath::ell::PaddingLimit;
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use serde::{Deserialize, Serialize};

use super::row_blocks;
use crate::operations::spmv::{Product, Way};
use crate::operations::threads::spmv_on_threads;
use crate::operations::{Bench, Case, row};
use crate::peers::{PeerValue, Peers};
use crate::results::{Contender, Row};

/// Threads per block, as in the source.
pub(super) const BLOCK_SIZES: [u32; 4] = [128, 256, 512, 1024];

/// The methods of the source.
pub(super) const CSR_ADAPTIVE: SpmvMethod = SpmvMethod::CsrAdaptive { block_size: None };
pub(super) const LIGHT: SpmvMethod = SpmvMethod::Light { lanes: None, block_size: None };
pub(super) const VECTOR: SpmvMethod = SpmvMethod::Vector { lanes: None };

/// A method of the source by threads per block, and its title.
type Published = (fn(u32) -> SpmvMethod, &'static str);

/// The methods of the source.
pub(super) const PUBLISHED: [Published; 2] = [
    (|threads| SpmvMethod::CsrAdaptive { block_size: Some(threads) }, "CSR-Adaptive"),
    (|threads| SpmvMethod::Light { lanes: None, block_size: Some(threads) }, "LightSpMV"),
];

/// All methods.
const METHODS: [SpmvMethod; 5] = [CSR_ADAPTIVE, LIGHT, VECTOR, SpmvMethod::Scalar, SpmvMethod::Auto];

/// The results with a matrix in a type.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Results {
    pub(super) methods: Row,
    /// On all threads of the CPU.
    pub(super) cpu: Contender,
    /// Results by threads per block, and by nonzeros per row block. The CPU has neither.
    pub(super) blocks: Option<[Row; 2]>,
}

/// The name of a method with this many threads per block.
pub(super) fn name(method: &str, threads: u32) -> String {
    format!("{method}, {threads} threads")
}

impl Results {
    /// Measures a matrix.
    ///
    /// # Errors
    ///
    /// If the number of threads is unknown.
    pub(super) fn new<V: PeerValue>(
        bench: &Bench<'_>,
        name: &str,
        matrix: &Csr<V>,
    ) -> Result<Self, Box<dyn Error>> {
        let methods = METHODS.into_iter().filter(|method| method.runs_on(bench.device.kind()));
        let ways = methods.map(Way::method).chain([Way::ell(PaddingLimit::default())]).collect();
        let threads = std::thread::available_parallelism()?.get();
        let has_blocks = bench.device.kind() != DeviceKind::Cpu;
        Ok(Self {
            methods: bench.row(&Case::Spmv(Product::direct(ways)), name, matrix),
            cpu: Contender {
                name: "CPU".into(),
                ..spmv_on_threads(threads, matrix, SpmvMethod::Auto, bench.repetitions)?
            },
            blocks: has_blocks.then(|| Self::blocks(bench, name, matrix)),
        })
    }

    fn blocks<V: PeerValue>(bench: &Bench<'_>, matrix_name: &str, matrix: &Csr<V>) -> [Row; 2] {
        let way = |(method, title): Published, threads| {
            let options = SpmvOptions::default().with_method(method(threads));
            Way::direct(name(title, threads), options)
        };
        let ways = PUBLISHED.into_iter().flat_map(|method| BLOCK_SIZES.map(|threads| way(method, threads)));
        let (alone, case) =
            (Bench { peers: &Peers::default(), ..*bench }, Case::Spmv(Product::direct(ways.collect())));
        let key = case.key("-", matrix_name, V::NAME);
        [alone.row(&case, matrix_name, matrix), row(key, matrix, || row_blocks::measure(&alone, matrix))]
    }
}
