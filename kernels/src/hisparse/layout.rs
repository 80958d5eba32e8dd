//! The layout of nodes, which `docs/hisparse.md` describes byte by byte. All code that computes with it uses this module.
//!
//! A reference holds the node's offset in the pool in units of 16 bytes, and the node's kind in the two lowest bits.

use evenpath_simt::device;

/// Bytes of a unit: nodes are aligned to units, and references count them.
pub const UNIT_BYTES: u32 = 16;
/// Words of a unit.
pub const UNIT_WORDS: u32 = UNIT_BYTES / 4;
/// The null reference: the first unit of a pool belongs to no node.
pub const NULL: u32 = 0;

/// All D² slots, row by row.
pub const DENSE: u32 = 0;
/// One entry.
pub const COO1: u32 = 1;
/// Two entries.
pub const COO2: u32 = 2;
/// Three or more entries.
pub const COO4: u32 = 3;

/// Bytes of the entry count in front of a sparse node's coordinates.
pub const COUNT_BYTES: u32 = 4;
/// Bytes of an entry's coordinates.
pub const COORDINATES_BYTES: u32 = 2;

/// Returns a reference to the node at `unit`, which is below 2³⁰.
#[device]
pub const fn reference(unit: u32, kind: u32) -> u32 {
    unit << 2 | kind
}

/// Returns the node's offset in the pool, in units.
#[device]
pub const fn unit(reference: u32) -> u32 {
    reference >> 2
}

/// Returns the kind of the node.
#[device]
pub const fn kind(reference: u32) -> u32 {
    reference & 3
}

/// Returns the kind of a node of `count` entries with slots of `size` bytes, and `1 << d_log2` rows and columns: the
/// sparse kind for the count, or dense where that takes less memory.
#[device]
pub const fn kind_of(count: u32, d_log2: u32, size: u32) -> u32 {
    let sparse = if count < 2 {
        COO1
    } else if count == 2 {
        COO2
    } else {
        COO4
    };
    if units(DENSE, count, d_log2, size) < units(sparse, count, d_log2, size) {
        DENSE
    } else {
        sparse
    }
}

/// Units that a node takes.
#[device]
pub const fn units(kind: u32, count: u32, d_log2: u32, size: u32) -> u32 {
    let bytes =
        if kind == DENSE { size << (2 * d_log2) } else { slots_offset(kind, count, size) + count * size };
    bytes.div_ceil(UNIT_BYTES)
}

/// Bytes from the start of a sparse node to its slots, which are aligned to the size of the kind's loads.
#[device]
pub const fn slots_offset(kind: u32, count: u32, size: u32) -> u32 {
    let width = if kind == COO4 {
        4 * size
    } else if kind == COO2 {
        2 * size
    } else {
        size
    };
    let load = if width > UNIT_BYTES { UNIT_BYTES } else { width };
    // A power of two.
    (COUNT_BYTES + COORDINATES_BYTES * count + load - 1) & !(load - 1)
}

/// Packs local coordinates: the row in the high byte, so that they ascend row by row. Swapping the bytes transposes.
#[device]
pub const fn pack(row: u32, col: u32) -> u32 {
    row << 8 | col
}

/// Returns the row and column of packed coordinates.
#[device]
pub const fn unpack(coordinates: u32) -> (u32, u32) {
    (coordinates >> 8 & 0xff, coordinates & 0xff)
}

/// Returns the slot of a dense node at packed coordinates.
#[device]
pub const fn place(coordinates: u32, d_log2: u32) -> u32 {
    let (row, col) = unpack(coordinates);
    row << d_log2 | col
}
