//! The kernel of `docs/kernels.md`, "Your first kernel".
#![allow(missing_docs)]

use evenpath_simt::host::{SimulatedGpu, SimulatedOptions};
use evenpath_simt::{device, kernel, thread, Arena, Float, GlobalMut};

kernel! {
    /// Multiplies a vector by a number: one thread per element.
    pub struct Scale<V: Float> {
        /// The vector, `len` elements.
        pub data: GlobalMut<V>,
        /// The number of its elements.
        pub len: u32,
        /// Its factor.
        pub factor: V,
    }
    shared: 0;
    body: Scale::scale::<BLOCK>;
    entry: scale_{V} in first: V in [f32, f64], 128 x 1;
}

impl<V: Float> Scale<V> {
    #[device]
    fn scale<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            self.data.store(index, self.factor * self.data.load(index));
        }
    }
}

#[test]
fn every_element_is_scaled() {
    let gpu = SimulatedGpu::new(SimulatedOptions::default());
    let address = gpu.allocate(1000 * 4).expect("memory");
    let values: Vec<u8> = (0..1000).flat_map(|index| (index as f32).to_le_bytes()).collect();
    gpu.write(address, &values).expect("live memory");
    let kernel = Scale { data: GlobalMut::from_device(address, 1000), len: 1000, factor: 0.5_f32 };
    gpu.run(kernel, 1000_u32.div_ceil(128)).expect("no mistake");
    let mut scaled = vec![0; 1000 * 4];
    gpu.read(address, &mut scaled).expect("live memory");
    let expected: Vec<u8> = (0..1000).flat_map(|index| (0.5 * index as f32).to_le_bytes()).collect();
    assert_eq!(scaled, expected);
}
