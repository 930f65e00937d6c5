//! Integer arithmetic and conditions over the dimensions of an op.
//!
//! ```text
//! ceil_div(columns, 4) * 64
//! weight.type == 'q4_0' && x.stride[0] % 4 == 0
//! ```
//!
//! Operators, from loose to tight: `||`, `&&`, comparisons, `+ -`, `* / %`, and `- !` before a value. Integers are of 64 bits, and a
//! result beyond them is an error. Division rounds towards zero; of a number with a fraction it is exact.

mod lexer;
mod parser;

use std::cmp::Ordering;
use std::fmt;

pub use crate::value::{Value, ValueError};

/// A name, with the fields after dots and the index in brackets: `x.shape[0]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// The name and its fields.
    pub parts: Vec<String>,
    /// The index, negative from the end.
    pub index: Option<i64>,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts.join("."))?;
        self.index.map_or(Ok(()), |index| write!(f, "[{index}]"))
    }
}

/// What names stand for.
pub trait Scope {
    /// The value of a name.
    fn value(&self, name: &Name) -> Result<Value, ValueError>;

    /// Whether an operand or a parameter that may be left out is given.
    fn given(&self, name: &Name) -> Result<bool, ValueError>;
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Expression {
    text: String,
    node: Node,
}

#[derive(Clone, PartialEq, Debug)]
enum Node {
    Value(Value),
    Name(Name),
    Given(Name),
    /// The value of a name that may not be given, or another value.
    Or(Name, Box<Node>),
    Not(Box<Node>),
    Negative(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    const fn sign(self) -> &'static str {
        match self {
            Operator::Or => "||",
            Operator::And => "&&",
            Operator::Equal => "==",
            Operator::Unequal => "!=",
            Operator::Less => "<",
            Operator::AtMost => "<=",
            Operator::Greater => ">",
            Operator::AtLeast => ">=",
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Remainder => "%",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Function {
    CeilDiv,
    Min,
    Max,
    NextPowerOfTwo,
}

impl Function {
    const ALL: [(&'static str, Function, usize); 4] = [
        ("ceil_div", Function::CeilDiv, 2),
        ("min", Function::Min, 2),
        ("max", Function::Max, 2),
        ("next_power_of_two", Function::NextPowerOfTwo, 1),
    ];
}

impl Expression {
    /// Reads an expression.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        Ok(Expression { text: text.trim().into(), node: parser::parse(text)? })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names in it.
    pub fn names(&self) -> Vec<&Name> {
        let mut names = Vec::new();
        self.node.collect(&mut names);
        names
    }

    /// If it is one name and nothing else, the name.
    pub const fn as_name(&self) -> Option<&Name> {
        match &self.node {
            Node::Name(name) => Some(name),
            _ => None,
        }
    }

    /// Its value.
    pub fn value(&self, scope: &dyn Scope) -> Result<Value, ValueError> {
        self.node.value(scope)
    }

    /// Its value as a whole number.
    pub fn integer(&self, scope: &dyn Scope) -> Result<i64, ValueError> {
        self.value(scope)?.integer()
    }

    /// Its value as a condition.
    pub fn holds(&self, scope: &dyn Scope) -> Result<bool, ValueError> {
        self.value(scope)?.truth()
    }
}

impl Value {
    /// A whole number.
    pub fn integer(self) -> Result<i64, ValueError> {
        match self {
            Value::Integer(n) => Ok(n),
            other => Err(ValueError::Kind(format!("want a whole number, {other} is {}", other.kind()))),
        }
    }

    /// A condition.
    pub fn truth(self) -> Result<bool, ValueError> {
        match self {
            Value::Truth(truth) => Ok(truth),
            other => Err(ValueError::Kind(format!("want a condition, {other} is {}", other.kind()))),
        }
    }
}

impl Node {
    fn collect<'n>(&'n self, names: &mut Vec<&'n Name>) {
        match self {
            Node::Value(_) => {}
            Node::Name(name) | Node::Given(name) => names.push(name),
            Node::Or(name, other) => {
                names.push(name);
                other.collect(names);
            }
            Node::Not(node) | Node::Negative(node) => node.collect(names),
            Node::Binary(_, left, right) => {
                left.collect(names);
                right.collect(names);
            }
            Node::Call(_, arguments) => arguments.iter().for_each(|node| node.collect(names)),
        }
    }

    fn value(&self, scope: &dyn Scope) -> Result<Value, ValueError> {
        match self {
            Node::Value(value) => Ok(value.clone()),
            Node::Given(name) => scope.given(name).map(Value::Truth),
            Node::Or(name, other) if !scope.given(name)? => other.value(scope),
            Node::Name(name) | Node::Or(name, _) => scope.value(name),
            Node::Not(node) => node.value(scope)?.truth().map(|truth| Value::Truth(!truth)),
            Node::Negative(node) => match node.value(scope)? {
                Value::Real(x) => Ok(Value::Real(-x)),
                value => {
                    let n = value.integer()?;
                    n.checked_neg().map(Value::Integer).ok_or_else(|| ValueError::Overflow(format!("-({n})")))
                }
            },
            // The right side of a condition may make sense only where the left one holds.
            Node::Binary(Operator::And, left, right) => {
                let truth = left.value(scope)?.truth()? && right.value(scope)?.truth()?;
                Ok(Value::Truth(truth))
            }
            Node::Binary(Operator::Or, left, right) => {
                let truth = left.value(scope)?.truth()? || right.value(scope)?.truth()?;
                Ok(Value::Truth(truth))
            }
            Node::Binary(operator, left, right) => binary(*operator, left.value(scope)?, right.value(scope)?),
            Node::Call(function, arguments) => {
                let arguments = arguments
                    .iter()
                    .map(|node| node.value(scope)?.integer())
                    .collect::<Result<Vec<_>, _>>()?;
                call(*function, &arguments)
            }
        }
    }
}

fn binary(operator: Operator, left: Value, right: Value) -> Result<Value, ValueError> {
    let said = format!("{left} {} {right}", operator.sign());
    match (left, right) {
        (Value::Integer(a), Value::Integer(b)) => of_integers(operator, a, b, &said),
        (Value::Integer(a), Value::Real(b)) => of_reals(operator, real(a), b, &said),
        (Value::Real(a), Value::Integer(b)) => of_reals(operator, a, real(b), &said),
        (Value::Real(a), Value::Real(b)) => of_reals(operator, a, b, &said),
        (a, b) if std::mem::discriminant(&a) == std::mem::discriminant(&b) => match operator {
            Operator::Equal => Ok(Value::Truth(a == b)),
            Operator::Unequal => Ok(Value::Truth(a != b)),
            _ => Err(ValueError::Kind(format!("{said}: '{}' is for numbers", operator.sign()))),
        },
        (a, b) => Err(ValueError::Kind(format!("{said}: one is {}, the other {}", a.kind(), b.kind()))),
    }
}

/// A whole number among others with fractions. Dimensions are far below 2^53.
const fn real(n: i64) -> f64 {
    n as f64
}

fn of_integers(operator: Operator, a: i64, b: i64, said: &str) -> Result<Value, ValueError> {
    let result = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide | Operator::Remainder if b == 0 => {
            return Err(ValueError::DivisionByZero(said.into()));
        }
        Operator::Divide => a.checked_div(b),
        Operator::Remainder => a.checked_rem(b),
        _ => return Ok(Value::Truth(compared(operator, a.cmp(&b)))),
    };
    result.map(Value::Integer).ok_or_else(|| ValueError::Overflow(said.into()))
}

fn of_reals(operator: Operator, a: f64, b: f64, said: &str) -> Result<Value, ValueError> {
    Ok(Value::Real(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::Remainder => a % b,
        _ => {
            let order =
                a.partial_cmp(&b).ok_or_else(|| ValueError::Kind(format!("{said} compares a NaN")))?;
            return Ok(Value::Truth(compared(operator, order)));
        }
    }))
}

const fn compared(operator: Operator, order: Ordering) -> bool {
    match operator {
        Operator::Equal => order.is_eq(),
        Operator::Unequal => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::AtMost => order.is_le(),
        Operator::Greater => order.is_gt(),
        _ => order.is_ge(),
    }
}

fn call(function: Function, arguments: &[i64]) -> Result<Value, ValueError> {
    let first = arguments.first().copied().unwrap_or_default();
    let second = arguments.get(1).copied().unwrap_or_default();
    Ok(Value::Integer(match function {
        Function::Min => first.min(second),
        Function::Max => first.max(second),
        Function::CeilDiv if second <= 0 || first < 0 => {
            let said = format!("ceil_div({first}, {second})");
            return Err(match second {
                0 => ValueError::DivisionByZero(said),
                _ => ValueError::Kind(format!("{said} is for numbers that are not negative")),
            });
        }
        Function::CeilDiv => first / second + i64::from(first % second > 0),
        Function::NextPowerOfTwo => {
            let said = || ValueError::Overflow(format!("next_power_of_two({first})"));
            let next = u64::try_from(first.max(1)).ok().and_then(u64::checked_next_power_of_two);
            next.and_then(|next| i64::try_from(next).ok()).ok_or_else(said)?
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` is 10, `eps` a half, `kind` a word, `bias` is left out.
    struct Few;

    impl Scope for Few {
        fn value(&self, name: &Name) -> Result<Value, ValueError> {
            match name.to_string().as_str() {
                "n" => Ok(Value::Integer(10)),
                "x.shape[-1]" => Ok(Value::Integer(3)),
                "eps" => Ok(Value::Real(0.5)),
                "kind" => Ok(Value::Word("neox".into())),
                other => Err(ValueError::Absent(other.into())),
            }
        }

        fn given(&self, name: &Name) -> Result<bool, ValueError> {
            Ok(self.value(name).is_ok())
        }
    }

    fn value(text: &str) -> Result<Value, ValueError> {
        Expression::parse(text)?.value(&Few)
    }

    #[test]
    fn arithmetic_has_the_usual_precedence() {
        for (text, want) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("n - 2 - 3", 5),
            ("-n / 4 % 2", 0),
            ("100 / 7 / 2", 7),
            ("ceil_div(n, 4) * 64", 192),
            ("min(n, 4) + max(n, 4)", 14),
            ("next_power_of_two(n)", 16),
            ("x.shape[-1] + 1", 4),
            ("or(bias, 7) + or(n, 1)", 17),
        ] {
            assert_eq!(value(text), Ok(Value::Integer(want)), "{text}");
        }
        assert_eq!(value("eps * 2 / 4"), Ok(Value::Real(0.25)));
    }

    #[test]
    fn conditions_look_right_only_where_left_asks_for_it() {
        for (text, want) in [
            ("n % 2 == 0 && n > 9", true),
            ("n < 9 || kind == 'neox'", true),
            ("given(bias) && bias.rank == 1", false),
            ("!(n >= 10)", false),
            ("kind != 'interleaved' && eps <= 0.5", true),
        ] {
            assert_eq!(value(text), Ok(Value::Truth(want)), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error_that_says_the_numbers() {
        for (text, said) in [
            ("9223372036854775807 + n", "9223372036854775807 + 10 overflows"),
            ("n * 9223372036854775807", "10 * 9223372036854775807 overflows"),
            ("n / (n - 10)", "10 / 0 divides by zero"),
            ("n % 0", "10 % 0 divides by zero"),
            ("ceil_div(n, 0)", "ceil_div(10, 0) divides by zero"),
            ("next_power_of_two(9223372036854775807)", "overflows"),
            ("n + kind", "one is a whole number, the other a word"),
            ("kind < kind", "'<' is for numbers"),
            ("n && n > 1", "want a condition"),
            ("min(eps, 1)", "want a whole number"),
            ("bias + 1", "'bias' is not given"),
        ] {
            let error = value(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn the_longest_chain_is_worked_out() {
        assert_eq!(value(&format!("1{}", "+1".repeat(511))), Ok(Value::Integer(512)));
    }

    #[test]
    fn what_is_no_expression_is_refused_at_its_place() {
        let deep = "(".repeat(1000);
        let long = format!("1{}", " + 1".repeat(1_000_000));
        for (text, said) in [
            ("", "want a value at character 1"),
            ("1 +", "want a value at character 4"),
            ("(1", "want ')' at character 3"),
            ("1 2", "want an operator at character 3"),
            ("n $ 2", "unexpected '$' at character 3"),
            ("foo(1)", "no function 'foo'; there are ceil_div, min, max, next_power_of_two, given, or"),
            ("min(1)", "min takes 2 values, 1 is given"),
            ("x[1.5]", "want a whole number"),
            ("99999999999999999999", "is beyond 64 bits"),
            ("kind == 'neox", "has no end"),
            ("1 < 2 < 3", "want an operator"),
            ("given(1)", "want a name"),
            (&deep, "is nested too deeply"),
            (&long, "is longer than 1024 characters (4000001 bytes)"),
        ] {
            let error = value(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
