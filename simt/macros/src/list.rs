//! The kernels that a crate's sources declare, as paths with types.

use std::path::Path;

use proc_macro::{Delimiter, Group, Punct, Spacing, Span, TokenStream, TokenTree};

use crate::error::{Error, Result};
use crate::sources::Module;

/// `callback! { crate::path::Kernel<f32, u32>, … }`, in the order of the sources.
pub(crate) fn expand(callback: TokenStream) -> Result<TokenStream> {
    let error = |message: String| Error::new(Span::call_site(), message);
    let folder = std::env::var("CARGO_MANIFEST_DIR")
        .map_err(|_| error("cargo has not set CARGO_MANIFEST_DIR".to_owned()))?;
    let root = Module::read_crate(&Path::new(&folder).join("src")).map_err(error)?;
    let mut kernels = Vec::new();
    list(&mut vec![&root], &mut kernels).map_err(error)?;
    let kernels: TokenStream = kernels.concat().parse().expect("paths");
    let mut call = callback;
    call.extend([
        TokenTree::from(Punct::new('!', Spacing::Alone)),
        Group::new(Delimiter::Brace, kernels).into(),
    ]);
    Ok(call)
}

/// Adds the kernels of the innermost of nested modules, and of its children.
fn list(modules: &mut Vec<&Module>, kernels: &mut Vec<String>) -> Result<(), String> {
    let module = modules[modules.len() - 1];
    for kernel in &module.kernels {
        let path = public_path(modules, &kernel.name).ok_or_else(|| {
            format!("the kernel `{}` of {} is not public", kernel.name, module.file.display())
        })?;
        kernels.push(format!("crate::{path}{}<{}>,", kernel.name, kernel.types.join(",")));
    }
    for child in &module.children {
        modules.push(child);
        list(modules, kernels)?;
        modules.pop();
    }
    Ok(())
}

/// Returns the path, from the root of the crate, of the module by which the crate can name a kernel of the innermost of
/// nested modules: that module, or one around it that re-exports the kernel.
fn public_path(modules: &[&Module], kernel: &str) -> Option<String> {
    // The root sees its own modules, whether or not they are public.
    let is_visible = |depth: usize| modules[1..=depth].iter().skip(1).all(|module| module.is_public);
    let innermost = modules.len() - 1;
    let depth = (0..=innermost).rev().find(|&depth| {
        is_visible(depth) && (depth == innermost || modules[depth].exports.iter().any(|name| name == kernel))
    })?;
    Some(modules[1..=depth].iter().flat_map(|module| [&*module.name, "::"]).collect())
}
