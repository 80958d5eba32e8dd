//! Views: elements as kernel arguments, which are typed addresses. Every view of device memory is made here,
//! so that a captured graph keeps its memory.

use bytemuck::Pod;
use evenpath_simt::{Aligned16, Element, Global, GlobalMut};

use super::slice::{DeviceSlice, SliceMemory};

impl<T: Pod + Element> DeviceSlice<T> {
    /// The elements as a kernel's input. The view does not borrow them.
    #[doc(hidden)]
    pub fn as_global(&self) -> Global<T> {
        self.as_global_of()
    }

    /// The elements as a kernel's output. The view does not borrow them.
    #[doc(hidden)]
    pub fn as_global_mut(&mut self) -> GlobalMut<T> {
        self.as_global_mut_of()
    }

    /// [`as_global`](Self::as_global) for kernels that load several elements at once; `None` unless the first one is at a multiple of
    /// 16 bytes.
    pub(crate) fn aligned(&self) -> Option<Global<T, Aligned16>> {
        self.as_global().aligned()
    }

    /// [`as_global_mut`](Self::as_global_mut) for kernels that store several elements at once; `None` as for
    /// [`aligned`](Self::aligned).
    pub(crate) fn aligned_mut(&mut self) -> Option<GlobalMut<T, Aligned16>> {
        self.as_global_mut().aligned()
    }

    /// The elements as part of a view that begins at a multiple of 16 bytes, for kernels that load one element of it at once.
    pub(crate) fn as_part_of_aligned(&self) -> Global<T, Aligned16> {
        self.keep(false);
        let before = self.elements_before();
        let address = self.address() - (before * T::SIZE) as u64;
        Global::from_aligned_device(address, (before + self.len()) as u64).skip_aligned(before)
    }

    /// [`as_part_of_aligned`](Self::as_part_of_aligned) for kernels that also store one element at once.
    pub(crate) fn as_part_of_aligned_mut(&mut self) -> GlobalMut<T, Aligned16> {
        self.keep(true);
        let before = self.elements_before();
        let address = self.address() - (before * T::SIZE) as u64;
        GlobalMut::from_aligned_device(address, (before + self.len()) as u64).skip_aligned(before)
    }

    /// Number of elements between the last multiple of 16 bytes and the first element.
    fn elements_before(&self) -> usize {
        (self.address() % 16) as usize / T::SIZE
    }

    /// The elements for a kernel that declares them as output but does not write them.
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

    /// [`as_global_of`](Self::as_global_of) for kernels that load several elements at once, where each `T` is at a multiple of 16 bytes.
    pub(crate) fn as_aligned_of<E: Element>(&self) -> Global<E, Aligned16> {
        const { assert!(align_of::<T>().is_multiple_of(16)) };
        self.keep(false);
        Global::from_aligned_device(self.address(), self.len_of::<E>())
    }

    /// [`as_global_mut_of`](Self::as_global_mut_of) for kernels that store several elements at once, like
    /// [`as_aligned_of`](Self::as_aligned_of).
    pub(crate) fn as_aligned_mut_of<E: Element>(&mut self) -> GlobalMut<E, Aligned16> {
        const { assert!(align_of::<T>().is_multiple_of(16)) };
        self.keep(true);
        GlobalMut::from_aligned_device(self.address(), self.len_of::<E>())
    }

    /// Number of elements of another type that fit into the bytes.
    fn len_of<E: Element>(&self) -> u64 {
        (size_of::<T>() * self.len() / E::SIZE) as u64
    }

    /// Makes the graph that this thread captures keep the memory.
    fn keep(&self, is_written: bool) {
        if let SliceMemory::Machine { allocation, .. } = &self.parts.memory {
            self.device().keep(allocation, is_written);
        }
    }
}

/// An output as the input of a later kernel.
pub(crate) fn read_only<T: Element>(view: GlobalMut<T>) -> Global<T> {
    Global::from_device(view.address(), view.len())
}

/// The first `len` elements of an output, or all if it has fewer.
pub(crate) fn prefix<T: Element>(view: GlobalMut<T>, len: usize) -> GlobalMut<T> {
    GlobalMut::from_device(view.address(), view.len().min(len as u64))
}

/// An empty input, for a kernel that does not read it.
pub(crate) fn no_input<T: Element>() -> Global<T> {
    Global::from_device(0, 0)
}

/// An empty input, for a kernel that loads several elements at once from others.
pub(crate) fn no_aligned_input<T: Element>() -> Global<T, Aligned16> {
    Global::from_aligned_device(0, 0)
}

/// An empty output, for a kernel that does not write it.
pub(crate) fn no_output<T: Element>() -> GlobalMut<T> {
    GlobalMut::from_device(0, 0)
}
