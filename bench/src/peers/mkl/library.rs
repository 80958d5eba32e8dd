//! The library, and inspected matrices.

use std::ffi::c_int;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{ptr, thread};

use evenpath::Csr;
use libloading::Library;

use crate::measure::sampled;
use crate::peers::host::{HostClock, elapsed_ms};
use crate::peers::library::{functions, open_for_all, paths_of};
use crate::peers::peer::{Peer, Prepared};
use crate::peers::{Operation, PeerError, PeerScalar, PreparedPeer, Ready, SpmvOperands};

/// Folders with MKL libraries and the OpenMP runtime, searched after those of the loader.
const FOLDERS_VARIABLE: &str = "EVENPATH_MKL";
/// Its name among peers.
pub(in crate::peers) const LIBRARY: &str = "mkl";
/// `SPARSE_INDEX_BASE_ZERO`.
const BASE_ZERO: c_int = 0;
/// The expected number of runs, a hint for the inspector.
const EXPECTED_RUNS: c_int = 1000;

pub(super) type Matrix = *mut std::ffi::c_void;

/// `matrix_descr`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Description {
    kind: c_int,
    triangle: c_int,
    diagonal: c_int,
}

/// `SPARSE_MATRIX_TYPE_GENERAL`; the other fields are ignored.
pub(super) const GENERAL: Description = Description { kind: 20, triangle: 40, diagonal: 50 };

functions! {
    struct Functions of "MKL";
    fn MKL_Set_Num_Threads(c_int);
    fn mkl_sparse_set_mv_hint(Matrix, c_int, Description, c_int) -> c_int;
    fn mkl_sparse_optimize(Matrix) -> c_int;
    fn mkl_sparse_order(Matrix) -> c_int;
    fn mkl_sparse_destroy(Matrix) -> c_int;
    // Operation, A, B, C.
    fn mkl_sparse_spmm(c_int, Matrix, Matrix, *mut Matrix) -> c_int;
    // A, operation, its result.
    fn mkl_sparse_convert_csr(Matrix, c_int, *mut Matrix) -> c_int;
}

/// Declares functions that the library has for each type of values, and `find`, which looks them up for one.
macro_rules! functions_of_value {
    ($(fn $name:ident($($argument:ty),* $(,)?);)*) => {
        #[derive(Clone, Copy)]
        pub(super) struct OfValue<V> {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl<V: PeerScalar> OfValue<V> {
            fn find(library: &'static Library) -> Result<Self, PeerError> {
                let kind = match (V::IS_COMPLEX, size_of::<V::Real>()) {
                    (false, 4) => 's',
                    (false, _) => 'd',
                    (true, 4) => 'c',
                    (true, _) => 'z',
                };
                Ok(Self {
                    $($name: {
                        let name = format!("mkl_sparse_{kind}_{}", stringify!($name));
                        // SAFETY: the type is that of the library's header, for values of this type.
                        let found = unsafe { library.get(name.as_bytes()) };
                        *found.map_err(|error| absent(&error))?
                    },)*
                })
            }
        }
    };
}

functions_of_value! {
    // Matrix, base, rows, columns, starts and ends of rows, columns, values.
    fn create_csr(*mut Matrix, c_int, c_int, c_int, *const u32, *const u32, *const u32, *const V);
    // Operation, alpha, matrix, its description, x, beta, y.
    fn mv(c_int, V, Matrix, Description, *const V, V, *mut V);
    // Operation, A, alpha, B, C.
    fn add(c_int, Matrix, V, Matrix, *mut Matrix);
    // Operation, alpha, A, its description, layout, B, columns, its leading dimension, beta, C, its leading dimension.
    fn mm(c_int, V, Matrix, Description, c_int, *const V, c_int, c_int, V, *mut V, c_int);
    // Matrix, base, rows, columns, starts and ends of rows, columns, values.
    fn export_csr(
        Matrix, *mut c_int, *mut c_int, *mut c_int, *mut *mut c_int, *mut *mut c_int, *mut *mut c_int, *mut *mut V,
    );
}

fn absent(error: &libloading::Error) -> PeerError {
    PeerError::Absent { library: "MKL", reason: error.to_string() }
}

/// The open library.
pub(crate) struct Mkl {
    library: &'static Library,
    pub(super) functions: Functions,
    /// Time that its threads stay busy after their work, waiting for more.
    busy_after: Duration,
}

/// Time that threads of Intel's OpenMP runtime wait for work before they sleep.
fn block_time(runtime: &Library) -> Result<Duration, PeerError> {
    /// The longest that is waited for: threads may be told never to sleep.
    const MOST: Duration = Duration::from_secs(1);
    // SAFETY: the type is that of the runtime's header.
    let found = unsafe { runtime.get::<unsafe extern "C" fn() -> c_int>(b"kmp_get_blocktime") };
    let function = found.map_err(|error| absent(&error))?;
    // SAFETY: without arguments, on any thread.
    let milliseconds = unsafe { function() };
    Ok(Duration::from_millis(milliseconds.max(0) as u64).min(MOST))
}

/// A matrix of the library.
pub(super) struct Handle<'m> {
    pub(super) mkl: &'m Mkl,
    pub(super) address: Matrix,
}

/// The inspected matrix.
struct Inspected<'m, V> {
    matrix: Handle<'m>,
    functions: OfValue<V>,
    operation: c_int,
}

/// `sparse_operation_t`.
pub(super) fn code(operation: Operation) -> c_int {
    match operation {
        Operation::Direct => 10,
        Operation::Transposed => 11,
    }
}

pub(super) fn check(function: &'static str, code: c_int) -> Result<(), PeerError> {
    let reason = match code {
        0 => return Ok(()),
        1 => "not initialized",
        2 => "no memory",
        3 => "invalid value",
        6 => "not supported",
        _ => "failed",
    };
    Err(PeerError::Call { function, code, reason: reason.into() })
}

impl Mkl {
    /// Opens the library, which uses all threads of the machine.
    ///
    /// # Errors
    ///
    /// If it is not found by the loader, in the usual folders, or in those of the variable `EVENPATH_MKL`.
    pub(crate) fn open() -> Result<Self, PeerError> {
        let mut folders = paths_of(FOLDERS_VARIABLE);
        for variable in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
            folders.extend(paths_of(variable).into_iter().map(|prefix| prefix.join("lib")));
        }
        folders.extend(
            ["/usr/local/lib", "/opt/intel/oneapi/mkl/latest/lib", "/opt/intel/oneapi/compiler/latest/lib"]
                .map(PathBuf::from),
        );
        // MKL looks for its threading runtime by name, and only in the folders of the loader. The libraries that it opens
        // itself expect the symbols of both.
        let runtime = open_for_all("Intel's OpenMP runtime", &["libiomp5.so"], &folders)?;
        let library = open_for_all("MKL", &["libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"], &folders)?;
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let busy_after = if threads > 1 { block_time(runtime)? } else { Duration::ZERO };
        let mkl = Self { library, functions: Functions::find(library)?, busy_after };
        // SAFETY: accepts any number.
        unsafe { (mkl.functions.MKL_Set_Num_Threads)(threads as c_int) };
        Ok(mkl)
    }

    /// Waits until the library's threads sleep, so that the next contender has all cores.
    pub(super) fn rest(&self) {
        thread::sleep(self.busy_after);
    }

    /// Inspects a matrix.
    pub(crate) fn spmv<'p, V: PeerScalar>(
        &'p self,
        matrix: &'p Csr<V>,
        operation: Operation,
        operands: SpmvOperands<'p, V>,
    ) -> PreparedPeer<'p, V> {
        Peer::of_csr(LIBRARY, "inspector-executor", self.prepare(matrix, operation, operands))
    }

    fn prepare<'p, V: PeerScalar>(
        &'p self,
        matrix: &'p Csr<V>,
        operation: Operation,
        operands: SpmvOperands<'p, V>,
    ) -> Result<Ready<'p, V>, PeerError> {
        operation.check(matrix, operands)?;
        // The first inspection also loads code.
        drop(self.inspect(matrix, operation)?);
        let start = Instant::now();
        let inspected = self.inspect(matrix, operation)?;
        let preprocessing_ms = elapsed_ms(start);
        let prepared = Box::new(Product { inspected, operands, y: operands.y.to_vec() });
        Ok(Ready { preprocessing_ms, workspace_bytes: 0, prepared })
    }

    fn inspect<'m, V: PeerScalar>(
        &'m self,
        matrix: &'m Csr<V>,
        operation: Operation,
    ) -> Result<Inspected<'m, V>, PeerError> {
        let (matrix, functions) = (self.handle(matrix)?, self.of_value()?);
        let inspected = Inspected { matrix, functions, operation: code(operation) };
        let address = inspected.matrix.address;
        // SAFETY: the matrix exists.
        let hinted = unsafe {
            (self.functions.mkl_sparse_set_mv_hint)(address, inspected.operation, GENERAL, EXPECTED_RUNS)
        };
        check("mkl_sparse_set_mv_hint", hinted)?;
        // SAFETY: the matrix exists.
        check("mkl_sparse_optimize", unsafe { (self.functions.mkl_sparse_optimize)(address) })?;
        Ok(inspected)
    }

    /// The library's view of a matrix.
    pub(super) fn handle<'m, V: PeerScalar>(&'m self, matrix: &'m Csr<V>) -> Result<Handle<'m>, PeerError> {
        if i32::try_from(matrix.nnz()).is_err() {
            let text = format!("{} nonzeros are more than 32 bits can count", matrix.nnz());
            return Err(PeerError::Unsuitable(text));
        }
        let create = self.of_value::<V>()?.create_csr;
        let (mut address, [rows, cols]) =
            (ptr::null_mut(), [matrix.nrows(), matrix.ncols()].map(|len| len as c_int));
        let starts = matrix.row_offsets();
        let ends = starts[1.min(starts.len() - 1)..].as_ptr();
        let (starts, columns, values) =
            (starts.as_ptr(), matrix.column_indices().as_ptr(), matrix.values().as_ptr());
        // SAFETY: the arrays are those of a valid matrix of this size, which outlives the handle; the library does not
        // write to them.
        let created =
            unsafe { create(&raw mut address, BASE_ZERO, rows, cols, starts, ends, columns, values) };
        check("mkl_sparse_create_csr", created)?;
        Ok(Handle { mkl: self, address })
    }

    /// The functions for values of a type.
    pub(super) fn of_value<V: PeerScalar>(&self) -> Result<OfValue<V>, PeerError> {
        OfValue::find(self.library)
    }
}

/// A product with an inspected matrix.
struct Product<'p, V> {
    inspected: Inspected<'p, V>,
    operands: SpmvOperands<'p, V>,
    y: Vec<V>,
}

impl<V: PeerScalar> Prepared<V> for Product<'_, V> {
    fn time_ms(&mut self, runs: usize) -> Result<f64, PeerError> {
        let time = sampled(&HostClock, || self.inspected.run(self.operands, &mut self.y))(runs);
        self.inspected.matrix.mkl.rest();
        time
    }

    fn result(&mut self) -> Result<Vec<V>, PeerError> {
        self.y.copy_from_slice(self.operands.y);
        self.inspected.run(self.operands, &mut self.y)?;
        Ok(self.y.clone())
    }
}

impl<V: PeerScalar> Inspected<'_, V> {
    fn run(&self, operands: SpmvOperands<'_, V>, y: &mut [V]) -> Result<(), PeerError> {
        let Self { matrix, functions, operation } = self;
        let SpmvOperands { alpha, x, beta, .. } = operands;
        let (multiply, x, y) = (functions.mv, x.as_ptr(), y.as_mut_ptr());
        // SAFETY: the matrix exists, and the vectors have matching lengths.
        let code = unsafe { multiply(*operation, alpha, matrix.address, GENERAL, x, beta, y) };
        check("mkl_sparse_mv", code)
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: this object owns the matrix. A failure cannot be handled.
        unsafe { (self.mkl.functions.mkl_sparse_destroy)(self.address) };
    }
}
