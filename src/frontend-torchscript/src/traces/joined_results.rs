//! The results of a trace leave it in a carrier, `cat([reshape(a, [-1]), reshape(b, [-1])])`, because libtorch saves functions
//! with one result only. The program has `a` and `b`.

use crate::syntax::{Expr, ExprKind, Function, Stmt, StmtKind};
use aten2onnx_core::error::{Error, Result};

/// Returns what the carrier of a function holds in the place of the carrier.
///
/// # Errors
/// The function does not end in a carrier.
pub fn remove(function: &mut Function) -> Result<()> {
    let unknown = || Error::internal("the trace does not end in the results");
    let Some(Stmt { kind: StmtKind::Return(Some(result)), at }) = function.body.pop() else { return Err(unknown()) };
    let result = resolved(&mut function.body, result);
    let ExprKind::Call { callee, mut args, .. } = result.kind else { return Err(unknown()) };
    if callee.path().as_deref() != Some("torch.cat") || args.is_empty() {
        return Err(unknown());
    }
    let parts = resolved(&mut function.body, args.swap_remove(0));
    let ExprKind::List(parts) = parts.kind else { return Err(unknown()) };
    let mut results = Vec::with_capacity(parts.len());
    for part in parts {
        let part = resolved(&mut function.body, part);
        match part.kind {
            ExprKind::Call { callee, mut args, .. }
                if callee.path().as_deref() == Some("torch.reshape") && !args.is_empty() =>
            {
                results.push(args.swap_remove(0));
            }
            _ => return Err(unknown()),
        }
    }
    let value = Expr { at, kind: ExprKind::Tuple(results) };
    function.body.push(Stmt { at, kind: StmtKind::Return(Some(value)) });
    Ok(())
}

/// The value of a name that one of the last statements assigns, which is taken out.
fn resolved(body: &mut [Stmt], expr: Expr) -> Expr {
    let ExprKind::Name(name) = &expr.kind else { return expr };
    let assigns = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Assign { targets, unpack: false, values } => {
            targets.iter().position(|target| target == name).filter(|at| *at < values.len())
        }
        _ => None,
    };
    let found = body.iter().enumerate().rev().find_map(|(index, stmt)| assigns(stmt).map(|at| (index, at)));
    let Some((index, at)) = found else { return expr };
    match body.get_mut(index).map(|stmt| &mut stmt.kind) {
        Some(StmtKind::Assign { targets, values, .. }) => {
            targets.remove(at);
            values.remove(at)
        }
        _ => expr,
    }
}
