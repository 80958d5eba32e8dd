//! Which method a plan takes.

use super::lengths::Lengths;
use super::merge::Merge;
use super::row_tiles::RowTiles;
use super::windows::Windows;
use super::{Schedule, SpmvMethod, cpu};
use crate::device::DeviceKind;
use crate::op::{DeviceCsr, OpError};
use crate::{Offset, Value};

/// Rows up to this length are done by one warp: a longer one keeps it busy when all others are through.
const LONGEST_ROW: u64 = 2048;

/// Windows are looked for from this many nonzeros a row on: with fewer, x is no large part of what is read.
const WINDOW_MEAN: f64 = 16.0;

/// What a plan runs, and why.
pub(super) struct Choice<V: Value, O: Offset> {
    pub(super) method: SpmvMethod,
    pub(super) reason: String,
    pub(super) schedule: Box<dyn Schedule<V, O>>,
}

pub(super) fn choose<V: Value, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    method: SpmvMethod,
) -> Result<Choice<V, O>, OpError> {
    let asked = |schedule| Choice { method, reason: "asked for".into(), schedule };
    if matrix.device().kind() == DeviceKind::Cpu {
        let reason = "balanced, whatever the shape".into();
        return Ok(Choice {
            method: SpmvMethod::MergePath,
            reason,
            schedule: Box::new(cpu::Cpu::new(matrix)),
        });
    }
    match method {
        SpmvMethod::Auto => automatic(matrix),
        SpmvMethod::MergePath => Ok(asked(Box::new(Merge::analyse(matrix)?))),
        SpmvMethod::RowTiles => {
            let lengths = Lengths::count(matrix)?;
            Ok(asked(Box::new(RowTiles::new(matrix, lengths)?.ok_or_else(|| too_long(method, lengths))?)))
        }
        SpmvMethod::Windows => {
            let lengths = Lengths::count(matrix)?;
            Ok(asked(Box::new(Windows::find(matrix, lengths)?.ok_or_else(|| too_long(method, lengths))?)))
        }
    }
}

fn too_long(method: SpmvMethod, lengths: Lengths) -> OpError {
    OpError::RowTooLong { method: method.to_string(), len: lengths.longest }
}

/// From the row lengths, and, if those are even and there are many nonzeros a row, from the columns.
fn automatic<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<Choice<V, O>, OpError> {
    let lengths = Lengths::count(matrix)?;
    let Lengths { longest, mean, empty } = lengths;
    if longest > LONGEST_ROW {
        let reason =
            format!("the longest row has {longest} nonzeros, the mean is {mean:.1}: work is cut evenly");
        return merge(matrix, reason);
    }
    let rows = format!("rows have {mean:.1} nonzeros on average and {longest} at most, {empty} are empty");
    let multiprocessors = u64::from(matrix.device().properties().multiprocessors);
    // A few blocks of 512 rows for each multiprocessor, or some have nothing to do.
    if mean >= WINDOW_MEAN
        && matrix.rows() as u64 >= 2048 * multiprocessors
        && let Some(windows) = Windows::find(matrix, lengths)?
        && windows.found().are_worth_it(matrix.nnz() as u64)
    {
        let uses = windows.found().uses();
        let reason = format!("{rows}; the rows of a block use the same elements of x {uses} times");
        return Ok(Choice { method: SpmvMethod::Windows, reason, schedule: Box::new(windows) });
    }
    match RowTiles::new(matrix, lengths)? {
        Some(tiles) => Ok(Choice { method: SpmvMethod::RowTiles, reason: rows, schedule: Box::new(tiles) }),
        None => merge(matrix, rows),
    }
}

fn merge<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>, reason: String) -> Result<Choice<V, O>, OpError> {
    Ok(Choice { method: SpmvMethod::MergePath, reason, schedule: Box::new(Merge::analyse(matrix)?) })
}
