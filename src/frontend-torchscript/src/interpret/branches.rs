//! `if`: a known condition runs one branch; otherwise both run from the same state, and their results are united.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::Interpreter;
use super::merge::{Side, Union};
use super::recorder::Body;
use crate::syntax::{Expr, ExprKind, Name, Stmt, StmtKind};
use crate::values::{Changes, Item, Value};
use aten2onnx_core::error::{Error, Result};

/// What a branch or body has done.
pub(super) struct Trial {
    pub body: Body,
    pub locals: FxHashMap<Name, Item>,
    pub changes: Changes,
}

/// Something that is run, as statements are; the result is what they return.
pub(super) type Run<'f, I> = dyn Fn(&mut I) -> Result<Option<Item>> + 'f;

impl Interpreter<'_, '_> {
    /// `if condition: yes else: no`
    pub(super) fn branch(&mut self, condition: &Expr, yes: &[Stmt], no: &[Stmt]) -> Result<Option<Item>> {
        let item = self.eval(condition)?;
        match self.truth(&item.value)? {
            Value::Bool(true) => self.block(yes),
            Value::Bool(false) => self.block(no),
            flag => self.open_branch(&flag, yes, no),
        }
    }

    /// A condition that is only known at run time.
    fn open_branch(&mut self, flag: &Value, yes: &[Stmt], no: &[Stmt]) -> Result<Option<Item>> {
        if raises(yes) {
            self.note_assertion();
            return self.block(no);
        }
        if raises(no) {
            self.note_assertion();
            return self.block(yes);
        }
        self.either(flag, &|this: &mut Self| this.block(yes), &|this: &mut Self| this.block(no))
    }

    /// One of two things, as a flag says that is only known at run time.
    pub(super) fn either(&mut self, flag: &Value, yes: &Run<'_, Self>, no: &Run<'_, Self>) -> Result<Option<Item>> {
        let symbols = self.recorder.symbol_count();
        let Some(first) = self.trial(yes)? else {
            self.note_assertion();
            return no(self);
        };
        let Some(second) = self.trial(no)? else {
            self.note_assertion();
            return yes(self);
        };
        let mut union = Union::new(symbols, first.body, second.body);
        let mut locals: Vec<(Name, Item)> = Vec::new();
        let before = &self.frame()?.locals;
        // Variables of one branch only are not read afterwards.
        let mut both: Vec<(Name, Item, Item)> = Vec::new();
        for (name, item) in &first.locals {
            let Some(other) = second.locals.get(name) else { continue };
            let is_unchanged =
                before.get(name).is_some_and(|old| old.value.is_same(&item.value) && old.value.is_same(&other.value));
            if !is_unchanged {
                both.push((name.clone(), item.clone(), other.clone()));
            }
        }
        both.sort_by(|a, b| a.0.cmp(&b.0));
        let mut is_broken = false;
        for (name, a, b) in both {
            let item = self.united(&mut union, &a, &b).unwrap_or_else(|error| {
                // Nobody may read it.
                is_broken = true;
                let error = self.located(error.at(format!("the variable `{name}` after an `if`")));
                Item::new(Value::Broken(Rc::new(error)), a.ty)
            });
            locals.push((name, item));
        }
        if let Some(usual) = self.for_usual_sizes(flag).filter(|_| is_broken) {
            let place = self.place();
            self.note(format!(
                "the model does something else for tensors of size 0 or 1{place}, which the exported model does not"
            ));
            return if usual { yes(self) } else { no(self) };
        }
        self.united_heap(&mut union, first.changes, second.changes)?;
        self.finish_branch(flag, union)?;
        for (name, item) in locals {
            self.assign(&name, item)?;
        }
        Ok(None)
    }

    /// Runs something and returns what it did; afterwards nothing has changed. None if they raise.
    pub(super) fn trial(&mut self, body: &Run<'_, Self>) -> Result<Option<Trial>> {
        let locals = self.frame()?.locals.clone();
        self.heap.begin();
        self.recorder.open();
        let result = body(self);
        let body = self.recorder.close();
        let locals = std::mem::replace(&mut self.frame_mut()?.locals, locals);
        let changes = self.heap.undo();
        match result {
            Ok(None) => Ok(Some(Trial { body, locals, changes })),
            Ok(Some(_)) => Err(Error::unsupported("a `return` is inside of an `if` or a loop")),
            Err(_) if std::mem::take(&mut self.raised) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn note_assertion(&mut self) {
        let place = self.place();
        self.note(format!(
            "the model raises an exception under a condition that depends on its inputs{place}; the exported model does \
             not check it"
        ));
    }

    /// The current line in parentheses, for notes.
    fn place(&mut self) -> String {
        let line = self.source_line();
        line.map(|line| format!(" ({})", aten2onnx_onnx::without_folders(&line))).unwrap_or_default()
    }

    /// Adds a note once.
    pub(super) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds a value to both sides of a union.
    pub(super) fn sides(&mut self, union: &mut Union, a: &Value, b: &Value) -> Result<()> {
        self.side(union, Side::Yes, a)?;
        self.side(union, Side::No, b)
    }
}

/// Whether statements end in an exception, whatever they do before.
fn raises(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Expr(Expr { kind: ExprKind::Call { callee, .. }, .. }) => {
            callee.path().as_deref() == Some("ops.prim.RaiseException")
        }
        StmtKind::If { yes, no, .. } => raises(yes) && raises(no),
        _ => false,
    })
}
