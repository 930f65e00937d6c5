//! Words and signs as an expression.

use super::lexer::{Token, tokens};
use super::{Function, Name, Node, Operator};
use crate::value::{Value, ValueError};

/// How deeply parentheses, calls and signs before a value may be nested.
const DEEPEST: usize = 64;

/// Characters of an expression. A chain of operators is a tree as deep as it is long, which is worked out and dropped step by step.
const LONGEST: usize = 1024;

/// Reads a whole expression.
pub(super) fn parse(text: &str) -> Result<Node, ValueError> {
    if let Some((at, _)) = text.char_indices().nth(LONGEST) {
        let what = format!("the expression is longer than {LONGEST} characters ({} bytes)", text.len());
        return Err(ValueError::Syntax { at, what });
    }
    let mut parser = Parser { tokens: tokens(text)?, at: 0, end: text.chars().count() + 1, depth: 0 };
    let node = parser.binary(0)?;
    match parser.tokens.get(parser.at) {
        None => Ok(node),
        Some(_) => Err(parser.error("want an operator")),
    }
}

/// The operators, loose ones first. Comparisons do not chain.
const LEVELS: [&[Operator]; 5] = [
    &[Operator::Or],
    &[Operator::And],
    &[
        Operator::Equal,
        Operator::Unequal,
        Operator::AtMost,
        Operator::AtLeast,
        Operator::Less,
        Operator::Greater,
    ],
    &[Operator::Add, Operator::Subtract],
    &[Operator::Multiply, Operator::Divide, Operator::Remainder],
];

const COMPARISONS: usize = 2;

struct Parser {
    tokens: Vec<(usize, Token)>,
    at: usize,
    /// One past the last character.
    end: usize,
    depth: usize,
}

impl Parser {
    fn error(&self, what: impl Into<String>) -> ValueError {
        let at = self.tokens.get(self.at).map_or(self.end, |(at, _)| *at);
        ValueError::Syntax { at, what: what.into() }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(_, token)| token)
    }

    /// Takes the sign, if it comes next.
    fn takes(&mut self, sign: &str) -> bool {
        let next = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(next);
        next
    }

    fn expect(&mut self, sign: &str) -> Result<(), ValueError> {
        if self.takes(sign) { Ok(()) } else { Err(self.error(format!("want '{sign}'"))) }
    }

    fn binary(&mut self, level: usize) -> Result<Node, ValueError> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(&operator) = operators.iter().find(|operator| self.takes(operator.sign())) {
            let right = self.binary(level + 1)?;
            left = Node::Binary(operator, Box::new(left), Box::new(right));
            if level == COMPARISONS {
                break;
            }
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Node, ValueError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("the expression is nested too deeply"));
        }
        let node = if self.takes("-") {
            Node::Negative(Box::new(self.unary()?))
        } else if self.takes("!") {
            Node::Not(Box::new(self.unary()?))
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn primary(&mut self) -> Result<Node, ValueError> {
        if self.takes("(") {
            let node = self.binary(0)?;
            self.expect(")")?;
            return Ok(node);
        }
        let value = match self.peek() {
            Some(Token::Integer(n)) => Value::Integer(*n),
            Some(Token::Real(x)) => Value::Real(*x),
            Some(Token::Word(word)) => Value::Word(word.clone()),
            Some(Token::Name(name)) => return self.name_or_call(&name.clone()),
            Some(Token::Sign(_)) | None => return Err(self.error("want a value")),
        };
        self.at += 1;
        Ok(Node::Value(value))
    }

    fn name_or_call(&mut self, name: &str) -> Result<Node, ValueError> {
        let called = matches!(self.tokens.get(self.at + 1), Some((_, Token::Sign("("))));
        match name {
            "true" | "false" if !called => {
                self.at += 1;
                Ok(Node::Value(Value::Truth(name == "true")))
            }
            "given" if called => {
                self.at += 2;
                let name = self.name()?;
                self.expect(")")?;
                Ok(Node::Given(name))
            }
            "or" if called => {
                self.at += 2;
                let name = self.name()?;
                self.expect(",")?;
                let other = self.binary(0)?;
                self.expect(")")?;
                Ok(Node::Or(name, Box::new(other)))
            }
            _ if called => self.call(name),
            _ => self.name().map(Node::Name),
        }
    }

    fn call(&mut self, name: &str) -> Result<Node, ValueError> {
        let known = Function::ALL.iter().find(|(known, ..)| *known == name);
        let Some(&(_, function, count)) = known else {
            let known: Vec<_> = Function::ALL.iter().map(|(name, ..)| *name).chain(["given", "or"]).collect();
            return Err(self.error(format!("no function '{name}'; there are {}", known.join(", "))));
        };
        self.at += 2;
        let mut arguments = vec![self.binary(0)?];
        while self.takes(",") {
            arguments.push(self.binary(0)?);
        }
        self.expect(")")?;
        if arguments.len() != count {
            let (given, is) = (arguments.len(), if arguments.len() == 1 { "is" } else { "are" });
            return Err(self.error(format!("{name} takes {count} values, {given} {is} given")));
        }
        Ok(Node::Call(function, arguments))
    }

    fn name(&mut self) -> Result<Name, ValueError> {
        let mut parts = Vec::new();
        loop {
            let Some(Token::Name(part)) = self.peek() else { return Err(self.error("want a name")) };
            parts.push(part.clone());
            self.at += 1;
            if !self.takes(".") {
                break;
            }
        }
        let mut index = None;
        if self.takes("[") {
            let sign = if self.takes("-") { -1 } else { 1 };
            let Some(Token::Integer(n)) = self.peek() else {
                return Err(self.error("want a whole number"));
            };
            index = Some(sign * n);
            self.at += 1;
            self.expect("]")?;
        }
        Ok(Name { parts, index })
    }
}
