//! A row of `kernel!`: names, variables with the values that they take, and the tile.

use proc_macro::{Delimiter, Ident, Span, TokenTree};

use crate::error::{Error, Result};
use crate::parser::Parser;

/// One row, such as `merge_{V}_{O} in spmv_{V}: V in [f32, f64], O in [u32, u64], 128 x 7 resident 4`.
pub(crate) struct Row {
    pub(crate) entry: Template,
    pub(crate) module: Template,
    pub(crate) choices: Vec<Choice>,
    pub(crate) block: Number,
    pub(crate) items: Number,
    pub(crate) resident: Option<Number>,
}

/// A name with variables in it.
pub(crate) struct Template {
    parts: Vec<Part>,
    pub(crate) span: Span,
}

enum Part {
    Text(String),
    /// The text of a variable's value.
    Variable(Ident),
    /// The digits of that text.
    Bits(Ident),
}

/// Variables, and the values that they take together.
pub(crate) struct Choice {
    pub(crate) variables: Vec<Ident>,
    pub(crate) values: Vec<Vec<Value>>,
}

/// A type or a number, and its text in names.
#[derive(Clone)]
pub(crate) struct Value {
    pub(crate) tokens: Vec<TokenTree>,
    pub(crate) text: String,
}

/// A number of the tile: a literal, or a variable.
pub(crate) struct Number(pub(crate) TokenTree);

/// The variables of one instance.
pub(crate) type Bindings<'a> = [(&'a Ident, &'a Value)];

/// Returns the value of a variable.
pub(crate) fn value_of<'a>(bindings: &Bindings<'a>, name: &Ident) -> Option<&'a Value> {
    let name = name.to_string();
    bindings.iter().find(|(variable, _)| variable.to_string() == name).map(|&(_, value)| value)
}

fn unknown(variable: &Ident) -> Error {
    Error::new(variable.span(), format!("`{variable}` is not a variable of this row"))
}

impl Row {
    /// Takes a row and its semicolon.
    pub(crate) fn parse(parser: &mut Parser) -> Result<Self> {
        let entry = Template::parse(parser, "the name of an entry")?;
        parser.word("in")?;
        let module = Template::parse(parser, "the name of a module")?;
        parser.mark(':')?;
        let mut choices = Vec::new();
        let block = loop {
            if let Some(TokenTree::Literal(_)) = parser.peek() {
                break Number::parse(parser)?;
            }
            let variables = variables(parser)?;
            if variables.len() == 1 && parser.at_word("x") {
                break Number(variables[0].clone().into());
            }
            choices.push(Choice::parse(parser, variables)?);
        };
        parser.word("x")?;
        let items = Number::parse(parser)?;
        let resident = if parser.take_word("resident") { Some(Number::parse(parser)?) } else { None };
        parser.mark(';')?;
        Ok(Self { entry, module, choices, block, items, resident })
    }

    /// Returns the variables of each instance; the last choice varies fastest.
    pub(crate) fn instances(&self) -> Vec<Vec<(&Ident, &Value)>> {
        let mut instances = vec![Vec::new()];
        for Choice { variables, values } in &self.choices {
            let extended = |before: &Vec<_>| {
                let before = before.clone();
                values
                    .iter()
                    .map(move |values| {
                        before.iter().copied().chain(variables.iter().zip(values)).collect::<Vec<_>>()
                    })
                    .collect::<Vec<_>>()
            };
            instances = instances.iter().flat_map(extended).collect();
        }
        instances
    }

    /// Returns whether a variable is a number of the tile.
    pub(crate) fn tile_has(&self, variable: &Ident) -> bool {
        [Some(&self.block), Some(&self.items), self.resident.as_ref()]
            .into_iter()
            .flatten()
            .any(|number| number.0.to_string() == variable.to_string())
    }
}

impl Template {
    fn parse(parser: &mut Parser, what: &str) -> Result<Self> {
        let mut parts = Vec::new();
        let mut span = None;
        while !parser.at_word("in") && !parser.at_mark(':') {
            let token = match parser.peek() {
                Some(TokenTree::Ident(_) | TokenTree::Group(_)) => parser.next(),
                _ => None,
            };
            match token {
                Some(TokenTree::Ident(text)) => {
                    span = span.or(Some(text.span()));
                    parts.push(Part::Text(text.to_string()));
                }
                Some(TokenTree::Group(group)) => {
                    span = span.or(Some(group.span()));
                    let mut inner = Parser::new(group.stream(), group.span());
                    let variable = inner.ident("a variable")?;
                    parts.push(if inner.take_word("bits") {
                        Part::Bits(variable)
                    } else {
                        Part::Variable(variable)
                    });
                }
                _ => return Err(parser.expected(what)),
            }
        }
        match span {
            Some(span) => Ok(Self { parts, span }),
            None => Err(parser.expected(what)),
        }
    }

    /// Returns the name for an instance.
    pub(crate) fn name(&self, bindings: &Bindings<'_>) -> Result<Ident> {
        let mut name = String::new();
        for part in &self.parts {
            let text = |variable| Ok(&value_of(bindings, variable).ok_or_else(|| unknown(variable))?.text);
            match part {
                Part::Text(text) => name.push_str(text),
                Part::Variable(variable) => name.push_str(text(variable)?),
                Part::Bits(variable) => name.extend(text(variable)?.chars().filter(char::is_ascii_digit)),
            }
        }
        Ok(Ident::new(&name, self.span))
    }
}

/// One variable, or several in parentheses.
fn variables(parser: &mut Parser) -> Result<Vec<Ident>> {
    if let Ok(group) = parser.group(Delimiter::Parenthesis, "") {
        let mut inner = Parser::new(group.stream(), group.span());
        let mut variables = Vec::new();
        while !inner.is_empty() {
            variables.push(inner.ident("a variable")?);
            if !inner.is_empty() {
                inner.mark(',')?;
            }
        }
        return Ok(variables);
    }
    Ok(vec![parser.ident("a variable, or a tile such as `128 x 4`")?])
}

impl Choice {
    /// Takes the values of variables that are taken, and the comma after them.
    fn parse(parser: &mut Parser, variables: Vec<Ident>) -> Result<Self> {
        if variables.len() == 1 && parser.take_mark('=') {
            let values = vec![vec![Value::parse(parser)?]];
            return Ok(Self { variables, values });
        }
        if !parser.take_word("in") {
            return Err(parser.expected("`in` and a list of values, or `=` and one value"));
        }
        let list = parser.group(Delimiter::Bracket, "values in brackets")?;
        let mut inner = Parser::new(list.stream(), list.span());
        let mut values = Vec::new();
        while !inner.is_empty() {
            values.push(if variables.len() == 1 {
                vec![Value::parse(&mut inner)?]
            } else {
                let what = format!("{} values in parentheses", variables.len());
                let group = inner.group(Delimiter::Parenthesis, &what)?;
                if !inner.is_empty() {
                    inner.mark(',')?;
                }
                let mut parts = Parser::new(group.stream(), group.span());
                let mut together = Vec::new();
                while !parts.is_empty() {
                    together.push(Value::parse(&mut parts)?);
                }
                if together.len() != variables.len() {
                    return Err(Error::new(group.span(), format!("expected {what}")));
                }
                together
            });
        }
        if values.is_empty() {
            return Err(Error::new(list.span(), "expected at least one value"));
        }
        parser.mark(',')?;
        Ok(Self { variables, values })
    }
}

impl Value {
    /// Takes a value, the text after `as` if there is one, and the comma after both.
    fn parse(parser: &mut Parser) -> Result<Self> {
        let mut tokens = parser.until_comma("a type or a number")?;
        let is_as = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word.to_string() == "as");
        let text = match tokens.iter().position(is_as) {
            None => tokens.iter().map(ToString::to_string).collect(),
            Some(at) => {
                let text: Vec<_> = tokens.drain(at..).skip(1).collect();
                match text.as_slice() {
                    [text] => text.to_string(),
                    _ => return Err(Error::new(tokens[0].span(), "expected one word after `as`")),
                }
            }
        };
        Ok(Self { tokens, text })
    }

    /// Returns whether it is a number.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self.tokens[..], [TokenTree::Literal(_)])
    }
}

impl Number {
    fn parse(parser: &mut Parser) -> Result<Self> {
        match parser.peek() {
            Some(TokenTree::Literal(_) | TokenTree::Ident(_)) => Ok(Self(parser.next().expect("a token"))),
            _ => Err(parser.expected("a number or a variable")),
        }
    }

    /// Returns the number for an instance.
    pub(crate) fn value(&self, bindings: &Bindings<'_>) -> Result<TokenTree> {
        match &self.0 {
            TokenTree::Ident(variable) => match value_of(bindings, variable) {
                Some(value) if value.is_number() => Ok(value.tokens[0].clone()),
                Some(_) => Err(Error::new(variable.span(), format!("`{variable}` is not a number"))),
                None => Err(unknown(variable)),
            },
            literal => Ok(literal.clone()),
        }
    }
}
