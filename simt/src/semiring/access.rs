//! Elements of semirings in the GPU's memory.

use evenpath_simt_macros::device;

use super::semirings::{In, Semiring};
use crate::element::{Access, Element};

/// An element of a semiring is its number to memory.
impl<S: Semiring<V>, V: Element> Access for In<S, V> {
    #[device]
    unsafe fn load(address: u64) -> Self {
        Self::new(unsafe { V::load(address) })
    }
    #[device]
    unsafe fn load_read_only(address: u64) -> Self {
        Self::new(unsafe { V::load_read_only(address) })
    }
    #[device]
    unsafe fn load_streaming(address: u64) -> Self {
        Self::new(unsafe { V::load_streaming(address) })
    }
    #[device]
    unsafe fn shared_load(address: u32) -> Self {
        Self::new(unsafe { V::shared_load(address) })
    }
    #[device]
    unsafe fn load_read_only_if(address: u64, condition: u32) -> Self {
        let value = unsafe { V::load_read_only_if(address, condition) };
        if condition != 0 {
            Self::new(value)
        } else {
            Self::ZERO
        }
    }
    #[device]
    unsafe fn load_streaming_2(address: u64) -> [Self; 2] {
        unsafe { V::load_streaming_2(address) }.map(Self::new)
    }
    #[device]
    unsafe fn load_streaming_4(address: u64) -> [Self; 4] {
        unsafe { V::load_streaming_4(address) }.map(Self::new)
    }
    #[device]
    unsafe fn store(address: u64, element: Self) {
        unsafe { V::store(address, element.value) }
    }
    #[device]
    unsafe fn store_streaming(address: u64, element: Self) {
        unsafe { V::store_streaming(address, element.value) }
    }
    #[device]
    unsafe fn shared_store(address: u32, element: Self) {
        unsafe { V::shared_store(address, element.value) }
    }
    #[device]
    unsafe fn store_streaming_2(address: u64, elements: [Self; 2]) {
        unsafe { V::store_streaming_2(address, elements.map(|element| element.value)) }
    }
    #[device]
    unsafe fn store_streaming_4(address: u64, elements: [Self; 4]) {
        unsafe { V::store_streaming_4(address, elements.map(|element| element.value)) }
    }
}
