//! Options of products, and figures by their names.

use evenpath_lab::{EllOptions, XLoads};

use crate::operations::row_sorting::{IN_SEQUENCE, NamedOptions, Variants, in_blocks};
use crate::results::{Contender, Row};
use crate::study::each::Measured;
use crate::study::figures::{quotient, widest};
use crate::study::published::{SORTED, SortedMatrix};

/// Threads per block, as in the source.
pub(super) const BLOCK_SIZES: [u32; 5] = [32, 64, 128, 256, 512];
/// The blocks with which the source compares texture memory, and those that are the default here.
const LOAD_BLOCK_SIZES: [u32; 2] = [32, 256];
/// Threads per block of ELL-R that reads x in sequence: one more in the source.
const SEQUENCE_BLOCK_SIZES: [u32; 6] = [32, 64, 128, 256, 384, 512];
pub(super) const FORMATS: [&str; 3] = ["ELL", "ELL-R", "ELL-R sorted"];

/// The default block size, in every table of kernels for ELL without options.
pub(super) const BLOCK_SIZE_NOTE: &str = "ELL has blocks of 256 threads; tables of their own have 32 to 512";
pub(super) const CPU_NOTE: &str =
    "the CPU is evenpath's CPU device on one thread, with CSR; sorting runs on the host";

/// Blocks of this many threads.
pub(super) fn blocks_of(threads: u32) -> NamedOptions {
    (in_blocks(threads), EllOptions::default().with_block_size(threads))
}

/// Plain loads of x by blocks of this many threads.
pub(super) fn plain_loads(threads: u32) -> NamedOptions {
    let (name, options) = blocks_of(threads);
    (format!("{name}, plain"), options.with_x_loads(XLoads::Plain))
}

/// All block sizes.
pub(super) fn block_sizes() -> Vec<NamedOptions> {
    BLOCK_SIZES.map(blocks_of).into()
}

/// All variants that the tables of stand-ins have: CSR in the blocks of Table 4.
pub(super) fn of_stand_ins() -> Variants {
    Variants {
        ell: block_sizes().into_iter().chain(LOAD_BLOCK_SIZES.map(plain_loads)).collect(),
        csr: vec![LOAD_BLOCK_SIZES[0]],
        in_sequence: SEQUENCE_BLOCK_SIZES.into(),
    }
}

/// All variants that the tables of synthetic matrices have.
pub(super) fn of_synthetic() -> Variants {
    Variants { ell: block_sizes(), csr: BLOCK_SIZES.into(), in_sequence: Vec::new() }
}

/// The published figures of a matrix.
pub(super) fn published(row: &Measured<Row>) -> &'static SortedMatrix {
    let found = SORTED.iter().find(|sorted| sorted.name == row.name);
    found.unwrap_or_else(|| unreachable!("the stand-ins are for published matrices"))
}

/// Milliseconds of a format with these options.
pub(super) fn ms_with(row: &Row, format: &str, (end, _): &NamedOptions) -> Option<f64> {
    row.own_ms(&format!("{format}{end}"))
}

/// The fastest block size of a format or method, and its milliseconds.
pub(super) fn fastest(row: &Row, format: &str) -> Option<(u64, f64)> {
    fastest_of(&BLOCK_SIZES, |threads| row.own_ms(&format!("{format}{}", in_blocks(threads))))
}

/// The fastest block size of a format that reads x in sequence, and its milliseconds.
pub(super) fn fastest_in_sequence(row: &Row, format: &str) -> Option<(u64, f64)> {
    fastest_of(&SEQUENCE_BLOCK_SIZES, |threads| {
        row.own_ms(&format!("{format}{}{IN_SEQUENCE}", in_blocks(threads)))
    })
}

fn fastest_of(block_sizes: &[u32], ms: impl Fn(u32) -> Option<f64>) -> Option<(u64, f64)> {
    let times = block_sizes.iter().filter_map(|&threads| Some((u64::from(threads), ms(threads)?)));
    times.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// A quotient of times by name.
pub(super) fn over(row: &Row, above: &str, below: &str) -> Option<f64> {
    quotient(row.own_ms(above), row.own_ms(below))
}

/// The widest spread of these formats and methods with these options.
pub(super) fn spread_of(row: &Row, names: &[&str], ends: &[NamedOptions]) -> Option<f64> {
    let is_shown = |own: &&Contender| {
        let mut shown = names.iter().flat_map(|name| ends.iter().map(move |(end, _)| (name, end)));
        shown.any(|(name, end)| own.name.strip_prefix(name) == Some(end))
    };
    widest(row.ours().iter().filter(is_shown))
}
