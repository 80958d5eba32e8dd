//! Declarations in the sources of a crate: modules, re-exports and kernels.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro::{Delimiter, Group, Span, TokenStream, TokenTree};

use crate::parser::Parser;
use crate::row::{value_of, Row};

/// A module, and the modules in it.
#[derive(Default)]
pub(crate) struct Module {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    pub(crate) is_public: bool,
    /// The names that it re-exports.
    pub(crate) exports: Vec<String>,
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) children: Vec<Module>,
}

/// A kernel, with the types of its first instance.
pub(crate) struct Kernel {
    pub(crate) name: String,
    pub(crate) types: Vec<String>,
}

impl Module {
    /// Returns the root of a crate, given the folder of its sources.
    pub(crate) fn read_crate(folder: &Path) -> Result<Self, String> {
        let mut root = Self { file: folder.join("lib.rs"), ..Self::default() };
        root.read(folder)?;
        Ok(root)
    }

    /// Reads the file, and those of the modules that it declares, which are in `folder`.
    fn read(&mut self, folder: &Path) -> Result<(), String> {
        let failed = |what: &dyn std::fmt::Display| format!("{}: {what}", self.file.display());
        let text = fs::read_to_string(&self.file).map_err(|error| failed(&error))?;
        let tokens: TokenStream = text.parse().map_err(|error| failed(&error))?;
        let mut parser = Parser::new(tokens, Span::call_site());
        let mut is_test = false;
        while let Some(token) = parser.next() {
            let TokenTree::Ident(word) = token else {
                // Attributes stand before what they are about.
                is_test |= matches!(&token, TokenTree::Group(group) if group.to_string() == "[cfg(test)]");
                continue;
            };
            let is_public = word.to_string() == "pub" && (parser.at_word("mod") || parser.at_word("use"));
            let word =
                if is_public { parser.next().map(|word| word.to_string()) } else { Some(word.to_string()) };
            match word.as_deref() {
                Some("mod") if !is_test => self.module(&mut parser, folder, is_public)?,
                Some("use") if is_public => self.exports(&mut parser),
                Some("kernel") if parser.take_mark('!') => {
                    let body = parser.group(Delimiter::Brace, "a kernel");
                    self.kernels.extend(body.ok().and_then(|body| Kernel::parse(&body)));
                }
                _ => {}
            }
            is_test = false;
        }
        Ok(())
    }

    /// Returns a module that is declared here and has a file of its own.
    fn module(&mut self, parser: &mut Parser, folder: &Path, is_public: bool) -> Result<(), String> {
        let Ok(name) = parser.ident("a module") else { return Ok(()) };
        if !parser.take_mark(';') {
            return Ok(());
        }
        let name = name.to_string();
        let inside = folder.join(&name);
        let beside = folder.join(format!("{name}.rs"));
        let file = if beside.exists() { beside } else { inside.join("mod.rs") };
        let mut module = Self { name, file, is_public, ..Self::default() };
        module.read(&inside)?;
        self.children.push(module);
        Ok(())
    }

    /// The names of a re-export.
    fn exports(&mut self, parser: &mut Parser) {
        while !parser.at_mark(';') {
            match parser.next() {
                Some(TokenTree::Ident(name)) => self.exports.push(name.to_string()),
                Some(TokenTree::Group(names)) => {
                    let mut names = Parser::new(names.stream(), names.span());
                    self.exports(&mut names);
                }
                Some(_) => {}
                None => break,
            }
        }
    }
}

impl Kernel {
    /// Returns the kernel that `kernel!` declares; none if it is wrong, which `kernel!` reports itself.
    fn parse(body: &Group) -> Option<Self> {
        let mut parser = Parser::new(body.stream(), body.span());
        while !parser.take_word("struct") {
            parser.next()?;
        }
        let name = parser.ident("a kernel").ok()?.to_string();
        let mut generics = Vec::new();
        while parser.take_mark('<') || parser.take_mark(',') {
            generics.push(parser.ident("a parameter").ok()?);
            parser.mark(':').ok()?;
            parser.ident("a trait").ok()?;
        }
        while !parser.at_word("entries") && !parser.at_word("entry") {
            parser.next()?;
        }
        let is_list = parser.take_word("entries");
        parser.take_word("entry");
        parser.mark(':').ok()?;
        if is_list {
            let rows = parser.group(Delimiter::Brace, "rows").ok()?;
            parser = Parser::new(rows.stream(), rows.span());
        }
        let row = Row::parse(&mut parser).ok()?;
        let instances = row.instances();
        let text = |generic| {
            Some(value_of(&instances[0], generic)?.tokens.iter().map(ToString::to_string).collect::<String>())
        };
        Some(Self { name, types: generics.iter().map(text).collect::<Option<_>>()? })
    }
}
