//! Factors of a matrix on an NVIDIA GPU.

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

use evenpath::{Csr, Device, DeviceCsr, DeviceSlice, DeviceVec, Offset};

use super::functions::Functions;
use super::handles::{Dense, Handles, created, done};
use super::types::{
    DETERMINISTIC, FACTOR_NONZEROS, FROM_ZERO, FULL, INFO, INT_32, INT_64, LOWER, MatrixType, Phase, REAL_32,
    REAL_64,
};
use crate::direct::columns::Columns;
use crate::direct::options::Factorization;
use crate::direct::value::DirectValue;
use crate::error::{Error, Result};

/// The largest number of 32 bits with a sign.
const LIMIT: usize = i32::MAX as usize;

/// A matrix that the library has analyzed, and its factors once it is factorized.
pub(in crate::direct) struct Cudss<V: DirectValue> {
    factorization: Factorization,
    version: u32,
    device: Device,
    /// `None` after the end.
    handles: Mutex<Option<Handles>>,
    /// Row offsets of 32 bits, if the matrix has those of 64.
    _offsets: Option<DeviceVec<u32>>,
    /// Stands for the library's memory, so that the device orders work that uses it in several streams.
    memory: Mutex<DeviceVec<V>>,
    has_factors: bool,
    nonzeros: Option<usize>,
}

impl<V: DirectValue> Cudss<V> {
    /// Analyzes a canonical matrix of at least one row and one entry. Its arrays must exist as long as the result.
    pub(in crate::direct) fn analyze<O: Offset>(
        functions: Functions,
        a: &DeviceCsr<V, O>,
        on_host: &Csr<V, O>,
        factorization: Factorization,
    ) -> Result<Self> {
        let (device, rows, nonzeros) = (a.device(), a.nrows(), a.nnz());
        if rows > LIMIT {
            let reason = format!("the matrix has {rows} rows, but must have fewer than 2³¹");
            return Err(Error::Library { library: "cuDSS", reason });
        }
        let fits = nonzeros <= LIMIT;
        let narrow = if size_of::<O>() == 8 && fits {
            let offsets: Vec<u32> =
                on_host.row_offsets().iter().map(|offset| offset.to_usize() as u32).collect();
            Some(device.upload(&offsets)?)
        } else {
            None
        };
        let (matrix_type, view) = match factorization {
            Factorization::Lu => (MatrixType::General, FULL),
            Factorization::Cholesky => (MatrixType::PositiveDefinite, LOWER),
            Factorization::Ldlt => (MatrixType::Symmetric, LOWER),
        };
        if !fits && size_of::<O>() == 4 {
            let reason = format!("the matrix has {nonzeros} nonzeros; 2³¹ or more need offsets of 64 bits");
            return Err(Error::Library { library: "cuDSS", reason });
        }
        let offsets =
            narrow.as_ref().map_or_else(|| a.row_offsets().raw_address(), |narrow| narrow.raw_address());
        let offset_type = if fits { INT_32 } else { INT_64 };
        let version = functions.version().map_err(|reason| Error::Library { library: "cuDSS", reason })?;
        let memory = Mutex::new(device.zeros(1)?);
        after_pattern(a)?;
        let values = a.values();
        let describe = |functions: Functions| {
            created("cudssMatrixCreateCsr", |to| {
                let [rows, nonzeros] = [rows, nonzeros].map(|number| number as i64);
                let [offsets, columns, values] =
                    [offsets, a.column_indices().raw_address(), values.raw_address()]
                        .map(|address| address as *const c_void);
                // SAFETY: there is room for the object; the arrays have the types and lengths that are passed, as any matrix has.
                unsafe {
                    (functions.cudssMatrixCreateCsr)(
                        to,
                        rows,
                        rows,
                        nonzeros,
                        offsets,
                        std::ptr::null(),
                        columns,
                        values,
                        offset_type,
                        INT_32,
                        value_type::<V>(),
                        matrix_type as c_int,
                        view,
                        FROM_ZERO,
                    )
                }
            })
        };
        let analyze = |stream: *mut c_void| {
            let mut handles = Handles::new(functions)?;
            handles.set_option(DETERMINISTIC, 1)?;
            handles.matrix = describe(functions)?;
            execute::<V>(&handles, Phase::Analysis, stream, rows)?;
            Ok::<Handles, Error>(handles)
        };
        // SAFETY: the library reads the pattern, after earlier work on it.
        let handles = unsafe { device.put_foreign(&[&*values], &mut [], analyze) }??;
        Ok(Self {
            factorization,
            version,
            device: device.clone(),
            handles: Mutex::new(Some(handles)),
            _offsets: narrow,
            memory,
            has_factors: false,
            nonzeros: None,
        })
    }

    pub(in crate::direct) fn version(&self) -> u32 {
        self.version
    }

    /// Number of stored elements of the factors, after a factorization.
    pub(in crate::direct) fn nonzeros(&self) -> Option<usize> {
        self.nonzeros
    }

    /// Returns whether the next factorization keeps the pivots of an earlier one.
    pub(in crate::direct) fn has_pivots(&self) -> bool {
        self.has_factors
    }

    /// Lets the next factorization choose pivots.
    pub(in crate::direct) fn forget_pivots(&mut self) {
        self.has_factors = false;
    }

    /// Factorizes the analyzed matrix with the values at their address. The first factorization chooses pivots, later ones keep them.
    pub(in crate::direct) fn factorize(&mut self, rows: usize, values: &DeviceSlice<V>) -> Result<()> {
        let phase = if self.has_factors { Phase::Refactorization } else { Phase::Factorization };
        self.has_factors = false;
        let handles = self.handles.get_mut().unwrap_or_else(PoisonError::into_inner).as_ref();
        let handles = handles.ok_or(Error::NotFactorized)?;
        let memory = self.memory.get_mut().unwrap_or_else(PoisonError::into_inner);
        let factorize = |stream| {
            let address = values.raw_address() as *const c_void;
            // SAFETY: the matrix exists, and has as many values.
            done("cudssMatrixSetValues", unsafe {
                (handles.functions.cudssMatrixSetValues)(handles.matrix, address)
            })?;
            execute::<V>(handles, phase, stream, rows)
        };
        // SAFETY: the library reads the values and its own memory, for which `memory` stands.
        unsafe { self.device.put_foreign(&[values], &mut [&mut *memory], factorize) }??;
        self.device.synchronize()?;
        let read = |_| Ok::<_, Error>((handles.get::<c_int>(INFO)?, handles.get::<i64>(FACTOR_NONZEROS)?));
        // SAFETY: all work is done.
        let (info, nonzeros) = unsafe { self.device.put_foreign(&[], &mut [&mut *memory], read) }??;
        self.nonzeros = usize::try_from(nonzeros).ok();
        if info != 0 {
            return Err(match self.factorization {
                Factorization::Cholesky => Error::NotPositiveDefinite { row: None },
                _ => Error::ZeroPivot { row: None },
            });
        }
        self.has_factors = true;
        Ok(())
    }

    /// Solves for the columns of B. Does not wait.
    pub(in crate::direct) fn solve(
        &self,
        (b, of_b): (&DeviceSlice<V>, Columns),
        (x, of_x): (&mut DeviceSlice<V>, Columns),
    ) -> Result<()> {
        let guard = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let handles = guard.as_ref().ok_or(Error::NotFactorized)?;
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let addresses = (b.raw_address(), x.raw_address());
        let solve = |stream| {
            let dense = |of: Columns, address| {
                let shape = (of.rows, of.count, of.stride);
                Dense::new(handles.functions, shape, address, value_type::<V>())
            };
            let (b, x) = (dense(of_b, addresses.0)?, dense(of_x, addresses.1)?);
            put(handles, Phase::Solve, stream, (&x, &b))
        };
        // SAFETY: the library reads B and its own memory, for which `memory` stands, and writes X. The slices have the columns.
        unsafe { self.device.put_foreign(&[b], &mut [x, &mut memory], solve) }?
    }
}

impl<V: DirectValue> Drop for Cudss<V> {
    fn drop(&mut self) {
        let handles = self.handles.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Work in progress uses the factors. A device that was lost has ended it.
        let _ = self.device.synchronize();
        // SAFETY: nothing is put on the stream.
        let _ = unsafe { self.device.put_foreign::<V, _>(&[], &mut [], |_| drop(handles.take())) };
        if let Some(handles) = handles.take() {
            // Without a context there is nothing to free.
            std::mem::forget(handles);
        }
    }
}

/// Lets the thread's stream wait for the pattern, whose arrays are not of the values' type.
fn after_pattern<V: DirectValue, O: Offset>(a: &DeviceCsr<V, O>) -> Result<()> {
    // SAFETY: nothing is put on the stream; what follows in it comes after earlier work on the arrays.
    unsafe {
        a.device().put_foreign(&[a.row_offsets()], &mut [], |_| ())?;
        a.device().put_foreign(&[a.column_indices()], &mut [], |_| ())?;
    }
    Ok(())
}

/// Runs a phase that needs no right-hand sides but their shape.
fn execute<V: DirectValue>(handles: &Handles, phase: Phase, stream: *mut c_void, rows: usize) -> Result<()> {
    let dense = || Dense::new(handles.functions, (rows, 1, rows), 0, value_type::<V>());
    put(handles, phase, stream, (&dense()?, &dense()?))
}

/// Puts a phase on a stream.
fn put(handles: &Handles, phase: Phase, stream: *mut c_void, (x, b): (&Dense, &Dense)) -> Result<()> {
    let Handles { functions, handle, config, data, matrix } = handles;
    // SAFETY: all objects exist. The caller has ordered the stream after earlier work on the memory that they name.
    unsafe {
        done("cudssSetStream", (functions.cudssSetStream)(*handle, stream))?;
        let status =
            (functions.cudssExecute)(*handle, phase as c_int, *config, *data, *matrix, x.object, b.object);
        done("cudssExecute", status)
    }
}

fn value_type<V: DirectValue>() -> c_int {
    if size_of::<V>() == 4 { REAL_32 } else { REAL_64 }
}
