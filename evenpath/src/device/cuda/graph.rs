//! Executable graphs.
//!
//! The operations are captured on a private stream that is used for nothing else, so other operations of a
//! program can neither end up in a graph nor break its capture.

use std::mem::MaybeUninit;
use std::sync::Arc;

use cust::stream::{Stream, StreamFlags};
use cust::sys::{self, CUgraph, CUgraphExec, CUresult, CUstream, CUstreamCaptureMode};

use super::context::{Core, Live};
use super::driver::{check, check_raw};
use super::failure::ContextFailure;
use super::parameters::{ParameterBytes, launch};
use crate::device::DeviceError;
use crate::device::machine;
use crate::device::node::GraphNode;
use crate::device::order::MemoryAccess;

/// A graph that is ready to launch.
pub(super) struct Executable {
    core: Arc<Core>,
    graph: CUgraphExec,
    /// Names of the kernels, each once.
    kernels: Vec<&'static str>,
}

// SAFETY: a graph may be launched, changed and destroyed from any thread, by one at a time.
unsafe impl Send for Executable {}

impl Executable {
    /// Instantiates a graph of operations.
    ///
    /// # Safety
    ///
    /// The same as for [`Machine::instantiate`](machine::Machine::instantiate).
    pub(super) unsafe fn new(core: &Arc<Core>, nodes: &[GraphNode]) -> Result<Self, DeviceError> {
        let graph = core.with(|live| {
            // SAFETY: guaranteed by the caller.
            let captured = unsafe { Captured::new(live, nodes) }?;
            let mut graph = std::ptr::null_mut();
            // SAFETY: `graph` is live for the call, and the other is a graph.
            check_raw("cuGraphInstantiate", unsafe {
                sys::cuGraphInstantiateWithFlags(&raw mut graph, captured.0, 0)
            })?;
            Ok(graph)
        })?;
        Ok(Self { core: Arc::clone(core), graph, kernels: kernels(nodes) })
    }
}

fn kernels(nodes: &[GraphNode]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for node in nodes {
        if let GraphNode::Launch { kernel, .. } = node
            && !names.contains(&kernel.name)
        {
            names.push(kernel.name);
        }
    }
    names
}

impl machine::Executable for Executable {
    unsafe fn launch(&self, stream: u32, accesses: &[MemoryAccess]) -> Result<(), DeviceError> {
        self.core.with(|live| {
            Ok(live.streams.enqueue(
                stream,
                || accesses,
                |to| {
                    self.core.launch(&self.kernels, stream, || {
                        // SAFETY: the caller guarantees the memory; the graph is of the current context.
                        check_raw("cuGraphLaunch", unsafe { sys::cuGraphLaunch(self.graph, to) })
                    })
                },
            )?)
        })
    }

    unsafe fn update(&mut self, nodes: &[GraphNode]) -> Result<bool, DeviceError> {
        let is_updated = self.core.with(|live| {
            // SAFETY: guaranteed by the caller.
            let captured = unsafe { Captured::new(live, nodes) }?;
            // The driver's reason may be newer than the enum and is not read.
            let (mut node, mut reason) = (std::ptr::null_mut(), MaybeUninit::uninit());
            // SAFETY: all are live for the call.
            let result =
                unsafe { sys::cuGraphExecUpdate(self.graph, captured.0, &raw mut node, reason.as_mut_ptr()) };
            // After any failure to update, the graph is instantiated anew; a persistent failure shows in the
            // next call.
            Ok(result == CUresult::CUDA_SUCCESS)
        })?;
        if is_updated {
            self.kernels = kernels(nodes);
        }
        Ok(is_updated)
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        self.core.release(|live| {
            if let Ok(_current) = live.enter() {
                // SAFETY: the graph is live, and not used again. Launches in progress are not affected.
                unsafe { sys::cuGraphExecDestroy(self.graph) };
            }
        });
    }
}

/// A captured graph. Its context is current.
struct Captured(CUgraph);

impl Captured {
    /// # Safety
    ///
    /// The same as for [`Machine::instantiate`](machine::Machine::instantiate).
    unsafe fn new(live: &Live, nodes: &[GraphNode]) -> Result<Self, ContextFailure> {
        // Modules are loaded first: loading would break a capture.
        for node in nodes {
            if let GraphNode::Launch { kernel, shared, .. } = node {
                live.modules.lock().function(kernel, *shared)?;
            }
        }
        let stream = check("cuStreamCreate", Stream::new(StreamFlags::NON_BLOCKING, None))?;
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is live, and this function's own.
        check_raw("cuStreamBeginCapture", unsafe { sys::cuStreamBeginCapture_v2(stream.as_inner(), mode) })?;
        let put = nodes.iter().try_for_each(|node| {
            // SAFETY: guaranteed by the caller.
            unsafe { put(live, node, stream.as_inner()) }
        });
        let mut graph = std::ptr::null_mut();
        // SAFETY: `graph` is live for the call. The capture is ended also if an operation failed.
        let end = check_raw("cuStreamEndCapture", unsafe {
            sys::cuStreamEndCapture(stream.as_inner(), &raw mut graph)
        });
        let captured = Self(graph);
        put?;
        end?;
        Ok(captured)
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the graph is live, and not used again.
            unsafe { sys::cuGraphDestroy(self.0) };
        }
    }
}

/// Puts an operation on a stream. The kernels' modules are loaded.
///
/// # Safety
///
/// The same as for [`Machine::instantiate`](machine::Machine::instantiate).
unsafe fn put(live: &Live, node: &GraphNode, stream: CUstream) -> Result<(), ContextFailure> {
    match node {
        GraphNode::Launch { kernel, grid, shared, arguments } => {
            let function = live.modules.lock().function(kernel, *shared)?;
            let parameters = ParameterBytes::new(kernel, arguments);
            // SAFETY: guaranteed by the caller.
            unsafe {
                launch(function, (*grid, kernel.block_size, shared.dynamic_bytes), stream, &parameters)
            }?;
        }
        &GraphNode::Zero { address, bytes } => {
            // SAFETY: guaranteed by the caller.
            check_raw("cuMemsetD8", unsafe { sys::cuMemsetD8Async(address, 0, bytes as usize, stream) })?;
        }
        &GraphNode::Store { address, word } => {
            // SAFETY: guaranteed by the caller.
            check_raw("cuMemsetD32", unsafe { sys::cuMemsetD32Async(address, word, 1, stream) })?;
        }
        &GraphNode::Copy { from, to, bytes } => {
            // SAFETY: guaranteed by the caller.
            check_raw("cuMemcpyDtoD", unsafe {
                sys::cuMemcpyDtoDAsync_v2(to, from, bytes as usize, stream)
            })?;
        }
    }
    Ok(())
}
