//! From a method, asked for or chosen, to what a plan runs.

use super::adaptive::Adaptive;
use super::binned::Binned;
use super::choose::{Candidate, candidates};
use super::features::{self, Copies, Features};
use super::flat::Flat;
use super::gathers::Gathers;
use super::hot::{self, Hot};
use super::lengths::Lengths;
use super::light::Light;
use super::merge::Merge;
use super::method::SpmvMethod;
use super::narrow::Narrow;
use super::options::SpmvOptions;
use super::row_tiles::RowTiles;
use super::schedule::{Choice, Schedule};
use super::sliced::Sliced;
use super::windows::Windows;
use super::{cpu, rows};
use crate::device::DeviceKind;
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::{Offset, Value, policy};

type Boxed<V, O> = Box<dyn Schedule<V, O>>;

/// The schedule of the method that is asked for, or of the best one.
pub(super) fn build<V: Value, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    options: SpmvOptions,
) -> Result<Choice<V, O>, OpError> {
    let copies = if options.may_copy { Copies::Values } else { Copies::Nothing };
    build_with(matrix, options, copies)
}

/// Builds like [`build`], with the copies that an automatic choice may keep.
pub(super) fn build_with<V: Value, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    options: SpmvOptions,
    copies: Copies,
) -> Result<Choice<V, O>, OpError> {
    let method = options.method;
    let device = matrix.device();
    let kind = device.kind();
    if !method.runs_on(kind) {
        let usable = SpmvMethod::names(|method| method.runs_on(kind));
        return Err(OpError::UnsupportedMethod { method: method.name(), device: device.to_string(), usable });
    }
    let lanes = lanes(matrix, options)?;
    let block_size = block_size(options)?;
    if kind == DeviceKind::Cpu {
        return Ok(cpu::choose(matrix, method, copies != Copies::Nothing));
    }
    if method == SpmvMethod::Auto {
        return automatic(matrix, copies);
    }
    let gathers = if method.stages_products() { Gathers::of(matrix)? } else { Gathers::default() };
    let schedule = asked_for(matrix, method, gathers, lanes, block_size)?;
    Ok(Choice { method, reason: "asked for".into(), schedule })
}

/// Lanes per row: as asked for, if the method takes the number; else as the automatic choice has them.
fn lanes<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>, options: SpmvOptions) -> Result<u32, OpError> {
    let SpmvOptions { method, lanes, .. } = options;
    match lanes {
        None => Ok(default_lanes(matrix, method)),
        Some(lanes @ (1 | 2 | 4 | 8 | 16 | 32)) if method.takes_lanes() => Ok(lanes),
        Some(lanes) => Err(OpError::Lanes { lanes, method: method.name() }),
    }
}

/// Lanes per row that suit the matrix: `Light` knows only its mean, as published.
fn default_lanes<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>, method: SpmvMethod) -> u32 {
    let (rows, nonzeros) = (matrix.rows() as u64, matrix.nnz() as u64);
    let multiprocessors = u64::from(matrix.device().properties().multiprocessors);
    if method == SpmvMethod::Light {
        policy::spmv_lanes(rows, nonzeros)
    } else {
        features::lanes(rows, nonzeros, multiprocessors)
    }
}

/// Threads per block: as asked for, if the method takes a number.
fn block_size(options: SpmvOptions) -> Result<Option<u32>, OpError> {
    let SpmvOptions { method, block_size, .. } = options;
    match block_size {
        Some(block_size) if !method.takes_block_size() => {
            Err(OpError::BlockSize { name: method.name(), block_size, supported: Vec::new() })
        }
        block_size => Ok(block_size),
    }
}

/// A method that was asked for, on a device with kernels.
fn asked_for<V: Value, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    method: SpmvMethod,
    gathers: Gathers,
    lanes: u32,
    block_size: Option<u32>,
) -> Result<Boxed<V, O>, OpError> {
    Ok(match method {
        SpmvMethod::Scalar => Box::new(rows::Vector::new(matrix, 1)?),
        SpmvMethod::Vector => Box::new(rows::Vector::new(matrix, lanes)?),
        SpmvMethod::Warp => Box::new(rows::Vector::new(matrix, 32)?),
        SpmvMethod::Block => Box::new(rows::Block::new(matrix)?),
        SpmvMethod::Flat => Box::new(Flat::analyze(matrix, gathers)?),
        SpmvMethod::MergePath => Box::new(Merge::analyze(matrix, gathers)?),
        SpmvMethod::CsrAdaptive => Box::new(Adaptive::analyze(matrix, gathers, block_size)?),
        SpmvMethod::Light => Box::new(Light::new(matrix, lanes, block_size)?),
        SpmvMethod::RowBlocks => {
            let on_device = Adaptive::on_device(matrix, Lengths::count(matrix)?, gathers)?;
            Box::new(on_device.map_or_else(|| Adaptive::analyze(matrix, gathers, None), Ok)?)
        }
        SpmvMethod::RowTiles => {
            of_rows(matrix, method, |matrix, lengths| RowTiles::new(matrix, lengths, gathers))?
        }
        SpmvMethod::Binned => {
            of_rows(matrix, method, |matrix, lengths| Binned::new(matrix, lengths, gathers))?
        }
        SpmvMethod::Windows => of_rows(matrix, method, Windows::find)?,
        SpmvMethod::NarrowColumns => {
            of_rows(matrix, method, |matrix, lengths| Narrow::new(matrix, lengths, gathers))?
        }
        SpmvMethod::HotColumns => Box::new(Hot::new(matrix)?.ok_or_else(|| OpError::TooLong {
            what: "with the method hot-columns, an x",
            len: matrix.cols(),
            limit: hot::MOST_COLUMNS,
        })?),
        SpmvMethod::SlicedEll => of_rows(matrix, method, Sliced::new)?,
        SpmvMethod::Auto | SpmvMethod::RowParallel => unreachable!("they are handled before"),
    })
}

/// A schedule of rows that was asked for.
fn of_rows<V: Value, O: Offset, S: Schedule<V, O> + 'static>(
    matrix: &DeviceCsr<V, O>,
    method: SpmvMethod,
    new: impl FnOnce(&DeviceCsr<V, O>, Lengths) -> Result<Option<S>, OpError>,
) -> Result<Boxed<V, O>, OpError> {
    let lengths = Lengths::count(matrix)?;
    let schedule = new(matrix, lengths)?
        .ok_or_else(|| OpError::RowTooLong { method: method.to_string(), len: lengths.longest })?;
    Ok(Box::new(schedule))
}

/// Measures the matrix, and builds the best method that it can be built for.
fn automatic<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>, copies: Copies) -> Result<Choice<V, O>, OpError> {
    let lengths = Lengths::count(matrix)?;
    let mut features = Features::new(matrix, lengths, Gathers::of(matrix)?, copies);
    let windows = if features.may_have_windows() { Windows::find(matrix, lengths)? } else { None };
    features.windows = windows.as_ref().map(Windows::found);
    let candidates = candidates(&features);
    let mut windows = windows.filter(|_| candidates.iter().any(|one| one.method == SpmvMethod::Windows));
    for Candidate { method, reason } in candidates {
        if let Some(schedule) = chosen(matrix, method, &features, &mut windows)? {
            return Ok(Choice { method, reason: reason.explain(&features), schedule });
        }
    }
    unreachable!("the last candidate can always be built")
}

/// A method that was chosen; `None` where rows are too long for its kernels, or it does not pay.
fn chosen<V: Value, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    method: SpmvMethod,
    features: &Features,
    windows: &mut Option<Windows<V, O>>,
) -> Result<Option<Boxed<V, O>>, OpError> {
    fn boxed<V: Value, O: Offset>(schedule: Option<impl Schedule<V, O> + 'static>) -> Option<Boxed<V, O>> {
        schedule.map(|schedule| Box::new(schedule) as Boxed<V, O>)
    }
    let Features { lengths, gathers, .. } = *features;
    Ok(match method {
        SpmvMethod::Windows => boxed(windows.take()),
        SpmvMethod::NarrowColumns => {
            boxed(Narrow::new(matrix, lengths, gathers)?.filter(Narrow::is_worth_it))
        }
        SpmvMethod::HotColumns => boxed(Hot::if_worth_it(matrix)?),
        SpmvMethod::SlicedEll => boxed(Sliced::if_worth_it(matrix)?),
        SpmvMethod::RowBlocks => boxed(Adaptive::of_even_rows(matrix, lengths, gathers)?),
        SpmvMethod::RowTiles => boxed(RowTiles::new(matrix, lengths, gathers)?),
        SpmvMethod::Binned => boxed(Binned::new(matrix, lengths, gathers)?),
        // The rows were counted: none is empty.
        SpmvMethod::Flat => boxed(Some(Flat::of_filled_rows(matrix, gathers)?)),
        method => Some(asked_for(matrix, method, gathers, features.lanes(), None)?),
    })
}
