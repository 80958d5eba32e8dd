//! Which method a plan takes.

use evenpath_simt::ScalarType;

use super::adaptive::Adaptive;
use super::binned::Binned;
use super::flat::Flat;
use super::lengths::Lengths;
use super::light::Light;
use super::merge::Merge;
use super::narrow::Narrow;
use super::row_tiles::RowTiles;
use super::windows::Windows;
use super::{Schedule, SpmvMethod, SpmvOptions, cpu, rows};
use crate::device::DeviceKind;
use crate::op::{DeviceCsr, OpError};
use crate::policy;
use crate::{Offset, Value};

/// Windows are looked for from this many nonzeros per row on: with fewer, x is no large part of what is read.
const WINDOW_MEAN: f64 = 15.0;

/// In f32, windows pay for rows of so many nonzeros even where neighboring nonzeros have neighboring columns.
const WINDOW_MEAN_OF_NEIGHBORS: f64 = 56.0;

/// Row blocks measure better than row tiles from this many nonzeros per row on.
const ROW_BLOCK_MEAN: f64 = 12.0;

/// From this many nonzeros per row on, a row is a block's work, if all are alike.
const BLOCK_MEAN: f64 = 768.0;

/// Rows are binned up to this many nonzeros per row.
const BINNED_MEAN: f64 = 8.0;

/// Threads of a multiprocessor at once.
const WAVE_THREADS: u64 = 2048;

/// Where all rows are on their way at once, the longest decides: most accesses of a lane, behind each other, with which lanes a
/// row are faster than row blocks, and than row tiles, which shorter rows have.
const WAVE_STEPS: [u64; 2] = [8, 32];

/// Long rows are cut into pieces where they have at most the nonzeros divided by this.
const LONG_SHARE: u64 = 8;

/// What a plan runs, and why.
pub(super) struct Choice<V: Value, O: Offset> {
    pub(super) method: SpmvMethod,
    pub(super) reason: String,
    pub(super) schedule: Box<dyn Schedule<V, O>>,
}

impl<V: Value, O: Offset> Choice<V, O> {
    fn new(method: SpmvMethod, reason: String, schedule: impl Schedule<V, O> + 'static) -> Self {
        Self { method, reason, schedule: Box::new(schedule) }
    }
}

pub(super) fn choose<V: Value, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    options: SpmvOptions,
) -> Result<Choice<V, O>, OpError> {
    let SpmvOptions { method, .. } = options;
    let asked = |schedule| Choice { method, reason: "asked for".into(), schedule };
    let device = matrix.device();
    let kind = device.kind();
    if !method.runs_on(kind) {
        let usable = SpmvMethod::names(|method| method.runs_on(kind));
        return Err(OpError::UnsupportedMethod { method, device: device.to_string(), usable });
    }
    let lanes = lanes(matrix, options)?;
    if kind == DeviceKind::Cpu {
        return Ok(cpu::choose(matrix, method));
    }
    match method {
        SpmvMethod::Auto => automatic(matrix, false),
        SpmvMethod::Scalar => Ok(asked(Box::new(rows::Vector::new(matrix, 1)))),
        SpmvMethod::Vector => Ok(asked(Box::new(rows::Vector::new(matrix, lanes)))),
        SpmvMethod::Warp => Ok(asked(Box::new(rows::Vector::new(matrix, 32)))),
        SpmvMethod::Block => Ok(asked(Box::new(rows::Block::new(matrix)))),
        SpmvMethod::Flat => Ok(asked(Box::new(Flat::analyze(matrix)?))),
        SpmvMethod::MergePath => Ok(asked(Box::new(Merge::analyze(matrix)?))),
        SpmvMethod::CsrAdaptive => Ok(asked(Box::new(Adaptive::analyze(matrix)?))),
        SpmvMethod::Light => Ok(asked(Box::new(Light::new(matrix, lanes)?))),
        SpmvMethod::RowBlocks => {
            let on_device = Adaptive::on_device(matrix, Lengths::count(matrix)?)?;
            Ok(asked(Box::new(on_device.map_or_else(|| Adaptive::analyze(matrix), Ok)?)))
        }
        SpmvMethod::RowTiles => of_rows(matrix, method, RowTiles::new),
        SpmvMethod::Binned => of_rows(matrix, method, Binned::new),
        SpmvMethod::Windows => of_rows(matrix, method, Windows::find),
        SpmvMethod::NarrowColumns => of_rows(matrix, method, Narrow::new),
        SpmvMethod::RowParallel => unreachable!("only the CPU has it"),
    }
}

/// As [`choose`]; the automatic choice has narrow columns where these are faster.
pub(super) fn choose_for_copy<V: Value, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    options: SpmvOptions,
) -> Result<Choice<V, O>, OpError> {
    if options == SpmvOptions::default() && matrix.device().kind() != DeviceKind::Cpu {
        return automatic(matrix, true);
    }
    choose(matrix, options)
}

/// Lanes a row, those that are asked for if there are such.
fn lanes<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>, options: SpmvOptions) -> Result<u32, OpError> {
    let SpmvOptions { method, lanes } = options;
    match lanes {
        None => Ok(mean_lanes(matrix)),
        Some(lanes @ (1 | 2 | 4 | 8 | 16 | 32)) if method.takes_lanes() => Ok(lanes),
        Some(lanes) => Err(OpError::Lanes { lanes, method }),
    }
}

/// Narrow columns, if they are wanted and most columns have codes.
fn narrow<V: Value, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    lengths: Lengths,
    is_wanted: bool,
    text: &str,
) -> Result<Option<Choice<V, O>>, OpError> {
    let found = if is_wanted { Narrow::new(matrix, lengths)? } else { None };
    let worthy = found.filter(Narrow::is_worth_it);
    Ok(worthy.map(|narrow| Choice::new(SpmvMethod::NarrowColumns, text.into(), narrow)))
}

/// Whether the second-level cache holds the matrix and its vectors from run to run, with room for what else is in it. Then
/// few steps, one behind the other, count for more than wide accesses.
fn stays_in_cache<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> bool {
    let (rows, cols, nonzeros) = (matrix.rows() as u64, matrix.cols() as u64, matrix.nnz() as u64);
    let (value, offset) = (size_of::<V>() as u64, size_of::<O>() as u64);
    let bytes = nonzeros * (value + 4) + rows * (value + offset) + cols * value;
    matrix.device().properties().l2_bytes.is_some_and(|l2| bytes <= l2 / 10 * 6)
}

/// Whether lanes per row are best for a matrix that stays in cache.
fn are_lanes_best<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>, lengths: Lengths) -> bool {
    let lanes = u64::from(mean_lanes(matrix));
    let wave = u64::from(matrix.device().properties().multiprocessors) * WAVE_THREADS;
    if matrix.rows() as u64 * lanes > wave {
        return V::TYPE != ScalarType::F32;
    }
    let [of_blocks, of_tiles] = WAVE_STEPS;
    let most_steps = if lengths.mean < ROW_BLOCK_MEAN { of_tiles } else { of_blocks };
    lengths.longest.div_ceil(lanes) <= most_steps
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

/// From the row lengths, and, if those are even and there are many nonzeros per row, from the columns; `with_narrow` says
/// whether memory for narrow ones is there to be had.
fn automatic<V: Value, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    with_narrow: bool,
) -> Result<Choice<V, O>, OpError> {
    let lengths = Lengths::count(matrix)?;
    let Lengths { longest, mean, empty, limit, .. } = lengths;
    let text = format!("rows have {mean:.1} nonzeros on average and {longest} at most, {empty} are empty");
    let choice = if mean >= BLOCK_MEAN && longest as f64 <= 2.0 * mean {
        let block = || Choice::new(SpmvMethod::Block, text.clone(), rows::Block::new(matrix));
        Some(narrow(matrix, lengths, with_narrow, &text)?.unwrap_or_else(block))
    } else if longest <= u64::from(limit) {
        of_even_rows(matrix, lengths, with_narrow, &text)?
    } else {
        of_few_long_rows(matrix, lengths, &text)?
    };
    if let Some(choice) = choice {
        return Ok(choice);
    }
    let long = lengths.long;
    let reason =
        format!("{text}; {} with more than {limit} have {} of the nonzeros", long.rows, long.nonzeros);
    if empty == 0 {
        return Ok(Choice::new(SpmvMethod::Flat, reason, Flat::of_filled_rows(matrix)?));
    }
    Ok(Choice::new(SpmvMethod::MergePath, reason, Merge::analyze(matrix)?))
}

/// Where no row is much longer than the mean.
fn of_even_rows<V: Value, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    lengths: Lengths,
    with_narrow: bool,
    text: &str,
) -> Result<Option<Choice<V, O>>, OpError> {
    let Lengths { mean, empty, .. } = lengths;
    let (rows, nonzeros) = (matrix.rows() as u64, matrix.nnz() as u64);
    let is_f32 = V::TYPE == ScalarType::F32;
    let multiprocessors = u64::from(matrix.device().properties().multiprocessors);
    // Blocks of 512 rows enough for each multiprocessor, or some have nothing to do.
    let window_rows = if is_f32 { 768 } else { 2048 } * multiprocessors;
    if mean >= WINDOW_MEAN
        && rows >= window_rows
        && let Some(windows) = Windows::find(matrix, lengths)?
    {
        let found = windows.found();
        if found.are_worth_it(nonzeros, is_f32 && mean >= WINDOW_MEAN_OF_NEIGHBORS) {
            let uses = found.uses();
            let reason = format!("{text}; the rows of a block use the same elements of x {uses} times");
            return Ok(Some(Choice::new(SpmvMethod::Windows, reason, windows)));
        }
        if empty == 0 && found.are_too_narrow(nonzeros) {
            let reason = format!("{text}; their columns are scattered");
            return Ok(Some(Choice::new(SpmvMethod::Flat, reason, Flat::of_filled_rows(matrix)?)));
        }
    }
    let in_cache = stays_in_cache(matrix);
    if in_cache && are_lanes_best(matrix, lengths) {
        let reason = format!("{text}; the matrix stays in cache");
        let vector = rows::Vector::new(matrix, mean_lanes(matrix));
        return Ok(Some(Choice::new(SpmvMethod::Vector, reason, vector)));
    }
    // In cache, bytes are not what counts, unless rows are short.
    if (!in_cache || mean < ROW_BLOCK_MEAN)
        && let Some(narrow) = narrow(matrix, lengths, with_narrow, text)?
    {
        return Ok(Some(narrow));
    }
    let tiles_are_as_good = is_f32 && !in_cache && mean < WINDOW_MEAN_OF_NEIGHBORS;
    if mean >= ROW_BLOCK_MEAN
        && !tiles_are_as_good
        && let Some(blocks) = Adaptive::on_device(matrix, lengths)?
    {
        return Ok(Some(Choice::new(SpmvMethod::RowBlocks, text.into(), blocks)));
    }
    let tiles = RowTiles::new(matrix, lengths)?;
    Ok(tiles.map(|tiles| Choice::new(SpmvMethod::RowTiles, text.into(), tiles)))
}

/// Where rows are short but for some long ones, which have a small share of the nonzeros: with a large share, a cut that
/// knows no rows is better.
fn of_few_long_rows<V: Value, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    lengths: Lengths,
    text: &str,
) -> Result<Option<Choice<V, O>>, OpError> {
    let Lengths { mean, empty, limit, long, .. } = lengths;
    let is_small = empty == 0 && stays_in_cache(matrix);
    if mean >= BINNED_MEAN || is_small || long.nonzeros > matrix.nnz() as u64 / LONG_SHARE {
        return Ok(None);
    }
    if let Some(blocks) = Adaptive::on_device(matrix, lengths)? {
        return Ok(Some(Choice::new(SpmvMethod::RowBlocks, text.into(), blocks)));
    }
    let binned = Binned::new(matrix, lengths)?;
    Ok(binned.map(|binned| {
        let reason =
            format!("{text}; {} with more than {limit} are cut into {} pieces", long.rows, long.pieces);
        Choice::new(SpmvMethod::Binned, reason, binned)
    }))
}
