//! A stand-in for the NVIDIA driver, to test calls of the driver on machines without a GPU.
//!
//! The tests compile it to `libcuda.so.1`. It has one small GPU that uses host memory and can run two
//! kernels. Unlike the real driver it ends the process at once on incorrect calls: without a current context,
//! with an invalid handle, with events left when a context that did not fault is destroyed, or with unordered
//! work of two streams on the same memory.
//!
//! Like with the real driver, a kernel's fault ends the use of the GPU by the process: every context, and
//! every attempt to create one, returns the fault's error, even after all contexts are destroyed. An
//! assertion ends its context only.

mod order;
mod state;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::time::Instant;

use state::{Context, ILLEGAL_ADDRESS, STACK, SUCCESS, bytes, in_context, misused, state};

const TOTAL: usize = 64 << 20;
const INVALID_VALUE: c_int = 1;
const OUT_OF_MEMORY: c_int = 2;
const INVALID_DEVICE: c_int = 101;
const INVALID_PTX: c_int = 218;
const UNSUPPORTED_PTX_VERSION: c_int = 222;
const NOT_FOUND: c_int = 500;
const NOT_READY: c_int = 600;
const ASSERT: c_int = 710;
/// A store at this index fails an assertion; one at another index outside its buffer faults.
const ASSERT_INDEX: u64 = 1 << 45;
/// After a store at this index, the next wait fails, and earlier work still completes.
const UNKNOWN_INDEX: u64 = 1 << 46;
/// CUDA 11.8, which supports PTX 7.8.
const CUDA: c_int = 11_080;
const PTX: (u32, u32) = (7, 8);
const KERNELS: [&str; 2] = ["testing_fault_out_of_bounds", "testing_conditional_barrier"];

macro_rules! driver {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            #[allow(unused_unsafe)]
            // SAFETY: the caller keeps the contract of the driver's function of this name.
            unsafe { $body }
        }
    )*};
}

driver! {
    fn cuInit(_flags: c_uint) { SUCCESS }
    fn cuDriverGetVersion(version: *mut c_int) { *version = CUDA; SUCCESS }
    fn cuDeviceGetCount(count: *mut c_int) { *count = 1; SUCCESS }
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) {
        *device = ordinal;
        if ordinal == 0 { SUCCESS } else { INVALID_DEVICE }
    }
    fn cuDeviceGetName(name: *mut c_char, len: c_int, _device: c_int) {
        let text = c"stand-in";
        assert!(len as usize > text.count_bytes());
        name.copy_from_nonoverlapping(text.as_ptr(), text.count_bytes() + 1);
        SUCCESS
    }
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _device: c_int) {
        *value = match attribute {
            16 => 4,          // multiprocessors
            38 => 1 << 20,    // L2
            75 => 9,          // compute capability
            76 => 0,
            97 => 200 << 10,  // shared memory a block
            _ => return INVALID_VALUE,
        };
        SUCCESS
    }
    fn cuDeviceTotalMem_v2(total: *mut usize, _device: c_int) { *total = TOTAL; SUCCESS }

    fn cuCtxCreate_v2(context: *mut usize, _flags: c_uint, _device: c_int) {
        let mut state = state();
        if state.faulted {
            return ILLEGAL_ADDRESS;
        }
        let handle = state.handle();
        state.contexts.insert(handle, Context::default());
        STACK.with_borrow_mut(|stack| stack.push(handle));
        *context = handle;
        SUCCESS
    }
    fn cuCtxDestroy_v2(context: usize) {
        let mut state = state();
        let gone = state.contexts.remove(&context).unwrap_or_else(|| misused("a context destroyed twice"));
        state.used -= gone.blocks.values().map(|words| words.len() * 4).sum::<usize>();
        if gone.error == SUCCESS && !state.faulted && !gone.events.is_empty() {
            misused("a context destroyed with events in it");
        }
        STACK.with_borrow_mut(|stack| {
            if stack.last() == Some(&context) { stack.pop(); }
            if stack.contains(&context) { misused("a context destroyed that was pushed and not popped"); }
        });
        SUCCESS
    }
    fn cuDevicePrimaryCtxRetain(context: *mut usize, _device: c_int) {
        let mut state = state();
        if state.faulted {
            return ILLEGAL_ADDRESS;
        }
        let (handle, count) = state.primary.unwrap_or_else(|| (state.handle(), 0));
        state.contexts.entry(handle).or_default();
        state.primary = Some((handle, count + 1));
        *context = handle;
        SUCCESS
    }
    fn cuDevicePrimaryCtxRelease_v2(_device: c_int) {
        let mut state = state();
        let Some((handle, count)) = state.primary else { misused("a primary context released that nobody has") };
        state.primary = (count > 1).then_some((handle, count - 1));
        let context = &state.contexts[&handle];
        if context.error == SUCCESS && !state.faulted && !context.arriving.is_empty() {
            misused("the primary context released while copies to the host are under way");
        }
        if count > 1 {
            return SUCCESS;
        }
        if STACK.with_borrow(|stack| stack.contains(&handle)) {
            misused("the primary context released that was pushed and not popped");
        }
        if let Some(gone) = state.contexts.remove(&handle) {
            let is_empty = gone.blocks.is_empty() && gone.streams.is_empty() && gone.events.is_empty();
            if gone.error == SUCCESS && !gone.has_failed && !state.faulted && !is_empty {
                misused("the primary context released with something left in it");
            }
            state.used -= gone.blocks.values().map(|words| words.len() * 4).sum::<usize>();
        }
        SUCCESS
    }
    fn cuCtxPushCurrent_v2(context: usize) {
        if !state().contexts.contains_key(&context) {
            misused("a destroyed context pushed");
        }
        STACK.with_borrow_mut(|stack| stack.push(context));
        SUCCESS
    }
    fn cuCtxPopCurrent_v2(context: *mut usize) {
        let popped = STACK.with_borrow_mut(Vec::pop);
        *context = popped.unwrap_or_else(|| misused("popped without a push"));
        SUCCESS
    }

    fn cuStreamCreateWithPriority(stream: *mut usize, _flags: c_uint, _priority: c_int) {
        in_context(|context, handles, _| {
            *handles += 1;
            context.streams.push(*handles);
            *stream = *handles;
            SUCCESS
        })
    }
    fn cuStreamDestroy_v2(stream: usize) {
        in_context(|context, _, _| {
            match context.streams.iter().position(|&live| live == stream) {
                Some(index) => { context.streams.remove(index); SUCCESS }
                None => misused("a stream that is not of this context"),
            }
        })
    }
    fn cuStreamWaitEvent(stream: usize, event: usize, _flags: c_uint) {
        in_context(|context, _, _| {
            if !context.streams.contains(&stream) || !context.events.contains_key(&event) {
                misused("a stream or an event that is not of this context");
            }
            context.order.wait(stream, event);
            SUCCESS
        })
    }
    fn cuStreamSynchronize(stream: usize) {
        in_context(|context, _, _| { context.order.synchronize_stream(stream); context.finish() })
    }

    fn cuEventCreate(event: *mut usize, _flags: c_uint) {
        in_context(|context, handles, _| {
            *handles += 1;
            context.events.insert(*handles, None);
            *event = *handles;
            SUCCESS
        })
    }
    fn cuEventDestroy_v2(event: usize) {
        in_context(|context, _, _| match context.events.remove(&event) {
            Some(_) => SUCCESS,
            None => misused("an event that is not of this context"),
        })
    }
    fn cuEventRecord(event: usize, stream: usize) {
        in_context(|context, _, _| {
            if !context.streams.contains(&stream) || !context.events.contains_key(&event) {
                misused("a stream or an event that is not of this context");
            }
            context.events.insert(event, Some(Instant::now()));
            context.order.record(event, stream);
            SUCCESS
        })
    }
    fn cuEventSynchronize(event: usize) {
        in_context(|context, _, _| { context.order.synchronize_event(event); context.finish() })
    }
    fn cuEventQuery(_event: usize) {
        in_context(|context, _, _| if context.arriving.is_empty() { SUCCESS } else { NOT_READY })
    }
    fn cuEventElapsedTime(milliseconds: *mut f32, start: usize, end: usize) {
        in_context(|context, _, _| match (context.events.get(&start), context.events.get(&end)) {
            (Some(Some(start)), Some(Some(end))) => {
                *milliseconds = end.saturating_duration_since(*start).as_secs_f32() * 1e3;
                SUCCESS
            }
            _ => misused("events that are not of this context"),
        })
    }

    fn cuMemAlloc_v2(address: *mut u64, len: usize) {
        in_context(|context, _, used| {
            if len == 0 { return INVALID_VALUE; }
            if len > TOTAL - *used { return OUT_OF_MEMORY; }
            let words = vec![0xdead_beef_u32; len.div_ceil(4)];
            *used += words.len() * 4;
            *address = words.as_ptr() as u64;
            context.blocks.insert(*address, words);
            SUCCESS
        })
    }
    fn cuMemFree_v2(address: u64) {
        in_context(|context, _, used| match context.blocks.remove(&address) {
            Some(words) => { *used -= words.len() * 4; context.order.free(address, words.len() * 4); SUCCESS }
            None => misused("an address freed that was not allocated"),
        })
    }
    fn cuMemAllocHost_v2(address: *mut *mut c_void, len: usize) {
        in_context(|_, _, _| { *address = Box::leak(vec![0_u8; len].into_boxed_slice()).as_mut_ptr().cast(); SUCCESS })
    }
    fn cuMemHostRegister_v2(address: u64, len: usize, _flags: c_uint) {
        in_context(|context, _, _| {
            if address % 4096 != 0 || len % 4096 != 0 { misused("memory locked that is not of whole pages"); }
            context.locked.insert(address, len);
            SUCCESS
        })
    }
    fn cuMemHostUnregister(address: u64) {
        in_context(|context, _, _| {
            if !context.arriving.is_empty() { misused("memory unlocked that a copy goes to"); }
            match context.locked.remove(&address) {
                Some(_) => SUCCESS,
                None => misused("memory unlocked that was not locked"),
            }
        })
    }
    fn cuPointerGetAttribute(value: *mut usize, attribute: c_int, address: u64) {
        let state = state();
        // Attribute 1 is the context.
        let of = |context: &Context| context.blocks.range(..=address).next_back().is_some_and(|(start, words)| {
            address < start + 4 * words.len() as u64
        });
        match state.contexts.iter().find(|(_, context)| of(context)) {
            Some((handle, _)) if attribute == 1 => { *value = *handle; SUCCESS }
            _ => INVALID_VALUE,
        }
    }
    fn cuMemFreeHost(_address: *mut c_void) { in_context(|_, _, _| SUCCESS) }
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        in_context(|_, _, used| { *free = TOTAL - *used; *total = TOTAL; SUCCESS })
    }
    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const u8, len: usize, stream: usize) {
        in_context(|context, _, _| {
            context.operate(stream, &[(from as u64, len, false), (to, len, true)]);
            bytes(context, to, len).copy_from_slice(std::slice::from_raw_parts(from, len));
            SUCCESS
        })
    }
    fn cuMemcpyDtoHAsync_v2(to: *mut u8, from: u64, len: usize, stream: usize) {
        in_context(|context, _, _| {
            context.operate(stream, &[(from, len, false)]);
            let copied = bytes(context, from, len).to_vec();
            if context.is_locked(to as usize, len) {
                context.arriving.push((to as usize, copied));
            } else {
                std::slice::from_raw_parts_mut(to, len).copy_from_slice(&copied);
            }
            SUCCESS
        })
    }
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, len: usize, stream: usize) {
        in_context(|context, _, _| {
            context.operate(stream, &[(from, len, false), (to, len, true)]);
            let copied = bytes(context, from, len).to_vec();
            bytes(context, to, len).copy_from_slice(&copied);
            SUCCESS
        })
    }
    fn cuMemsetD32Async(address: u64, value: c_uint, len: usize, stream: usize) {
        in_context(|context, _, _| {
            context.operate(stream, &[(address, 4 * len, true)]);
            bytes(context, address, 4 * len).chunks_exact_mut(4).for_each(|word| word.copy_from_slice(&value.to_ne_bytes()));
            SUCCESS
        })
    }
    fn cuMemsetD8Async(address: u64, value: u8, len: usize, stream: usize) {
        in_context(|context, _, _| {
            context.operate(stream, &[(address, len, true)]);
            bytes(context, address, len).fill(value); SUCCESS
        })
    }

    fn cuModuleLoadDataEx(
        module: *mut usize, image: *const c_char, count: c_uint, options: *const c_int, values: *const *mut c_char
    ) {
        let text = CStr::from_ptr(image).to_string_lossy().into_owned();
        let version = text.lines().find_map(|line| line.strip_prefix(".version ")?.split_once('.'));
        let version = version.map(|(major, minor)| (major.parse().unwrap(), minor.trim().parse().unwrap()));
        let is_ptx = text.lines().all(|line| !line.contains("not PTX"));
        in_context(|context, handles, _| match version {
            Some(version) if version > PTX => UNSUPPORTED_PTX_VERSION,
            Some(_) if is_ptx => {
                *handles += 1;
                context.modules.insert(*handles, text);
                *module = *handles;
                SUCCESS
            }
            _ => {
                // Options 5 and 6 are the error log and its size.
                if count == 2 && (*options, *options.add(1)) == (5, 6) {
                    let log = c"ptxas: syntax error in line 4";
                    (*values).copy_from_nonoverlapping(log.as_ptr(), log.count_bytes() + 1);
                }
                INVALID_PTX
            }
        })
    }
    fn cuModuleUnload(module: usize) {
        in_context(|context, _, _| match context.modules.remove(&module) {
            Some(_) => SUCCESS,
            None => misused("a module that is not of this context"),
        })
    }
    fn cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) {
        let name = CStr::from_ptr(name).to_string_lossy();
        in_context(|context, _, _| {
            let text = context.modules.get(&module).unwrap_or_else(|| misused("a module not of this context"));
            let kernel = KERNELS.iter().position(|&kernel| kernel == name && text.contains(kernel));
            *function = module * KERNELS.len() + kernel.unwrap_or(0);
            if kernel.is_some() { SUCCESS } else { NOT_FOUND }
        })
    }
    fn cuFuncSetAttribute(_function: usize, _attribute: c_int, _value: c_int) { in_context(|_, _, _| SUCCESS) }
    fn cuLaunchKernel(
        function: usize, grid: c_uint, _y: c_uint, _z: c_uint, block: c_uint, _by: c_uint, _bz: c_uint,
        _shared: c_uint, stream: usize, arguments: *const *const c_void, _extra: *const c_void
    ) {
        in_context(|context, _, _| {
            let (module, kernel) = (function / KERNELS.len(), function % KERNELS.len());
            if !context.modules.contains_key(&module) || grid == 0 || block != [32, 128][kernel] {
                misused("a launch");
            }
            let address = *(*arguments).cast::<u64>();
            if kernel == 1 {
                let len = *(*arguments.add(1)).cast::<u32>();
                context.operate(stream, &[(address, len as usize * 4, true)]);
                bytes(context, address, len as usize * 4).rotate_left(4);
                return SUCCESS;
            }
            let index = *(*arguments.add(1)).cast::<u64>();
            if index == UNKNOWN_INDEX { context.failing_waits = 1; return SUCCESS; }
            if index < 1 << 32 { context.operate(stream, &[(address + 4 * index, 4, true)]); }
            let block = context.blocks.range_mut(..=address).next_back();
            let element = block.and_then(|(start, words)| {
                let first = (address - start) / 4;
                words.get_mut(usize::try_from(first.checked_add(index)?).ok()?)
            });
            match element {
                Some(element) => *element = 1,
                // Like on a GPU, the launch itself succeeds.
                None => context.error = if index == ASSERT_INDEX { ASSERT } else { ILLEGAL_ADDRESS },
            }
            SUCCESS
        })
    }

    fn cuGetErrorName(code: c_int, text: *mut *const c_char) {
        *text = match code {
            ILLEGAL_ADDRESS => c"CUDA_ERROR_ILLEGAL_ADDRESS",
            ASSERT => c"CUDA_ERROR_ASSERT",
            INVALID_PTX => c"CUDA_ERROR_INVALID_PTX",
            _ => c"CUDA_ERROR_OTHER",
        }.as_ptr();
        SUCCESS
    }
    fn cuGetErrorString(_code: c_int, text: *mut *const c_char) { *text = c"a stand-in's error".as_ptr(); SUCCESS }
}
