//! Which method a plan takes.

use evenpath_simt::ScalarType;

use super::adaptive::Adaptive;
use super::binned::Binned;
use super::flat::Flat;
use super::lengths::Lengths;
use super::light::Light;
use super::merge::Merge;
use super::row_tiles::RowTiles;
use super::windows::Windows;
use super::{Schedule, SpmvMethod, cpu, rows};
use crate::device::DeviceKind;
use crate::op::{DeviceCsr, OpError};
use crate::policy;
use crate::{Offset, Value};

/// Windows are looked for from this many nonzeros a row on: with fewer, x is no large part of what is read.
const WINDOW_MEAN: f64 = 16.0;

/// Row blocks measure better than row tiles from this many nonzeros a row on.
const ROW_BLOCK_MEAN: f64 = 12.0;

/// From this many nonzeros a row on, a row is a block's work, if all are alike.
const BLOCK_MEAN: f64 = 768.0;

/// Rows are binned up to this many nonzeros a row.
const BINNED_MEAN: f64 = 8.0;

/// Long rows are cut into pieces where they have at most the nonzeros divided by this.
const LONG_SHARE: u64 = 8;

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
    let device = matrix.device();
    let kind = device.kind();
    if !method.runs_on(kind) {
        let usable = SpmvMethod::names(|method| method.runs_on(kind));
        return Err(OpError::UnsupportedMethod { method, device: device.to_string(), usable });
    }
    if kind == DeviceKind::Cpu {
        return Ok(cpu::choose(matrix, method));
    }
    match method {
        SpmvMethod::Auto => automatic(matrix),
        SpmvMethod::Scalar => Ok(asked(Box::new(rows::Vector::new(matrix, 1)))),
        SpmvMethod::Vector => Ok(asked(Box::new(rows::Vector::new(matrix, mean_lanes(matrix))))),
        SpmvMethod::Warp => Ok(asked(Box::new(rows::Vector::new(matrix, 32)))),
        SpmvMethod::Block => Ok(asked(Box::new(rows::Block::new(matrix)))),
        SpmvMethod::Flat => Ok(asked(Box::new(Flat::analyse(matrix)?))),
        SpmvMethod::MergePath => Ok(asked(Box::new(Merge::analyse(matrix)?))),
        SpmvMethod::CsrAdaptive => Ok(asked(Box::new(Adaptive::analyse(matrix)?))),
        SpmvMethod::Light => Ok(asked(Box::new(Light::new(matrix, mean_lanes(matrix))?))),
        SpmvMethod::RowBlocks => {
            let on_device = Adaptive::on_device(matrix, Lengths::count(matrix)?)?;
            Ok(asked(Box::new(on_device.map_or_else(|| Adaptive::analyse(matrix), Ok)?)))
        }
        SpmvMethod::RowTiles => of_rows(matrix, method, RowTiles::new),
        SpmvMethod::Binned => of_rows(matrix, method, Binned::new),
        SpmvMethod::Windows => of_rows(matrix, method, Windows::find),
        SpmvMethod::RowParallel => unreachable!("only the CPU has it"),
    }
}

/// Whether the second-level cache holds the matrix and its vectors from run to run, with room for what else is in it. Then
/// few steps, one behind the other, count for more than wide accesses.
fn stays_in_cache<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> bool {
    let (rows, cols, nonzeros) = (matrix.rows() as u64, matrix.cols() as u64, matrix.nnz() as u64);
    let (value, offset) = (size_of::<V>() as u64, size_of::<O>() as u64);
    let bytes = nonzeros * (value + 4) + rows * (value + offset) + cols * value;
    matrix.device().properties().l2_bytes.is_some_and(|l2| bytes <= l2 / 10 * 6)
}

/// Lanes that rows of the matrix's mean length want.
fn mean_lanes<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> u32 {
    policy::spmv_lanes(matrix.rows() as u64, matrix.nnz() as u64)
}

/// A schedule of rows that was asked for.
fn of_rows<V: Value, O: Offset, S: Schedule<V, O> + 'static>(
    matrix: &DeviceCsr<V, O>,
    method: SpmvMethod,
    new: impl FnOnce(&DeviceCsr<V, O>, Lengths) -> Result<Option<S>, OpError>,
) -> Result<Choice<V, O>, OpError> {
    let lengths = Lengths::count(matrix)?;
    let schedule = new(matrix, lengths)?
        .ok_or_else(|| OpError::RowTooLong { method: method.to_string(), len: lengths.longest })?;
    Ok(Choice { method, reason: "asked for".into(), schedule: Box::new(schedule) })
}

/// From the row lengths, and, if those are even and there are many nonzeros a row, from the columns.
fn automatic<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<Choice<V, O>, OpError> {
    let lengths = Lengths::count(matrix)?;
    let Lengths { longest, mean, empty, limit, long } = lengths;
    let text = format!("rows have {mean:.1} nonzeros on average and {longest} at most, {empty} are empty");
    let chosen = |method, reason, schedule| Ok(Choice { method, reason, schedule });
    let even = longest <= u64::from(limit);
    // Where they have a large share, a cut that knows no rows is better.
    if !even
        && mean < BINNED_MEAN
        && long.nonzeros <= matrix.nnz() as u64 / LONG_SHARE
        && let Some(binned) = Binned::new(matrix, lengths)?
    {
        let reason =
            format!("{text}; {} with more than {limit} are cut into {} pieces", long.rows, long.pieces);
        return chosen(SpmvMethod::Binned, reason, Box::new(binned));
    }
    let multiprocessors = u64::from(matrix.device().properties().multiprocessors);
    // A few blocks of 512 rows for each multiprocessor, or some have nothing to do.
    if even
        && mean >= WINDOW_MEAN
        && matrix.rows() as u64 >= 2048 * multiprocessors
        && let Some(windows) = Windows::find(matrix, lengths)?
    {
        let (found, nonzeros) = (windows.found(), matrix.nnz() as u64);
        if found.are_worth_it(nonzeros) {
            let uses = found.uses();
            let reason = format!("{text}; the rows of a block use the same elements of x {uses} times");
            return chosen(SpmvMethod::Windows, reason, Box::new(windows));
        }
        if empty == 0 && found.are_too_narrow(nonzeros) {
            let reason = format!("{text}; their columns are scattered");
            return chosen(SpmvMethod::Flat, reason, Box::new(Flat::of_filled_rows(matrix)?));
        }
    }
    if mean >= BLOCK_MEAN && longest as f64 <= 2.0 * mean {
        return chosen(SpmvMethod::Block, text, Box::new(rows::Block::new(matrix)));
    }
    if even && V::TYPE == ScalarType::F64 && stays_in_cache(matrix) {
        let reason = format!("{text}; the matrix stays in cache");
        return chosen(SpmvMethod::Vector, reason, Box::new(rows::Vector::new(matrix, mean_lanes(matrix))));
    }
    if even
        && mean >= ROW_BLOCK_MEAN
        && let Some(blocks) = Adaptive::on_device(matrix, lengths)?
    {
        return chosen(SpmvMethod::RowBlocks, text, Box::new(blocks));
    }
    if even && let Some(tiles) = RowTiles::new(matrix, lengths)? {
        return chosen(SpmvMethod::RowTiles, text, Box::new(tiles));
    }
    let reason =
        format!("{text}; {} with more than {limit} have {} of the nonzeros", long.rows, long.nonzeros);
    if empty == 0 {
        return chosen(SpmvMethod::Flat, reason, Box::new(Flat::of_filled_rows(matrix)?));
    }
    chosen(SpmvMethod::MergePath, reason, Box::new(Merge::analyse(matrix)?))
}
