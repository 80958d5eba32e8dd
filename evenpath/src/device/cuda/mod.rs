//! NVIDIA GPUs, through `cust`.

mod driver;
mod symbols;
