//! The entries and levels of the rows of a triangle, on a device with kernels.

use evenpath_kernels::triangular::{FOUND_WORDS, FindLevels, FindTriangle, TriangleEntries, pieces_word};

use super::lanes::lanes;
use crate::Offset;
use crate::device::DeviceVec;
use crate::format::csr::DevicePattern;
use crate::operand::{OpError, Pairs};
use crate::sequence::sort::{self, SortOptions};
use crate::sequence::vector;

/// Maximum number of rows, so that 32 bits hold the steps of rows and pieces.
pub(in crate::op) const MAX_ROWS: usize = 1 << 30;

/// The entries of each row of a triangle, the diagonal left out.
pub(in crate::op) struct Entries<O: Offset> {
    pub(in crate::op) begins: DeviceVec<O>,
    pub(in crate::op) lengths: DeviceVec<u32>,
    is_upper: bool,
}

impl<O: Offset> Entries<O> {
    /// The entries as a kernel argument.
    pub(in crate::op) fn view(&self) -> TriangleEntries<O> {
        TriangleEntries {
            begins: self.begins.as_global(),
            lengths: self.lengths.as_global(),
            count: self.lengths.len() as u32,
            is_upper: u32::from(self.is_upper),
        }
    }
}

/// Counts of a triangle.
pub(in crate::op) struct Found {
    /// The first row without an entry on the diagonal.
    pub(in crate::op) missing: Option<usize>,
    /// Lanes of a row.
    pub(in crate::op) lanes: u32,
    /// Number of pieces of long rows.
    pub(in crate::op) pieces: usize,
    /// True if there is a row that would be cut for any number of lanes.
    has_longest: bool,
}

/// Finds the entries of each row of a square, canonical pattern. Waits for the device.
pub(in crate::op) fn find_entries<O: Offset>(
    pattern: &DevicePattern<O>,
    is_upper: bool,
) -> Result<(Entries<O>, Found), OpError> {
    let device = pattern.row_offsets.device();
    let launch = device.kernel().threads(pattern.rows)?;
    let (mut begins, mut lengths) =
        (device.uninitialized(pattern.rows)?, device.uninitialized(pattern.rows)?);
    let mut found = device.zeros::<u64>(FOUND_WORDS)?;
    let kernel = FindTriangle {
        pattern: pattern.view(),
        begins: begins.as_global_mut(),
        lengths: lengths.as_global_mut(),
        found: found.as_global_mut(),
        is_upper: u32::from(is_upper),
    };
    // SAFETY: the pattern is square and canonical, there is an element for each row, and the words; buffers are freed in the
    // stream's order.
    unsafe { launch.launch(kernel) }?;
    let words: [u64; FOUND_WORDS] = found.first()?;
    let [missing, count, ..] = words;
    let lanes = lanes(pattern.rows, count);
    let found = Found {
        missing: first_row(missing),
        lanes,
        pieces: words[pieces_word(lanes)] as usize,
        has_longest: words[pieces_word(32)] > 0,
    };
    Ok((Entries { begins, lengths, is_upper }, found))
}

/// Returns the row in a word that kernels raise to the complement of the first row that they look for; zero is none.
pub(in crate::op) fn first_row(found: u64) -> Option<usize> {
    (found > 0).then_some(!found as usize)
}

/// Finds the level of each row: by a warp for each if a row is long, and otherwise by as many lanes as a solve has.
pub(in crate::op) fn find_levels<O: Offset>(
    pattern: &DevicePattern<O>,
    entries: &Entries<O>,
    found: &Found,
) -> Result<DeviceVec<u32>, OpError> {
    let device = pattern.row_offsets.device();
    let lanes = if found.has_longest { 32 } else { found.lanes };
    let launch = device.kernel().threads(pattern.rows * lanes as usize)?;
    let (mut levels, mut drawn) = (device.zeros(pattern.rows)?, device.zeros(1)?);
    let kernel = FindLevels {
        entries: entries.view(),
        column_indices: pattern.view().column_indices,
        levels: levels.as_global_mut(),
        drawn: drawn.as_global_mut(),
        lanes,
    };
    // SAFETY: the entries are those of the pattern's triangle, whose columns are numbers of rows; there are `lanes` threads for each
    // row, and levels and the counter are zero; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(levels)
}

/// Rows, or rows and pieces, in the order of their steps.
pub(in crate::op) struct SortedSteps {
    /// The steps, in order.
    pub(in crate::op) steps: DeviceVec<u32>,
    /// The row or piece of each.
    pub(in crate::op) units: DeviceVec<u32>,
    /// The last step; zero if there is none.
    pub(in crate::op) last: usize,
}

/// Sorts the steps of rows and pieces, none of which exceeds `most`, stably. Waits for the device.
pub(in crate::op) fn sort_steps(steps: &DeviceVec<u32>, most: usize) -> Result<SortedSteps, OpError> {
    let numbers = vector::iota(steps.device(), steps.len() as u32)?;
    let bits = SortOptions::default().with_bits(0..usize::BITS - most.leading_zeros());
    let (steps, units) = sort::pairs(Pairs::new(steps, &numbers), bits)?;
    let last = if steps.is_empty() { 0 } else { steps.get(steps.len() - 1)? as usize };
    Ok(SortedSteps { steps, units, last })
}
