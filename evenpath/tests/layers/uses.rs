//! Uses between the modules of a crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path as FilePath;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// A module's path, from the root of its crate, which is empty.
type Module = Vec<String>;

/// One module uses an item of another.
pub(crate) struct Use {
    pub(crate) user: Module,
    pub(crate) used: Module,
    file: String,
    line: usize,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, used, file, line } = self;
        write!(f, "{file}:{line}: `{}` uses `{}`", user.join("::"), used.join("::"))
    }
}

/// All uses between the modules of a crate, except tests.
pub(crate) struct Uses {
    pub(crate) all: Vec<Use>,
}

impl Uses {
    /// Reads the sources below a folder.
    pub(crate) fn of_crate(folder: &FilePath) -> Self {
        let mut files = Vec::new();
        read(folder, folder, &mut files);
        let files: Vec<_> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
        Self::of_files(&files)
    }

    /// Reads files given by name and text.
    pub(crate) fn of_files(files: &[(&str, &str)]) -> Self {
        let parsed: Vec<_> = files
            .iter()
            .map(|&(name, text)| {
                let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{name}: {error}"));
                (name, module_of(name), file)
            })
            .collect();
        let tests: Vec<Module> =
            parsed.iter().flat_map(|(_, module, file)| test_modules(module, file)).collect();
        let mut names = Names::default();
        let mut paths = Vec::new();
        for (name, module, file) in &parsed {
            if !tests.iter().any(|test| module.starts_with(test)) {
                names.modules.insert(module.clone());
                let mut collector = Collector { module, names: &mut names, paths: Vec::new() };
                collector.visit_file(file);
                paths.extend(collector.paths.into_iter().map(|path| (*name, module, path)));
            }
        }
        let mut all = Vec::new();
        for (file, user, Path { segments, line }) in paths {
            if let Some(used) = names.resolve(user, &segments, 0)
                && used != *user
            {
                all.push(Use { user: user.clone(), used, file: file.to_owned(), line });
            }
        }
        Self { all }
    }
}

/// The sources below a folder, with their names relative to the root.
fn read(root: &FilePath, folder: &FilePath, files: &mut Vec<(String, String)>) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry of the folder").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            read(root, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).expect("a path below the root").display().to_string();
            files.push((name, fs::read_to_string(&path).expect("a source file")));
        }
    }
}

/// The module that a file holds.
fn module_of(name: &str) -> Module {
    let stem = name.trim_end_matches(".rs");
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    if stem == "lib" { Vec::new() } else { stem.split('/').map(str::to_owned).collect() }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    let is_test = |attribute: &syn::Attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    };
    attributes.iter().any(is_test)
}

/// The test modules that a file declares.
fn test_modules(module: &Module, file: &syn::File) -> Vec<Module> {
    let test = |item: &syn::Item| match item {
        syn::Item::Mod(item) if is_test(&item.attrs) => {
            Some([&module[..], &[item.ident.to_string()]].concat())
        }
        _ => None,
    };
    file.items.iter().filter_map(test).collect()
}

/// A path in the source.
struct Path {
    segments: Vec<String>,
    line: usize,
}

/// Names and their meaning in modules.
#[derive(Default)]
struct Names {
    modules: BTreeSet<Module>,
    /// The names that each module imports, and the paths of the items.
    imports: BTreeMap<Module, BTreeMap<String, Vec<String>>>,
}

impl Names {
    /// Returns the module that defines the item of a path in a module, if it is in this crate.
    fn resolve(&self, module: &Module, path: &[String], depth: usize) -> Option<Module> {
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Vec::new(),
            "self" => module.clone(),
            "super" => module[..module.len().checked_sub(1)?].to_vec(),
            name => {
                let child = [&module[..], &[name.to_owned()]].concat();
                return if self.modules.contains(&child) {
                    self.resolve(&child, &[&["self".to_owned()], rest].concat(), depth)
                } else {
                    self.import(module, name, rest, depth)
                };
            }
        };
        while let Some((name, after)) = rest.split_first() {
            if name == "super" {
                at.pop()?;
            } else {
                at.push(name.clone());
                if !self.modules.contains(&at) {
                    at.pop();
                    let elsewhere = self.import(&at, name, after, depth);
                    return elsewhere.or(Some(at));
                }
            }
            rest = after;
        }
        Some(at)
    }

    /// The module of an item by its imported name.
    fn import(&self, module: &Module, name: &str, rest: &[String], depth: usize) -> Option<Module> {
        let path = self.imports.get(module)?.get(name)?;
        // An import of an external crate by its own name would lead to itself.
        (depth < 16).then(|| self.resolve(module, &[path, rest].concat(), depth + 1))?
    }
}

/// Collects a file's imports and paths.
struct Collector<'a> {
    module: &'a Module,
    names: &'a mut Names,
    paths: Vec<Path>,
}

impl Collector<'_> {
    fn use_tree(&mut self, mut prefix: Vec<String>, tree: &syn::UseTree) {
        let (ident, name) = match tree {
            syn::UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                return self.use_tree(prefix, &path.tree);
            }
            syn::UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.use_tree(prefix.clone(), tree));
            }
            syn::UseTree::Glob(glob) => {
                let line = glob.star_token.spans[0].start().line;
                return self.paths.push(Path { segments: prefix, line });
            }
            syn::UseTree::Name(name) => (&name.ident, &name.ident),
            syn::UseTree::Rename(rename) => (&rename.ident, &rename.rename),
        };
        let line = ident.span().start().line;
        let mut name = name.to_string();
        if ident != "self" {
            prefix.push(ident.to_string());
        } else if name == "self" {
            name = prefix.last().cloned().unwrap_or_default();
        }
        let imports = self.names.imports.entry(self.module.clone()).or_default();
        imports.entry(name).or_insert_with(|| prefix.clone());
        self.paths.push(Path { segments: prefix, line });
    }

    /// Collects paths in a macro's tokens that start at the crate or above.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut segments: Vec<String> = Vec::new();
        let mut line = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if segments.is_empty() => {
                    if ident == "crate" || ident == "super" {
                        (segments, line) = (vec![ident.to_string()], ident.span().start().line);
                    }
                }
                TokenTree::Ident(ident) => segments.push(ident.to_string()),
                TokenTree::Punct(punct) if punct.as_char() == ':' => {}
                other => {
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                    self.end_path(&mut segments, line);
                }
            }
        }
        self.end_path(&mut segments, line);
    }

    fn end_path(&mut self, segments: &mut Vec<String>, line: usize) {
        if !segments.is_empty() {
            self.paths.push(Path { segments: std::mem::take(segments), line });
        }
    }
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.use_tree(Vec::new(), &item.tree);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        // Modules within a file count as the file: their `super` is the file's.
        if !is_test(&item.attrs)
            && let Some((_, items)) = &item.content
        {
            let mut inner = Collector { module: self.module, names: self.names, paths: Vec::new() };
            for item in items {
                inner.visit_item(item);
            }
            let paths = inner.paths.into_iter().map(|mut path| {
                if path.segments.first().is_some_and(|first| first == "super") {
                    "self".clone_into(&mut path.segments[0]);
                }
                path
            });
            self.paths.extend(paths);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            let line = path.segments[0].ident.span().start().line;
            self.paths.push(Path { segments, line });
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, macro_call: &'ast syn::Macro) {
        self.tokens(macro_call.tokens.clone());
        visit::visit_macro(self, macro_call);
    }
}
