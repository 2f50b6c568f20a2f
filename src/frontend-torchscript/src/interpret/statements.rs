//! Runs statements.

use std::rc::Rc;

use super::Interpreter;
use crate::code::FunctionCode;
use crate::syntax::{Expr, Name, Stmt, StmtKind};
use crate::types::Type;
use crate::values::{Item, Value};
use aten2onnx_core::error::{Error, Result};

impl Interpreter<'_, '_> {
    /// Runs a block; returns the value of its `return`, if it has one.
    pub(super) fn block(&mut self, body: &[Stmt]) -> Result<Option<Item>> {
        self.nested(|this| {
            for stmt in body {
                if let Some(returned) = this.statement(stmt)? {
                    return Ok(Some(returned));
                }
            }
            Ok(None)
        })
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<Option<Item>> {
        self.step()?;
        self.frame_mut()?.at = stmt.at;
        match &stmt.kind {
            StmtKind::Assign { targets, unpack: true, values } => {
                let [value] = values.as_slice() else {
                    return Err(Error::input("an assignment that unpacks has several values"));
                };
                let items = self.eval(value)?;
                let items = self.unpacked(&items, targets.len())?;
                for (target, item) in targets.iter().zip(items) {
                    self.assign(target, item)?;
                }
            }
            StmtKind::Assign { targets, values, .. } => {
                let items = values.iter().map(|value| self.eval(value)).collect::<Result<Vec<Item>>>()?;
                for (target, item) in targets.iter().zip(items) {
                    self.assign(target, item)?;
                }
            }
            StmtKind::Declare { name, ty, value } => {
                let ty = Type::read(ty)?;
                let item = self.eval(value)?;
                self.assign(name, item.typed(ty))?;
            }
            StmtKind::SetAttribute { object, name, value } => {
                let object = self.eval(object)?;
                let value = self.eval(value)?;
                self.set_attribute(&object, name, value)?;
            }
            StmtKind::If { condition, yes, no } => return self.branch(condition, yes, no),
            StmtKind::For { name, range, body } => self.for_loop(name, range, body)?,
            StmtKind::While { condition, body } => self.while_loop(condition, body)?,
            StmtKind::With { object, name, body } => return self.with(object, name.as_ref(), body),
            StmtKind::Pass => {}
            StmtKind::Return(value) => {
                return match value {
                    Some(value) => self.eval(value).map(Some),
                    None => Ok(Some(Item::none())),
                };
            }
            StmtKind::Expr(expr) => {
                self.eval(expr)?;
            }
            StmtKind::Define(function) => {
                let frame = self.frame()?;
                let (owner, file) = (Rc::clone(&frame.function.owner), Rc::clone(&frame.function.file));
                let code = FunctionCode { owner, file, tree: Rc::clone(function) };
                let item = Item::new(Value::Function(Rc::new(code)), Type::Function);
                self.assign(&function.name, item)?;
            }
        }
        Ok(None)
    }

    /// Gives a local variable a value.
    pub(super) fn assign(&mut self, name: &Name, item: Item) -> Result<()> {
        self.frame_mut()?.locals.insert(Rc::clone(name), item);
        Ok(())
    }

    fn with(&mut self, object: &Expr, name: Option<&Name>, body: &[Stmt]) -> Result<Option<Item>> {
        let object = self.eval(object)?;
        let entered = self.call_method(&object, "__enter__", Vec::new(), Vec::new())?;
        if let Some(name) = name {
            self.assign(name, entered)?;
        }
        let returned = self.block(body)?;
        self.call_method(&object, "__exit__", vec![Item::none(), Item::none(), Item::none()], Vec::new())?;
        Ok(returned)
    }
}
