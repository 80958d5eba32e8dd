//! SpMV of matrices whose rows are padded to one length and stored by columns: one thread per row, so that the threads
//! of a warp read consecutive slots.
//!
//! Rows are padded to the longest of all in ELL (Bell, Garland, SC 2009), to the longest of their slice in sliced ELL
//! (Monakov et al., High Performance Embedded Architectures and Compilers 2010; SELL-C-σ of Kreutzer et al., SIAM J. Sci. Comput. 36, 2014). ELL-R (Vázquez et al.,
//! 2011) also has the length of each row, and reads no padding.

mod padded;
mod row;
mod slices;
mod with_lengths;

pub use padded::{Ell, SlicedEll};
pub use row::{ByColumn, InSequence, PlainByColumn, Slots, XAccess, PADDING};
pub use slices::{FillSlices, SliceWidths, SortWindows, SLICE_HEIGHT, WINDOW_ROWS};
pub use with_lengths::EllR;
