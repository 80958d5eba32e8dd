//! Elements as kernels take them: typed addresses. Every view of a device's memory is made here, so that a graph that is captured
//! keeps the memory of each.

use bytemuck::Pod;
use evenpath_simt::{Element, Global, GlobalMut};

use super::slice::{DeviceSlice, Memory};

impl<T: Pod + Element> DeviceSlice<T> {
    /// The elements as a kernel's input. The view is not tied to their lifetime.
    #[doc(hidden)]
    pub fn as_global(&self) -> Global<T> {
        self.as_global_of()
    }

    /// The elements as a kernel's output. The view is not tied to their lifetime.
    #[doc(hidden)]
    pub fn as_global_mut(&mut self) -> GlobalMut<T> {
        self.as_global_mut_of()
    }

    /// The elements for a kernel that declares them as output and does not write them.
    pub(crate) fn as_global_unwritten(&self) -> GlobalMut<T> {
        self.keep(false);
        GlobalMut::from_device(self.address(), self.len() as u64)
    }
}

impl<T: Pod> DeviceSlice<T> {
    /// The bytes of the elements as a kernel's input of another type.
    pub(crate) fn as_global_of<E: Element>(&self) -> Global<E> {
        self.keep(false);
        Global::from_device(self.address(), self.len_of::<E>())
    }

    /// The bytes of the elements as a kernel's output of another type.
    pub(crate) fn as_global_mut_of<E: Element>(&mut self) -> GlobalMut<E> {
        self.keep(true);
        GlobalMut::from_device(self.address(), self.len_of::<E>())
    }

    /// Elements of another type that have room in the bytes.
    fn len_of<E: Element>(&self) -> u64 {
        (size_of::<T>() * self.len() / E::SIZE) as u64
    }

    /// Has the graph that this thread captures keep the memory.
    fn keep(&self, is_written: bool) {
        if let Memory::Machine { allocation, .. } = &self.memory {
            self.device().keep(allocation, is_written);
        }
    }
}

/// An output as the input of a later kernel.
pub(crate) fn read_only<T: Element>(view: GlobalMut<T>) -> Global<T> {
    Global::from_device(view.address(), view.len())
}

/// The first `len` elements of an output, or all if there are no more.
pub(crate) fn prefix<T: Element>(view: GlobalMut<T>, len: usize) -> GlobalMut<T> {
    GlobalMut::from_device(view.address(), view.len().min(len as u64))
}

/// An output as elements of another type, as many as have room in its bytes.
pub(crate) fn reinterpret<T: Element, E: Element>(view: GlobalMut<T>) -> GlobalMut<E> {
    GlobalMut::from_device(view.address(), view.len() * T::SIZE as u64 / E::SIZE as u64)
}

/// An input that a kernel does not read.
pub(crate) fn no_input<T: Element>() -> Global<T> {
    Global::from_device(0, 0)
}

/// An output that a kernel does not write.
pub(crate) fn no_output<T: Element>() -> GlobalMut<T> {
    GlobalMut::from_device(0, 0)
}
