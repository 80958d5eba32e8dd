//! A kernel for the host: its entry, the kinds of its parameters, and its packed arguments.

use core::ops::Range;

use crate::element::ScalarType;

/// One compiled kernel: an instance of a generic kernel for given types and tile.
#[derive(Debug)]
pub struct KernelInfo {
    /// Name of the PTX entry, unique in the whole library.
    pub name: &'static str,
    /// Name of the PTX module that holds it; modules are loaded on first use.
    pub module: &'static str,
    /// The types that the generic kernel is instantiated for, in order of its parameters.
    pub types: &'static [ScalarType],
    /// Name of the variant if the kernel has several for the same types, else empty.
    pub variant: &'static str,
    /// Threads in a block; every launch uses exactly this many.
    pub block_size: u32,
    /// Items that one thread handles; 1 where a kernel has no such parameter.
    pub items_per_thread: u32,
    /// Number of blocks that a multiprocessor is to hold at once, which limits a thread's registers; 0 for no limit.
    pub resident_blocks: u32,
    /// Bytes of statically sized shared memory.
    pub shared_bytes: u32,
    /// Names and kinds of the parameters, in order.
    pub parameters: &'static [(&'static str, ParameterKind)],
}

/// A kernel's body for one lane of the simulated GPU.
pub type Simulation = fn(&[Argument]);

/// The kinds of kernel parameter. Each is one parameter of the PTX entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// A [`Global`](crate::Global): a 64-bit device address, read only.
    Global(ScalarType),
    /// A [`GlobalMut`](crate::GlobalMut): a 64-bit device address.
    GlobalMut(ScalarType),
    /// A number.
    Scalar(ScalarType),
    /// A struct of parameters, declared with [`parameters!`](crate::parameters!). Each field begins at a multiple of 8 bytes.
    Struct(&'static [(&'static str, ParameterKind)]),
}

impl ParameterKind {
    /// Bytes that the parameter takes: 8 for a view, the scalar's size, or those of the struct.
    pub fn size(self) -> usize {
        match self {
            Self::Global(_) | Self::GlobalMut(_) => 8,
            Self::Scalar(scalar) => scalar.size(),
            Self::Struct(fields) => fields.iter().map(|(_, kind)| kind.size().next_multiple_of(8)).sum(),
        }
    }

    /// Returns the alignment of the parameter in bytes.
    pub fn align(self) -> usize {
        match self {
            Self::Struct(_) => 8,
            Self::Scalar(scalar) => scalar.align(),
            Self::Global(_) | Self::GlobalMut(_) => self.size(),
        }
    }

    /// Words of scalars and views in the parameter: the [`Argument`]s that it is packed into.
    pub const fn arguments(self) -> usize {
        let fields = match self {
            Self::Struct(fields) => fields,
            Self::Scalar(scalar) => return scalar.size().div_ceil(8),
            Self::Global(_) | Self::GlobalMut(_) => return 1,
        };
        let (mut count, mut field) = (0, 0);
        while field < fields.len() {
            count += fields[field].1.arguments();
            field += 1;
        }
        count
    }

    /// Calls `visit` with the kind and byte offset of each scalar and view in the parameter, in order. The parameter begins at
    /// `offset`, a multiple of its alignment. A scalar of 16 bytes counts as two of 8.
    pub fn for_each_scalar(self, offset: usize, visit: &mut impl FnMut(ParameterKind, usize)) {
        let Self::Struct(fields) = self else {
            let word = if self.arguments() == 1 { self } else { Self::Scalar(ScalarType::U64) };
            return (0..self.arguments()).for_each(|index| visit(word, offset + 8 * index));
        };
        let mut start = offset;
        for (_, kind) in fields {
            kind.for_each_scalar(start, visit);
            start += kind.size().next_multiple_of(8);
        }
    }
}

impl KernelInfo {
    /// Items that a block handles: its threads times the items per thread.
    pub fn tile_items(&self) -> usize {
        self.block_size as usize * self.items_per_thread as usize
    }

    /// Calls `visit` with the addresses that each view among the arguments spans, and whether the view is writable.
    pub fn for_each_view(&self, arguments: &[Argument], mut visit: impl FnMut(Range<u64>, bool)) {
        let mut arguments = arguments.iter();
        for (_, kind) in self.parameters {
            kind.for_each_scalar(0, &mut |kind, _| {
                let Some(&Argument { bits, len }) = arguments.next() else { return };
                let (element, is_writable) = match kind {
                    ParameterKind::Global(element) => (element, false),
                    ParameterKind::GlobalMut(element) => (element, true),
                    ParameterKind::Scalar(_) | ParameterKind::Struct(_) => return,
                };
                let bytes = len.saturating_mul(element.size() as u64);
                visit(bits..bits.saturating_add(bytes), is_writable);
            });
        }
    }

    /// Returns the kinds of the scalars and views among the parameters, one for each [`Argument`]: two for a scalar of 16 bytes.
    pub fn scalars(&self) -> Vec<ParameterKind> {
        let mut scalars = Vec::new();
        for (_, kind) in self.parameters {
            kind.for_each_scalar(0, &mut |kind, _| scalars.push(kind));
        }
        scalars
    }
}

/// One packed word of a scalar, or a view, of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// The bits the GPU gets, little end first: an address or a scalar.
    pub bits: u64,
    /// Elements that a view spans; 0 for scalars. The GPU does not get it.
    pub len: u64,
}

/// The arguments of a launch that a lane of the simulated GPU has not unpacked yet.
pub type Arguments<'a> = std::slice::Iter<'a, Argument>;

/// The arguments of a generic kernel, by name: the struct that [`kernel!`](crate::kernel!) declares.
pub trait Kernel {
    /// Every instance of the kernel, in the order of its table.
    const INSTANCES: &'static [&'static KernelInfo];
    /// The body of each instance for the simulated GPU. They are separate from [`INSTANCES`](Self::INSTANCES), so that
    /// a program that simulates nothing does not link them.
    const SIMULATIONS: &'static [Simulation];
    /// The types of this instantiation, to find its instances.
    const TYPES: &'static [ScalarType];
    /// Packs the arguments in the order of the parameters.
    fn pack(self) -> Vec<Argument>;

    /// Returns the instance for these types with the given tile, if the table has it.
    fn instance(block_size: u32, items_per_thread: u32) -> Option<&'static KernelInfo> {
        Self::INSTANCES.iter().copied().find(|info| {
            info.types == Self::TYPES
                && info.block_size == block_size
                && info.items_per_thread == items_per_thread
        })
    }

    /// Returns the instances for these types that are the named variant, in the order of the table.
    fn variants(name: &str) -> impl Iterator<Item = &'static KernelInfo> {
        let instances = Self::INSTANCES.iter().copied();
        instances.filter(move |info| info.types == Self::TYPES && info.variant == name)
    }

    /// Returns the first instance for these types that is the named variant.
    fn variant(name: &str) -> Option<&'static KernelInfo> {
        Self::variants(name).next()
    }

    /// Returns the body of an instance for the simulated GPU, if it is one of this kernel.
    fn simulation(instance: &KernelInfo) -> Option<Simulation> {
        let index = Self::INSTANCES.iter().position(|info| info.name == instance.name)?;
        Some(Self::SIMULATIONS[index])
    }

    /// Returns the first instance for these types: the only one where a kernel has one tile.
    fn first() -> Option<&'static KernelInfo> {
        Self::INSTANCES.iter().copied().find(|info| info.types == Self::TYPES)
    }
}

/// Returns the body of every instance of a kernel for the simulated GPU, with the name of the instance.
pub fn simulations<K: Kernel>() -> Vec<(&'static str, Simulation)> {
    let names = K::INSTANCES.iter().map(|info| info.name);
    names.zip(K::SIMULATIONS.iter().copied()).collect()
}
