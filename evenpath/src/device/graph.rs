//! Graphs: captured work that can be launched many times.

use super::error::DeviceError;
use super::handle::{Backend, Device};
use super::machine::{Executable, Machine};
use super::node::GraphNode;
use super::order::MemoryAccess;
use super::recording::{Kept, Recording};

/// Captured work of a device, launched as a whole and as often as needed. On an NVIDIA GPU a launch is one
/// call of the driver, which takes the host a few microseconds whatever the graph holds.
///
/// [`Device::capture`] makes a graph from a state, such as the vectors of an iterative method, and a function
/// of it. Operations that the function calls are recorded and not run: launches, copies within the device,
/// and memory set to zero. Plans and matrices are thus unchanged until the graph is launched. Memory that the
/// function uses or allocates is kept by the graph, and counts as in use until the graph is dropped.
/// [`launch`](Self::launch) runs the same operations in the same order, on the same vectors and with the same
/// scalars. The function must therefore not depend on results: copies from and to the host, and everything
/// else that waits for the device, fail during a capture with [`DeviceError::Capture`] and the reason. The
/// function should write to the vectors of the state and not replace them: on the CPU the next launch would
/// start with the new ones.
///
/// The graph owns the state, so that no other code changes it. [`state`](Self::state) gives access, for
/// example to download results, and [`state_mut`](Self::state_mut) allows new contents for its vectors.
/// [`update`](Self::update) changes the state itself: other vectors, other scalars. The next launch then
/// captures again; if only arguments differ, they are replaced in the executable graph.
///
/// On the CPU a launch calls the function, and operations that a graph cannot hold fail in the first launch.
/// The simulated GPU runs the recorded operations one after the other.
///
/// ```
/// use evenpath::{Csr, Device, vector};
/// use evenpath::error::OpError;
///
/// let device = Device::best()?;
/// let a = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 1.0)])?;
/// let plan = device.upload(&a)?.plan_spmv(Default::default())?;
/// let vectors = (device.upload(&[1.0, 1.0])?, device.zeros(2)?);
/// let mut graph = device.capture(vectors, |(x, y)| {
///     plan.run(1.0, x, 0.0, y)?;
///     plan.run(1.0, y, 0.0, x)
/// })?;
/// for _ in 0..3 {
///     graph.launch()?; // x = A A x
/// }
/// assert_eq!(graph.state().0.download()?, [8.0, 8.0]);
/// # Ok::<(), evenpath::Error>(())
/// ```
pub struct Graph<'g, S, E = DeviceError> {
    device: Device,
    state: S,
    run: Box<CapturedFn<'g, S, E>>,
    captured: Option<Captured>,
    /// True if the state may have changed since the capture.
    is_stale: bool,
}

/// The captured function.
type CapturedFn<'g, S, E> = dyn FnMut(&mut S) -> Result<(), E> + Send + 'g;

/// A captured graph on a device with kernels.
struct Captured {
    nodes: Vec<GraphNode>,
    accesses: Vec<MemoryAccess>,
    executable: Option<Box<dyn Executable>>,
    /// Last, so that the memory outlives what uses it.
    kept: Kept,
}

impl Device {
    /// Captures the operations that `run` calls on the device in this thread as a [`Graph`], without running
    /// them.
    ///
    /// ```
    /// use evenpath::{Device, vector};
    ///
    /// let device = Device::best()?;
    /// let vectors = (device.upload(&[1.0, 2.0])?, device.zeros(2)?);
    /// let mut graph = device.capture(vectors, |(x, y)| vector::axpby(1.0, x, 2.0, y))?;
    /// for _ in 0..3 {
    ///     graph.launch()?; // y = x + 2·y
    /// }
    /// assert_eq!(graph.state().1.download()?, [7.0, 14.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The error of `run`, such as [`DeviceError::Capture`] for an operation that a graph cannot hold. Also
    /// if this thread is already capturing a graph, a program's own kernel has a view that was made outside
    /// of `run` ([`DeviceError::NotKept`]), or the device was lost. On the CPU `run` is not called, and
    /// nothing fails.
    pub fn capture<'g, S, E: From<DeviceError>>(
        &self,
        state: S,
        run: impl FnMut(&mut S) -> Result<(), E> + Send + 'g,
    ) -> Result<Graph<'g, S, E>, E> {
        let (device, run) = (self.clone(), Box::new(run));
        let mut graph = Graph { device, state, run, captured: None, is_stale: true };
        if let Backend::Machine(_) = self.backend() {
            graph.capture()?;
        }
        Ok(graph)
    }
}

impl<S, E: From<DeviceError>> Graph<'_, S, E> {
    /// Launches the captured operations on the calling thread's stream, and does not wait for them. During
    /// the capture of another graph, they become part of that graph.
    ///
    /// # Errors
    ///
    /// If the device was lost, also by earlier work. If the state was [updated](Self::update), also the
    /// errors of [`Device::capture`]: then no operation runs, and the next launch tries again.
    pub fn launch(&mut self) -> Result<(), E> {
        let device = self.device.clone();
        let Backend::Machine(machine) = device.backend() else {
            let Self { state, run, .. } = self;
            if device.is_recording() {
                return run(state);
            }
            return device.record_with(|| run(state)).map(drop);
        };
        if self.is_stale {
            if device.is_recording() {
                return (self.run)(&mut self.state);
            }
            self.capture()?;
        }
        let Some(captured) = &self.captured else { return Ok(()) };
        if device.records_all(&captured.nodes, &captured.kept) {
            return Ok(());
        }
        Ok(captured.launch(&**machine, device.stream_number())?)
    }

    /// Returns the state, as left by the launches.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// Returns the state mutably, to change the contents of its vectors, such as a scalar in device memory.
    /// Nothing is captured again: the next launch runs the same operations on the same memory with the same
    /// host scalars. To change vectors or host scalars, call [`update`](Self::update): if they are changed
    /// here, launches ignore it, except on the CPU.
    ///
    /// ```
    /// use evenpath::{Device, vector};
    ///
    /// let device = Device::best()?;
    /// let vectors = (device.upload(&[1.0, 2.0])?, device.zeros(2)?);
    /// let mut graph = device.capture(vectors, |(x, y)| vector::axpby(1.0, x, 1.0, y))?;
    /// graph.launch()?;
    /// graph.state_mut().0.copy_from_slice(&[10.0, 20.0])?; // into the captured memory
    /// graph.launch()?;
    /// assert_eq!(graph.state().1.download()?, [11.0, 22.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn state_mut(&mut self) -> &mut S {
        &mut self.state
    }

    /// Changes the state by `change`, and returns its result. The next launch captures the function again.
    ///
    /// ```
    /// use evenpath::{Device, vector};
    ///
    /// let device = Device::best()?;
    /// let state = (2.0, device.upload(&[1.0, 2.0])?, device.zeros(2)?);
    /// let mut graph = device.capture(state, |(alpha, x, y)| vector::axpby(*alpha, x, 1.0, y))?;
    /// graph.launch()?;
    /// graph.update(|(alpha, _, _)| *alpha = 100.0); // a number of the host
    /// graph.launch()?;
    /// assert_eq!(graph.state().2.download()?, [102.0, 204.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update<R>(&mut self, change: impl FnOnce(&mut S) -> R) -> R {
        self.is_stale = true;
        change(&mut self.state)
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Number of operations of a launch: kernels, copies, and memory set to zero. 0 on the CPU.
    pub fn operations(&self) -> usize {
        self.captured.as_ref().map_or(0, |captured| captured.nodes.len())
    }

    /// Returns the state. Launches in progress still complete.
    pub fn into_state(self) -> S {
        self.state
    }

    /// Captures the function with the current state.
    fn capture(&mut self) -> Result<(), E> {
        let Self { device, state, run, captured, is_stale } = self;
        let recording = device.record_with(|| run(state))?;
        let Backend::Machine(machine) = device.backend() else { return Ok(()) };
        if machine.checks_captures()
            && let Some((operation, address)) = recording.not_kept()
        {
            return Err(DeviceError::NotKept { device: device.to_string(), operation, address }.into());
        }
        let Recording { nodes, kept } = recording;
        let old = captured.take().and_then(|captured| captured.executable);
        // SAFETY: the arguments are those of the requested launches, and `kept` keeps their memory.
        let executable = unsafe { executable(&**machine, &nodes, old) }?;
        let accesses = nodes.iter().flat_map(GraphNode::accesses).collect();
        *captured = Some(Captured { nodes, accesses, executable, kept });
        *is_stale = false;
        Ok(())
    }
}

/// Updates an old executable graph with new arguments if possible, or creates a new one.
///
/// # Safety
///
/// The same as for [`Machine::instantiate`].
unsafe fn executable(
    machine: &dyn Machine,
    nodes: &[GraphNode],
    old: Option<Box<dyn Executable>>,
) -> Result<Option<Box<dyn Executable>>, DeviceError> {
    if let Some(mut old) = old {
        // SAFETY: guaranteed by the caller.
        if unsafe { old.update(nodes) }? {
            return Ok(Some(old));
        }
    }
    // SAFETY: guaranteed by the caller.
    unsafe { machine.instantiate(nodes) }
}

impl Captured {
    fn launch(&self, machine: &dyn Machine, stream: u32) -> Result<(), DeviceError> {
        if let Some(executable) = &self.executable {
            // SAFETY: `kept` keeps the memory.
            return unsafe { executable.launch(stream, &self.accesses) };
        }
        for node in &self.nodes {
            // SAFETY: the arguments are those of a requested launch, and `kept` keeps their memory.
            unsafe {
                match node {
                    GraphNode::Launch { kernel, grid, shared, arguments } => {
                        machine.launch(stream, kernel, *grid, *shared, arguments)
                    }
                    &GraphNode::Zero { address, bytes } => machine.zero(stream, address, bytes),
                    &GraphNode::Copy { from, to, bytes } => machine.copy(stream, from, to, bytes),
                    &GraphNode::Store { address, word } => machine.store(stream, address, word),
                }
            }?;
        }
        Ok(())
    }
}

impl<S: std::fmt::Debug, E> std::fmt::Debug for Graph<'_, S, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graph")
            .field("device", &self.device)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
