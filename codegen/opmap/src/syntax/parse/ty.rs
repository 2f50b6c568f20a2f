//! Types, parameters and names in headers.

use super::{Pair, Parts, Reader, Rule};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{Ident, OnnxName, OpName, Param, Return, TypeExpr, TypeExprKind};

/// Namespaces of PyTorch: a name in one of them is an overload even if it is capitalised (`aten::Bool.Tensor`).
const PYTORCH: &[&str] = &["aten", "prim", "prims", "quantized_decomposed", "torchvision", "_operator", "higher_order"];

/// The meaning of a name with an optional namespace.
pub(super) enum Path {
    Overload(OpName),
    Onnx(OnnxName),
}

impl Reader<'_> {
    /// A name that is an overload of PyTorch or an operator of ONNX.
    ///
    /// Domains of ONNX contain dots, namespaces of PyTorch do not. Without dots, operators of ONNX begin with a capital letter.
    pub(super) fn path(&self, pair: Pair<'_>) -> Option<Path> {
        let span = self.span(&pair);
        let inner = match pair.as_rule() {
            Rule::path => pair.into_inner().next()?,
            _ => pair,
        };
        if inner.as_rule() == Rule::word {
            return Some(Path::Onnx(OnnxName { domain: None, name: self.ident(&inner), span }));
        }
        let op = self.op_name(inner)?;
        let namespace = op.namespace.text.as_str();
        let pytorch = PYTORCH.contains(&namespace) || op.overload.is_some() || !is_capitalised(&op.name.text);
        if pytorch && !namespace.contains('.') {
            return Some(Path::Overload(op));
        }
        if let Some(overload) = &op.overload {
            self.error(Diagnostic::new("E0001", overload.span, "an ONNX operator has no overloads"));
        }
        Some(Path::Onnx(OnnxName { domain: Some(op.namespace), name: op.name, span }))
    }

    /// `aten::add.Tensor`, from a `path_with_namespace`.
    pub(super) fn op_name(&self, pair: Pair<'_>) -> Option<OpName> {
        let span = self.span(&pair);
        let mut parts = Parts::of(pair);
        let namespace = self.ident(&parts.one(Rule::dotted)?);
        let name = self.ident(&parts.one(Rule::word)?);
        let overload = parts.one(Rule::word).map(|word| self.ident(&word));
        Some(OpName { namespace, name, overload, span })
    }

    /// The operator of `lower` and `same`.
    pub(super) fn onnx_name(&self, pair: Pair<'_>) -> Option<OnnxName> {
        match self.path(pair)? {
            Path::Onnx(name) => Some(name),
            Path::Overload(op) => {
                let error =
                    Diagnostic::new("E0001", op.span, "expected an ONNX operator, found an overload of PyTorch");
                self.error(
                    error.help("names of ONNX operators are capitalised, such as `Gelu` or `com.microsoft::QuickGelu`"),
                );
                None
            }
        }
    }

    pub(super) fn params(&self, pair: Pair<'_>, keyword_only_allowed: bool) -> Option<Vec<Param>> {
        let mut params: Vec<Param> = Vec::new();
        let mut star = None;
        for pair in Parts::of(pair) {
            let span = self.span(&pair);
            let mut parts = Parts::of(pair);
            if parts.one(Rule::star).is_none() {
                let ty = self.ty(parts.one(Rule::ty)?)?;
                let name = self.ident(&parts.one(Rule::word)?);
                let default = parts.one(Rule::default).map(|default| self.default(&default));
                params.push(Param { ty, name, default, keyword_only: star.is_some(), span });
                continue;
            }
            if !keyword_only_allowed {
                self.error(Diagnostic::new("E0001", span, "a helper cannot have keyword-only parameters"));
            } else if star.is_some() {
                self.error(Diagnostic::new("E0001", span, "second `*` in a header"));
            }
            star = Some(span);
        }
        if let Some(span) = star
            && keyword_only_allowed
            && !params.iter().any(|param| param.keyword_only)
        {
            self.error(Diagnostic::new("E0001", span, "expected a parameter after `*`"));
        }
        Some(params)
    }

    /// The text of a default on one line.
    fn default(&self, pair: &Pair<'_>) -> Ident {
        let mut ident = self.ident(pair);
        if ident.text.contains(['\n', '\r', '\t']) {
            ident.text = ident.text.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        ident
    }

    /// The results, from `returns` or `bare_return`.
    pub(super) fn returns(&self, pair: Pair<'_>) -> Option<Vec<Return>> {
        match pair.as_rule() {
            Rule::bare_return => Some(vec![self.returned(pair)?]),
            _ => Parts::of(pair).map(|returned| self.returned(returned)).collect(),
        }
    }

    fn returned(&self, pair: Pair<'_>) -> Option<Return> {
        let mut parts = Parts::of(pair);
        let ty = self.ty(parts.one(Rule::ty)?)?;
        Some(Return { ty, name: parts.next().map(|name| self.ident(&name)) })
    }

    pub(super) fn ty(&self, pair: Pair<'_>) -> Option<TypeExpr> {
        let mut parts = Parts::of(pair);
        let first = parts.next()?;
        let mut span = self.span(&first);
        let kind = match first.as_rule() {
            Rule::ty_tuple => TypeExprKind::Tuple(Parts::of(first).map(|ty| self.ty(ty)).collect::<Option<_>>()?),
            _ => TypeExprKind::Name(first.as_str().to_owned()),
        };
        let mut ty = TypeExpr { kind, span };
        for suffix in parts {
            span = span.to(self.span(&suffix));
            ty.span = span;
            match suffix.as_rule() {
                Rule::optional_mark => ty = TypeExpr { kind: TypeExprKind::Optional(Box::new(ty)), span },
                Rule::list_mark => {
                    let size = Parts::of(suffix).one(Rule::number).map(|size| self.small_integer(&size));
                    ty = TypeExpr { kind: TypeExprKind::List(Box::new(ty), size), span };
                }
                _ => {}
            }
        }
        Some(ty)
    }

    /// Words, and the one after `..`, which must be the last.
    pub(super) fn words_and_rest(&self, pair: Pair<'_>) -> Option<(Vec<Ident>, Option<Ident>)> {
        let (mut words, mut rest) = (Vec::new(), None::<Ident>);
        for part in Parts::of(pair) {
            if let Some(rest) = &rest {
                let text = format!("`..{}` must be the last parameter", rest.text);
                self.error(Diagnostic::new("E0001", rest.span, text));
                return None;
            }
            match part.as_rule() {
                Rule::rest_name => rest = Some(self.ident(&Parts::of(part).next()?)),
                _ => words.push(self.ident(&part)),
            }
        }
        Some((words, rest))
    }

    pub(super) fn words(&self, pair: Pair<'_>) -> Vec<Ident> {
        Parts::of(pair).map(|word| self.ident(&word)).collect()
    }
}

/// Whether a name begins with a capital letter. For a placeholder its own name counts: `{Op}` is capitalised.
pub(super) fn is_capitalised(name: &str) -> bool {
    name.chars().find(char::is_ascii_alphabetic).is_some_and(|c| c.is_ascii_uppercase())
}
