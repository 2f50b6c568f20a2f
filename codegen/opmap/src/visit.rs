//! Walks over checked expressions, for code that looks for some of them only.

use crate::tree::{Expr, Input, Item, Kind, Outputs, Statement, Text};

/// Calls `f` on an expression and on all expressions inside it, outer ones first.
pub fn walk<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    f(expr);
    children(expr, &mut |child| walk(child, f));
}

/// The body of [`children`] and [`children_mut`], for shared and for exclusive references.
macro_rules! visit_children {
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

/// Calls `f` on the direct parts of an expression.
pub fn children<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    visit_children!(expr, f, iter, input_expr, output_exprs);
}

/// As [`children`], with exclusive references.
pub fn children_mut(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    visit_children!(expr, f, iter_mut, input_expr_mut, output_exprs_mut, mut);
}

/// The numbers of the branches of an expression, without those inside them.
pub fn arms(expr: &Expr) -> Vec<u32> {
    match &expr.kind {
        Kind::If { arms, .. } | Kind::IfLet { arms, .. } | Kind::Coalesce { arms, .. } => arms.to_vec(),
        Kind::Match { arms, .. } => arms.iter().map(|arm| arm.arm).collect(),
        _ => Vec::new(),
    }
}

/// The body of [`input_expr`] and [`input_expr_mut`].
macro_rules! input_expr_of {
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

/// The expression of an input.
pub fn input_expr(input: &Input) -> Option<&Expr> {
    input_expr_of!(input)
}

fn input_expr_mut(input: &mut Input) -> Option<&mut Expr> {
    input_expr_of!(input)
}

/// The expressions in the outputs of a node.
pub fn output_exprs(outputs: &Outputs) -> Vec<&Expr> {
    match outputs {
        Outputs::One | Outputs::Tuple(_) => Vec::new(),
        Outputs::List(count) => vec![count],
        Outputs::Typed(stated) => stated.iter().flat_map(|output| [&output.dtype, &output.shape]).collect(),
    }
}

fn output_exprs_mut(outputs: &mut Outputs) -> Vec<&mut Expr> {
    match outputs {
        Outputs::One | Outputs::Tuple(_) => Vec::new(),
        Outputs::List(count) => vec![count],
        Outputs::Typed(stated) => stated.iter_mut().flat_map(|output| [&mut output.dtype, &mut output.shape]).collect(),
    }
}
