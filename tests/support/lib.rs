//! Shared by the integration tests: devices, matrices with given row lengths, and independent oracles.

mod changes;
mod complex;
mod devices;
#[cfg(doctest)]
mod guide;
mod host_dense;
mod matrices;
mod oracle;
mod spmm_operand;
mod spmv_check;

pub use changes::while_values_change;
pub use complex::{
    ComplexValue, ExpectedComplex, complex, complex_rows, complex_spmv, complex_vector, exact,
};
pub use devices::{
    DeviceUnderTest, device_of_each_kind, devices, kernel_devices, lose, tile_len, tile_lens, unlike_devices,
};
pub use host_dense::HostDense;
pub use matrices::{
    Entries, UNLIMITED, hyb_widths, odd_row_lengths, row_lengths, rows_of, scattered_squares,
    stored_with_row_lengths, with_row_lengths,
};
pub use oracle::{Expected, sddmm, spmm, spmv};
pub use spmm_operand::SpmmOperand;
pub use spmv_check::{WAYS, check_spmv, check_spmv_direct, check_spmv_with, vector, ways};
