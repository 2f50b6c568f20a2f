//! Data of Rust that a closure makes tensors of: libtorch records the tensor, but none of its elements.

use super::line;
use crate::syntax::{Expr, ExprKind, Stmt, StmtKind};
use aten2onnx_core::error::{Error, Result};

/// Refuses a function with such a tensor. It is a call of `zeros` without a device, which no other code of libtorch makes.
///
/// # Errors
/// There is one.
pub fn check(body: &[Stmt], code: &str) -> Result<()> {
    let Some(at) = body.iter().find_map(of_statement) else { return Ok(()) };
    let message = "the closure makes a tensor of Rust data, of which the trace has no elements";
    let help = "make the tensor before the trace, outside of the closure: then it becomes a constant of the model";
    Err(Error::unsupported(message).help(help).at(format!("`{}` of the trace", line(code, at))))
}

fn of_statement(stmt: &Stmt) -> Option<usize> {
    match &stmt.kind {
        StmtKind::Assign { values, .. } => values.iter().find_map(of_expression),
        StmtKind::Declare { value, .. } | StmtKind::SetAttribute { value, .. } | StmtKind::Expr(value) => {
            of_expression(value)
        }
        StmtKind::If { condition, yes, no } => {
            of_expression(condition).or_else(|| yes.iter().chain(no).find_map(of_statement))
        }
        StmtKind::For { body, .. } | StmtKind::While { body, .. } | StmtKind::With { body, .. } => {
            body.iter().find_map(of_statement)
        }
        StmtKind::Return(value) => value.as_ref().and_then(of_expression),
        StmtKind::Pass | StmtKind::Define(_) => None,
    }
}

fn of_expression(expr: &Expr) -> Option<usize> {
    match &expr.kind {
        ExprKind::Call { callee, args, named } => {
            let has_device = named.iter().any(|(name, _)| &**name == "device");
            if callee.path().as_deref() == Some("torch.zeros") && !has_device {
                return Some(expr.at);
            }
            args.iter().chain(named.iter().map(|(_, value)| value)).find_map(of_expression)
        }
        ExprKind::Attribute(object, _) | ExprKind::Neg(object) | ExprKind::Slice(object, ..) => of_expression(object),
        ExprKind::Index(object, index) => of_expression(object).or_else(|| of_expression(index)),
        ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().find_map(of_expression),
        ExprKind::Dict(pairs) => {
            pairs.iter().find_map(|(key, value)| of_expression(key).or_else(|| of_expression(value)))
        }
        ExprKind::None
        | ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Varying(_)
        | ExprKind::Float(_)
        | ExprKind::Complex(..)
        | ExprKind::Str(_)
        | ExprKind::Name(_) => None,
    }
}
