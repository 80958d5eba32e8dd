//! A tensor in either form of the structs, with its deleter.

use std::ptr::NonNull;

use super::abi::{DLManagedTensor, DLManagedTensorVersioned, DLTensor, FLAG_READ_ONLY};

/// A tensor in either form, with its deleter.
#[derive(Debug)]
pub(super) enum Managed {
    Versioned(NonNull<DLManagedTensorVersioned>),
    Unversioned(NonNull<DLManagedTensor>),
}

// SAFETY: DLPack allows deleting tensors from any thread.
unsafe impl Send for Managed {}

impl Managed {
    pub(super) fn tensor(&self) -> &DLTensor {
        // SAFETY: the tensor's producer guarantees it, and it is deleted when this is dropped.
        unsafe {
            match self {
                Self::Versioned(managed) => &managed.as_ref().dl_tensor,
                Self::Unversioned(managed) => &managed.as_ref().dl_tensor,
            }
        }
    }

    pub(super) fn is_read_only(&self) -> bool {
        match self {
            // SAFETY: as in `tensor`.
            Self::Versioned(managed) => unsafe { managed.as_ref() }.flags & FLAG_READ_ONLY != 0,
            Self::Unversioned(_) => false,
        }
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        // SAFETY: as in `tensor`; it is not used again.
        unsafe {
            match *self {
                Self::Versioned(managed) => {
                    if let Some(deleter) = managed.as_ref().deleter {
                        deleter(managed.as_ptr());
                    }
                }
                Self::Unversioned(managed) => {
                    if let Some(deleter) = managed.as_ref().deleter {
                        deleter(managed.as_ptr());
                    }
                }
            }
        }
    }
}
