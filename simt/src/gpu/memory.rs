//! Loads and stores, one instruction each.

use core::arch::asm;
use evenpath_simt_macros::device;

use crate::element::{Access, Element, Packet};

// Safety, for every block: the address is the caller's promise, and the instruction reads or writes only there. Loads
// of memory that is not written may be repeated or dropped (`pure`, `readonly`).
macro_rules! access {
    ($type:ty, $suffix:literal, $class:ident, four: $four:ident) => {
        impl Access for $type {
            #[device]
            unsafe fn load(address: u64) -> Self {
                let value: $type;
                unsafe { asm!(concat!("ld.global.", $suffix, " {}, [{}];"), out($class) value, in(reg64) address, options(readonly, nostack)); }
                value
            }
            #[device]
            unsafe fn load_read_only(address: u64) -> Self {
                let value: $type;
                unsafe { asm!(concat!("ld.global.nc.", $suffix, " {}, [{}];"), out($class) value, in(reg64) address, options(pure, readonly, nostack)); }
                value
            }
            #[device]
            unsafe fn load_read_only_if(address: u64, condition: u32) -> Self {
                let mut value = <$type as Element>::ZERO;
                unsafe {
                    asm!(concat!("{{ .reg .pred holds; setp.ne.u32 holds, {}, 0; @holds ld.global.nc.", $suffix, " {}, [{}]; }}"),
                        in(reg32) condition, inout($class) value, in(reg64) address, options(pure, readonly, nostack));
                }
                value
            }
            #[device]
            unsafe fn load_streaming(address: u64) -> Self {
                let value: $type;
                unsafe { asm!(concat!("ld.global.nc.L1::no_allocate.", $suffix, " {}, [{}];"), out($class) value, in(reg64) address, options(pure, readonly, nostack)); }
                value
            }
            #[device]
            unsafe fn load_streaming_2(address: u64) -> [Self; 2] {
                let (a, b): ($type, $type);
                unsafe { asm!(concat!("ld.global.nc.L1::no_allocate.v2.", $suffix, " {{{}, {}}}, [{}];"), out($class) a, out($class) b, in(reg64) address, options(pure, readonly, nostack)); }
                [a, b]
            }
            access!($four, $type, $suffix, $class);
            #[device]
            unsafe fn store(address: u64, value: Self) {
                unsafe { asm!(concat!("st.global.", $suffix, " [{}], {};"), in(reg64) address, in($class) value, options(nostack)); }
            }
            #[device]
            unsafe fn store_streaming(address: u64, value: Self) {
                unsafe { asm!(concat!("st.global.cs.", $suffix, " [{}], {};"), in(reg64) address, in($class) value, options(nostack)); }
            }
            #[device]
            unsafe fn store_streaming_2(address: u64, [a, b]: [Self; 2]) {
                unsafe {
                    asm!(concat!("st.global.cs.v2.", $suffix, " [{}], {{{}, {}}};"), in(reg64) address, in($class) a, in($class) b, options(nostack));
                }
            }
            #[device]
            unsafe fn shared_load(address: u32) -> Self {
                let value: $type;
                unsafe { asm!(concat!("ld.shared.", $suffix, " {}, [{}];"), out($class) value, in(reg32) address, options(readonly, nostack)); }
                value
            }
            #[device]
            unsafe fn shared_store(address: u32, value: Self) {
                unsafe { asm!(concat!("st.shared.", $suffix, " [{}], {};"), in(reg32) address, in($class) value, options(nostack)); }
            }
        }
    };
    (one_load, $type:ty, $suffix:literal, $class:ident) => {
        #[device]
        unsafe fn load_streaming_4(address: u64) -> [Self; 4] {
            let (a, b, c, d): ($type, $type, $type, $type);
            unsafe {
                asm!(concat!("ld.global.nc.L1::no_allocate.v4.", $suffix, " {{{}, {}, {}, {}}}, [{}];"),
                    out($class) a, out($class) b, out($class) c, out($class) d, in(reg64) address, options(pure, readonly, nostack));
            }
            [a, b, c, d]
        }
        #[device]
        unsafe fn store_streaming_4(address: u64, [a, b, c, d]: [Self; 4]) {
            unsafe {
                asm!(concat!("st.global.cs.v4.", $suffix, " [{}], {{{}, {}, {}, {}}};"),
                    in(reg64) address, in($class) a, in($class) b, in($class) c, in($class) d, options(nostack));
            }
        }
    };
    (two_loads, $type:ty, $suffix:literal, $class:ident) => {
        #[device]
        unsafe fn load_streaming_4(address: u64) -> [Self; 4] {
            let [a, b] = unsafe { Self::load_streaming_2(address) };
            let [c, d] = unsafe { Self::load_streaming_2(address + 16) };
            [a, b, c, d]
        }
        #[device]
        unsafe fn store_streaming_4(address: u64, [a, b, c, d]: [Self; 4]) {
            unsafe { Self::store_streaming_2(address, [a, b]) };
            unsafe { Self::store_streaming_2(address + 16, [c, d]) };
        }
    };
}

access!(u8, "u8", reg16, four: one_load);
access!(u16, "u16", reg16, four: one_load);
access!(u32, "u32", reg32, four: one_load);
access!(i32, "s32", reg32, four: one_load);
access!(f32, "f32", reg32, four: one_load);
access!(u64, "u64", reg64, four: two_loads);
access!(i64, "s64", reg64, four: two_loads);
access!(f64, "f64", reg64, four: two_loads);

/// 16-bit numbers are 16 bits to memory.
macro_rules! access_as_u16 {
    ($($type:ty),*) => {$(
        impl Access for $type {
            access_as_u16! { $type =>
                load(address: u64); load_read_only(address: u64); load_read_only_if(address: u64, condition: u32);
                load_streaming(address: u64); shared_load(address: u32);
            }
            #[device]
            unsafe fn load_streaming_2(address: u64) -> [Self; 2] {
                unsafe { u16::load_streaming_2(address) }.map(<$type>::from_bits)
            }
            #[device]
            unsafe fn load_streaming_4(address: u64) -> [Self; 4] {
                unsafe { u16::load_streaming_4(address) }.map(<$type>::from_bits)
            }
            #[device]
            unsafe fn store(address: u64, value: Self) {
                unsafe { u16::store(address, value.to_bits()) }
            }
            #[device]
            unsafe fn store_streaming(address: u64, value: Self) {
                unsafe { u16::store_streaming(address, value.to_bits()) }
            }
            #[device]
            unsafe fn store_streaming_2(address: u64, values: [Self; 2]) {
                unsafe { u16::store_streaming_2(address, values.map(<$type>::to_bits)) }
            }
            #[device]
            unsafe fn store_streaming_4(address: u64, values: [Self; 4]) {
                unsafe { u16::store_streaming_4(address, values.map(<$type>::to_bits)) }
            }
            #[device]
            unsafe fn shared_store(address: u32, value: Self) {
                unsafe { u16::shared_store(address, value.to_bits()) }
            }
        }
    )*};
    ($type:ty => $($name:ident($($argument:ident: $word:ty),*);)*) => {$(
        #[device]
        unsafe fn $name($($argument: $word),*) -> Self {
            <$type>::from_bits(unsafe { u16::$name($($argument),*) })
        }
    )*};
}
access_as_u16!(half::f16, half::bf16);

macro_rules! forward {
    ($($name:ident($address:ident: $word:ty $(, $value:ident: $stored:ty)?) $(-> $result:ty)?;)*) => {$(
        #[device]
        pub(crate) fn $name<T: Access>($address: $word $(, $value: $stored)?) $(-> $result)? {
            // Safety: views make addresses only from their own base, and the kernel keeps its indices inside.
            unsafe { T::$name($address $(, $value)?) }
        }
    )*};
}

forward! {
    load(address: u64) -> T;
    load_read_only(address: u64) -> T;
    load_streaming(address: u64) -> T;
    load_streaming_2(address: u64) -> [T; 2];
    load_streaming_4(address: u64) -> [T; 4];
    store(address: u64, value: T);
    store_streaming(address: u64, value: T);
    store_streaming_2(address: u64, values: [T; 2]);
    store_streaming_4(address: u64, values: [T; 4]);
    shared_load(address: u32) -> T;
    shared_store(address: u32, value: T);
}

#[device]
pub(crate) fn prefetch(address: u64) {
    // Safety: changes no memory that a program sees.
    unsafe { asm!("prefetch.global.L2 [{}];", in(reg64) address, options(nostack)) };
}

#[device]
pub(crate) fn load_read_only_if<T: Access>(address: u64, condition: bool) -> T {
    // Safety: as for the loads above, where the condition holds.
    unsafe { T::load_read_only_if(address, u32::from(condition)) }
}

// Safety, for the following: as for single elements, for 16 bytes at an aligned address.

#[device]
pub(crate) fn load_16<T: Access>(address: u64) -> Packet {
    let (low, high): (u64, u64);
    unsafe {
        asm!("ld.global.v2.u64 {{{}, {}}}, [{}];", out(reg64) low, out(reg64) high, in(reg64) address, options(readonly, nostack));
    }
    [low, high]
}

#[device]
pub(crate) fn load_read_only_16<T: Access>(address: u64) -> Packet {
    let (low, high): (u64, u64);
    unsafe {
        asm!("ld.global.nc.v2.u64 {{{}, {}}}, [{}];", out(reg64) low, out(reg64) high, in(reg64) address, options(pure, readonly, nostack));
    }
    [low, high]
}

#[device]
pub(crate) fn load_read_only_16_if<T: Access>(address: u64, condition: bool) -> Packet {
    let (mut low, mut high) = (0_u64, 0_u64);
    unsafe {
        asm!("{{ .reg .pred holds; setp.ne.u32 holds, {}, 0; @holds ld.global.nc.v2.u64 {{{}, {}}}, [{}]; }}",
            in(reg32) u32::from(condition), inout(reg64) low, inout(reg64) high, in(reg64) address,
            options(pure, readonly, nostack));
    }
    [low, high]
}

#[device]
pub(crate) fn load_streaming_16<T: Access>(address: u64) -> Packet {
    load_streaming_2(address)
}

#[device]
pub(crate) fn store_streaming_16<T: Access>(address: u64, packet: Packet) {
    store_streaming_2(address, packet);
}

// Safety, for those below: as above, for 16 bytes at an aligned address.

#[device]
pub(crate) fn shared_load_16<T: Access>(address: u32) -> Packet {
    let (low, high): (u64, u64);
    unsafe {
        asm!("ld.shared.v2.u64 {{{}, {}}}, [{}];", out(reg64) low, out(reg64) high, in(reg32) address, options(readonly, nostack));
    }
    [low, high]
}

#[device]
pub(crate) fn shared_store_16<T: Access>(address: u32, packet: Packet) {
    let [low, high] = packet;
    unsafe {
        asm!("st.shared.v2.u64 [{}], {{{}, {}}};", in(reg32) address, in(reg64) low, in(reg64) high, options(nostack));
    }
}

/// Starts copying 16 bytes from global to shared memory; GPUs before sm_80 have finished when it returns.
#[device]
pub(crate) fn shared_copy_16<T: Access>(address: u32, from: u64) {
    #[cfg(evenpath_async_copy)]
    unsafe {
        asm!("cp.async.cg.shared.global [{}], [{}], 16;", in(reg32) address, in(reg64) from, options(nostack));
    }
    #[cfg(not(evenpath_async_copy))]
    shared_store_16::<T>(address, load_streaming_16::<T>(from));
}

/// Waits for this thread's copies.
#[device]
pub(crate) fn await_copies() {
    #[cfg(evenpath_async_copy)]
    unsafe {
        asm!("cp.async.wait_all;", options(nostack));
    }
}

/// Returns the address of the kernel's statically sized shared memory.
///
/// The arena is declared inside the block, so the block must be instantiated once a kernel: the
/// entry calls it first, outside any branch or loop, and it is not `pure`, so nothing copies it.
#[device]
pub(crate) fn shared_arena<const BYTES: usize>() -> u32 {
    if BYTES == 0 {
        return 0;
    }
    let address: u32;
    // Safety: declares memory and reads its address.
    unsafe {
        asm!("{{ .shared .align 16 .b8 arena[{bytes}]; mov.u32 {address}, arena; }}",
            bytes = const BYTES, address = out(reg32) address, options(nomem, nostack));
    }
    address
}

core::arch::global_asm!(".extern .shared .align 16 .b8 dynamic_shared[];");

/// Returns the address of the shared memory that the launch sized.
#[device]
pub(crate) fn dynamic_shared_arena() -> u32 {
    let address: u32;
    // Safety: reads an address.
    unsafe {
        asm!("mov.u32 {}, dynamic_shared;", out(reg32) address, options(pure, nomem, nostack));
    }
    address
}
