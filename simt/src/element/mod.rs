//! The scalars that device memory holds.

mod access;
mod implementations;
mod scalar_type;
mod traits;
mod words;

#[cfg(target_arch = "nvptx64")]
pub(crate) use access::Access;
pub(crate) use access::Atomic;
pub use scalar_type::{Packet, ScalarType};
pub use traits::{AtomicElement, AtomicInteger, Element, Word};
pub use words::Words;
