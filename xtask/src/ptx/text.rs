//! Parses PTX text: the items of a module, and the statements of a function.
//!
//! The grammar is the part of the PTX ISA manual (section 4, Syntax) that compilers use: a header of
//! directives, then variables and functions. Debug information (`.file`, `.section`) is rejected,
//! because checked-in PTX has none.

use anyhow::{Context, Result, bail, ensure};

/// A parsed PTX text.
#[derive(Debug)]
pub struct Ptx<'a> {
    /// The lines with the directives `.version`, `.target` and `.address_size`.
    pub header: Vec<&'a str>,
    /// Variables and functions, in the order of the text.
    pub items: Vec<Item<'a>>,
}

/// A variable or a function of a PTX module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// The kind of item.
    pub kind: ItemKind,
    /// Its symbol.
    pub name: &'a str,
    /// Everything from its first directive to its `;` or `}`.
    pub text: &'a str,
}

/// The kinds of item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// A module-level variable, in any state space.
    Variable,
    /// A declaration of a function without its body.
    Prototype,
    /// A function called by kernels.
    Function,
    /// A kernel.
    Entry,
}

impl<'a> Ptx<'a> {
    /// Parses a PTX text.
    ///
    /// # Errors
    ///
    /// If the text does not have the form described [above](self); the error names the line.
    pub fn parse(text: &'a str) -> Result<Self> {
        let mut ptx = Self { header: Vec::new(), items: Vec::new() };
        let mut rest = skip_space(text);
        while !rest.is_empty() {
            let line = 1 + text[..text.len() - rest.len()].matches('\n').count();
            let taken = ptx.take(rest).with_context(|| format!("PTX line {line}"))?;
            rest = skip_space(&rest[taken..]);
        }
        for directive in [".version", ".target", ".address_size"] {
            ptx.directive(directive)?;
        }
        Ok(ptx)
    }

    /// Parses one directive or item at the start of `rest` and returns its length in bytes.
    fn take(&mut self, rest: &'a str) -> Result<usize> {
        let word = rest.split_whitespace().next().unwrap_or_default();
        if matches!(word, ".version" | ".target" | ".address_size") {
            ensure!(self.items.is_empty(), "`{word}` after the first item");
            let end = rest.find('\n').unwrap_or(rest.len());
            self.header.push(strip_comment(&rest[..end]));
            return Ok(end);
        }
        let is_code = directives_before_name(rest).any(|word| word == ".func" || word == ".entry");
        let end = item_end(rest, is_code).with_context(|| format!("`{word}` does not end"))?;
        let text = &rest[..end];
        let kind = item_kind(text)?;
        let name = item_name(text).with_context(|| format!("`{word}` has no name"))?;
        self.items.push(Item { kind, name, text });
        Ok(end)
    }

    /// The value of a header directive, such as `sm_90` for `.target`.
    ///
    /// # Errors
    ///
    /// If the header lacks it.
    pub fn directive(&self, name: &str) -> Result<&'a str> {
        self.header
            .iter()
            .find_map(|line| line.strip_prefix(name))
            .map(str::trim)
            .with_context(|| format!("the PTX has no `{name}`"))
    }

    /// The kernels.
    pub fn entries(&self) -> impl Iterator<Item = &Item<'a>> {
        self.items.iter().filter(|item| item.kind == ItemKind::Entry)
    }
}

impl<'a> Item<'a> {
    /// The parameter list of a function, without its parentheses, as `(start, end)` within the text.
    pub(super) fn parameter_span(&self) -> Result<(usize, usize)> {
        let name_end = offset_of_name(self.text).context("no name")? + self.name.len();
        let (at, character) = visible(&self.text[name_end..])
            .find(|(_, character)| !character.is_whitespace())
            .context("nothing after its name")?;
        if character != '(' {
            return Ok((name_end, name_end));
        }
        let start = name_end + at + 1;
        let length = visible(&self.text[start..]).find(|&(_, character)| character == ')');
        let (length, _) = length.context("its parameter list does not end")?;
        Ok((start, start + length))
    }

    /// Sizes of the parameters in bytes, in order.
    ///
    /// # Errors
    ///
    /// If the type of a parameter is not in the PTX manual.
    pub fn parameter_sizes(&self) -> Result<Vec<usize>> {
        let (start, end) = self.parameter_span().with_context(|| format!("`{}`", self.name))?;
        let list = without_comments(&self.text[start..end]);
        list.split(',')
            .map(str::trim)
            .filter(|parameter| !parameter.is_empty())
            .map(|parameter| {
                declared_size(parameter).with_context(|| format!("`{}`: parameter `{parameter}`", self.name))
            })
            .collect()
    }

    /// The text between the braces of a function; empty for other items.
    pub fn body(&self) -> &'a str {
        if !matches!(self.kind, ItemKind::Function | ItemKind::Entry) {
            return "";
        }
        let open = visible(self.text).find(|&(_, character)| character == '{');
        open.map_or("", |(open, _)| &self.text[open + 1..self.text.len() - 1])
    }

    /// The directives between the parameters and the body, such as `.maxntid 128, 1, 1`.
    ///
    /// # Errors
    ///
    /// If the item is not a function.
    pub fn attributes(&self) -> Result<String> {
        let (_, end) = self.parameter_span().with_context(|| format!("`{}`", self.name))?;
        let after = without_comments(&self.text[end..]);
        let stop = after.find(['{', ';']).unwrap_or(after.len());
        Ok(after[..stop].trim_start_matches(')').split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// The statements of the body, without comments, labels, braces and predicates.
    pub fn statements(&self) -> Vec<String> {
        let mut statements = Vec::new();
        let mut statement = String::new();
        for character in without_comments(self.body()).chars() {
            match character {
                // A brace within a statement belongs to a vector operand.
                '{' | '}' if strip_labels(&statement).is_empty() => statement.clear(),
                ';' => {
                    let words = strip_labels(&statement).split_whitespace();
                    statements.push(words.collect::<Vec<_>>().join(" "));
                    statement.clear();
                }
                _ => statement.push(character),
            }
        }
        statements.retain(|statement| !statement.is_empty());
        statements
    }

    /// Every symbol in the text, including its own.
    pub fn symbols(&self) -> Vec<String> {
        let text = without_comments(self.text);
        let is_symbol = |word: &&str| word.starts_with(starts_symbol);
        text.split(|c| !continues_symbol(c)).filter(is_symbol).map(str::to_owned).collect()
    }
}

/// Bytes of one declaration such as `.param .u64 .ptr .align 4 x` or `.shared .align 16 .b8 x[64]`.
///
/// # Errors
///
/// If it does not name a fundamental type, or its length is not a number.
pub fn declared_size(declaration: &str) -> Result<usize> {
    let element = declaration
        .split_whitespace()
        .find_map(|word| match word {
            ".b8" | ".u8" | ".s8" => Some(1),
            ".b16" | ".u16" | ".s16" | ".f16" => Some(2),
            ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" => Some(4),
            ".b64" | ".u64" | ".s64" | ".f64" => Some(8),
            ".b128" => Some(16),
            _ => None,
        })
        .context("it has no type")?;
    let Some((_, length)) = declaration.split_once('[') else {
        return Ok(element);
    };
    let length = length.split(']').next().unwrap_or_default().trim();
    let length: usize = if length.is_empty() { 0 } else { length.parse().context("its length")? };
    Ok(element * length)
}

fn item_kind(text: &str) -> Result<ItemKind> {
    for word in directives_before_name(text) {
        return Ok(match word {
            ".visible" | ".extern" | ".weak" | ".common" => continue,
            ".entry" => ItemKind::Entry,
            ".func" if text.ends_with('}') => ItemKind::Function,
            ".func" => ItemKind::Prototype,
            ".global" | ".const" | ".shared" => ItemKind::Variable,
            _ => bail!("`{word}` is not known at module level"),
        });
    }
    bail!("neither a variable nor a function: `{}`", text.lines().next().unwrap_or_default())
}

/// The words before the first one that is not a directive.
fn directives_before_name(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || c == '(')
        .filter(|word| !word.is_empty())
        .take_while(|word| word.starts_with('.'))
}

/// End of an item: functions end at their `}` or, without a body, at `;`, variables at `;`.
fn item_end(text: &str, is_code: bool) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, character) in visible(text) {
        match character {
            '{' | '(' => depth += 1,
            '}' | ')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 && character == '}' && is_code {
                    return Some(at + 1);
                }
            }
            ';' if depth == 0 => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn item_name(text: &str) -> Option<&str> {
    let text = &text[offset_of_name(text)?..];
    Some(&text[..text.find(|c| !continues_symbol(c)).unwrap_or(text.len())])
}

/// The first symbol outside parentheses that is not part of a directive: `f` in
/// `.func (.param .b32 result) f (...)`.
fn offset_of_name(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut previous = ' ';
    for (at, character) in visible(text) {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ if depth == 0 && starts_symbol(character) && previous != '.' && !continues_symbol(previous) => {
                return Some(at);
            }
            _ => {}
        }
        previous = character;
    }
    None
}

fn starts_symbol(character: char) -> bool {
    character.is_ascii_alphabetic() || matches!(character, '_' | '$' | '%')
}

fn continues_symbol(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '$' | '%')
}

/// Removes `label:` and `@predicate` from the front of a statement.
fn strip_labels(statement: &str) -> &str {
    let mut rest = statement.trim();
    loop {
        let end = rest.find(|c| !continues_symbol(c)).unwrap_or(rest.len());
        if end > 0 && rest[end..].starts_with(':') && !rest[end..].starts_with("::") {
            rest = rest[end + 1..].trim_start();
        } else if rest.starts_with('@') {
            rest = rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
        } else {
            return rest;
        }
    }
}

fn strip_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim()
}

/// Skips white space and comments.
fn skip_space(text: &str) -> &str {
    let start = visible(text).find(|(_, character)| !character.is_whitespace());
    start.map_or("", |(start, _)| &text[start..])
}

/// The text with each comment replaced by a space.
fn without_comments(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut expected = 0;
    for (at, character) in visible(text) {
        if at != expected {
            result.push(' ');
        }
        expected = at + character.len_utf8();
        result.push(character);
    }
    result
}

/// Every character with its offset, except those in comments and strings.
fn visible(text: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = &text[at..];
            if rest.starts_with("//") {
                at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            } else if let Some(inside) = rest.strip_prefix('"') {
                at += inside.find('"').map_or(rest.len(), |end| end + 2);
            } else {
                let character = rest.chars().next()?;
                at += character.len_utf8();
                return Some((at - character.len_utf8(), character));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"//
// .visible .entry in_a_comment() {
.version 7.8
.target sm_90   // newest
.address_size 64
.extern .shared .align 16 .b8 dynamic_shared[];
.global .align 4 .b8 table[8] = {1, 0, 0, 0, 2};
.func  (.param .b32 func_retval0) helper
(
	.param .b32 helper_param_0
)
;
.visible .entry scale(
	.param .u64 .ptr .align 1 scale_param_0, /* , .param .u64 extra */
	.param .f32 scale_param_1,
	.param .u8 scale_param_2
)                                       // @scale {
.maxntid 128, 1, 1
{
	.reg .b32 	%r<3>;
$L__BB0_1: {
	.shared .align 16 .b8 arena[64]; }
	@!%p1 bra 	$L__BB0_1; // not a { brace
	.pragma "nounroll; }";
	ld.global.v2.b32 	{%r1, %r2}, [%rd1];
	call.uni (retval0), helper, (param0);
	ret;
}
.func (.param .b32 func_retval0) helper(.param .b32 helper_param_0) { ret; }
"#;

    #[test]
    fn items_are_told_apart() {
        let ptx = Ptx::parse(TEXT).unwrap();
        let items: Vec<_> = ptx.items.iter().map(|item| (item.kind, item.name)).collect();
        assert_eq!(
            items,
            [
                (ItemKind::Variable, "dynamic_shared"),
                (ItemKind::Variable, "table"),
                (ItemKind::Prototype, "helper"),
                (ItemKind::Entry, "scale"),
                (ItemKind::Function, "helper"),
            ]
        );
        assert_eq!(ptx.directive(".target").unwrap(), "sm_90");
        assert_eq!(ptx.header, [".version 7.8", ".target sm_90", ".address_size 64"]);
    }

    #[test]
    fn a_kernel_is_taken_apart() {
        let ptx = Ptx::parse(TEXT).unwrap();
        let scale = ptx.entries().next().unwrap();
        assert_eq!(scale.parameter_sizes().unwrap(), [8, 4, 1]);
        assert_eq!(scale.attributes().unwrap(), ".maxntid 128, 1, 1");
        assert_eq!(
            scale.statements(),
            [
                ".reg .b32 %r<3>",
                ".shared .align 16 .b8 arena[64]",
                "bra $L__BB0_1",
                ".pragma",
                "ld.global.v2.b32 {%r1, %r2}, [%rd1]",
                "call.uni (retval0), helper, (param0)",
                "ret",
            ]
        );
        assert!(scale.symbols().contains(&"helper".to_owned()));
        assert!(!scale.symbols().contains(&"nounroll".to_owned()));
    }

    #[test]
    fn sizes_are_those_of_the_manual() {
        assert_eq!(declared_size(".param .align 8 .b8 pair[16]").unwrap(), 16);
        assert_eq!(declared_size(".shared .f64 x[4]").unwrap(), 32);
        assert_eq!(declared_size(".extern .shared .b8 x[]").unwrap(), 0);
        assert!(declared_size(".param .pred p").is_err());
    }

    #[test]
    fn errors_name_the_line() {
        let header = ".version 7.8\n.target sm_90\n.address_size 64\n";
        for (item, reason) in [
            (".section .debug_str { .b8 0 }", "does not end"),
            (".section .debug_str;", "not known at module level"),
            (".visible .entry f() { ret;", "does not end"),
            ("ret;", "neither a variable nor a function"),
        ] {
            let error = format!("{:#}", Ptx::parse(&format!("{header}{item}")).unwrap_err());
            assert!(error.contains(reason) && error.contains("line 4"), "{item}: {error}");
        }
        assert!(Ptx::parse(".version 7.8\n.target sm_90\n").is_err());
    }
}
