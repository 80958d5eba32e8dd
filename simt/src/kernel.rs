//! What the host knows of a kernel: its entry, its parameters, and how to pack them.

use crate::element::ScalarType;
use crate::global::{Global, GlobalMut};
use crate::Element;

/// One compiled kernel: an instance of a generic kernel for given types and tile.
#[derive(Debug)]
pub struct KernelInfo {
    /// Name of the PTX entry, unique in the whole library.
    pub name: &'static str,
    /// Name of the PTX module that holds it; modules are loaded on first use.
    pub module: &'static str,
    /// The types that the generic kernel is instantiated for, in order of its parameters.
    pub types: &'static [ScalarType],
    /// The name of the variant, where the kernel has several for the same types; else empty.
    pub variant: &'static str,
    /// Threads in a block; every launch uses exactly this many.
    pub block_size: u32,
    /// Items that one thread handles; 1 where a kernel has no such parameter.
    pub items_per_thread: u32,
    /// Blocks that a multiprocessor shall hold at once, which bounds a thread's registers; 0 where the
    /// compiler is free.
    pub resident_blocks: u32,
    /// Bytes of statically sized shared memory.
    pub shared_bytes: u32,
    /// Names and kinds of the parameters, in order.
    pub parameters: &'static [(&'static str, ParameterKind)],
    /// The same kernel for one lane of the simulated GPU.
    #[doc(hidden)]
    pub simulate: fn(&[Argument]),
}

/// The kinds of kernel parameter. Each is one scalar of the PTX entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// A [`Global`]: a 64-bit device address, read only.
    Global(ScalarType),
    /// A [`GlobalMut`]: a 64-bit device address.
    GlobalMut(ScalarType),
    /// A number.
    Scalar(ScalarType),
}

impl ParameterKind {
    /// Bytes that the parameter takes: 8 for a view, the scalar's size otherwise.
    pub const fn size(self) -> usize {
        match self {
            Self::Global(_) | Self::GlobalMut(_) => 8,
            Self::Scalar(scalar) => scalar.size(),
        }
    }
}

/// One packed kernel argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// The bits the GPU gets, little end first: an address or a scalar.
    pub bits: u64,
    /// Elements that a view spans; 0 for scalars. Only the simulated GPU looks at it.
    pub len: u64,
}

/// A type that can be a kernel's parameter.
pub trait Parameter: Copy {
    /// How the parameter is passed.
    const KIND: ParameterKind;
    /// Packs the value for a launch.
    fn to_argument(self) -> Argument;
    /// Unpacks it again, in a lane of the simulated GPU.
    fn from_argument(argument: Argument) -> Self;
}

impl<T: Element> Parameter for T {
    const KIND: ParameterKind = ParameterKind::Scalar(T::TYPE);

    fn to_argument(self) -> Argument {
        Argument { bits: self.to_bits(), len: 0 }
    }

    fn from_argument(argument: Argument) -> Self {
        T::from_bits(argument.bits)
    }
}

impl<T: Element> Parameter for Global<T> {
    const KIND: ParameterKind = ParameterKind::Global(T::TYPE);

    fn to_argument(self) -> Argument {
        Argument { bits: self.address(), len: self.len() }
    }

    fn from_argument(argument: Argument) -> Self {
        Global::from_device(argument.bits, argument.len)
    }
}

impl<T: Element> Parameter for GlobalMut<T> {
    const KIND: ParameterKind = ParameterKind::GlobalMut(T::TYPE);

    fn to_argument(self) -> Argument {
        Argument { bits: self.address(), len: self.len() }
    }

    fn from_argument(argument: Argument) -> Self {
        GlobalMut::from_device(argument.bits, argument.len)
    }
}

/// The arguments of a generic kernel, by name: the struct that [`kernel!`](crate::kernel!) declares.
pub trait Kernel {
    /// Every instance of the kernel, in the order of its table.
    const INSTANCES: &'static [&'static KernelInfo];
    /// The types of this instantiation, to find its instances.
    const TYPES: &'static [ScalarType];
    /// Packs the arguments in the order of the parameters.
    fn pack(self) -> Vec<Argument>;

    /// The instance for these types with the given tile, if the table has it.
    fn instance(block_size: u32, items_per_thread: u32) -> Option<&'static KernelInfo> {
        Self::INSTANCES.iter().copied().find(|info| {
            info.types == Self::TYPES
                && info.block_size == block_size
                && info.items_per_thread == items_per_thread
        })
    }

    /// The instance for these types that is the named variant.
    fn variant(name: &str) -> Option<&'static KernelInfo> {
        Self::INSTANCES.iter().copied().find(|info| info.types == Self::TYPES && info.variant == name)
    }

    /// The first instance for these types: the only one where a kernel has one tile.
    fn first() -> Option<&'static KernelInfo> {
        Self::INSTANCES.iter().copied().find(|info| info.types == Self::TYPES)
    }
}
