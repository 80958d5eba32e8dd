//! Conversion of row offsets.

use evenpath_simt::{kernel, thread, Arena, Global, GlobalMut};

use crate::Offset;

kernel! {
    /// Converts row offsets to another type, which can represent them all: one thread per offset.
    pub struct SpgemmConvertOffsets<S: Offset, T: Offset> {
        /// Input.
        pub source: Global<S>,
        /// Output.
        pub target: GlobalMut<T>,
        /// The number of offsets.
        pub len: u64,
    }
    shared: 0;
    body: SpgemmConvertOffsets::convert::<BLOCK>;
    entries: {
        spgemm_offsets_to_u32 in spgemm_plan: <S = u64, T = u32>, 256 x 1;
        spgemm_offsets_to_u64 in spgemm_plan: <S = u32, T = u64>, 256 x 1;
        spgemm_offsets_of_u64 in spgemm_plan: <S = u64, T = u64>, 256 x 1;
    }
}

impl<S: Offset, T: Offset> SpgemmConvertOffsets<S, T> {
    #[inline(always)]
    fn convert<const BLOCK: usize>(self, _: Arena) {
        let index = thread::block() as usize * BLOCK + thread::index() as usize;
        if (index as u64) < self.len {
            self.target.store(index, T::from_bits(self.source.load_streaming(index).to_bits()));
        }
    }
}
