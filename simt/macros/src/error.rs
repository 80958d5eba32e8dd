//! Errors at a place of the source.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// A mistake in what a macro was given.
#[derive(Debug)]
pub(crate) struct Error {
    span: Span,
    message: String,
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into() }
    }

    /// Returns a call of `compile_error!` at the place of the mistake.
    pub(crate) fn into_tokens(self) -> TokenStream {
        let message = TokenTree::from(Literal::string(&self.message));
        let tokens = [
            Ident::new("compile_error", self.span).into(),
            Punct::new('!', Spacing::Alone).into(),
            Group::new(Delimiter::Brace, message.into()).into(),
        ];
        tokens
            .into_iter()
            .map(|mut token: TokenTree| {
                token.set_span(self.span);
                token
            })
            .collect()
    }
}
