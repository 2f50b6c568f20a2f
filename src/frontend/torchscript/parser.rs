//! Parses code: recursive descent with a limit on the depth.

use std::rc::Rc;

use super::lexer::{Token, TokenKind, tokens};
use super::syntax::{Attribute, Class, Expr, ExprKind, Function, Module, Name, Param, Stmt, StmtKind};
use aten2onnx_core::error::{Error, Result};

/// The deepest nesting of expressions and blocks. `interpolate` has 30 blocks.
const MAX_DEPTH: usize = 500;

/// Parses a file.
pub fn module(text: &str) -> Result<Module> {
    Parser::new(text)?.whole(Parser::module)
}

/// Parses a type, as pickles contain them: `Dict[str, Tensor]`.
pub fn expression(text: &str) -> Result<Expr> {
    Parser::new(text)?.whole(|parser| {
        let found = parser.expr()?;
        parser.newline()?;
        Ok(found)
    })
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

impl Parser {
    fn new(text: &str) -> Result<Parser> {
        Ok(Parser { tokens: tokens(text)?, next: 0, depth: 0 })
    }

    fn whole<T>(mut self, parse: impl FnOnce(&mut Parser) -> Result<T>) -> Result<T> {
        let parsed = parse(&mut self).and_then(|parsed| match self.kind() {
            TokenKind::End => Ok(parsed),
            _ => Err(self.unexpected("the end")),
        });
        parsed.map_err(|error| error.at(format!("byte {}", self.at())))
    }

    fn kind(&self) -> &TokenKind {
        self.tokens.get(self.next).map_or(&TokenKind::End, |token| &token.kind)
    }

    fn kind_after(&self, skipped: usize) -> &TokenKind {
        self.tokens.get(self.next + skipped).map_or(&TokenKind::End, |token| &token.kind)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(0, |token| token.at)
    }

    fn is_sign(&self, sign: u8) -> bool {
        *self.kind() == TokenKind::Sign(sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.kind(), TokenKind::Name(name) if &**name == word)
    }

    fn take(&mut self, sign: u8) -> bool {
        let found = self.is_sign(sign);
        self.next += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, sign: u8) -> Result<()> {
        match self.take(sign) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{}`", char::from(sign)))),
        }
    }

    fn name(&mut self) -> Result<Name> {
        match self.kind() {
            TokenKind::Name(name) => {
                let name = Rc::clone(name);
                self.next += 1;
                Ok(name)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    fn newline(&mut self) -> Result<()> {
        match self.kind() {
            TokenKind::Newline => {
                self.next += 1;
                Ok(())
            }
            _ => Err(self.unexpected("the end of the line")),
        }
    }

    fn unexpected(&self, wanted: &str) -> Error {
        let found = match self.kind() {
            TokenKind::Name(name) => format!("`{name}`"),
            TokenKind::Int(_) | TokenKind::Float(_) | TokenKind::Imaginary(_) => "a number".to_owned(),
            TokenKind::Str(_) => "a string".to_owned(),
            TokenKind::Sign(sign) => format!("`{}`", char::from(*sign)),
            TokenKind::Newline => "the end of a line".to_owned(),
            TokenKind::Indent | TokenKind::Dedent => "another indentation".to_owned(),
            TokenKind::End => "the end".to_owned(),
        };
        Error::input(format!("the code has {found} where {wanted} is expected"))
    }

    /// Parses something nested.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Parser) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::unsupported(format!("the code is nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn module(&mut self) -> Result<Module> {
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

    /// An expression, or several with commas between them: a tuple.
    fn listed(&mut self) -> Result<Expr> {
        let at = self.at();
        let first = self.expr()?;
        if !self.is_sign(b',') {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.take(b',') && !matches!(self.kind(), TokenKind::Newline | TokenKind::Sign(b']' | b')')) {
            items.push(self.expr()?);
        }
        Ok(Expr { at, kind: ExprKind::Tuple(items) })
    }

    fn expr(&mut self) -> Result<Expr> {
        self.nested(Parser::sum)
    }

    /// `1.5-2.j` is the only sum.
    fn sum(&mut self) -> Result<Expr> {
        let at = self.at();
        let left = self.unary()?;
        let sign = match self.kind() {
            TokenKind::Sign(b'+') => 1.0,
            TokenKind::Sign(b'-') => -1.0,
            _ => return Ok(left),
        };
        self.next += 1;
        let right = self.unary()?;
        match (&left.kind, &right.kind) {
            (ExprKind::Float(re), ExprKind::Complex(0.0, im)) => {
                Ok(Expr { at, kind: ExprKind::Complex(*re, sign * im) })
            }
            (ExprKind::Int(re), ExprKind::Complex(0.0, im)) => {
                Ok(Expr { at, kind: ExprKind::Complex(*re as f64, sign * im) })
            }
            _ => Err(Error::unsupported("the code has a sum that is no complex number")),
        }
    }

    fn unary(&mut self) -> Result<Expr> {
        let at = self.at();
        if !self.take(b'-') {
            return self.postfix();
        }
        if let TokenKind::Int(magnitude) = *self.kind() {
            self.next += 1;
            let number = 0_i64.checked_sub_unsigned(magnitude);
            let number = number.ok_or_else(|| Error::input("an integer does not fit into 64 bits"))?;
            return Ok(Expr { at, kind: ExprKind::Int(number) });
        }
        let inner = self.nested(Parser::unary)?;
        let kind = match inner.kind {
            ExprKind::Float(number) => ExprKind::Float(-number),
            ExprKind::Complex(re, im) => ExprKind::Complex(-re, -im),
            _ => ExprKind::Neg(Box::new(inner)),
        };
        Ok(Expr { at, kind })
    }

    fn postfix(&mut self) -> Result<Expr> {
        let mut expr = self.primary()?;
        // Each step makes the tree deeper.
        let depth = self.depth;
        loop {
            let at = self.at();
            let kind = match self.kind() {
                TokenKind::Sign(b'.') => {
                    self.next += 1;
                    ExprKind::Attribute(Box::new(expr), self.name()?)
                }
                TokenKind::Sign(b'(') => {
                    self.next += 1;
                    let (args, named) = self.arguments()?;
                    ExprKind::Call { callee: Box::new(expr), args, named }
                }
                TokenKind::Sign(b'[') => {
                    self.next += 1;
                    self.subscript(expr)?
                }
                _ => break,
            };
            expr = Expr { at, kind };
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(Error::unsupported(format!("the code is nested deeper than {MAX_DEPTH} levels")));
            }
        }
        self.depth = depth;
        Ok(expr)
    }

    #[allow(clippy::type_complexity)]
    fn arguments(&mut self) -> Result<(Vec<Expr>, Vec<(Name, Expr)>)> {
        let (mut args, mut named) = (Vec::new(), Vec::new());
        while !self.take(b')') {
            match (self.kind(), self.kind_after(1)) {
                (TokenKind::Name(_), TokenKind::Sign(b'=')) => {
                    let name = self.name()?;
                    self.expect(b'=')?;
                    named.push((name, self.expr()?));
                }
                _ => args.push(self.expr()?),
            }
            if !self.take(b',') && !self.is_sign(b')') {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
        Ok((args, named))
    }

    fn subscript(&mut self, object: Expr) -> Result<ExprKind> {
        let object = Box::new(object);
        let start = if self.is_sign(b':') { None } else { Some(Box::new(self.listed()?)) };
        if self.take(b':') {
            let end = if self.is_sign(b']') { None } else { Some(Box::new(self.expr()?)) };
            self.expect(b']')?;
            return Ok(ExprKind::Slice(object, start, end));
        }
        self.expect(b']')?;
        start.map(|index| ExprKind::Index(object, index)).ok_or_else(|| self.unexpected("an index"))
    }

    fn primary(&mut self) -> Result<Expr> {
        let at = self.at();
        let kind = match self.kind().clone() {
            TokenKind::Name(name) => {
                self.next += 1;
                match &*name {
                    "None" => ExprKind::None,
                    "True" => ExprKind::Bool(true),
                    "False" => ExprKind::Bool(false),
                    "infj" => ExprKind::Complex(0.0, f64::INFINITY),
                    "nanj" => ExprKind::Complex(0.0, f64::NAN),
                    _ => ExprKind::Name(name),
                }
            }
            TokenKind::Int(number) => {
                self.next += 1;
                let number = i64::try_from(number);
                ExprKind::Int(number.map_err(|_| Error::input("an integer does not fit into 64 bits"))?)
            }
            TokenKind::Float(number) => {
                self.next += 1;
                ExprKind::Float(number)
            }
            TokenKind::Imaginary(part) => {
                self.next += 1;
                ExprKind::Complex(0.0, part)
            }
            TokenKind::Str(first) => self.adjacent_strings(first),
            TokenKind::Sign(b'(') => {
                self.next += 1;
                return self.parenthesised(at);
            }
            TokenKind::Sign(b'[') => {
                self.next += 1;
                ExprKind::List(self.items(b']')?)
            }
            TokenKind::Sign(b'{') => {
                self.next += 1;
                let mut pairs = Vec::new();
                while !self.take(b'}') {
                    let key = self.expr()?;
                    self.expect(b':')?;
                    pairs.push((key, self.expr()?));
                    if !self.take(b',') && !self.is_sign(b'}') {
                        return Err(self.unexpected("`,` or `}`"));
                    }
                }
                ExprKind::Dict(pairs)
            }
            _ => return Err(self.unexpected("an expression")),
        };
        Ok(Expr { at, kind })
    }

    fn adjacent_strings(&mut self, first: Name) -> ExprKind {
        self.next += 1;
        if !matches!(self.kind(), TokenKind::Str(_)) {
            return ExprKind::Str(first);
        }
        let mut text = first.to_string();
        while let TokenKind::Str(more) = self.kind() {
            text.push_str(more);
            self.next += 1;
        }
        ExprKind::Str(Rc::from(text))
    }

    /// `(x)` is x; `(x,)` and `(x, y)` are tuples.
    fn parenthesised(&mut self, at: usize) -> Result<Expr> {
        if self.take(b')') {
            return Ok(Expr { at, kind: ExprKind::Tuple(Vec::new()) });
        }
        let first = self.expr()?;
        if self.take(b')') {
            return Ok(first);
        }
        self.expect(b',')?;
        let mut items = vec![first];
        items.extend(self.items(b')')?);
        Ok(Expr { at, kind: ExprKind::Tuple(items) })
    }

    fn items(&mut self, end: u8) -> Result<Vec<Expr>> {
        let mut items = Vec::new();
        while !self.take(end) {
            items.push(self.expr()?);
            if !self.take(b',') && !self.is_sign(end) {
                return Err(self.unexpected(&format!("`,` or `{}`", char::from(end))));
            }
        }
        Ok(items)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_class_with_a_method() {
        let code = "op_version_set = 1\nimport __torch__\nclass M(Module):\n  __parameters__ = [\"w\", ]\n  w : Tensor\n  n : Final[int] = 4\n  \
                    __annotations__[\"0\"] = int\n  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    \
                    a, b, = (self).f(x, )\n    _1, c = a, (b)[0:2]\n    d : List[int] = [-9223372036854775808, ]\n    self.w = x\n    \
                    return torch.add(a, b, alpha=2)\n";
        let parsed = module(code).unwrap();
        let class = &parsed.classes[0];
        assert_eq!(class.attributes.len(), 3);
        let body = &class.methods[0].body;
        assert!(matches!(&body[0].kind, StmtKind::Assign { unpack: true, .. }));
        assert!(matches!(&body[1].kind, StmtKind::Assign { unpack: false, .. }));
        assert!(matches!(&body[2].kind, StmtKind::Declare { .. }));
        assert!(matches!(&body[3].kind, StmtKind::SetAttribute { .. }));
        assert!(matches!(&body[4].kind, StmtKind::Return(Some(_))));
    }

    /// Archives are read on a thread with a large stack.
    #[test]
    fn deep_nesting_is_an_error() {
        let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(nested_deeply);
        thread.unwrap().join().unwrap();
    }

    fn nested_deeply() {
        for open in ["(", "[", "-", "{1: ", "f("] {
            assert!(expression(&open.repeat(100_000)).is_err());
        }
        assert!(expression(&format!("x{}", ".y".repeat(100_000))).is_err());
        let blocks: String = (0..1000).map(|level| format!("{}while a:\n", " ".repeat(level + 1))).collect();
        assert!(module(&format!("def f():\n{blocks}")).is_err());
    }
}
