//! Kernels, compiled by the driver on their first launch.
//!
//! The driver compiles a module as a whole, at about 2 ms per KB of PTX. Each of the library's kernels is
//! therefore loaded as a module of its own, and operations that launch several large kernels compile these
//! together ([`JointModule`]).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::{CStr, CString, c_void};
use std::sync::Arc;

use cust::module::Module;
use cust::sys::{self, CUfunction, CUfunction_attribute, CUjit_option, CUresult, CUshared_carveout};
use evenpath_simt::kernel::KernelInfo;

use super::compile::JointModule;
use super::driver::{CallError, check, check_raw, describe};
use super::entry::{self, Mismatch};
use super::failure::ContextFailure;
use super::properties::multiprocessor_shared_bytes;
use super::ptx::{self, Ptx};
use crate::device::shared::SharedMemory;
use crate::device::{DeviceError, Version};

/// Shared memory that a block may use without an explicit request.
const DEFAULT_SHARED: u32 = 48 * 1024;

/// Origin of the PTX of a program's own kernels, for messages.
pub(super) const PROGRAM: &str = "the program";

/// PTX of a program's own kernel.
#[derive(Clone)]
struct OwnText {
    target: u32,
    text: Arc<str>,
}

/// Modules loaded into one context.
pub(super) struct Modules {
    ptx: Ptx,
    /// PTX of the program's own kernels, by name.
    own: HashMap<&'static str, OwnText>,
    driver: Version,
    /// Modules by kernel name, or by module name if loaded whole.
    loaded: HashMap<&'static str, Module>,
    /// Modules of kernels that were compiled together.
    joint: Vec<JointModule>,
    functions: HashMap<&'static str, Function>,
}

/// A kernel in a loaded module, valid as long as the module.
struct Function {
    handle: CUfunction,
    /// Bytes of dynamic shared memory that it is set up for.
    dynamic_shared: u32,
    /// The last query of resident blocks: bytes of dynamic shared memory, and blocks per multiprocessor.
    resident_blocks: Option<(u32, u32)>,
    /// Division of a multiprocessor's memory that the driver was last told.
    divided_for: SharedMemory,
}

impl Function {
    fn new(handle: CUfunction) -> Self {
        Self { handle, dynamic_shared: 0, resident_blocks: None, divided_for: SharedMemory::default() }
    }
}

// SAFETY: a function's handle may be used from any thread whose current context is the module's.
unsafe impl Send for Function {}

impl Modules {
    pub(super) fn new(ptx: Ptx, driver: Version) -> Self {
        Self {
            ptx,
            own: HashMap::new(),
            driver,
            loaded: HashMap::new(),
            joint: Vec::new(),
            functions: HashMap::new(),
        }
    }

    /// Adds the program's own kernels. The PTX declares the parameters that the host passes.
    pub(super) fn add(&mut self, kernels: &[&'static KernelInfo], target: u32, text: &str) {
        let text: Arc<str> = text.into();
        for kernel in kernels {
            self.own.insert(kernel.name, OwnText { target, text: Arc::clone(&text) });
        }
    }

    /// Compiles those of the kernels that are not compiled yet, together. The context is current.
    ///
    /// Kernels that the driver refuses are left to their launches, which report the reason. A driver before
    /// CUDA 12.9 refuses all.
    pub(super) fn prepare(&mut self, kernels: &[&'static KernelInfo]) {
        let mut missing: Vec<_> =
            kernels.iter().copied().filter(|kernel| !self.functions.contains_key(kernel.name)).collect();
        missing.sort_unstable_by_key(|kernel| kernel.name);
        missing.dedup_by_key(|kernel| kernel.name);
        if missing.len() < 2 {
            return;
        }
        let text = self.ptx.kernels(&missing).and_then(|text| CString::new(text).ok());
        let Some(Ok(module)) = text.map(|text| JointModule::load(&text)) else { return };
        for kernel in missing {
            let name = CString::new(kernel.name).ok();
            if let Some(Ok(handle)) = name.map(|name| module.function(&name)) {
                self.functions.insert(kernel.name, Function::new(handle));
            }
        }
        self.joint.push(module);
    }

    /// Returns the handle of a kernel, set up for launches with the given shared memory. The context is
    /// current.
    pub(super) fn function(
        &mut self,
        kernel: &'static KernelInfo,
        shared: SharedMemory,
    ) -> Result<CUfunction, ContextFailure> {
        let function = self.sized(kernel, shared.dynamic_bytes)?;
        let (handle, before) = (function.handle, function.divided_for);
        if shared != before && (shared.blocks.is_some() || before.blocks.is_some()) {
            self.divide(kernel, shared)?;
        }
        Ok(handle)
    }

    /// Returns a kernel, set up for `dynamic_shared` bytes of dynamic shared memory. The context is current.
    fn sized(
        &mut self,
        kernel: &'static KernelInfo,
        dynamic_shared: u32,
    ) -> Result<&mut Function, ContextFailure> {
        let function = self.entry(kernel)?;
        let bytes = kernel.shared_bytes.saturating_add(dynamic_shared);
        if bytes > DEFAULT_SHARED && dynamic_shared > function.dynamic_shared {
            let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the handle is of a module that is loaded in the current context.
            let result =
                unsafe { sys::cuFuncSetAttribute(function.handle, attribute, dynamic_shared.cast_signed()) };
            check_raw("cuFuncSetAttribute", result)?;
            function.dynamic_shared = dynamic_shared;
        }
        Ok(function)
    }

    /// Tells the driver how a kernel wants the memory divided between shared memory and L1.
    fn divide(&mut self, kernel: &'static KernelInfo, shared: SharedMemory) -> Result<(), ContextFailure> {
        let percent = match shared.blocks {
            None => CUshared_carveout::CU_SHAREDMEM_CARVEOUT_DEFAULT as i32,
            Some(blocks) => {
                let blocks = blocks.min(self.resident_blocks(kernel, shared.dynamic_bytes)?);
                let block_bytes = kernel.shared_bytes.saturating_add(shared.dynamic_bytes);
                percent_for(blocks, block_bytes, multiprocessor_shared_bytes()?)
            }
        };
        let function = self.entry(kernel)?;
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        // If the driver refuses, it divides the memory as it likes; results are the same. SAFETY: the handle
        // is of a module that is loaded in the current context.
        let _ = unsafe { sys::cuFuncSetAttribute(function.handle, attribute, percent) };
        function.divided_for = shared;
        Ok(())
    }

    /// Number of blocks of a kernel, each with `dynamic_shared` bytes of dynamic shared memory, that fit on a
    /// multiprocessor. The context is current.
    pub(super) fn resident_blocks(
        &mut self,
        kernel: &'static KernelInfo,
        dynamic_shared: u32,
    ) -> Result<u32, ContextFailure> {
        let function = self.sized(kernel, dynamic_shared)?;
        if let Some((shared, blocks)) = function.resident_blocks
            && shared == dynamic_shared
        {
            return Ok(blocks);
        }
        let (threads, mut blocks) = (kernel.block_size.cast_signed(), 0);
        // SAFETY: the handle is of a module that is loaded in the current context, and `blocks` is live for the call.
        let result = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut blocks,
                function.handle,
                threads,
                dynamic_shared as usize,
            )
        };
        check_raw("cuOccupancyMaxActiveBlocksPerMultiprocessor", result)?;
        function.resident_blocks = Some((dynamic_shared, blocks.cast_unsigned()));
        Ok(blocks.cast_unsigned())
    }

    /// Returns a kernel from its module, loading the module if necessary.
    fn entry(&mut self, kernel: &'static KernelInfo) -> Result<&mut Function, ContextFailure> {
        Ok(match self.functions.entry(kernel.name) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let handle = match self.own.get(kernel.name) {
                    Some(own) => find_own(own, self.driver, &mut self.loaded, kernel)?,
                    None => find(&self.ptx, self.driver, &mut self.loaded, kernel)?,
                };
                entry.insert(Function::new(handle))
            }
        })
    }
}

/// Percentage of a multiprocessor's shared memory to request for `blocks` blocks of `block_bytes` bytes. The
/// driver counts the blocks that fit, adds its reserve for each, and takes the smallest division that holds
/// them (observed with CUDA 13.0).
fn percent_for(blocks: u32, block_bytes: u32, multiprocessor_bytes: u32) -> i32 {
    let bytes = u64::from(blocks) * u64::from(block_bytes);
    (100 * bytes).div_ceil(u64::from(multiprocessor_bytes.max(1))).min(100) as i32
}

/// Returns the handle of a kernel from its module, loading the module unless it is in `loaded`.
fn find(
    ptx: &Ptx,
    driver: Version,
    loaded: &mut HashMap<&'static str, Module>,
    kernel: &'static KernelInfo,
) -> Result<CUfunction, ContextFailure> {
    let key = if ptx.is_built_in() { kernel.name } else { kernel.module };
    let module = match loaded.entry(key) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => {
            let text = match ptx.kernel(kernel.module, kernel.name)? {
                Some(text) => text,
                None => whole_module(ptx, kernel.module)?,
            };
            entry.insert(load(ptx.target(), &ptx.origin(), driver, kernel.module, &text)?)
        }
    };
    handle(module, kernel, ptx.origin())
}

/// Like [`find`], for a program's own kernel, which has a module of its own under its name.
fn find_own(
    own: &OwnText,
    driver: Version,
    loaded: &mut HashMap<&'static str, Module>,
    kernel: &'static KernelInfo,
) -> Result<CUfunction, ContextFailure> {
    let module = match loaded.entry(kernel.name) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => entry.insert(load(own.target, PROGRAM, driver, kernel.module, &own.text)?),
    };
    handle(module, kernel, PROGRAM.into())
}

/// Returns the handle of a kernel in a loaded module.
fn handle(
    module: &Module,
    kernel: &'static KernelInfo,
    origin: String,
) -> Result<CUfunction, ContextFailure> {
    match check("cuModuleGetFunction", module.get_function(kernel.name)) {
        Ok(function) => Ok(function.to_raw()),
        Err(error) if error.code == CUresult::CUDA_ERROR_NOT_FOUND as i32 => {
            let (kernel, module) = (kernel.name, kernel.module);
            Err(DeviceError::EntryNotFound { kernel, module, origin }.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the text of a module whose kernels are not loaded one by one.
fn whole_module(ptx: &Ptx, name: &str) -> Result<String, DeviceError> {
    let text = ptx.module(name)?;
    check_entries(ptx, name, &text)?;
    Ok(text)
}

/// Loads `text`, the named module for a target, into the current context.
fn load(
    target: u32,
    origin: &str,
    driver: Version,
    name: &str,
    text: &str,
) -> Result<Module, ContextFailure> {
    let refused = |message: String, log: String| DeviceError::Module {
        module: name.to_owned(),
        target,
        origin: origin.to_owned(),
        message,
        log,
    };
    let image = CString::new(text).map_err(|_| refused("it contains a NUL byte".into(), String::new()))?;
    let error = match check("cuModuleLoadDataEx", Module::from_ptx_cstr(&image, &[])) {
        Ok(module) => return Ok(module),
        Err(error) if error.ends_context() => return Err(error.into()),
        Err(error) => error,
    };
    Err(match too_old(text, driver, error) {
        Some((version, needed)) => {
            DeviceError::DriverTooOld { driver, ptx: version, needed, module: name.to_owned() }
        }
        None => refused(describe(error.code), compiler_log(&image)),
    }
    .into())
}

/// Checks that the kernels of a module take the arguments that the host passes: otherwise the driver could
/// read past them. Built-in modules are checked by the library's tests.
fn check_entries(ptx: &Ptx, name: &str, text: &str) -> Result<(), DeviceError> {
    if ptx.is_built_in() {
        return Ok(());
    }
    let mut kernels = evenpath_kernels::kernels();
    kernels.retain(|kernel| kernel.module == name);
    entry::compare(text, &kernels).map_err(|Mismatch { kernel, expected, found }| {
        DeviceError::EntryMismatch { kernel, location: ptx.location(name), expected, found }
    })
}

/// If the driver failed because it does not know the module's version of PTX, returns that version and the
/// first CUDA that supports it.
fn too_old(text: &str, driver: Version, error: CallError) -> Option<(Version, Option<Version>)> {
    let version = ptx::version(text)?;
    let needed = ptx::cuda_for(version);
    let is_unsupported = error.code == CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION as i32;
    let is_newer = needed.map_or(version.major > ptx::NEWEST_MAJOR, |needed| needed > driver);
    (is_unsupported || is_newer).then_some((version, needed))
}

/// Compiles a module that failed once more to get the compiler's log, which `cust` does not request.
fn compiler_log(image: &CStr) -> String {
    let mut log = vec![0_u8; 16 * 1024];
    let mut options =
        [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver takes numbers by value, in place of a pointer.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(log.len())];
    let mut module = std::ptr::null_mut();
    // SAFETY: the image ends in NUL, the options and values have the given count, and the log's buffer the
    // given size; all live until the call returns.
    let result = unsafe {
        sys::cuModuleLoadDataEx(
            &raw mut module,
            image.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if result == CUresult::CUDA_SUCCESS {
        // SAFETY: the module was just loaded, and nothing in it is used.
        unsafe { sys::cuModuleUnload(module) };
    }
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use evenpath_kernels::sort::OnesweepKeys;
    use evenpath_kernels::vector::Iota;

    use super::percent_for;
    use crate::device::cuda::{ContextKind, Cuda};
    use crate::device::kernels::Kernels;
    use crate::device::machine::Machine;

    /// Two kernels, of which only the first has dynamic shared memory.
    fn list() -> Kernels {
        Kernels::default().and::<OnesweepKeys<u32>>().and::<Iota>()
    }

    /// Checks a GPU with a driver of CUDA 12.9 or later, if there is one.
    #[test]
    fn kernels_of_a_list_are_compiled_as_one_module() {
        let Ok(cuda) = Cuda::new(0, ContextKind::Own) else { return };
        cuda.prepare(list).expect("a GPU that works");
        let counted = cuda.core.with(|live| {
            let modules = live.modules.lock();
            let are_found = list().0.iter().all(|kernel| modules.functions.contains_key(kernel.name));
            let has_option = (modules.driver.major, modules.driver.minor) >= (12, 9);
            let counts = (modules.joint.len(), modules.loaded.len(), are_found);
            Ok((has_option && modules.ptx.is_built_in()).then_some(counts))
        });
        let counted = counted.expect("a GPU that works");
        assert!(matches!(counted, None | Some((1, 0, true))), "{counted:?}");
    }

    #[test]
    fn a_percentage_holds_the_blocks() {
        const SHARED: u32 = 228 << 10;
        for (blocks, bytes) in [(1, 1), (12, 4096), (6, 15_416), (20, 2048), (9, 6144), (1, SHARED)] {
            let percent = percent_for(blocks, bytes, SHARED) as u32;
            let held = |percent: u32| u64::from(percent) * u64::from(SHARED) / 100 / u64::from(bytes);
            assert!(held(percent) >= u64::from(blocks), "{blocks} blocks of {bytes} bytes: {percent} %");
            assert!(held(percent - 1) < u64::from(blocks), "{blocks} blocks of {bytes} bytes: {percent} %");
        }
        assert_eq!((percent_for(0, 4096, SHARED), percent_for(99, 48 << 10, SHARED)), (0, 100));
        assert_eq!(percent_for(3, 4096, 0), 100);
    }
}
