//! Calls of the library: handle, arguments, and the code that is returned.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::functions::{Address, Number};
use super::version::Version;
use crate::peers::PeerError;
use crate::peers::cuda::Buffer;

/// An argument of a function, in the type that its header has.
pub(super) trait Argument {
    type Raw;

    fn raw(self) -> Self::Raw;
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl Argument for $type {
            type Raw = Self;

            fn raw(self) -> Self {
                self
            }
        }
    )*};
}
plain!(c_int, i64, f32, usize, Address, Number, *mut usize, *mut c_int, *mut i64, *mut Address);

impl Argument for &Descriptor {
    type Raw = Address;

    fn raw(self) -> Address {
        self.address
    }
}

impl<T> Argument for &Buffer<T> {
    type Raw = Address;

    fn raw(self) -> Address {
        self.address()
    }
}

/// A factor on the host, where the library expects it by default.
pub(super) fn factor<V>(value: &V) -> Number {
    ptr::from_ref(value).cast()
}

/// Calls a function with the handle of a version and these arguments, and checks its code.
macro_rules! call {
    ($version:expr, $functions:expr, $name:ident($($argument:expr),* $(,)?)) => {
        $version.check(
            stringify!($name),
            ($functions.$name)($version.handle, $($crate::peers::cusparse::call::Argument::raw($argument)),*),
        )
    };
}

/// Makes a descriptor by a function whose arguments are its address and these. It is destroyed by another function.
macro_rules! describe {
    ($version:expr, $functions:expr, $create:ident($($argument:expr),* $(,)?), $destroy:ident) => {
        $crate::peers::cusparse::call::Descriptor::new(
            $version,
            stringify!($create),
            $functions.$destroy,
            |address| ($functions.$create)(address $(, $crate::peers::cusparse::call::Argument::raw($argument))*),
        )
    };
}

pub(super) use {call, describe};

/// The library's descriptor of an operand.
pub(super) struct Descriptor {
    address: *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void) -> c_int,
}

impl Descriptor {
    pub(super) fn new(
        version: &Version,
        function: &'static str,
        destroy: unsafe extern "C" fn(*mut c_void) -> c_int,
        create: impl FnOnce(*mut *mut c_void) -> c_int,
    ) -> Result<Self, PeerError> {
        let mut address = ptr::null_mut();
        version.check(function, create(&raw mut address))?;
        Ok(Self { address, destroy })
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: this object owns the descriptor. A failure cannot be handled.
        unsafe { (self.destroy)(self.address) };
    }
}
