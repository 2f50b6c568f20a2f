//! Items and the rows of families.

use super::expression::signed;
use super::{Pair, Parts, Reader, Rule};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{
    AVOIDED, Because, Body, Expr, ExprKind, ExternFn, Fn, Fuse, Ident, ImportDomain, Is, ItemKind, Lower, LowerOutputs,
    Map, Row, Same, Unsupported,
};
use crate::syntax::lines;

impl Reader<'_> {
    pub(super) fn item(&self, pair: Pair<'_>) -> Option<ItemKind> {
        Some(match pair.as_rule() {
            Rule::map => ItemKind::Map(self.map(pair)?),
            Rule::lower => ItemKind::Lower(self.lower(pair)?),
            Rule::raise => ItemKind::Raise(self.lower(pair)?),
            Rule::fuse => ItemKind::Fuse(self.fuse(pair)?),
            Rule::same => ItemKind::Same(self.same(pair)?),
            Rule::function => ItemKind::Fn(self.function(pair)?),
            Rule::extern_fn => ItemKind::ExternFn(self.extern_fn(pair)?),
            Rule::unsupported => ItemKind::Unsupported(self.unsupported(pair)?),
            Rule::import_domain => ItemKind::ImportDomain(self.import_domain(pair)?),
            Rule::fact => ItemKind::Fact(self.fact(pair)?),
            Rule::example => ItemKind::Example(self.example(pair)?),
            _ => return None,
        })
    }

    fn map(&self, pair: Pair<'_>) -> Option<Map> {
        let mut parts = Parts::of(pair);
        let op = self.op_name(parts.one(Rule::path_with_namespace)?)?;
        let params = self.params(parts.one(Rule::params)?, true)?;
        let returns = parts.next()?;
        let header_span = op.span.to(self.span(&returns));
        let returns = self.returns(returns)?;
        let since = match parts.one(Rule::since_clause) {
            Some(clause) => Some(self.since(clause)?),
            None => None,
        };
        let body = self.body(parts.next()?)?;
        let rows = match parts.one(Rule::rows) {
            Some(rows) => Some(self.rows(rows)?),
            None => None,
        };
        Some(Map { op, params, returns, since, body, rows, header_span })
    }

    fn body(&self, pair: Pair<'_>) -> Option<Body> {
        match pair.as_rule() {
            Rule::block => self.block(pair).map(Body::Block),
            _ => self.expr(Parts::of(pair).one(Rule::expr)?).map(Body::Expr),
        }
    }

    fn rows(&self, pair: Pair<'_>) -> Option<Vec<Row>> {
        let mut rows: Vec<Row> = Vec::new();
        let (mut comments, mut docs) = (Vec::new(), Vec::new());
        let mut blank_before = None;
        let mut complete = true;
        for pair in Parts::of(pair) {
            let span = self.span(&pair);
            match pair.as_rule() {
                Rule::comment => self.row_comment(&pair, rows.last_mut(), &docs, &mut comments),
                Rule::doc => {
                    blank_before.get_or_insert_with(|| self.blank_before(&pair));
                    docs.push(lines::comment_text(pair.as_str(), 3));
                    if !self.lines.own_line(span.range().start) {
                        self.error(lines::misplaced(span));
                    }
                }
                _ => {
                    if !complete {
                        self.error(Diagnostic::new("E0001", span, "expected `,` before the next row"));
                    }
                    complete = pair.as_str().trim_end().ends_with(',');
                    let blank_before = blank_before.take().unwrap_or_else(|| self.blank_before(&pair));
                    let (key, columns) = self.row(pair)?;
                    let (comments, docs) = (std::mem::take(&mut comments), std::mem::take(&mut docs));
                    rows.push(Row { comments, docs, blank_before, key, columns, trailing: None, span });
                }
            }
        }
        self.nothing_after(&comments, "the last row");
        Some(rows)
    }

    /// A comment at the end of a row's line belongs to that row, others to the next one.
    fn row_comment(
        &self,
        pair: &Pair<'_>,
        row: Option<&mut Row>,
        docs: &[String],
        comments: &mut Vec<crate::syntax::ast::Comment>,
    ) {
        let range = self.range(pair);
        if let Some(row) = row
            && row.trailing.is_none()
            && self.lines.source.get(row.span.range().end..range.start).is_some_and(|gap| !gap.contains(['\n', '\r']))
        {
            row.trailing = Some(self.lines.comment(range));
            return;
        }
        let comment = self.comment(pair);
        if !docs.is_empty() {
            let error = Diagnostic::new("E0004", comment.span, "a comment between documentation and its row");
            self.error(error.help("put it above the `///` lines"));
        }
        comments.push(comment);
    }

    fn row(&self, pair: Pair<'_>) -> Option<(Ident, Vec<Expr>)> {
        let mut parts = Parts::of(pair);
        let key = self.ident(&parts.one(Rule::dotted)?);
        let mut columns = Vec::new();
        while let Some(column) = parts.one(Rule::column) {
            columns.push(self.column(column)?);
        }
        Some((key, columns))
    }

    fn column(&self, pair: Pair<'_>) -> Option<Expr> {
        let span = self.span(&pair);
        let mut parts = Parts::of(pair);
        let negative = parts.one(Rule::sign).is_some();
        let inner = parts.next()?;
        if inner.as_rule() == Rule::path_with_namespace {
            return Some(Expr { kind: ExprKind::Path(self.op_name(inner)?), span });
        }
        Some(signed(negative, self.primary(inner)?, span))
    }

    /// A `lower` or `raise`.
    fn lower(&self, pair: Pair<'_>) -> Option<Lower> {
        let start = self.span(&pair);
        let mut parts = Parts::of(pair);
        let op = self.onnx_name(parts.one(Rule::path)?)?;
        let avoided = parts.one(Rule::kw_avoided).map(|word| (AVOIDED, self.span(&word)));
        let number = match avoided {
            Some(_) => None,
            None => Some(parts.one(Rule::number)?),
        };
        let (before, before_span) = match (avoided, &number) {
            (Some(avoided), _) => avoided,
            (None, number) => (self.small_integer(number.as_ref()?), self.span(number.as_ref()?)),
        };
        let params = parts.one(Rule::lower_params)?;
        let mut end = self.span(&params);
        let (params, rest) = self.words_and_rest(params)?;
        let mut outputs = LowerOutputs::Single;
        if let Some(names) = parts.one(Rule::names) {
            end = self.span(&names);
            outputs = LowerOutputs::Named(self.words(names));
        } else if let Some(list) = parts.one(Rule::output_list) {
            end = self.span(&list);
            outputs = LowerOutputs::List(self.words(list));
        }
        let header_span = crate::source::Span { end: end.end, ..start };
        Some(Lower { op, before, before_span, params, rest, outputs, body: self.body(parts.next()?)?, header_span })
    }

    fn fuse(&self, pair: Pair<'_>) -> Option<Fuse> {
        let mut parts = Parts::of(pair);
        let name = self.ident(&parts.one(Rule::name)?);
        let params = parts.one(Rule::params)?;
        let header_span = name.span.to(self.span(&params));
        let params = self.params(params, false)?;
        let pattern = self.expr(parts.one(Rule::expr)?)?;
        let condition = match parts.one(Rule::expr) {
            Some(condition) => Some(self.expr(condition)?),
            None => None,
        };
        Some(Fuse { name, params, pattern, condition, body: self.body(parts.next()?)?, header_span })
    }

    fn same(&self, pair: Pair<'_>) -> Option<Same> {
        let mut parts = Parts::of(pair);
        let op = self.onnx_name(parts.one(Rule::path)?)?;
        let (from, to) = (parts.one(Rule::number)?, parts.one(Rule::number)?);
        let numbers_span = self.span(&from).to(self.span(&to));
        let why = self.string(&parts.one(Rule::string)?);
        Some(Same { op, from: self.small_integer(&from), to: self.small_integer(&to), numbers_span, why })
    }

    fn function(&self, pair: Pair<'_>) -> Option<Fn> {
        let mut parts = Parts::of(pair);
        let public = parts.one(Rule::kw_pub).is_some();
        let name = self.ident(&parts.one(Rule::name)?);
        let params = self.params(parts.one(Rule::params)?, false)?;
        let returns = self.ty(parts.one(Rule::ty)?)?;
        Some(Fn { public, name, params, returns, body: self.body(parts.next()?)? })
    }

    fn extern_fn(&self, pair: Pair<'_>) -> Option<ExternFn> {
        let mut parts = Parts::of(pair);
        let public = parts.one(Rule::kw_pub).is_some();
        let name = self.ident(&parts.one(Rule::name)?);
        let params = self.params(parts.one(Rule::params)?, false)?;
        let returns = self.ty(parts.one(Rule::ty)?)?;
        let is = parts.one(Rule::is_clause).and_then(|clause| {
            let mut words =
                clause.into_inner().filter(|part| part.as_rule() == Rule::word).map(|word| self.ident(&word));
            Some(Is { word: words.next()?, args: words.collect() })
        });
        let mut emits = Vec::new();
        if let Some(list) = parts.one(Rule::emits) {
            for path in list.into_inner().filter(|part| part.as_rule() == Rule::path) {
                emits.push(self.onnx_name(path)?);
            }
        }
        let because = parts.one(Rule::because).and_then(|clause| {
            let text = Parts::of(clause).one(Rule::string)?;
            Some(Because { reason: self.string(&text), span: self.span(&text) })
        });
        let mut since = Vec::new();
        while let Some(clause) = parts.one(Rule::since_clause) {
            since.push(self.since(clause)?);
        }
        Some(ExternFn { public, name, params, returns, is, emits, because, since })
    }

    fn import_domain(&self, pair: Pair<'_>) -> Option<ImportDomain> {
        let mut parts = Parts::of(pair);
        let name = parts.one(Rule::string)?;
        let domain = Ident { text: self.string(&name), span: self.span(&name) };
        Some(ImportDomain { domain, version: self.small_integer(&parts.one(Rule::number)?) })
    }

    fn unsupported(&self, pair: Pair<'_>) -> Option<Unsupported> {
        let mut parts = Parts::of(pair);
        let op = self.op_name(parts.one(Rule::path_with_namespace)?)?;
        Some(Unsupported { op, reason: self.string(&parts.one(Rule::string)?) })
    }
}
