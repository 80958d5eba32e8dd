//! Graphs: work that is asked for once and done many times.

use super::error::DeviceError;
use super::handle::{Backend, Device};
use super::machine::{Executable, Machine};
use super::node::Node;
use super::order::Access;
use super::recording::{Kept, Recording};

/// Work of a device that was captured, to be launched as a whole, as often as needed: on an NVIDIA GPU by one call of the driver,
/// which takes the host a few microseconds whatever the graph holds.
///
/// [`Device::capture`] makes it from a state, such as the vectors of an iterative method, and a function of it. What the function asks
/// of the device is noted: launches, copies within the device, and memory set to zero. Nothing else changes, so plans and matrices are as
/// before until the graph is launched. Memory that the function uses and allocates stays the graph's, and counts as in use until the
/// graph is dropped.
/// [`launch`](Self::launch) does it all, in the same order, to the same vectors, with the same scalars. So the function may not
/// depend on results: copies from and to the host, and everything else that waits for the device, are refused while capturing
/// ([`DeviceError::Capture`]), with the reason. It should write to the vectors of the state, and not replace them: on the CPU the
/// next launch would begin with the new ones.
///
/// The graph has the state, so that nothing changes it unseen. [`state`](Self::state) shows it, to download results, and
/// [`state_mut`](Self::state_mut) lets its vectors be filled anew. [`update`](Self::update) changes it: other vectors, other scalars. The next launch then captures again, which replaces the
/// arguments in the executable graph where only these differ.
///
/// On the CPU a launch calls the function; what a graph cannot hold is refused there too, by the first launch. The simulated GPU does
/// what was noted, one operation after the other.
///
/// ```
/// use evenpath::{Csr, Device, vector};
/// use evenpath::error::OpError;
///
/// let device = Device::best()?;
/// let a: Csr<f64> = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 1.0)])?;
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
    run: Box<Run<'g, S, E>>,
    captured: Option<Captured>,
    /// Whether the state may have changed since.
    is_stale: bool,
}

/// What a graph is captured from.
type Run<'g, S, E> = dyn FnMut(&mut S) -> Result<(), E> + Send + 'g;

/// What a graph does on a device with kernels.
struct Captured {
    nodes: Vec<Node>,
    accesses: Vec<Access>,
    executable: Option<Box<dyn Executable>>,
    /// Last, so that the memory is there as long as what uses it.
    kept: Kept,
}

impl Device {
    /// Captures what `run` asks of the device, in this thread, as a [`Graph`]. Nothing of it is done yet.
    ///
    /// # Errors
    ///
    /// The error of `run`, such as [`DeviceError::Capture`] for what a graph cannot hold; if a graph is being captured by this thread
    /// already, a kernel of the program's own has a view that was made outside of `run` ([`DeviceError::NotKept`]), or the device was
    /// lost. On the CPU nothing is run, and nothing fails.
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
    /// Does what was captured, in the stream that the calling thread uses. Does not wait for it. Within the capture of another graph,
    /// it becomes part of that.
    ///
    /// # Errors
    ///
    /// If the device was lost, also by earlier work. If the state was [updated](Self::update), also as for [`Device::capture`]: then
    /// nothing is done, and the next launch tries again.
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

    /// The state, as launches leave it.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// The state, to change what its vectors hold, such as a scalar in the device's memory. Nothing is captured again: the next launch does
    /// the same operations, to the same memory, with the same scalars of the host. Other vectors, and other scalars of the host, are a
    /// matter of [`update`](Self::update): put into the state by way of this function, launches do not see them, but on the CPU.
    pub fn state_mut(&mut self) -> &mut S {
        &mut self.state
    }

    /// Lets `change` change the state, and returns its result. The next launch captures the function again.
    pub fn update<R>(&mut self, change: impl FnOnce(&mut S) -> R) -> R {
        self.is_stale = true;
        change(&mut self.state)
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How many operations a launch does: kernels, copies, and memory set to zero. 0 on the CPU.
    pub fn operations(&self) -> usize {
        self.captured.as_ref().map_or(0, |captured| captured.nodes.len())
    }

    /// Gives back the state. What was launched still happens.
    pub fn into_state(self) -> S {
        self.state
    }

    /// Captures the function with the state as it is.
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
        // SAFETY: the arguments are those that launches were asked for with, and `kept` keeps their memory.
        let executable = unsafe { executable(&**machine, &nodes, old) }?;
        let accesses = nodes.iter().flat_map(Node::accesses).collect();
        *captured = Some(Captured { nodes, accesses, executable, kept });
        *is_stale = false;
        Ok(())
    }
}

/// The executable form of operations: an old one with new arguments, or a new one.
///
/// # Safety
///
/// As for [`Machine::instantiate`].
unsafe fn executable(
    machine: &dyn Machine,
    nodes: &[Node],
    old: Option<Box<dyn Executable>>,
) -> Result<Option<Box<dyn Executable>>, DeviceError> {
    if let Some(mut old) = old {
        // SAFETY: the caller's.
        if unsafe { old.update(nodes) }? {
            return Ok(Some(old));
        }
    }
    // SAFETY: the caller's.
    unsafe { machine.instantiate(nodes) }
}

impl Captured {
    fn launch(&self, machine: &dyn Machine, stream: u32) -> Result<(), DeviceError> {
        if let Some(executable) = &self.executable {
            // SAFETY: `kept` keeps the memory.
            return unsafe { executable.launch(stream, &self.accesses) };
        }
        for node in &self.nodes {
            // SAFETY: the arguments are those of a launch that was asked for, and `kept` keeps their memory.
            unsafe {
                match node {
                    Node::Launch { kernel, grid, shared, arguments } => {
                        machine.launch(stream, kernel, *grid, *shared, arguments)
                    }
                    &Node::Zero { address, bytes } => machine.zero(stream, address, bytes),
                    &Node::Copy { from, to, bytes } => machine.copy(stream, from, to, bytes),
                    &Node::Store { address, word } => machine.store(stream, address, word),
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
