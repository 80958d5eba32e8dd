//! Special registers, barriers, warp collectives, fused arithmetic, counts of bits.

use core::arch::{asm, nvptx};
use evenpath_simt_macros::device;

use crate::operation::Shuffle;

extern "C" {
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    fn shfl_up(mask: i32, value: i32, argument: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    fn shfl_down(mask: i32, value: i32, argument: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shfl_xor(mask: i32, value: i32, argument: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_index(mask: i32, value: i32, argument: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot(mask: i32, predicate: bool) -> i32;
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    fn match_any_sync(mask: i32, value: i32) -> i32;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(mask: i32);
    #[link_name = "llvm.fma.f32"]
    fn llvm_fma_f32(a: f32, b: f32, c: f32) -> f32;
    #[link_name = "llvm.fma.f64"]
    fn llvm_fma_f64(a: f64, b: f64, c: f64) -> f64;
    #[link_name = "llvm.sqrt.f32"]
    fn llvm_sqrt_f32(value: f32) -> f32;
    #[link_name = "llvm.sqrt.f64"]
    fn llvm_sqrt_f64(value: f64) -> f64;
    #[link_name = "llvm.ctpop.i64"]
    fn llvm_ctpop(word: i64) -> i64;
    #[link_name = "llvm.ctlz.i64"]
    fn llvm_ctlz(word: i64, is_never_zero: bool) -> i64;
    #[link_name = "llvm.cttz.i64"]
    fn llvm_cttz(word: i64, is_never_zero: bool) -> i64;
}

// Safety, for every block of this file: the intrinsics and the assembly read registers, or wait for lanes that the
// caller names and guarantees.

#[device]
pub(crate) fn thread_index() -> u32 {
    unsafe { nvptx::_thread_idx_x() as u32 }
}

#[device]
pub(crate) fn block_index() -> u32 {
    unsafe { nvptx::_block_idx_x() as u32 }
}

#[device]
pub(crate) fn block_size() -> u32 {
    unsafe { nvptx::_block_dim_x() as u32 }
}

#[device]
pub(crate) fn grid_size() -> u32 {
    unsafe { nvptx::_grid_dim_x() as u32 }
}

#[device]
pub(crate) fn barrier() {
    unsafe { nvptx::_syncthreads() }
}

#[device]
pub(crate) fn spin_hint() {}

#[device]
pub(crate) fn opaque(value: u32) -> u32 {
    let same: u32;
    // Grids have one dimension, so the second index is 0; neither compiler knows. A move would not do:
    // `ptxas` sees through it.
    unsafe {
        core::arch::asm!("{{ .reg .u32 zero; mov.u32 zero, %ctaid.y; or.b32 {}, {}, zero; }}",
            out(reg32) same, in(reg32) value, options(nomem, nostack));
    }
    same
}

#[device]
pub(crate) fn clock() -> u64 {
    let cycles: u64;
    // Not `pure`, and it may touch memory: so it stays where it is among loads, stores and barriers.
    unsafe { core::arch::asm!("mov.u64 {}, %clock64;", out(reg64) cycles, options(nostack)) };
    cycles
}

#[device]
pub(crate) fn shuffle(kind: Shuffle, mask: u32, bits: u64, argument: u32, size: usize) -> u64 {
    let low = shuffle_word(kind, mask, bits as u32, argument);
    if size <= 4 {
        return u64::from(low);
    }
    let high = shuffle_word(kind, mask, (bits >> 32) as u32, argument);
    u64::from(high) << 32 | u64::from(low)
}

#[device]
fn shuffle_word(kind: Shuffle, mask: u32, value: u32, argument: u32) -> u32 {
    let (mask, value, argument) = (mask as i32, value as i32, argument as i32);
    // The last operand: the lane that ends the segment, for all kinds but `up`, which ends at 0.
    let word = unsafe {
        match kind {
            Shuffle::Up => shfl_up(mask, value, argument, 0),
            Shuffle::Down => shfl_down(mask, value, argument, 31),
            Shuffle::Xor => shfl_xor(mask, value, argument, 31),
            Shuffle::Index => shfl_index(mask, value, argument, 31),
        }
    };
    word as u32
}

#[device]
pub(crate) fn ballot(mask: u32, predicate: bool) -> u32 {
    unsafe { vote_ballot(mask as i32, predicate) as u32 }
}

#[device]
pub(crate) fn match_any(mask: u32, value: u32) -> u32 {
    unsafe { match_any_sync(mask as i32, value as i32) as u32 }
}

#[device]
pub(crate) fn warp_sync(mask: u32) {
    unsafe { bar_warp_sync(mask as i32) }
}

#[device]
pub(crate) fn widen_f16(bits: u16) -> f32 {
    let value: f32;
    unsafe {
        core::arch::asm!("cvt.f32.f16 {}, {};", out(reg32) value, in(reg16) bits, options(pure, nomem, nostack));
    }
    value
}

#[device]
pub(crate) fn narrow_f16(value: f32) -> u16 {
    let bits: u16;
    unsafe {
        core::arch::asm!("cvt.rn.f16.f32 {}, {};", out(reg16) bits, in(reg32) value, options(pure, nomem, nostack));
    }
    bits
}

#[device]
pub(crate) fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    unsafe { llvm_fma_f32(a, b, c) }
}

#[device]
pub(crate) fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    unsafe { llvm_fma_f64(a, b, c) }
}

macro_rules! times_element {
    ($($name:ident: $type:ident, $suffix:literal, $class:ident;)*) => {$(
        #[device]
        pub(crate) fn $name(value: $type, address: u64) -> $type {
            let mut product = value;
            // Safety: the caller promises an element at the address, unless that is zero, which is not written while
            // the kernel runs.
            unsafe {
                asm!(
                    "{{",
                    ".reg .pred is_stored;",
                    concat!(".reg .", $suffix, " stored;"),
                    "setp.ne.u64 is_stored, {1}, 0;",
                    concat!("@is_stored ld.global.nc.", $suffix, " stored, [{1}];"),
                    concat!("@is_stored mul.rn.", $suffix, " {0}, {0}, stored;"),
                    "}}",
                    inout($class) product, in(reg64) address, options(readonly, nostack)
                );
            }
            product
        }
    )*};
}
times_element! {
    times_f32: f32, "f32", reg32;
    times_f64: f64, "f64", reg64;
}

#[device]
pub(crate) fn sqrt_f32(value: f32) -> f32 {
    unsafe { llvm_sqrt_f32(value) }
}

#[device]
pub(crate) fn sqrt_f64(value: f64) -> f64 {
    unsafe { llvm_sqrt_f64(value) }
}

#[device]
pub(crate) fn count_ones(word: u64) -> u32 {
    unsafe { llvm_ctpop(word as i64) as u32 }
}

#[device]
pub(crate) fn leading_zeros(word: u64) -> u32 {
    unsafe { llvm_ctlz(word as i64, false) as u32 }
}

#[device]
pub(crate) fn trailing_zeros(word: u64) -> u32 {
    unsafe { llvm_cttz(word as i64, false) as u32 }
}

#[device]
pub(crate) fn low_half(word: u64) -> u32 {
    let half: u32;
    unsafe { asm!("cvt.u32.u64 {}, {};", out(reg32) half, in(reg64) word, options(pure, nomem, nostack)) };
    half
}
