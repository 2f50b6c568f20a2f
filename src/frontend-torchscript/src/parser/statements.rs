//! Files, classes, functions and statements.

use std::rc::Rc;

use super::Parser;
use crate::lexer::TokenKind;
use crate::syntax::{Attribute, Class, Expr, ExprKind, Function, Module, Name, Param, Stmt, StmtKind};
use aten2onnx_core::error::{Error, Result};

impl Parser {
    pub(super) fn module(&mut self) -> Result<Module> {
        let mut module = Module::default();
        loop {
            if *self.kind() == TokenKind::End {
                return Ok(module);
            }
            if *self.kind() == TokenKind::Newline {
                self.next += 1;
            } else if self.take_word("class") {
                module.classes.push(Rc::new(self.class()?));
            } else if self.take_word("def") {
                module.functions.push(Rc::new(self.function()?));
            } else if self.is_word("op_version_set") || self.is_word("import") {
                // The head of old files.
                while !matches!(self.kind(), TokenKind::Newline | TokenKind::End) {
                    self.next += 1;
                }
            } else {
                return Err(self.unexpected("a class or function"));
            }
        }
    }

    fn class(&mut self) -> Result<Class> {
        let name = self.name()?;
        let base = match self.take(b'(') {
            true => {
                let base = self.name()?;
                self.expect(b')')?;
                Some(base)
            }
            false => None,
        };
        let mut class =
            Class { name, base, attributes: Vec::new(), methods: Vec::new(), pre_hooks: Vec::new(), hooks: Vec::new() };
        self.expect(b':')?;
        self.block(|parser| parser.member(&mut class))?;
        Ok(class)
    }

    fn member(&mut self, class: &mut Class) -> Result<()> {
        if self.take_word("def") {
            class.methods.push(Rc::new(self.function()?));
            return Ok(());
        }
        if self.take_word("pass") {
            return self.newline();
        }
        let name = self.name()?;
        match &*name {
            "__parameters__" | "__buffers__" | "__forward_pre_hooks__" | "__forward_hooks__" => {
                self.expect(b'=')?;
                let listed = strings(self.expr()?);
                match &*name {
                    "__forward_pre_hooks__" => class.pre_hooks = listed,
                    "__forward_hooks__" => class.hooks = listed,
                    _ => {}
                }
            }
            "__annotations__" if self.take(b'[') => {
                let TokenKind::Str(name) = self.kind().clone() else {
                    return Err(self.unexpected("a string"));
                };
                self.next += 1;
                self.expect(b']')?;
                self.expect(b'=')?;
                let ty = Some(self.expr()?);
                class.attributes.push(Attribute { name, ty, value: None });
            }
            "__annotations__" => {
                self.expect(b'=')?;
                self.expr()?;
            }
            _ => {
                let ty = if self.take(b':') { Some(self.expr()?) } else { None };
                let value = if self.take(b'=') { Some(self.expr()?) } else { None };
                class.attributes.push(Attribute { name, ty, value });
            }
        }
        self.newline()
    }

    /// What follows `def`.
    fn function(&mut self) -> Result<Function> {
        let at = self.at();
        let name = self.name()?;
        self.expect(b'(')?;
        let mut params = Vec::new();
        while !self.take(b')') {
            let name = self.name()?;
            let ty = if self.take(b':') { Some(self.expr()?) } else { None };
            let default = if self.take(b'=') { Some(self.expr()?) } else { None };
            params.push(Param { name, ty, default });
            if !self.take(b',') && !self.is_sign(b')') {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
        let returns = if self.take(b'>') { Some(self.expr()?) } else { None };
        let body = self.statements()?;
        Ok(Function { name, at, params, returns, body })
    }

    /// `:` and an indented block of statements.
    fn statements(&mut self) -> Result<Vec<Stmt>> {
        self.expect(b':')?;
        let mut body = Vec::new();
        self.nested(|parser| {
            parser.block(|parser| {
                body.push(parser.statement()?);
                Ok(())
            })
        })?;
        Ok(body)
    }

    /// An indented block; an empty one, as old code has it for classes without members, has no indentation.
    fn block(&mut self, mut item: impl FnMut(&mut Parser) -> Result<()>) -> Result<()> {
        self.newline()?;
        if *self.kind() != TokenKind::Indent {
            return Ok(());
        }
        self.next += 1;
        while *self.kind() != TokenKind::Dedent {
            item(self)?;
        }
        self.next += 1;
        Ok(())
    }

    fn statement(&mut self) -> Result<Stmt> {
        let at = self.at();
        let kind = self.statement_kind()?;
        Ok(Stmt { at, kind })
    }

    fn statement_kind(&mut self) -> Result<StmtKind> {
        if self.take_word("if") {
            let condition = self.expr()?;
            let yes = self.statements()?;
            let no = if self.take_word("else") { self.statements()? } else { Vec::new() };
            return Ok(StmtKind::If { condition, yes, no });
        }
        if self.take_word("for") {
            return self.for_loop();
        }
        if self.take_word("while") {
            let condition = self.name()?;
            return Ok(StmtKind::While { condition, body: self.statements()? });
        }
        if self.take_word("with") {
            let object = self.expr()?;
            let name = if self.take_word("as") { Some(self.name()?) } else { None };
            return Ok(StmtKind::With { object, name, body: self.statements()? });
        }
        if self.take_word("def") {
            return Ok(StmtKind::Define(Rc::new(self.function()?)));
        }
        let kind = self.simple_statement()?;
        self.newline()?;
        Ok(kind)
    }

    fn for_loop(&mut self) -> Result<StmtKind> {
        let name = self.name()?;
        if !self.take_word("in") {
            return Err(self.unexpected("`in`"));
        }
        match self.expr()?.kind {
            ExprKind::Call { callee, args, named } if callee.path().as_deref() == Some("range") && named.is_empty() => {
                Ok(StmtKind::For { name, range: args, body: self.statements()? })
            }
            _ => Err(Error::unsupported("a `for` loop does not go over a `range`")),
        }
    }

    fn simple_statement(&mut self) -> Result<StmtKind> {
        if self.take_word("pass") {
            return Ok(StmtKind::Pass);
        }
        if self.take_word("return") {
            let value = if *self.kind() == TokenKind::Newline { None } else { Some(self.listed()?) };
            return Ok(StmtKind::Return(value));
        }
        let at = self.at();
        let first = self.expr()?;
        if self.take(b':') {
            let ty = self.expr()?;
            self.expect(b'=')?;
            let name = variable(first)?;
            return Ok(StmtKind::Declare { name, ty, value: self.expr()? });
        }
        let mut targets = vec![first];
        let mut comma = false;
        while self.take(b',') {
            comma = true;
            if self.is_sign(b'=') {
                break;
            }
            comma = false;
            targets.push(self.expr()?);
        }
        if !self.take(b'=') {
            return match targets.len() {
                1 if !comma => Ok(StmtKind::Expr(targets.remove(0))),
                _ => Ok(StmtKind::Expr(Expr { at, kind: ExprKind::Tuple(targets) })),
            };
        }
        let mut values = vec![self.expr()?];
        while self.take(b',') && *self.kind() != TokenKind::Newline {
            values.push(self.expr()?);
        }
        if let [Expr { kind: ExprKind::Attribute(..), .. }] = targets.as_slice()
            && let (Some(Expr { kind: ExprKind::Attribute(object, name), .. }), 1) = (targets.pop(), values.len())
        {
            return Ok(StmtKind::SetAttribute { object: *object, name, value: values.remove(0) });
        }
        let unpack = comma || (targets.len() > 1 && values.len() == 1);
        if (unpack && values.len() != 1) || (!unpack && values.len() != targets.len()) {
            return Err(Error::input("an assignment has another number of values than of targets"));
        }
        let targets = targets.into_iter().map(variable).collect::<Result<_>>()?;
        Ok(StmtKind::Assign { targets, unpack, values })
    }
}

fn variable(target: Expr) -> Result<Name> {
    match target.kind {
        ExprKind::Name(name) => Ok(name),
        _ => Err(Error::input("an assignment has a target that is no name")),
    }
}

fn strings(list: Expr) -> Vec<Name> {
    let items = match list.kind {
        ExprKind::List(items) | ExprKind::Tuple(items) => items,
        _ => Vec::new(),
    };
    let text = |item: Expr| match item.kind {
        ExprKind::Str(text) => Some(text),
        _ => None,
    };
    items.into_iter().filter_map(text).collect()
}
