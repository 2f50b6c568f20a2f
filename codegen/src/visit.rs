//! Going through checked expressions: for whoever only looks for some of them.

use crate::tree::{Expr, Input, Item, Kind, Outputs, Statement, Text};

/// Calls `f` on an expression and all inside it, the outer one first.
pub fn each<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    f(expr);
    children(expr, &mut |child| each(child, f));
}

/// The body of [`children`] and [`children_mut`]: one walk, by shared or by exclusive references.
macro_rules! walk {
    ($expr:ident, $f:ident, $iter:ident, $input:ident, $parts:ident $(, $mut:ident)?) => {
            match &$($mut)? $expr.kind {
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
                Kind::Convert(e) | Kind::Unary(_, e) | Kind::Closure(_, e) => $f(e),
                Kind::Binary(_, a, b) | Kind::Index(a, b) => {
                    $f(a);
                    $f(b);
                }
                Kind::Coalesce { value, other, .. } => {
                    $f(value);
                    $f(other);
                }
                Kind::Node(node) => {
                    node.inputs.$iter().filter_map($input).for_each(&mut *$f);
                    node.attrs.$iter().for_each(|(_, _, value)| $f(value));
                    $parts(&$($mut)? node.outputs).into_iter().for_each($f);
                }
                Kind::Rule(_, args)
                | Kind::Fn(_, args)
                | Kind::Extern(_, args)
                | Kind::Builtin(_, args)
                | Kind::Tuple(args) => args.$iter().for_each($f),
                Kind::If { condition, then, other, .. } => {
                    $f(condition);
                    $f(then);
                    $f(other);
                }
                Kind::IfLet { value, then, other, .. } => {
                    $f(value);
                    $f(then);
                    $f(other);
                }
                Kind::Match { value, arms } => {
                    $f(value);
                    arms.$iter().for_each(|arm| $f(&$($mut)? arm.value));
                }
                Kind::List(items) => items.$iter().for_each(|item| match item {
                    Item::One(e) | Item::Spread(e) => $f(e),
                }),
                Kind::Comprehension { element, list, condition, .. } => {
                    $f(list);
                    condition.$iter().for_each(|e| $f(e));
                    $f(element);
                }
                Kind::Slice(list, from, to) => {
                    $f(list);
                    from.$iter().chain(to).for_each(|e| $f(e));
                }
                Kind::Block(statements, result) => {
                    for statement in statements {
                        match statement {
                            Statement::Let(_, e) | Statement::Expr(e) => $f(e),
                            Statement::Since(..) => {}
                        }
                    }
                    $f(result);
                }
                Kind::Fail(parts) => parts.$iter().for_each(|part| match part {
                    Text::Value(e) => $f(e),
                    Text::Text(_) => {}
                }),
            }
    };
}

/// Calls `f` on what stands directly inside an expression.
pub fn children<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    walk!(expr, f, iter, input, parts);
}

/// The same, to change it.
pub fn children_mut(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    walk!(expr, f, iter_mut, input_mut, parts_mut, mut);
}

/// The body of [`input`] and [`input_mut`].
macro_rules! given {
    ($input:ident) => {
        match $input {
            Input::Absent => None,
            Input::Tensor(e)
            | Input::Optional(e)
            | Input::Number(e)
            | Input::OptionalNumber(e)
            | Input::Ints(e)
            | Input::Floats(e)
            | Input::Spread(e) => Some(e),
        }
    };
}

/// The expression given for an input.
pub fn input(input: &Input) -> Option<&Expr> {
    given!(input)
}

fn input_mut(input: &mut Input) -> Option<&mut Expr> {
    given!(input)
}

/// The expressions in what is said of outputs.
pub fn parts(outputs: &Outputs) -> Vec<&Expr> {
    match outputs {
        Outputs::One | Outputs::Tuple(_) => Vec::new(),
        Outputs::List(count) => vec![count],
        Outputs::Typed(stated) => stated.iter().flat_map(|output| [&output.dtype, &output.shape]).collect(),
    }
}

fn parts_mut(outputs: &mut Outputs) -> Vec<&mut Expr> {
    match outputs {
        Outputs::One | Outputs::Tuple(_) => Vec::new(),
        Outputs::List(count) => vec![count],
        Outputs::Typed(stated) => stated.iter_mut().flat_map(|output| [&mut output.dtype, &mut output.shape]).collect(),
    }
}
