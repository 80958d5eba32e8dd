//! A stand-in for the library, to test calls of it on machines without GPUs: it solves in host memory, by dense elimination in `f64`,
//! and panics on incorrect calls. Each thread has its own.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};

use super::functions::Functions;
use super::types::{
    COLUMN_MAJOR, FACTOR_NONZEROS, FROM_ZERO, INFO, INT_32, LOWER, Object, Phase, REAL_64, SUCCESS,
};

thread_local! {
    /// Number of objects that exist.
    pub(super) static LIVE: Cell<usize> = const { Cell::new(0) };
    /// Phases that were executed.
    pub(super) static PHASES: RefCell<Vec<c_int>> = const { RefCell::new(Vec::new()) };
    /// The information after a factorization.
    pub(super) static NEXT_INFO: Cell<c_int> = const { Cell::new(0) };
    /// A phase that fails.
    pub(super) static FAILS: Cell<Option<Phase>> = const { Cell::new(None) };
}

/// An object.
enum Thing {
    Handle,
    Config,
    /// The factors: the matrix itself.
    Data(Option<Vec<f64>>),
    Csr {
        rows: usize,
        nonzeros: usize,
        offsets: *const u32,
        columns: *const u32,
        values: *const f64,
        is_lower: bool,
    },
    Dense {
        rows: usize,
        columns: usize,
        stride: usize,
        values: *mut f64,
    },
}

fn create(to: *mut Object, thing: Thing) -> c_int {
    LIVE.set(LIVE.get() + 1);
    // SAFETY: the caller has room for the object.
    unsafe { *to = Box::into_raw(Box::new(thing)).cast() };
    SUCCESS
}

fn destroy(object: Object) -> c_int {
    LIVE.set(LIVE.get() - 1);
    // SAFETY: the object was created above, and is destroyed once.
    drop(unsafe { Box::from_raw(object.cast::<Thing>()) });
    SUCCESS
}

fn thing<'a>(object: Object) -> &'a mut Thing {
    // SAFETY: the object was created above and exists; each is used by one call at a time.
    unsafe { &mut *object.cast::<Thing>() }
}

unsafe extern "C" fn property(property: c_int, value: *mut c_int) -> c_int {
    // SAFETY: the caller has room for the number.
    unsafe { *value = [1, 2, 3][property as usize] };
    SUCCESS
}

unsafe extern "C" fn create_handle(to: *mut Object) -> c_int {
    create(to, Thing::Handle)
}

unsafe extern "C" fn create_config(to: *mut Object) -> c_int {
    create(to, Thing::Config)
}

unsafe extern "C" fn create_data(handle: Object, to: *mut Object) -> c_int {
    assert!(matches!(thing(handle), Thing::Handle));
    create(to, Thing::Data(None))
}

unsafe extern "C" fn destroy_object(object: Object) -> c_int {
    destroy(object)
}

unsafe extern "C" fn destroy_data(handle: Object, data: Object) -> c_int {
    assert!(matches!(thing(handle), Thing::Handle) && matches!(thing(data), Thing::Data(_)));
    destroy(data)
}

unsafe extern "C" fn set_stream(handle: Object, stream: *mut c_void) -> c_int {
    assert!(matches!(thing(handle), Thing::Handle) && stream.is_null());
    SUCCESS
}

unsafe extern "C" fn set_option(config: Object, _: c_int, _: *const c_void, size: usize) -> c_int {
    assert!(matches!(thing(config), Thing::Config) && size == 4);
    SUCCESS
}

unsafe extern "C" fn get(
    _: Object,
    data: Object,
    number: c_int,
    to: *mut c_void,
    size: usize,
    written: *mut usize,
) -> c_int {
    let Thing::Data(factors) = thing(data) else { panic!("no data") };
    // SAFETY: the caller has room for as many bytes.
    unsafe {
        match (number, size) {
            (INFO, 4) => *to.cast::<c_int>() = NEXT_INFO.get(),
            (FACTOR_NONZEROS, 8) => {
                *to.cast::<i64>() = factors.as_ref().map_or(0, |factors| factors.len() as i64);
            }
            _ => panic!("number {number} of {size} bytes"),
        }
        *written = size;
    }
    SUCCESS
}

unsafe extern "C" fn create_csr(
    to: *mut Object,
    rows: i64,
    columns: i64,
    nonzeros: i64,
    begins: *const c_void,
    ends: *const c_void,
    column_indices: *const c_void,
    values: *const c_void,
    offset_type: c_int,
    index_type: c_int,
    value_type: c_int,
    _: c_int,
    view: c_int,
    base: c_int,
) -> c_int {
    assert_eq!(
        (rows, offset_type, index_type, value_type, base),
        (columns, INT_32, INT_32, REAL_64, FROM_ZERO)
    );
    assert!(ends.is_null());
    create(
        to,
        Thing::Csr {
            rows: rows as usize,
            nonzeros: nonzeros as usize,
            offsets: begins.cast(),
            columns: column_indices.cast(),
            values: values.cast(),
            is_lower: view == LOWER,
        },
    )
}

unsafe extern "C" fn create_dense(
    to: *mut Object,
    rows: i64,
    columns: i64,
    stride: i64,
    values: *const c_void,
    value_type: c_int,
    layout: c_int,
) -> c_int {
    assert_eq!((value_type, layout), (REAL_64, COLUMN_MAJOR));
    let [rows, columns, stride] = [rows, columns, stride].map(|number| number as usize);
    create(to, Thing::Dense { rows, columns, stride, values: values.cast_mut().cast() })
}

unsafe extern "C" fn set_values(matrix: Object, new: *const c_void) -> c_int {
    let Thing::Csr { values, .. } = thing(matrix) else { panic!("no matrix") };
    *values = new.cast();
    SUCCESS
}

unsafe extern "C" fn execute(
    _: Object,
    phase: c_int,
    config: Object,
    data: Object,
    matrix: Object,
    solution: Object,
    right: Object,
) -> c_int {
    assert!(matches!(thing(config), Thing::Config));
    let (Thing::Data(factors), Thing::Csr { rows, .. }) = (thing(data), thing(matrix)) else {
        panic!("no matrix")
    };
    let shape = |object| match thing(object) {
        Thing::Dense { rows, columns, stride, values } => (*rows, *columns, *stride, *values),
        _ => panic!("no dense matrix"),
    };
    let (x, b) = (shape(solution), shape(right));
    assert_eq!((x.0, x.1, b.0), (*rows, b.1, *rows));
    PHASES.with_borrow_mut(|phases| phases.push(phase));
    if FAILS.get().is_some_and(|fails| fails as c_int == phase) {
        return 5;
    }
    if phase == Phase::Factorization as c_int {
        *factors = Some(dense(matrix));
    } else if phase == Phase::Refactorization as c_int {
        assert!(factors.is_some(), "nothing was factorized");
        *factors = Some(dense(matrix));
    } else if phase == Phase::Solve as c_int {
        for column in 0..b.1 {
            // SAFETY: the caller's memory has as many columns.
            let (b, x) = unsafe {
                let b = std::slice::from_raw_parts(b.3.add(column * b.2), *rows);
                (b, std::slice::from_raw_parts_mut(x.3.add(column * x.2), *rows))
            };
            x.copy_from_slice(b);
            eliminate(factors.clone().expect("factors"), x);
        }
    } else {
        assert_eq!(phase, Phase::Analysis as c_int);
    }
    SUCCESS
}

/// The elements of a matrix, row by row.
fn dense(matrix: Object) -> Vec<f64> {
    let &mut Thing::Csr { rows, nonzeros, offsets, columns, values, is_lower } = thing(matrix) else {
        panic!("no matrix")
    };
    // SAFETY: the caller's arrays have these lengths.
    let (offsets, columns, values) = unsafe {
        (
            std::slice::from_raw_parts(offsets, rows + 1),
            std::slice::from_raw_parts(columns, nonzeros),
            std::slice::from_raw_parts(values, nonzeros),
        )
    };
    let mut dense = vec![0.0; rows * rows];
    for row in 0..rows {
        for at in offsets[row] as usize..offsets[row + 1] as usize {
            let column = columns[at] as usize;
            if !is_lower {
                dense[row * rows + column] = values[at];
            } else if column <= row {
                dense[row * rows + column] = values[at];
                dense[column * rows + row] = values[at];
            }
        }
    }
    dense
}

/// Solves by Gauss-Jordan steps, for diagonally dominant matrices.
fn eliminate(mut a: Vec<f64>, x: &mut [f64]) {
    let n = x.len();
    for pivot in 0..n {
        for row in (0..n).filter(|&row| row != pivot) {
            let factor = a[row * n + pivot] / a[pivot * n + pivot];
            (0..n).for_each(|column| a[row * n + column] -= factor * a[pivot * n + column]);
            x[row] -= factor * x[pivot];
        }
    }
    (0..n).for_each(|row| x[row] /= a[row * n + row]);
}

/// The functions of the stand-in.
pub(super) fn functions() -> Functions {
    Functions {
        cudssGetProperty: property,
        cudssCreate: create_handle,
        cudssDestroy: destroy_object,
        cudssSetStream: set_stream,
        cudssConfigCreate: create_config,
        cudssConfigDestroy: destroy_object,
        cudssConfigSet: set_option,
        cudssDataCreate: create_data,
        cudssDataDestroy: destroy_data,
        cudssDataGet: get,
        cudssMatrixCreateCsr: create_csr,
        cudssMatrixCreateDn: create_dense,
        cudssMatrixSetValues: set_values,
        cudssMatrixDestroy: destroy_object,
        cudssExecute: execute,
    }
}
