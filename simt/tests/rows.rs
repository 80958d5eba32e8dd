//! Rows of entries are multiplied out in order.
#![allow(missing_docs)]

use evenpath_simt::kernel::{Kernel, KernelInfo};
use evenpath_simt::{kernel, Arena, Element, GlobalMut, ScalarType};

/// Variants.
trait Amount {
    const AMOUNT: usize;
}
struct One;
struct Two;
impl Amount for One {
    const AMOUNT: usize = 1;
}
impl Amount for Two {
    const AMOUNT: usize = 2;
}

kernel! {
    /// Does nothing.
    pub struct Rows<V: Element, O: Element> {
        pub values: GlobalMut<V>,
        pub offsets: GlobalMut<O>,
    }
    shared: A::AMOUNT * BLOCK * ITEMS;
    body: Rows::nothing::<A, BLOCK, ITEMS>;
    entries: {
        rows_{A}_{V}_{O bits} in rows_{O}:
            (A, N) in [(One as once, 4), (Two as twice, 8)], O in [u32, u64], V in [f32, f64], 64 x N;
        wide_{B}_{V} in wide: (V, O) in [(f32 as f32_u8, u8), (f64, u16)], A = One, (B, R) in [(32, 0), (128, 2)],
            B x 1 resident R;
    }
}

impl<V: Element, O: Element> Rows<V, O> {
    fn nothing<A: Amount, const BLOCK: usize, const ITEMS: usize>(_: Self, _: Arena) {}
}

kernel! {
    /// Has no types.
    pub struct Plain {
        pub values: GlobalMut<u32>,
    }
    shared: 0;
    body: |_: Plain, _: Arena| {};
    entry: plain in wide: 96 x 1;
}

fn names(infos: &[&KernelInfo]) -> Vec<String> {
    infos.iter().map(|info| format!("{}/{}", info.module, info.name)).collect()
}

#[test]
fn the_last_variable_varies_fastest() {
    let expected = [
        "rows_u32/rows_once_f32_32",
        "rows_u32/rows_once_f64_32",
        "rows_u64/rows_once_f32_64",
        "rows_u64/rows_once_f64_64",
        "rows_u32/rows_twice_f32_32",
        "rows_u32/rows_twice_f64_32",
        "rows_u64/rows_twice_f32_64",
        "rows_u64/rows_twice_f64_64",
        "wide/wide_32_f32_u8",
        "wide/wide_128_f32_u8",
        "wide/wide_32_f64",
        "wide/wide_128_f64",
    ];
    assert_eq!(names(Rows::<f32, u32>::INSTANCES), expected);
    assert_eq!(names(Plain::INSTANCES), ["wide/plain"]);
}

#[test]
fn instances_have_their_types_and_tiles() {
    let infos = Rows::<f32, u32>::INSTANCES;
    let tile = |info: &KernelInfo| (info.block_size, info.items_per_thread, info.resident_blocks);
    // Types are in the order of the kernel's parameters, not of the row.
    assert_eq!(infos[2].types, [ScalarType::F32, ScalarType::U64]);
    assert_eq!((infos[2].variant, tile(infos[2])), ("One", (64, 4, 0)));
    assert_eq!((infos[7].variant, tile(infos[7])), ("Two", (64, 8, 0)));
    assert_eq!(infos[7].shared_bytes, 2 * 64 * 8);
    assert_eq!(infos[9].types, [ScalarType::F32, ScalarType::U8]);
    assert_eq!((infos[9].variant, tile(infos[9])), ("One", (128, 1, 2)));
    assert_eq!(tile(Plain::INSTANCES[0]), (96, 1, 0));
    let found = Rows::<f64, u64>::variant("Two").expect("an instance");
    assert_eq!(found.name, "rows_twice_f64_64");
}
