//! The attribute of functions that run on the GPU.

use proc_macro::TokenStream;

use crate::error::{Error, Result};

/// PTX has no calls. On the CPU, where the simulated GPU runs, the compiler chooses: functions that are called keep
/// programs small.
const INLINE: &str = "#[cfg_attr(target_arch = \"nvptx64\", inline(always))] #[cfg_attr(not(target_arch = \"nvptx64\"), inline)]";
/// The GPU has no callers to report.
const TRACK_CALLER: &str = "#[cfg_attr(not(target_arch = \"nvptx64\"), track_caller)]";

pub(crate) fn expand(arguments: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let attributes = match arguments.to_string().as_str() {
        "" => INLINE.to_owned(),
        "track_caller" => format!("{INLINE} {TRACK_CALLER}"),
        other => {
            let span = arguments.into_iter().next().expect("arguments that are not empty").span();
            let message = format!("`{other}` is not an argument of `device`; there is `track_caller`");
            return Err(Error::new(span, message));
        }
    };
    let attributes: TokenStream = attributes.parse().expect("attributes");
    Ok(attributes.into_iter().chain(function).collect())
}
