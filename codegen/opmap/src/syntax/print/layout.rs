//! Expressions and blocks that do not fit on one line.

use super::flat::{self, Mode};
use crate::syntax::ast::{
    Argument, Arm, BinaryOp, Block, Comment, Condition, Expr, ExprKind, ListItem, Statement, StatementKind,
};

/// The longest line.
const WIDTH: usize = 120;
/// The indentation of a level.
const STEP: usize = 4;

/// The text so far.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub(super) out: String,
    indent: usize,
}

impl Writer {
    pub(super) fn write(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Ends the line and indents the next one.
    pub(super) fn newline(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', self.indent));
    }

    /// Ends the line without indenting the next one.
    pub(super) fn blank_line(&mut self) {
        self.out.push('\n');
    }

    /// Indents the output of `inside` by one level.
    pub(super) fn indented(&mut self, inside: impl FnOnce(&mut Self)) {
        self.indent += STEP;
        inside(self);
        self.indent -= STEP;
    }

    fn column(&self) -> usize {
        self.out.rsplit('\n').next().unwrap_or("").chars().count()
    }

    /// Whether a text and `tail` more characters fit on the current line.
    pub(super) fn fits(&self, text: &str, tail: usize) -> bool {
        self.column() + text.chars().count() + tail <= WIDTH
    }

    /// An expression, on one line if it fits there with `tail` more characters.
    pub(super) fn expr(&mut self, expr: &Expr, tail: usize) {
        self.operand(expr, 0, tail);
    }

    /// See [`flat::operand`].
    fn operand(&mut self, expr: &Expr, least: u8, tail: usize) {
        if let Some(text) = flat::operand(expr, least, Mode::Natural)
            && (self.fits(&text, tail) || is_atom(expr))
        {
            return self.write(&text);
        }
        if flat::needs_parentheses(expr, least) {
            self.write("(");
            self.broken(expr, tail + 1);
            return self.write(")");
        }
        self.broken(expr, tail);
    }

    /// An expression after `=` or `=>`: on the same line, or indented on the next one, whichever needs fewer breaks. The line so far
    /// ends without a blank.
    pub(super) fn assigned(&mut self, expr: &Expr, tail: usize) {
        let text = flat::expr(expr, Mode::Natural);
        if let Some(text) = &text
            && self.fits(text, tail + 1)
        {
            self.write(" ");
            return self.write(text);
        }
        let fits_below = text.is_some_and(|text| self.indent + STEP + text.chars().count() + tail <= WIDTH);
        let opens = matches!(expr.kind, ExprKind::Closure(..) | ExprKind::Fold { .. }) || flat::is_block_like(expr);
        if opens || (!fits_below && begins_with_bracket(expr)) {
            self.write(" ");
            return self.expr(expr, tail);
        }
        self.indented(|w| {
            w.newline();
            w.expr(expr, tail);
        });
    }

    /// An expression over several lines.
    fn broken(&mut self, expr: &Expr, tail: usize) {
        match &expr.kind {
            ExprKind::Node(name, arguments) => self.call(&flat::onnx_name(name), arguments),
            ExprKind::Rule(op, arguments) => self.call(&flat::op_name(op), arguments),
            ExprKind::Call(name, arguments) => self.call(&name.text, arguments),
            ExprKind::Unary(op, inner) => {
                self.write(flat::unary_sign(*op));
                self.operand(inner, flat::UNARY, tail);
            }
            ExprKind::Binary(op, ..) => self.chain(expr, *op, tail),
            ExprKind::Coalesce(left, right) => {
                self.operand(left, flat::COALESCE_LEFT, 0);
                self.indented(|w| {
                    w.newline();
                    w.write("?? ");
                    w.operand(right, flat::coalesce_right(right), tail);
                });
            }
            ExprKind::If(condition, then, otherwise) => self.if_expr(condition, then, otherwise.as_deref()),
            ExprKind::Match(value, arms) => self.match_expr(value, arms),
            ExprKind::List(items) => self.list(items),
            ExprKind::Comprehension { element, pattern, list, condition } => self.bracketed("[", "]", |w| {
                w.newline();
                w.expr(element, 0);
                w.newline();
                w.write(&format!("for {} in ", flat::binding(pattern)));
                w.expr(list, 0);
                if let Some(condition) = condition {
                    w.newline();
                    w.write("if ");
                    w.expr(condition, 0);
                }
            }),
            ExprKind::Tuple(exprs) => {
                self.enclosed(("(", ")"), exprs, |one| flat::expr(one, Mode::Natural), |w, one| w.expr(one, 1));
            }
            ExprKind::Index(list, index) => {
                self.operand(list, flat::POSTFIX, 1);
                self.subscript(|w| w.expr(index, 0), flat::expr(index, Mode::Natural), tail);
            }
            ExprKind::Slice(list, start, end) => {
                self.operand(list, flat::POSTFIX, 1);
                let (start, end) = (start.as_deref(), end.as_deref());
                let range = flat::slice_range(start, end, Mode::Natural);
                self.subscript(|w| w.slice_range(start, end), range, tail);
            }
            ExprKind::Fold { state, init, item, list, body } => {
                match flat::fold_head(state, init, item, list, Mode::Natural) {
                    Some(head) if self.fits(&head, 2) => self.write(&head),
                    _ => {
                        self.write(&format!("fold {} = ", flat::binding(state)));
                        self.expr(init, 0);
                        self.indented(|w| {
                            w.newline();
                            w.write(&format!("for {} in ", flat::binding(item)));
                            w.expr(list, 2);
                        });
                    }
                }
                self.write(" ");
                self.block(body);
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::Closure(params, body) => {
                self.write(&flat::closure_params(params));
                self.write(" ");
                self.expr(body, tail);
            }
            _ => self.write(&flat::expr(expr, Mode::Forced).unwrap_or_default()),
        }
    }

    /// Elements in brackets, separated by commas: all on one line of their own if they fit there, else one a line.
    pub(super) fn enclosed<T>(
        &mut self,
        (open, close): (&str, &str),
        elements: &[T],
        flat: impl Fn(&T) -> Option<String>,
        write: impl Fn(&mut Self, &T),
    ) {
        let line = elements.iter().map(flat).collect::<Option<Vec<_>>>().map(|texts| texts.join(", "));
        self.bracketed(open, close, |w| {
            if let Some(line) = line
                && w.indent + line.chars().count() <= WIDTH
            {
                w.newline();
                return w.write(&line);
            }
            for element in elements {
                w.newline();
                write(w, element);
                w.write(",");
            }
        });
    }

    fn bracketed(&mut self, open: &str, close: &str, inside: impl FnOnce(&mut Self)) {
        self.write(open);
        self.indented(inside);
        self.newline();
        self.write(close);
    }

    fn subscript(&mut self, inside: impl FnOnce(&mut Self), flat: Option<String>, tail: usize) {
        match flat {
            Some(text) if self.fits(&text, tail + 2) => self.write(&format!("[{text}]")),
            _ => self.bracketed("[", "]", |w| {
                w.newline();
                inside(w);
            }),
        }
    }

    fn slice_range(&mut self, start: Option<&Expr>, end: Option<&Expr>) {
        if let Some(start) = start {
            self.expr(start, 3);
            self.write(" ");
        }
        self.write("..");
        if let Some(end) = end {
            self.write(" ");
            self.expr(end, 0);
        }
    }

    /// Operands of one precedence, with an operator at the start of each further line.
    fn chain(&mut self, expr: &Expr, op: BinaryOp, tail: usize) {
        let (least_left, least_right) = flat::sides(op);
        let mut rest = Vec::new();
        let mut first = expr;
        while let ExprKind::Binary(one, left, right) = &first.kind
            && flat::sides(*one) == (least_left, least_right)
            && (rest.is_empty() || !flat::needs_parentheses(first, least_left))
        {
            rest.push((*one, right));
            first = left;
        }
        self.operand(first, least_left, 0);
        self.indented(|w| {
            let count = rest.len();
            for (at, (op, right)) in rest.into_iter().rev().enumerate() {
                w.newline();
                w.write(op.sign());
                w.write(" ");
                w.operand(right, least_right, if at + 1 == count { tail } else { 0 });
            }
        });
    }

    /// Arguments on separate lines. A graph as the last argument stays on the line of the others.
    fn call(&mut self, name: &str, arguments: &[Argument]) {
        self.write(name);
        if let Some((last, others)) = arguments.split_last()
            && self.call_with_graph(others, last)
        {
            return;
        }
        self.enclosed(("(", ")"), arguments, |one| flat::argument(one, Mode::Natural), |w, one| w.argument(one, 1));
    }

    /// `Loop(n, go, x, body_g = |i, go, x| {` if the last argument is such a closure and the rest fits.
    fn call_with_graph(&mut self, others: &[Argument], last: &Argument) -> bool {
        let (Argument::Positional(graph) | Argument::Named(_, graph)) = last else { return false };
        let ExprKind::Closure(params, body) = &graph.kind else { return false };
        let ExprKind::Block(body) = &body.kind else { return false };
        let mut head = "(".to_owned();
        for argument in others {
            let Some(text) = flat::argument(argument, Mode::Natural) else { return false };
            head = format!("{head}{text}, ");
        }
        if let Argument::Named(name, _) = last {
            head = format!("{head}{} = ", name.text);
        }
        head = format!("{head}{} ", flat::closure_params(params));
        if !self.fits(&head, 1) {
            return false;
        }
        self.write(&head);
        self.block(body);
        self.write(")");
        true
    }

    fn argument(&mut self, argument: &Argument, tail: usize) {
        match argument {
            Argument::Positional(value) => self.expr(value, tail),
            Argument::Spread(value) => {
                self.write("..");
                self.expr(value, tail);
            }
            Argument::Named(name, value) => {
                self.write(&format!("{} =", name.text));
                self.assigned(value, tail);
            }
        }
    }

    /// One element a line. Numbers fill the lines.
    fn list(&mut self, items: &[ListItem]) {
        let numbers: Option<Vec<String>> = items.iter().map(number).collect();
        if let Some(numbers) = numbers {
            return self.bracketed("[", "]", |w| w.filled(&numbers));
        }
        self.enclosed(
            ("[", "]"),
            items,
            |item| flat::list_item(item, Mode::Natural),
            |w, item| {
                let value = match item {
                    ListItem::One(value) => value,
                    ListItem::Spread(value) => {
                        w.write("..");
                        value
                    }
                };
                w.expr(value, 1);
            },
        );
    }

    /// Short words, separated by commas, as many on a line as fit.
    pub(super) fn filled(&mut self, words: &[String]) {
        self.newline();
        for (at, word) in words.iter().enumerate() {
            if at > 0 && self.fits(word, 2) {
                self.write(" ");
            } else if at > 0 {
                self.newline();
            }
            self.write(word);
            self.write(",");
        }
    }

    fn if_expr(&mut self, condition: &Condition, then: &Block, otherwise: Option<&Block>) {
        self.write("if ");
        match condition {
            Condition::Expr(value) => self.expr(value, 2),
            Condition::Let(name, value) => {
                self.write(&format!("let {} = ", name.text));
                self.expr(value, 2);
            }
        }
        self.write(" ");
        self.block(then);
        let Some(otherwise) = otherwise else { return };
        self.write(" else ");
        match flat::else_if(otherwise).map(|chained| &chained.kind) {
            Some(ExprKind::If(condition, then, otherwise)) => self.if_expr(condition, then, otherwise.as_deref()),
            _ => self.block(otherwise),
        }
    }

    fn match_expr(&mut self, value: &Expr, arms: &[Arm]) {
        self.write("match ");
        self.expr(value, 2);
        if arms.is_empty() {
            return self.write(" {}");
        }
        self.write(" ");
        self.bracketed("{", "}", |w| {
            for (at, arm) in arms.iter().enumerate() {
                w.comments(&arm.comments, at == 0);
                w.line(arm.blank_before && (at > 0 || !arm.comments.is_empty()));
                w.write(&flat::patterns(&arm.patterns, Mode::Forced).unwrap_or_default());
                w.write(" =>");
                w.assigned(&arm.value, 1);
                w.write(",");
            }
        });
    }

    /// Comment lines, without a blank line before the first one in a block.
    pub(super) fn comments(&mut self, comments: &[Comment], first: bool) {
        for (at, comment) in comments.iter().enumerate() {
            self.line(comment.blank_before && !(first && at == 0));
            self.write(&super::comment(comment));
        }
    }

    /// A new line, after a blank one if `blank`.
    pub(super) fn line(&mut self, blank: bool) {
        if blank {
            self.blank_line();
        }
        self.newline();
    }

    /// A block over several lines.
    pub(super) fn block(&mut self, block: &Block) {
        if block.statements.is_empty() && block.result.is_none() && block.trailing.is_empty() {
            return self.write("{}");
        }
        self.bracketed("{", "}", |w| {
            let count = block.statements.len();
            for (at, statement) in block.statements.iter().enumerate() {
                w.comments(&statement.comments, at == 0);
                w.line(statement.blank_before && (at > 0 || !statement.comments.is_empty()));
                w.statement(statement, at + 1 == count && block.result.is_none());
            }
            w.comments(&block.trailing, count == 0);
            if let Some(result) = &block.result {
                w.line(block.blank_before_result && (count > 0 || !block.trailing.is_empty()));
                w.expr(result, 0);
            }
        });
    }

    fn statement(&mut self, statement: &Statement, last: bool) {
        match &statement.kind {
            StatementKind::Let(pattern, value) => {
                self.write(&format!("let {} =", flat::binding(pattern)));
                self.assigned(value, 1);
                self.write(";");
            }
            StatementKind::Ignore(name, why) => self.write(&flat::ignore(name, why)),
            StatementKind::Return(value) => {
                self.write("return");
                self.assigned(value, 1);
                self.write(";");
            }
            StatementKind::Since(clause) => self.write(&format!("{};", flat::since(clause))),
            StatementKind::Expr(value) => {
                match flat::statement_expr(value, Mode::Natural) {
                    Some(text) if self.fits(&text, 1) || is_atom(value) => self.write(&text),
                    _ => self.expr(value, 1),
                }
                if last || !flat::is_block_like(value) {
                    self.write(";");
                }
            }
        }
    }
}

/// Whether it cannot be broken.
fn is_atom(expr: &Expr) -> bool {
    use ExprKind::*;
    matches!(expr.kind, Int(_) | Float(..) | Str(_) | Name(_) | Path(_) | Fail(_) | Since(_))
}

/// Whether it breaks inside brackets that it opens on its first line.
fn begins_with_bracket(expr: &Expr) -> bool {
    use ExprKind::*;
    matches!(expr.kind, Node(..) | Rule(..) | Call(..) | List(_) | Comprehension { .. } | Tuple(_))
}

fn number(item: &ListItem) -> Option<String> {
    let ListItem::One(value) = item else { return None };
    let inner = if let ExprKind::Unary(_, inner) = &value.kind { inner } else { value };
    matches!(inner.kind, ExprKind::Int(_) | ExprKind::Float(..)).then(|| flat::expr(value, Mode::Natural))?
}
