//! Devices: where matrices live and operations run.

#[cfg(feature = "cuda")]
mod cuda;
