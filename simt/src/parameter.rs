//! Packing of a kernel's parameters.

use crate::element::{Element, Words};
use crate::global::{Alignment, Global, GlobalMut};
use crate::kernel::{Argument, Arguments, ParameterKind};

/// A type that can be a kernel's parameter.
pub trait Parameter: Copy {
    /// Kind of the parameter.
    const KIND: ParameterKind;
    /// Packs the value for a launch.
    fn pack(self, arguments: &mut Vec<Argument>);
    /// Unpacks it again, in a lane of the simulated GPU.
    fn unpack(arguments: &mut Arguments<'_>) -> Self;
}

/// Returns the next argument of a lane of the simulated GPU, which has checked their number.
fn next(arguments: &mut Arguments<'_>) -> Argument {
    match arguments.next() {
        Some(&argument) => argument,
        None => panic!("fewer arguments than parameters"),
    }
}

impl<T: Element> Parameter for T {
    const KIND: ParameterKind = ParameterKind::Scalar(T::TYPE);

    fn pack(self, arguments: &mut Vec<Argument>) {
        let bits = self.to_bits();
        arguments.extend((0..T::Words::COUNT).map(|index| Argument { bits: bits.word(index), len: 0 }));
    }

    fn unpack(arguments: &mut Arguments<'_>) -> Self {
        T::from_bits(T::Words::from_fn(|_| next(arguments).bits))
    }
}

impl<T: Element, A: Alignment> Parameter for Global<T, A> {
    const KIND: ParameterKind = ParameterKind::Global(T::TYPE);

    fn pack(self, arguments: &mut Vec<Argument>) {
        arguments.push(Argument { bits: self.address(), len: self.len() });
    }

    fn unpack(arguments: &mut Arguments<'_>) -> Self {
        let Argument { bits, len } = next(arguments);
        Self::unpacked(bits, len)
    }
}

impl<T: Element, A: Alignment> Parameter for GlobalMut<T, A> {
    const KIND: ParameterKind = ParameterKind::GlobalMut(T::TYPE);

    fn pack(self, arguments: &mut Vec<Argument>) {
        arguments.push(Argument { bits: self.address(), len: self.len() });
    }

    fn unpack(arguments: &mut Arguments<'_>) -> Self {
        let Argument { bits, len } = next(arguments);
        Self::unpacked(bits, len)
    }
}
