//! Launch arguments in the driver's format.

use std::ffi::c_void;

use cust::sys::{self, CUfunction, CUstream};
use evenpath_simt::kernel::{Argument, KernelInfo};
use smallvec::SmallVec;

use super::driver::{CallError, check_raw};

/// Number of words stored inline: enough for nearly all kernels.
const WORDS: usize = 32;

/// Bytes of each parameter, little-endian like every host of an NVIDIA GPU.
pub(super) struct ParameterBytes {
    /// The parameters, each at a multiple of 8 bytes.
    words: SmallVec<[u64; WORDS]>,
    /// Index of each parameter's first word.
    starts: SmallVec<[usize; WORDS]>,
}

impl ParameterBytes {
    /// Lays out `arguments`, which are the kernel's scalars and views in order.
    pub(super) fn new(kernel: &KernelInfo, arguments: &[Argument]) -> Self {
        let (mut words, mut starts) = (SmallVec::<[u64; WORDS]>::new(), SmallVec::new());
        let mut arguments = arguments.iter();
        for (_, kind) in kernel.parameters {
            let start = words.len();
            starts.push(start);
            words.resize(start + kind.size().div_ceil(size_of::<u64>()), 0);
            kind.for_each_scalar(0, &mut |_, offset| {
                if let Some(argument) = arguments.next() {
                    words[start + offset / 8] = argument.bits;
                }
            });
        }
        Self { words, starts }
    }

    /// Returns a pointer to each parameter, for `cuLaunchKernel`. Valid as long as `self`.
    pub(super) fn pointers(&self) -> SmallVec<[*mut c_void; WORDS]> {
        self.starts.iter().map(|&start| self.words[start..].as_ptr().cast_mut().cast()).collect()
    }
}

/// Launches blocks with the given bytes of dynamic shared memory each.
///
/// # Safety
///
/// The function is of a module in the current context, the parameters are its own, and the memory that they
/// name is live.
pub(super) unsafe fn launch(
    function: CUfunction,
    (grid, block_size, dynamic_shared): (u32, u32, u32),
    stream: CUstream,
    parameters: &ParameterBytes,
) -> Result<(), CallError> {
    let mut pointers = parameters.pointers();
    // SAFETY: guaranteed by the caller; the driver copies the parameters before the call returns.
    check_raw("cuLaunchKernel", unsafe {
        sys::cuLaunchKernel(
            function,
            grid,
            1,
            1,
            block_size,
            1,
            1,
            dynamic_shared,
            stream,
            pointers.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    })
}

#[cfg(test)]
mod tests {
    use evenpath_simt::ScalarType;
    use evenpath_simt::kernel::ParameterKind;

    use super::*;

    const INNER: &[(&str, ParameterKind)] =
        &[("a", ParameterKind::Scalar(ScalarType::U16)), ("b", ParameterKind::Scalar(ScalarType::U32))];
    const OUTER: &[(&str, ParameterKind)] = &[
        ("view", ParameterKind::Global(ScalarType::F32)),
        ("short", ParameterKind::Scalar(ScalarType::U16)),
        ("inner", ParameterKind::Struct(INNER)),
    ];

    #[test]
    fn fields_of_structs_take_a_word_each() {
        let word = ParameterKind::Scalar(ScalarType::U32);
        let short = ParameterKind::Scalar(ScalarType::U16);
        let view = ParameterKind::Global(ScalarType::F32);
        let (inner, outer) = (ParameterKind::Struct(INNER), ParameterKind::Struct(OUTER));
        assert_eq!((inner.size(), inner.align()), (16, 8));
        assert_eq!((outer.size(), outer.align()), (32, 8));
        let info = KernelInfo {
            name: "kernel",
            module: "module",
            types: &[],
            variant: "",
            block_size: 32,
            items_per_thread: 1,
            resident_blocks: 0,
            shared_bytes: 0,
            parameters: Box::leak(Box::new([
                ("short", short),
                ("outer", outer),
                ("view", view),
                ("word", word),
            ])),
        };
        assert_eq!(info.scalars(), [short, view, short, short, word, view, word]);
        let arguments: Vec<_> = (1..=7).map(|bits| Argument { bits, len: 0 }).collect();
        let parameters = ParameterBytes::new(&info, &arguments);
        assert_eq!(parameters.starts[..], [0, 1, 5, 6]);
        assert_eq!(parameters.words[..], [1, 2, 3, 4, 5, 6, 7]);
    }
}
