//! The analysis of a triangle on a device with kernels.

use evenpath_kernels::triangular::{NumberPieces, OrderTriangle, SortedTriangle, TriangleEntries};

use super::entries::{Entries, SortedSteps, find_entries, find_levels, sort_steps};
use super::residency::Waiting;
use crate::Offset;
use crate::device::{Device, DeviceVec, no_input};
use crate::format::csr::DevicePattern;
use crate::format::transpose::column_offsets;
use crate::operand::OpError;
use crate::operand::check::check_countable;

/// Threads of a block by tickets.
pub(super) const TICKET_BLOCK: u32 = 128;

/// A triangle whose rows, and pieces of long rows, are sorted by level.
pub(super) struct Analysis<O: Offset> {
    units: DeviceVec<u32>,
    begins: DeviceVec<O>,
    lengths: DeviceVec<u32>,
    first_pieces: DeviceVec<u32>,
    rows: usize,
    is_upper: bool,
    is_unit: bool,
    /// Number of pieces.
    pub(super) pieces: usize,
    /// Number of lanes of a unit.
    pub(super) lanes: u32,
    /// Number of levels.
    pub(super) levels: usize,
    /// The first unit of each step, and the number of units.
    pub(super) step_offsets: DeviceVec<u32>,
}

impl<O: Offset> Analysis<O> {
    /// Analyzes a triangle of a square, canonical pattern. Waits for the device.
    pub(super) fn new(
        pattern: &DevicePattern<O>,
        (is_upper, is_unit): (bool, bool),
    ) -> Result<Self, OpError> {
        let rows = pattern.rows;
        let device = pattern.row_offsets.device();
        let (entries, found) = find_entries(pattern, is_upper)?;
        if let Some(row) = found.missing.filter(|_| !is_unit) {
            return Err(OpError::MissingDiagonal { operand: "A", row });
        }
        let (lanes, pieces) = (found.lanes, found.pieces);
        check_countable("a list of rows and pieces", rows.saturating_add(pieces))?;
        let levels = find_levels(pattern, &entries, &found)?;
        let cuts = number_pieces(device, &entries, levels, (lanes, pieces))?;
        let most = if pieces > 0 { 2 * rows } else { rows };
        let SortedSteps { steps, units, last } = sort_steps(&cuts.steps, most)?;
        // Nothing is at step 0.
        let step_offsets = column_offsets(&steps, last + 1)?;
        let (begins, lengths) = order(&units, &entries, &cuts, lanes)?;
        let levels = if pieces > 0 { last / 2 } else { last };
        Ok(Self {
            units,
            begins,
            lengths,
            first_pieces: cuts.first_pieces,
            rows,
            is_upper,
            is_unit,
            pieces,
            lanes,
            levels,
            step_offsets,
        })
    }

    /// Number of rows and pieces.
    pub(super) fn units(&self) -> usize {
        self.units.len()
    }

    /// The rows of a launch by tickets.
    pub(super) fn waiting(&self) -> Waiting {
        let threads = self.units() as u64 * u64::from(self.lanes);
        Waiting { threads, levels: self.levels as u64, block_size: u64::from(TICKET_BLOCK) }
    }

    /// The triangle as a kernel argument.
    pub(super) fn view(&self) -> SortedTriangle<O> {
        SortedTriangle {
            units: self.units.as_global(),
            entries: TriangleEntries {
                begins: self.begins.as_global(),
                lengths: self.lengths.as_global(),
                count: self.units() as u32,
                is_upper: u32::from(self.is_upper),
            },
            first_pieces: self.first_pieces.as_global(),
            rows: self.rows as u32,
            is_unit: u32::from(self.is_unit),
        }
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        let Self { units, begins, lengths, first_pieces, step_offsets, .. } = self;
        let indices = [units, lengths, first_pieces, step_offsets].map(DeviceVec::bytes);
        begins.bytes() + indices.iter().sum::<u64>()
    }
}

/// The pieces of long rows.
struct Cuts {
    /// The steps of rows and, after them, of pieces.
    steps: DeviceVec<u32>,
    /// The first piece of each row that is cut; empty if there is none.
    first_pieces: DeviceVec<u32>,
    /// The row of each piece.
    piece_rows: DeviceVec<u32>,
}

/// Numbers the pieces of long rows. Without pieces, levels are the steps.
fn number_pieces<O: Offset>(
    device: &Device,
    entries: &Entries<O>,
    levels: DeviceVec<u32>,
    (lanes, pieces): (u32, usize),
) -> Result<Cuts, OpError> {
    let mut piece_rows = device.uninitialized(pieces)?;
    if pieces == 0 {
        return Ok(Cuts { steps: levels, first_pieces: device.uninitialized(0)?, piece_rows });
    }
    let rows = levels.len();
    let launch = device.kernel().threads(rows)?;
    let (mut first_pieces, mut steps) = (device.uninitialized(rows)?, device.uninitialized(rows + pieces)?);
    let mut numbered = device.zeros(1)?;
    let kernel = NumberPieces {
        entries: entries.view(),
        levels: levels.as_global(),
        lanes,
        numbered: numbered.as_global_mut(),
        first_pieces: first_pieces.as_global_mut(),
        piece_rows: piece_rows.as_global_mut(),
        steps: steps.as_global_mut(),
    };
    // SAFETY: there are a level and an element for each row, elements for the pieces, whose number was counted, and a word that is
    // zero; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(Cuts { steps, first_pieces, piece_rows })
}

/// Returns the entries of units in their order. A unit has `lanes` lanes.
fn order<O: Offset>(
    units: &DeviceVec<u32>,
    entries: &Entries<O>,
    Cuts { first_pieces, piece_rows, .. }: &Cuts,
    lanes: u32,
) -> Result<(DeviceVec<O>, DeviceVec<u32>), OpError> {
    let device = units.device();
    let launch = device.kernel().threads(units.len())?;
    let (mut begins, mut lengths) = (device.uninitialized(units.len())?, device.uninitialized(units.len())?);
    let has_pieces = !piece_rows.is_empty();
    let kernel = OrderTriangle {
        units: units.as_global(),
        count: units.len() as u32,
        entries: entries.view(),
        first_pieces: if has_pieces { first_pieces.as_global() } else { no_input() },
        piece_rows: if has_pieces { piece_rows.as_global() } else { no_input() },
        lanes,
        begins: begins.as_global_mut(),
        lengths: lengths.as_global_mut(),
    };
    // SAFETY: units are the numbers of rows and, after them, of pieces; there is an element for each; buffers are freed in the stream's
    // order.
    unsafe { launch.launch(kernel) }?;
    Ok((begins, lengths))
}
