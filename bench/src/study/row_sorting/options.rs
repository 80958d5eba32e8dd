//! Options of products, and figures by their names.

use evenpath_lab::{EllOptions, XLoads};

use crate::operations::row_sorting::NamedOptions;
use crate::results::Row;
use crate::study::each::Measured;
use crate::study::figures::{quotient, widest};
use crate::study::published::{SORTED, SortedMatrix};

/// Threads per block, as in the source.
pub(super) const BLOCK_SIZES: [u32; 5] = [32, 64, 128, 256, 512];
/// The blocks with which the source compares texture memory, and those that are the default here.
const LOAD_BLOCK_SIZES: [u32; 2] = [32, 256];
pub(super) const FORMATS: [&str; 3] = ["ELL", "ELL-R", "ELL-R sorted"];

/// The default block size, in every table of kernels for ELL without options.
pub(super) const BLOCK_SIZE_NOTE: &str = "ELL has blocks of 256 threads; tables of their own have 32 to 512";
pub(super) const CPU_NOTE: &str =
    "the CPU is evenpath's CPU device on one thread, with CSR; sorting runs on the host";
/// The block size of the kernels of CSR.
pub(super) const CSR_BLOCK_NOTE: &str =
    "CSR, with a thread or a warp per row, has blocks of 256 threads only";

/// Blocks of this many threads.
pub(super) fn blocks_of(threads: u32) -> NamedOptions {
    (format!(", {threads} threads"), EllOptions::default().with_block_size(threads))
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

/// All options that the tables of stand-ins have.
pub(super) fn all() -> Vec<NamedOptions> {
    block_sizes().into_iter().chain(LOAD_BLOCK_SIZES.map(plain_loads)).collect()
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

/// The fastest block size of a format, and its milliseconds.
pub(super) fn fastest(row: &Row, format: &str) -> Option<(u64, f64)> {
    let times = BLOCK_SIZES
        .into_iter()
        .filter_map(|threads| Some((u64::from(threads), ms_with(row, format, &blocks_of(threads))?)));
    times.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// A quotient of times by name.
pub(super) fn over(row: &Row, above: &str, below: &str) -> Option<f64> {
    quotient(row.own_ms(above), row.own_ms(below))
}

/// The widest spread of the contenders with these ends of their names.
pub(super) fn spread_of(row: &Row, ends: &[NamedOptions]) -> Option<f64> {
    widest(row.ours().iter().filter(|own| ends.iter().any(|(end, _)| own.name.ends_with(end))))
}
