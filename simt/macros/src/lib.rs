//! The procedural macros of `evenpath-simt`, which re-exports them. They depend on nothing, because every build of a kernel for a
//! GPU compiles them first.

mod device;
mod error;
mod instances;
mod list;
mod parser;
mod row;
mod sources;

use proc_macro::TokenStream;

/// Marks a function that runs on the GPU: it is always inlined, because a call costs a kernel its registers.
///
/// With `#[device(track_caller)]` the simulated GPU reports faults at the line that calls the function: for functions that access
/// memory on behalf of their caller.
#[proc_macro_attribute]
pub fn device(arguments: TokenStream, function: TokenStream) -> TokenStream {
    device::expand(arguments, function).unwrap_or_else(error::Error::into_tokens)
}

/// Returns the rows of `kernel!` as one row per instance, for a macro that takes them.
///
/// The tokens are the path of that macro; in brackets, the kernel's type parameters; in braces, the macro's tokens
/// before the rows; and the rows.
#[doc(hidden)]
#[proc_macro]
pub fn instances(tokens: TokenStream) -> TokenStream {
    instances::expand(tokens).unwrap_or_else(error::Error::into_tokens)
}

/// Returns the kernels that a crate's sources declare, as types, for the macro whose path is given.
#[doc(hidden)]
#[proc_macro]
pub fn declared_kernels(callback: TokenStream) -> TokenStream {
    list::expand(callback).unwrap_or_else(error::Error::into_tokens)
}
