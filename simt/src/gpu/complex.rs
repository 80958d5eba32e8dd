//! Loads and stores of complex numbers: both parts by one instruction.

use core::arch::asm;
use evenpath_simt_macros::device;
use num_complex::Complex;

use crate::element::Access;

// Safety, for every block: as for numbers of one part.
macro_rules! access_as_pair {
    ($part:ident, $suffix:literal, $class:ident) => {
        impl Access for Complex<$part> {
            #[device]
            unsafe fn load(address: u64) -> Self {
                let (re, im): ($part, $part);
                unsafe { asm!(concat!("ld.global.v2.", $suffix, " {{{}, {}}}, [{}];"), out($class) re, out($class) im, in(reg64) address, options(readonly, nostack)); }
                Self { re, im }
            }
            #[device]
            unsafe fn load_read_only(address: u64) -> Self {
                let (re, im): ($part, $part);
                unsafe { asm!(concat!("ld.global.nc.v2.", $suffix, " {{{}, {}}}, [{}];"), out($class) re, out($class) im, in(reg64) address, options(pure, readonly, nostack)); }
                Self { re, im }
            }
            #[device]
            unsafe fn load_read_only_if(address: u64, condition: u32) -> Self {
                let (mut re, mut im): ($part, $part) = (0.0, 0.0);
                unsafe {
                    asm!(concat!("{{ .reg .pred holds; setp.ne.u32 holds, {}, 0; @holds ld.global.nc.v2.", $suffix, " {{{}, {}}}, [{}]; }}"),
                        in(reg32) condition, inout($class) re, inout($class) im, in(reg64) address, options(pure, readonly, nostack));
                }
                Self { re, im }
            }
            #[device]
            unsafe fn load_streaming(address: u64) -> Self {
                let [re, im] = unsafe { $part::load_streaming_2(address) };
                Self { re, im }
            }
            #[device]
            unsafe fn load_streaming_2(address: u64) -> [Self; 2] {
                let [a, b, c, d] = unsafe { $part::load_streaming_4(address) };
                [Self { re: a, im: b }, Self { re: c, im: d }]
            }
            #[device]
            unsafe fn load_streaming_4(address: u64) -> [Self; 4] {
                let [a, b] = unsafe { Self::load_streaming_2(address) };
                let [c, d] = unsafe { Self::load_streaming_2(address + 2 * size_of::<Self>() as u64) };
                [a, b, c, d]
            }
            #[device]
            unsafe fn store(address: u64, Self { re, im }: Self) {
                unsafe { asm!(concat!("st.global.v2.", $suffix, " [{}], {{{}, {}}};"), in(reg64) address, in($class) re, in($class) im, options(nostack)); }
            }
            #[device]
            unsafe fn store_streaming(address: u64, Self { re, im }: Self) {
                unsafe { $part::store_streaming_2(address, [re, im]) };
            }
            #[device]
            unsafe fn store_streaming_2(address: u64, [a, b]: [Self; 2]) {
                unsafe { $part::store_streaming_4(address, [a.re, a.im, b.re, b.im]) };
            }
            #[device]
            unsafe fn store_streaming_4(address: u64, [a, b, c, d]: [Self; 4]) {
                unsafe { Self::store_streaming_2(address, [a, b]) };
                unsafe { Self::store_streaming_2(address + 2 * size_of::<Self>() as u64, [c, d]) };
            }
            #[device]
            unsafe fn shared_load(address: u32) -> Self {
                let (re, im): ($part, $part);
                unsafe { asm!(concat!("ld.shared.v2.", $suffix, " {{{}, {}}}, [{}];"), out($class) re, out($class) im, in(reg32) address, options(readonly, nostack)); }
                Self { re, im }
            }
            #[device]
            unsafe fn shared_store(address: u32, Self { re, im }: Self) {
                unsafe { asm!(concat!("st.shared.v2.", $suffix, " [{}], {{{}, {}}};"), in(reg32) address, in($class) re, in($class) im, options(nostack)); }
            }
        }
    };
}
access_as_pair!(f32, "f32", reg32);
access_as_pair!(f64, "f64", reg64);
