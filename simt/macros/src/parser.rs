//! A cursor over tokens.

use std::iter::Peekable;

use proc_macro::{token_stream, Delimiter, Group, Ident, Span, TokenStream, TokenTree};

use crate::error::{Error, Result};

/// The tokens that are left, and the place of the last one that was taken.
pub(crate) struct Parser {
    tokens: Peekable<token_stream::IntoIter>,
    last: Span,
}

impl Parser {
    /// Returns the tokens of a group or of a call at `span`.
    pub(crate) fn new(tokens: TokenStream, span: Span) -> Self {
        Self { tokens: tokens.into_iter().peekable(), last: span }
    }

    /// Returns the next token, without taking it.
    pub(crate) fn peek(&mut self) -> Option<&TokenTree> {
        self.tokens.peek()
    }

    pub(crate) fn is_empty(&mut self) -> bool {
        self.peek().is_none()
    }

    pub(crate) fn next(&mut self) -> Option<TokenTree> {
        let token = self.tokens.next()?;
        self.last = token.span();
        Some(token)
    }

    /// Returns the error that something else was expected here.
    pub(crate) fn expected(&mut self, what: &str) -> Error {
        match self.peek() {
            Some(found) => Error::new(found.span(), format!("expected {what}, found `{found}`")),
            None => Error::new(self.last, format!("expected {what} after this")),
        }
    }

    pub(crate) fn at_word(&mut self, word: &str) -> bool {
        matches!(self.peek(), Some(TokenTree::Ident(found)) if found.to_string() == word)
    }

    pub(crate) fn at_mark(&mut self, mark: char) -> bool {
        matches!(self.peek(), Some(TokenTree::Punct(found)) if found.as_char() == mark)
    }

    /// Takes a word if it is the next token.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.at_word(word);
        if is_next {
            self.next();
        }
        is_next
    }

    /// Takes a punctuation mark if it is the next token.
    pub(crate) fn take_mark(&mut self, mark: char) -> bool {
        let is_next = self.at_mark(mark);
        if is_next {
            self.next();
        }
        is_next
    }

    pub(crate) fn mark(&mut self, mark: char) -> Result<()> {
        if self.take_mark(mark) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{mark}`")))
        }
    }

    pub(crate) fn word(&mut self, word: &str) -> Result<()> {
        if self.take_word(word) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{word}`")))
        }
    }

    pub(crate) fn ident(&mut self, what: &str) -> Result<Ident> {
        match self.tokens.next_if(|token| matches!(token, TokenTree::Ident(_))) {
            Some(TokenTree::Ident(ident)) => {
                self.last = ident.span();
                Ok(ident)
            }
            _ => Err(self.expected(what)),
        }
    }

    pub(crate) fn group(&mut self, delimiter: Delimiter, what: &str) -> Result<Group> {
        let is_group =
            |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == delimiter);
        match self.tokens.next_if(is_group) {
            Some(TokenTree::Group(group)) => {
                self.last = group.span();
                Ok(group)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// Returns the tokens up to a comma, which it takes, or to the end; at least one.
    pub(crate) fn until_comma(&mut self, what: &str) -> Result<Vec<TokenTree>> {
        let mut tokens = Vec::new();
        while !self.at_mark(',') {
            match self.next() {
                Some(token) => tokens.push(token),
                None => break,
            }
        }
        if tokens.is_empty() {
            return Err(self.expected(what));
        }
        self.take_mark(',');
        Ok(tokens)
    }
}
