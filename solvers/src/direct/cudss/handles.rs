//! Objects of the library, which end with their owners.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use super::functions::Functions;
use super::types::{Object, SUCCESS, meaning};
use crate::error::{Error, Result};

/// Turns a status into a result.
pub(super) fn done(call: &'static str, status: c_int) -> Result<()> {
    if status == SUCCESS {
        return Ok(());
    }
    let reason = format!("`{call}` answered {status}, {}", meaning(status));
    Err(Error::Library { library: "cuDSS", reason })
}

/// An object that `create` writes, or its error.
pub(super) fn created(call: &'static str, create: impl FnOnce(*mut Object) -> c_int) -> Result<Object> {
    let mut object = null_mut();
    done(call, create(&raw mut object))?;
    Ok(object)
}

/// The context of the library, a configuration, and the factors. All calls are made with the device's context current.
pub(super) struct Handles {
    pub(super) functions: Functions,
    pub(super) handle: Object,
    pub(super) config: Object,
    pub(super) data: Object,
    /// The matrix that is factorized.
    pub(super) matrix: Object,
}

// SAFETY: the library's objects may be used by any thread, by one at a time.
unsafe impl Send for Handles {}

impl Handles {
    /// Creates all but the matrix.
    pub(super) fn new(functions: Functions) -> Result<Self> {
        let none = null_mut();
        // Owns what is created, also if a later call fails.
        let mut handles = Self { functions, handle: none, config: none, data: none, matrix: none };
        // SAFETY: there is room for each object; those that are passed exist.
        unsafe {
            handles.handle = created("cudssCreate", |to| (functions.cudssCreate)(to))?;
            handles.config = created("cudssConfigCreate", |to| (functions.cudssConfigCreate)(to))?;
            handles.data = created("cudssDataCreate", |to| (functions.cudssDataCreate)(handles.handle, to))?;
        }
        Ok(handles)
    }

    /// Sets an option whose type is `int`.
    pub(super) fn set_option(&self, option: c_int, value: c_int) -> Result<()> {
        // SAFETY: the configuration exists, and the value has the size that is passed.
        let status = unsafe {
            let value = (&raw const value).cast();
            (self.functions.cudssConfigSet)(self.config, option, value, size_of::<c_int>())
        };
        done("cudssConfigSet", status)
    }

    /// Reads a number about the factorization, 0 if it has none. `T` is the number's type in the library.
    pub(super) fn get<T: bytemuck::Pod>(&self, number: c_int) -> Result<T> {
        let (mut value, mut written) = (T::zeroed(), 0);
        // SAFETY: the objects exist, and there is room for the value.
        let status = unsafe {
            let to = (&raw mut value).cast::<c_void>();
            (self.functions.cudssDataGet)(
                self.handle,
                self.data,
                number,
                to,
                size_of::<T>(),
                &raw mut written,
            )
        };
        done("cudssDataGet", status)?;
        Ok(value)
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        // SAFETY: each object is destroyed once, if it exists; the factors before the context that they belong to.
        unsafe {
            if !self.matrix.is_null() {
                (self.functions.cudssMatrixDestroy)(self.matrix);
            }
            if !self.data.is_null() {
                (self.functions.cudssDataDestroy)(self.handle, self.data);
            }
            if !self.config.is_null() {
                (self.functions.cudssConfigDestroy)(self.config);
            }
            if !self.handle.is_null() {
                (self.functions.cudssDestroy)(self.handle);
            }
        }
    }
}

/// A dense matrix by columns, as the library sees it.
pub(super) struct Dense {
    functions: Functions,
    pub(super) object: Object,
}

impl Dense {
    /// A matrix of `rows` rows at an address, or without values, as analyses take it.
    pub(super) fn new(
        functions: Functions,
        (rows, columns, stride): (usize, usize, usize),
        address: u64,
        value_type: c_int,
    ) -> Result<Self> {
        let [rows, columns, stride] = [rows, columns, stride].map(|number| number as i64);
        let values = address as *const c_void;
        let layout = super::types::COLUMN_MAJOR;
        let object = created("cudssMatrixCreateDn", |to| {
            // SAFETY: there is room for the object, which does not read the values.
            unsafe { (functions.cudssMatrixCreateDn)(to, rows, columns, stride, values, value_type, layout) }
        })?;
        Ok(Self { functions, object })
    }
}

impl Drop for Dense {
    fn drop(&mut self) {
        // SAFETY: the object exists, and is destroyed once.
        unsafe { (self.functions.cudssMatrixDestroy)(self.object) };
    }
}
