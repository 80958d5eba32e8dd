//! Element types, and their codes in DLPack.

use bytemuck::Pod;
use evenpath_simt::half::{bf16, f16};

use super::abi::DLDataType;

/// An element type of tensors. Sealed.
pub trait TensorElement: Pod + Send + Sync + sealed::Sealed {
    /// Code of the type in DLPack.
    const DATA_TYPE: DLDataType;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($type:ty: $code:expr;)*) => {$(
        impl sealed::Sealed for $type {}
        impl TensorElement for $type {
            const DATA_TYPE: DLDataType =
                DLDataType { code: $code, bits: 8 * size_of::<$type>() as u8, lanes: 1 };
        }
    )*};
}

elements! {
    i8: 0; i16: 0; i32: 0; i64: 0;
    u8: 1; u16: 1; u32: 1; u64: 1;
    f16: 2; f32: 2; f64: 2;
    bf16: 4;
}
