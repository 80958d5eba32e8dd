//! Conversions between types of elements.

use evenpath_simt::{device, kernel, thread, Arena, Global, GlobalMut};

kernel! {
    /// `y[i] = x[i]`, exact: one thread per element.
    pub struct WidenElements {
        /// The elements that are read.
        pub x: Global<f32>,
        /// Output.
        pub y: GlobalMut<f64>,
        /// Elements of each.
        pub len: u64,
    }
    shared: 0;
    body: WidenElements::widen_elements::<BLOCK>;
    entry: convert_widen in convert: 256 x 1;
}

impl WidenElements {
    #[device]
    fn widen_elements<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            self.y.store(index, f64::from(self.x.load_streaming(index)));
        }
    }
}

kernel! {
    /// `y[i] = x[i]`, rounded to nearest: one thread per element.
    pub struct NarrowElements {
        /// The elements that are read.
        pub x: Global<f64>,
        /// Output.
        pub y: GlobalMut<f32>,
        /// Elements of each.
        pub len: u64,
    }
    shared: 0;
    body: NarrowElements::narrow_elements::<BLOCK>;
    entry: convert_narrow in convert: 256 x 1;
}

impl NarrowElements {
    #[device]
    fn narrow_elements<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            self.y.store(index, self.x.load_streaming(index) as f32);
        }
    }
}
