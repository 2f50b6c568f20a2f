//! Going through checked expressions: for whoever only looks for some of them.

use crate::tree::{Expr, Input, Item, Kind, Outputs, Statement, Text};

/// Calls `f` on an expression and all inside it, the outer one first.
pub fn each<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    f(expr);
    children(expr, &mut |child| each(child, f));
}

/// Calls `f` on what stands directly inside an expression.
pub fn children<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    match &expr.kind {
        Kind::Int(_)
        | Kind::Float(_)
        | Kind::Bool(_)
        | Kind::Str(_)
        | Kind::Dtype(_)
        | Kind::None
        | Kind::Local(_)
        | Kind::Opset
        | Kind::Outputs
        | Kind::Since(..) => {}
        Kind::Convert(e) | Kind::Unary(_, e) | Kind::Closure(_, e) => f(e),
        Kind::Binary(_, a, b) | Kind::Index(a, b) => {
            f(a);
            f(b);
        }
        Kind::Coalesce { value, other, .. } => {
            f(value);
            f(other);
        }
        Kind::Node(node) => {
            node.inputs.iter().filter_map(input).for_each(&mut *f);
            node.attrs.iter().for_each(|(_, _, value)| f(value));
            node.outputs.parts().for_each(f);
        }
        Kind::Rule(_, args)
        | Kind::Fn(_, args)
        | Kind::Extern(_, args)
        | Kind::Builtin(_, args)
        | Kind::Tuple(args) => args.iter().for_each(f),
        Kind::If { condition, then, other, .. } => {
            f(condition);
            f(then);
            f(other);
        }
        Kind::IfLet { value, then, other, .. } => {
            f(value);
            f(then);
            f(other);
        }
        Kind::Match { value, arms } => {
            f(value);
            arms.iter().for_each(|arm| f(&arm.value));
        }
        Kind::List(items) => items.iter().for_each(|item| match item {
            Item::One(e) | Item::Spread(e) => f(e),
        }),
        Kind::Comprehension { element, list, condition, .. } => {
            f(list);
            condition.iter().for_each(|e| f(e));
            f(element);
        }
        Kind::Slice(list, from, to) => {
            f(list);
            from.iter().chain(to).for_each(|e| f(e));
        }
        Kind::Block(statements, result) => {
            for statement in statements {
                match statement {
                    Statement::Let(_, e) | Statement::Expr(e) => f(e),
                    Statement::Since(..) => {}
                }
            }
            f(result);
        }
        Kind::Fail(parts) => parts.iter().for_each(|part| match part {
            Text::Value(e) => f(e),
            Text::Text(_) => {}
        }),
    }
}

impl Outputs {
    /// The expressions in it.
    pub fn parts(&self) -> impl Iterator<Item = &Expr> {
        let (count, stated) = match self {
            Outputs::One | Outputs::Tuple(_) => (None, &[][..]),
            Outputs::List(count) => (Some(&**count), &[][..]),
            Outputs::Typed(stated) => (None, stated.as_slice()),
        };
        count.into_iter().chain(stated.iter().flat_map(|output| [&output.dtype, &output.shape]))
    }
}

/// The expression given for an input.
pub fn input(input: &Input) -> Option<&Expr> {
    match input {
        Input::Absent => None,
        Input::Tensor(e)
        | Input::Optional(e)
        | Input::Number(e)
        | Input::OptionalNumber(e)
        | Input::Ints(e)
        | Input::Floats(e)
        | Input::Spread(e) => Some(e),
    }
}
