//! Replaces a call that is not native with the body of its lowering.

use super::scope::{Scope, bind, count_uses};
use super::{Specializer, fold, in_block};
use crate::source::Span;
use crate::tree::{Expr, Input, Item, Kind, Lower, Names, Node, Outputs, Param, Statement};
use crate::types::Ty;
use crate::visit;
use aten2onnx_operators::plan::{self, Difference, Unseen};
use aten2onnx_schemas::onnx::AttrValue;

impl Specializer<'_> {
    /// The replacement of a node at the opset. None if it stays as it is.
    pub(super) fn lowered(&mut self, node: &Node) -> Option<Expr> {
        let (program, schemas) = (self.program, self.schemas);
        let newer = schemas.onnx.versions(&node.op).iter().rev();
        for version in newer.filter(|v| self.opset < v.since && v.since <= node.form) {
            let lower = program.lower(&node.op, version.since);
            let difference = schemas.difference(&node.op, version.since, program.same(&node.op, version.since));
            let fate = plan::below(difference, lower.is_some(), &Unseen);
            if fate.older {
                // A lowering of dtypes is printed beside the rule.
                self.typed.extend(lower.filter(|_| difference == Difference::Types).map(|l| (l.op.clone(), l.before)));
                continue;
            }
            return lower.map(|lower| self.inlined(lower, node));
        }
        None
    }

    /// The body of a lowering, for one call.
    fn inlined(&mut self, lower: &Lower, node: &Node) -> Expr {
        let mut scope = Scope { inlined: true, ..Scope::default() };
        if let Outputs::List(count) = &node.outputs {
            scope.outputs = Some((**count).clone());
        }
        let mut bound = Vec::new();
        for (i, param) in lower.function.params.iter().enumerate() {
            let value =
                if i < lower.inputs { self.input_of(node, i, param) } else { self.attribute_of(node, lower, param) };
            if fold::is_simple(&value) || count_uses(&lower.function.body, &param.name) <= 1 {
                scope.values.insert(param.name.clone(), value);
            } else {
                bound.push((param.name.clone(), value));
            }
        }
        let mut statements = Vec::new();
        for (name, value) in bound {
            let (name, inner) = bind(&name, &scope);
            scope = inner;
            statements.push(Statement::Let(Names::One(name), value));
        }
        let mut body = self.expr(&lower.function.body, &scope);
        match node.outputs {
            Outputs::One => first_outputs(&mut body, 1),
            Outputs::Tuple(count) => first_outputs(&mut body, count),
            Outputs::List(_) | Outputs::Typed(_) => {}
        }
        let mut whole = in_block(statements, body);
        drop_unused(&mut whole);
        whole
    }

    /// The argument for an input.
    fn input_of(&self, node: &Node, index: usize, param: &Param) -> Expr {
        if param.ty == Ty::list(Ty::Tensor) {
            let rest = node.inputs.get(index..).unwrap_or(&[]);
            if let [Input::Spread(list)] = rest {
                return list.clone();
            }
            let item = |input: &Input| match input {
                Input::Spread(e) => Some(Item::Spread(e.clone())),
                other => visit::input_expr(other).map(|e| Item::One(e.clone())),
            };
            return literal(Kind::List(rest.iter().filter_map(item).collect()), param.ty.clone());
        }
        match node.inputs.get(index).and_then(visit::input_expr) {
            Some(given) => fold::without_conversions(given).clone(),
            None => literal(Kind::None, param.ty.clone()),
        }
    }

    /// The value of an attribute, or its default.
    fn attribute_of(&self, node: &Node, lower: &Lower, param: &Param) -> Expr {
        let stem = param.name.rsplit_once('_').map_or(param.name.as_str(), |(stem, _)| stem);
        if let Some((_, _, value)) = node.attrs.iter().find(|a| a.0 == stem) {
            return value.clone();
        }
        let versions = self.schemas.onnx.versions(&lower.op);
        let version = versions.iter().find(|v| v.since == lower.before);
        let default = version.and_then(|v| v.attribute(stem)).and_then(|a| a.default.as_ref());
        match default {
            Some(default) => default_value(default),
            None => literal(Kind::None, param.ty.clone()),
        }
    }
}

fn literal(kind: Kind, ty: Ty) -> Expr {
    Expr::new(kind, ty, Span::default())
}

fn default_value(value: &AttrValue) -> Expr {
    let float = |x: &f32| literal(Kind::Float(shortest(*x)), Ty::Float);
    let int = |i: &i64| literal(Kind::Int(*i), Ty::Int);
    let text = |s: &String| literal(Kind::Str(s.clone()), Ty::Str);
    let list = |items: Vec<Expr>, ty: Ty| literal(Kind::List(items.into_iter().map(Item::One).collect()), Ty::list(ty));
    match value {
        AttrValue::Float(x) => float(x),
        AttrValue::Int(i) => int(i),
        AttrValue::String(s) => text(s),
        AttrValue::Floats(xs) => list(xs.iter().map(float).collect(), Ty::Float),
        AttrValue::Ints(is) => list(is.iter().map(int).collect(), Ty::Int),
        AttrValue::Strings(ss) => list(ss.iter().map(text).collect(), Ty::Str),
    }
}

/// A schema's `0.01` is the nearest f32. It is printed as the schema has it.
fn shortest(x: f32) -> f64 {
    x.to_string().parse().unwrap_or_else(|_| f64::from(x))
}

/// Keeps only the first outputs.
fn first_outputs(expr: &mut Expr, count: usize) {
    match &mut expr.kind {
        Kind::Tuple(parts) if parts.len() > 1 && count == 1 => {
            let first = parts.swap_remove(0);
            *expr = first;
        }
        Kind::Tuple(parts) if parts.len() > count => parts.truncate(count),
        Kind::Block(_, result) => first_outputs(result, count),
        Kind::If { then, other, .. } | Kind::IfLet { then, other, .. } => {
            first_outputs(then, count);
            first_outputs(other, count);
        }
        Kind::Match { arms, .. } => arms.iter_mut().for_each(|arm| first_outputs(&mut arm.value, count)),
        Kind::Node(node) => {
            if let Outputs::Tuple(has) = node.outputs
                && has > count
            {
                node.outputs = if count == 1 { Outputs::One } else { Outputs::Tuple(count) };
            }
        }
        _ => {}
    }
}

/// Removes names that nothing uses any more: outputs that were not requested.
fn drop_unused(expr: &mut Expr) {
    match &mut expr.kind {
        Kind::Block(statements, result) => {
            drop_unused(result);
            for at in (0..statements.len()).rev() {
                let (before, after) = statements.split_at_mut(at + 1);
                let used = |name: &String| {
                    count_uses(result, name) > 0
                        || after
                            .iter()
                            .any(|s| matches!(s, Statement::Let(_, e) | Statement::Expr(e) if count_uses(e, name) > 0))
                };
                let unused = match before.last() {
                    Some(Statement::Let(Names::One(name), _)) => !used(name),
                    Some(Statement::Let(Names::Tuple(names), _)) => !names.iter().any(used),
                    _ => false,
                };
                if unused {
                    statements.remove(at);
                }
            }
            if statements.is_empty() {
                let result = (**result).clone();
                *expr = result;
            }
        }
        Kind::If { then, other, .. } | Kind::IfLet { then, other, .. } => {
            drop_unused(then);
            drop_unused(other);
        }
        Kind::Match { arms, .. } => arms.iter_mut().for_each(|arm| drop_unused(&mut arm.value)),
        _ => {}
    }
}
