//! The rows of `kernel!`, multiplied out.

use std::collections::HashSet;

use proc_macro::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

use crate::error::{Error, Result};
use crate::parser::Parser;
use crate::row::{value_of, Bindings, Row};

pub(crate) fn expand(tokens: TokenStream) -> Result<TokenStream> {
    let mut parser = Parser::new(tokens, Span::call_site());
    let callback = parser.group(Delimiter::Brace, "the path of a macro")?;
    let generics = parser.group(Delimiter::Bracket, "type parameters")?;
    let before = parser.group(Delimiter::Brace, "the kernel")?;
    let generics = idents(&generics)?;
    let mut rows = before.stream();
    let mut names = HashSet::new();
    while !parser.is_empty() {
        let row = Row::parse(&mut parser)?;
        for bindings in row.instances() {
            let name = row.entry.name(&bindings)?;
            if !names.insert(name.to_string()) {
                return Err(Error::new(name.span(), format!("two entries have the name `{name}`")));
            }
            rows.extend(instance(&row, name, &generics, &bindings)?);
        }
    }
    let mut call = callback.stream();
    call.extend([
        TokenTree::from(Punct::new('!', Spacing::Alone)),
        Group::new(Delimiter::Brace, rows).into(),
    ]);
    Ok(call)
}

fn idents(group: &Group) -> Result<Vec<Ident>> {
    let mut parser = Parser::new(group.stream(), group.span());
    let mut idents = Vec::new();
    while !parser.is_empty() {
        idents.push(parser.ident("a type parameter")?);
        parser.take_mark(',');
    }
    Ok(idents)
}

/// One instance: `entry in module: <V = f32>, with P = Sum, 128 x 7 resident 4;`.
fn instance(row: &Row, name: Ident, generics: &[Ident], bindings: &Bindings<'_>) -> Result<TokenStream> {
    let mut tokens = Tokens::default();
    tokens.push(name).word("in", row.entry.span).push(row.module.name(bindings)?).mark(':');
    for (index, generic) in generics.iter().enumerate() {
        let Some(value) = value_of(bindings, generic) else {
            let message = format!("this row has no types for the kernel's parameter `{generic}`");
            return Err(Error::new(row.entry.span, message));
        };
        tokens.mark(if index == 0 { '<' } else { ',' });
        tokens.push(generic.clone()).mark('=').0.extend(value.tokens.iter().cloned());
    }
    if !generics.is_empty() {
        tokens.mark('>').mark(',');
    }
    if let Some((marker, variant)) = variant(row, generics, bindings)? {
        tokens.word("with", row.entry.span).push(marker.clone()).mark('=');
        tokens.0.extend(variant);
        tokens.mark(',');
    }
    tokens.push(row.block.value(bindings)?).word("x", row.entry.span).push(row.items.value(bindings)?);
    if let Some(resident) = &row.resident {
        tokens.word("resident", row.entry.span).push(resident.value(bindings)?);
    }
    tokens.mark(';');
    Ok(tokens.0)
}

/// Returns the variable that names a variant, and its type: the one that is neither a parameter of the kernel nor a
/// number of the tile.
fn variant<'a>(
    row: &Row,
    generics: &[Ident],
    bindings: &Bindings<'a>,
) -> Result<Option<(&'a Ident, Vec<TokenTree>)>> {
    let mut found = None;
    for &(variable, value) in bindings {
        let name = variable.to_string();
        if generics.iter().any(|generic| generic.to_string() == name) || row.tile_has(variable) {
            continue;
        }
        if value.is_number() {
            return Err(Error::new(variable.span(), format!("the tile does not have the number `{name}`")));
        }
        if let Some((other, _)) = found.replace((variable, value.tokens.clone())) {
            let message = format!("a row has one variable for variants; `{other}` and `{name}` are two");
            return Err(Error::new(variable.span(), message));
        }
    }
    Ok(found)
}

/// Tokens that are put together.
#[derive(Default)]
struct Tokens(TokenStream);

impl Tokens {
    fn push(&mut self, token: impl Into<TokenTree>) -> &mut Self {
        self.0.extend([token.into()]);
        self
    }

    fn word(&mut self, word: &str, span: Span) -> &mut Self {
        self.push(Ident::new(word, span))
    }

    fn mark(&mut self, mark: char) -> &mut Self {
        self.push(Punct::new(mark, Spacing::Alone))
    }
}
