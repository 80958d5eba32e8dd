//! The variants of the product: the columns of a lane, and how nonzeros come to it.

use core::marker::PhantomData;

use super::width::{Elements, Packets, Strided, Width};

/// Properties of a variant of the kernel.
pub trait Variant {
    /// The columns of a lane.
    type Width: Width;
    /// True if there may be pieces.
    const HAS_PIECES: bool = false;
    /// True if each group stages its row a part at a time, instead of the block all of its nonzeros.
    const IN_STAGES: bool = false;
    /// True if each group sums several rows.
    const IN_PASSES: bool = false;
}

impl<W: Width> Variant for W {
    type Width = W;
}

/// The [`Variant`] `P` for matrices that may have pieces.
#[derive(Debug)]
pub struct WithPieces<P>(PhantomData<P>);

impl<P: Variant> Variant for WithPieces<P> {
    type Width = P::Width;
    const HAS_PIECES: bool = true;
    const IN_STAGES: bool = P::IN_STAGES;
    const IN_PASSES: bool = P::IN_PASSES;
}

/// A [`Variant`] for rows that a block does not stage at once.
#[derive(Debug)]
pub struct InStages<W>(PhantomData<W>);

impl<W: Width> Variant for InStages<W> {
    type Width = W;
    const IN_STAGES: bool = true;
}

/// A [`Variant`] for short rows and a C by rows.
#[derive(Debug)]
pub struct InPasses<W>(PhantomData<W>);

impl<W: Width> Variant for InPasses<W> {
    type Width = W;
    const IN_PASSES: bool = true;
}

pub(super) type PacketPieces = WithPieces<Packets>;
pub(super) type ElementPieces = WithPieces<Elements>;
pub(super) type StridedPieces = WithPieces<Strided>;
pub(super) type PacketStages = InStages<Packets>;
pub(super) type PacketStagePieces = WithPieces<InStages<Packets>>;
pub(super) type PacketPasses = InPasses<Packets>;
pub(super) type PacketPassPieces = WithPieces<InPasses<Packets>>;
