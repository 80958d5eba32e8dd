//! Results with one matrix: by method, on the CPU, and by the size of blocks.

use std::error::Error;

use evenpath::Csr;
use evenpath::device::DeviceKind;
use evenpath::ell::PaddingLimit;
use evenpath::spmv::{SpmvMethod, SpmvOptions};
use serde::{Deserialize, Serialize};

use super::row_blocks;
use crate::operations::spmv::{Product, Way};
use crate::operations::threads::{spmv_mixed_on_threads, spmv_on_threads};
use crate::operations::{Bench, Case, row};
use crate::peers::{PeerValue, Peers};
use crate::results::{Contender, Row};

/// Threads per block, as in the source.
pub(super) const BLOCK_SIZES: [u32; 4] = [128, 256, 512, 1024];
/// The source's choice of threads per block for its other results.
pub(super) const CHOSEN: u32 = BLOCK_SIZES[2];

/// The library's methods, with its own tiles and grids.
pub(super) const CSR_ADAPTIVE: SpmvMethod = SpmvMethod::CsrAdaptive { block_size: None };
pub(super) const LIGHT: SpmvMethod = SpmvMethod::Light { lanes: None, block_size: None };
pub(super) const VECTOR: SpmvMethod = SpmvMethod::Vector { lanes: None };

/// The methods to measure without a given block size.
const METHODS: [SpmvMethod; 5] = [CSR_ADAPTIVE, LIGHT, VECTOR, SpmvMethod::Scalar, SpmvMethod::Auto];

/// The source's methods as it runs them: a row block has as many nonzeros as a block has threads; LightSpMV has a block for as
/// many rows as threads.
pub(super) const ADAPTIVE_OF_SOURCE: &str = "CSR-Adaptive";
pub(super) const LIGHT_OF_SOURCE: &str = "LightSpMV";
/// LightSpMV with the grid of its publication.
pub(super) const LIGHT_RESIDENT: &str = "LightSpMV, resident blocks";

/// Ways that are measured by threads per block.
pub(super) const BY_BLOCK_SIZE: [&str; 3] = [ADAPTIVE_OF_SOURCE, LIGHT_OF_SOURCE, LIGHT_RESIDENT];

/// One of [`BY_BLOCK_SIZE`] with this many threads per block.
fn way(method: &str, threads: u32) -> Way {
    let (name, block_size) = (name(method, threads), Some(threads));
    let direct = |name, method| Way::direct(name, SpmvOptions::default().with_method(method));
    match method {
        ADAPTIVE_OF_SOURCE => direct(name, SpmvMethod::CsrAdaptive { block_size }),
        LIGHT_OF_SOURCE => Way::light_by_rows(name, threads),
        _ => direct(name, SpmvMethod::Light { lanes: None, block_size }),
    }
}

/// The name of a method with this many threads per block.
pub(super) fn name(method: &str, threads: u32) -> String {
    format!("{method}, {threads} threads")
}

/// The results with a matrix in a type.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Results {
    /// By method, with the source's configurations.
    pub(super) methods: Row,
    /// On all threads of the CPU.
    pub(super) cpu: Contender,
    /// The same of values in single and y in double precision, for a matrix in single precision; not in older files.
    #[serde(default)]
    pub(super) mixed: Option<Contender>,
    /// Results by threads per block, and by nonzeros per row block. The CPU has neither.
    pub(super) blocks: Option<[Row; 2]>,
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
        let has_blocks = bench.device.kind() != DeviceKind::Cpu;
        let methods = METHODS.into_iter().filter(|method| method.runs_on(bench.device.kind()));
        let mut ways: Vec<Way> =
            methods.map(Way::method).chain([Way::ell(PaddingLimit::default())]).collect();
        if has_blocks {
            ways.extend([ADAPTIVE_OF_SOURCE, LIGHT_OF_SOURCE].map(|method| way(method, CHOSEN)));
        }
        let threads = std::thread::available_parallelism()?.get();
        Ok(Self {
            methods: bench.row(&Case::Spmv(Product::direct(ways)), name, matrix),
            cpu: Contender {
                name: "CPU".into(),
                ..spmv_on_threads(threads, matrix, SpmvMethod::Auto, bench.repetitions)?
            },
            mixed: None,
            blocks: has_blocks.then(|| Self::blocks(bench, name, matrix)),
        })
    }

    /// Measures a matrix in single precision, also with y in double precision on the CPU.
    ///
    /// # Errors
    ///
    /// The same as for [`new`](Self::new).
    pub(super) fn single(bench: &Bench<'_>, name: &str, matrix: &Csr<f32>) -> Result<Self, Box<dyn Error>> {
        let threads = std::thread::available_parallelism()?.get();
        let mixed = Contender {
            name: "CPU, y in f64".into(),
            ..spmv_mixed_on_threads(threads, matrix, bench.repetitions)?
        };
        Ok(Self { mixed: Some(mixed), ..Self::new(bench, name, matrix)? })
    }

    fn blocks<V: PeerValue>(bench: &Bench<'_>, matrix_name: &str, matrix: &Csr<V>) -> [Row; 2] {
        let ways =
            BY_BLOCK_SIZE.into_iter().flat_map(|method| BLOCK_SIZES.map(|threads| way(method, threads)));
        let (alone, case) =
            (Bench { peers: &Peers::default(), ..*bench }, Case::Spmv(Product::direct(ways.collect())));
        let key = case.key("-", matrix_name, V::NAME);
        [alone.row(&case, matrix_name, matrix), row(key, matrix, || row_blocks::measure(&alone, matrix))]
    }
}
