//! Compiles several kernels at once.
//!
//! The driver compiles PTX that it loads as a module, and one module at a time. Its linker takes PTX too, and works on as many
//! threads as call it: 24 large kernels, which take 4 s one after another on an H200, take 0.43 s on 16 cores. The
//! driver's cache of compiled kernels serves both.
//!
//! The linker compiles relocatable code. Where nothing bounds the registers of such code, it gets more of them than that of a
//! module, and so fewer blocks per multiprocessor: a row-wise sparse product took 16% longer. A kernel that states how many
//! blocks a multiprocessor holds gets the same from both, so these alone are compiled here.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use cust::sys::{self, CUcontext, CUjitInputType, CUlinkState};
use parking_lot::Mutex;

use super::driver::{CallError, check_raw};

/// Compiles PTX texts to code of the current context's GPU. `None` for what the driver refuses: loading such a text as a module
/// says why.
pub(super) fn compile(texts: &[&CStr]) -> Vec<Option<Vec<u8>>> {
    let Ok(context) = current_context() else { return vec![None; texts.len()] };
    let images: Vec<_> = texts.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((text, image)) = pick(texts, &images, &next) {
            *image.lock() = link(text).ok();
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(texts.len());
    thread::scope(|scope| {
        for _ in 1..threads {
            // Where there is no other thread to be had, this one does it all.
            let _ = thread::Builder::new().spawn_scoped(scope, || {
                if context.enter().is_ok() {
                    work();
                }
            });
        }
        work();
    });
    images.into_iter().map(Mutex::into_inner).collect()
}

/// Takes the next text off the list: the text, and where its image goes.
fn pick<'a, 't, I>(texts: &[&'t CStr], images: &'a [I], next: &AtomicUsize) -> Option<(&'t CStr, &'a I)> {
    let index = next.fetch_add(1, Relaxed);
    texts.get(index).copied().zip(images.get(index))
}

/// A context that is current in another thread, which waits.
#[derive(Clone, Copy)]
struct SharedContext(CUcontext);

// SAFETY: the driver's contexts may be current in several threads at once.
unsafe impl Send for SharedContext {}
// SAFETY: as above.
unsafe impl Sync for SharedContext {}

impl SharedContext {
    /// Makes it current in this thread, for as long as the thread lives.
    fn enter(&self) -> Result<(), CallError> {
        // SAFETY: the context is current in a thread that waits for this one, so it is live.
        check_raw("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.0) })
    }
}

fn current_context() -> Result<SharedContext, CallError> {
    let mut context = ptr::null_mut();
    // SAFETY: `context` is live for the call.
    check_raw("cuCtxGetCurrent", unsafe { sys::cuCtxGetCurrent(&raw mut context) })?;
    Ok(SharedContext(context))
}

/// A call of the driver's linker under way.
struct Linker(CUlinkState);

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: it was created and is destroyed here alone. An error leaves nothing to be done.
        let _ = unsafe { sys::cuLinkDestroy(self.0) };
    }
}

/// Compiles a PTX text.
fn link(text: &CStr) -> Result<Vec<u8>, CallError> {
    let mut state = ptr::null_mut();
    // SAFETY: there are no options, and `state` is live for the call.
    let created = unsafe { sys::cuLinkCreate_v2(0, ptr::null_mut(), ptr::null_mut(), &raw mut state) };
    check_raw("cuLinkCreate", created)?;
    let linker = Linker(state);
    let bytes = text.to_bytes_with_nul();
    // SAFETY: the linker is live, the text has as many bytes as said, which the driver does not write, and there are no
    // options.
    let added = unsafe {
        sys::cuLinkAddData_v2(
            linker.0,
            CUjitInputType::CU_JIT_INPUT_PTX,
            bytes.as_ptr().cast_mut().cast(),
            bytes.len(),
            c"kernel".as_ptr(),
            0,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    check_raw("cuLinkAddData", added)?;
    let (mut image, mut len): (*mut c_void, usize) = (ptr::null_mut(), 0);
    // SAFETY: the linker is live, and so are `image` and `len` for the call.
    check_raw("cuLinkComplete", unsafe { sys::cuLinkComplete(linker.0, &raw mut image, &raw mut len) })?;
    // SAFETY: the driver returned this pointer with this length, and keeps the bytes until the linker is destroyed.
    Ok(unsafe { std::slice::from_raw_parts(image.cast::<u8>(), len) }.to_vec())
}
