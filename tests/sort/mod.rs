//! Sorts: whole sequences, segments, and tiles.

mod by_offsets;
mod radix_sort;
mod tiles;
