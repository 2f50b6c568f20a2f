//! Walks over checked expressions, for code that looks for some of them only.

use std::collections::BTreeMap;

use crate::tree::{Expr, Input, Item, Kind, Names, Outputs, Pattern, Statement, Text};
use crate::types::Ty;

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
                Kind::Fold { init, list, body, .. } => {
                    $f(list);
                    $f(init);
                    $f(body);
                }
                Kind::Apply(graph, args) => {
                    $f(graph);
                    args.$iter().for_each(|item| match item {
                        Item::One(e) | Item::Spread(e) => $f(e),
                    });
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

/// What a `fold` appends to its state, if its body is `state + ..` or `[..state, ..]`. Such a fold takes linear time.
pub fn appended<'e>(state: &Names, body: &'e Expr) -> Option<&'e [Item]> {
    let (Names::One(name), Kind::List(items)) = (state, &body.kind) else { return None };
    let (Item::Spread(first), rest) = items.split_first()? else { return None };
    let is_state = matches!(&first.kind, Kind::Local(local) if local == name);
    let used_again = rest.iter().any(|item| match item {
        Item::One(e) | Item::Spread(e) => free_names(e).contains_key(name),
    });
    (is_state && !used_again).then_some(rest)
}

/// The names that an expression uses and does not bind itself, with their types.
pub fn free_names(expr: &Expr) -> BTreeMap<String, Ty> {
    let mut free = BTreeMap::new();
    gather_free(expr, &mut Vec::new(), &mut free);
    free
}

fn gather_free<'e>(expr: &'e Expr, bound: &mut Vec<&'e str>, free: &mut BTreeMap<String, Ty>) {
    let outer = bound.len();
    let one = |names: &'e Names, bound: &mut Vec<&'e str>| match names {
        Names::One(name) => bound.push(name),
        Names::Tuple(names) => bound.extend(names.iter().map(String::as_str)),
    };
    match &expr.kind {
        Kind::Local(name) if !bound.contains(&name.as_str()) => drop(free.insert(name.clone(), expr.ty.clone())),
        Kind::IfLet { name, value, then, other, .. } => {
            gather_free(value, bound, free);
            gather_free(other, bound, free);
            bound.push(name);
            gather_free(then, bound, free);
        }
        Kind::Match { value, arms } => {
            gather_free(value, bound, free);
            for arm in arms {
                arm.patterns.iter().for_each(|pattern| pattern_names(pattern, bound));
                gather_free(&arm.value, bound, free);
                bound.truncate(outer);
            }
        }
        Kind::Comprehension { element, names, list, condition } => {
            gather_free(list, bound, free);
            one(names, bound);
            condition.iter().for_each(|e| gather_free(e, bound, free));
            gather_free(element, bound, free);
        }
        Kind::Fold { state, init, item, list, body } => {
            gather_free(init, bound, free);
            gather_free(list, bound, free);
            one(item, bound);
            one(state, bound);
            gather_free(body, bound, free);
        }
        Kind::Closure(params, body) => {
            bound.extend(params.names.iter().chain(&params.rest).map(String::as_str));
            gather_free(body, bound, free);
        }
        Kind::Block(statements, result) => {
            for statement in statements {
                match statement {
                    Statement::Let(names, value) => {
                        gather_free(value, bound, free);
                        one(names, bound);
                    }
                    Statement::Expr(value) => gather_free(value, bound, free),
                    Statement::Since(..) => {}
                }
            }
            gather_free(result, bound, free);
        }
        _ => children(expr, &mut |child| gather_free(child, bound, free)),
    }
    bound.truncate(outer);
}

fn pattern_names<'e>(pattern: &'e Pattern, bound: &mut Vec<&'e str>) {
    match pattern {
        Pattern::Bind { name, .. } => bound.push(name),
        Pattern::Tuple(parts) => parts.iter().for_each(|part| pattern_names(part, bound)),
        Pattern::Wild | Pattern::None | Pattern::Literal(_) => {}
    }
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
