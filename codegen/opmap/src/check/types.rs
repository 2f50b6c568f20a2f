//! Types as written, and conversions between types.

use super::Checker;
use super::wording::{UNWRAP, short_or, with_article};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{TypeExpr, TypeExprKind};
use crate::tree::{Expr, Kind};
use crate::types::Ty;

/// Types of PyTorch that have no meaning in ONNX.
pub(crate) const OPAQUE: &[&str] =
    &["Layout", "Device", "MemoryFormat", "Generator", "Stream", "Storage", "Dimname", "QScheme", "DeviceIndex"];

/// The names of types that have a meaning in ONNX.
pub(crate) const TYPES: &[&str] = &["Tensor", "int", "float", "bool", "str", "Scalar", "SymInt", "ScalarType", "graph"];

/// PyTorch's dtype names.
pub(crate) const DTYPES: &[&str] = &[
    "float32",
    "float16",
    "bfloat16",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "complex32",
    "complex64",
    "complex128",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
];

/// The type that is written, and the size of a sized list.
pub(crate) fn read_type(written: &TypeExpr, out: &mut Vec<Diagnostic>) -> Option<(Ty, Option<u32>)> {
    match &written.kind {
        TypeExprKind::Name(name) => match named(name) {
            Some(ty) => Some((ty, None)),
            None => {
                let known = ["Tensor", "int", "float", "bool", "str", "Scalar", "SymInt", "ScalarType"];
                let diagnostic = Diagnostic::new("E0106", written.span, format!("unknown type `{name}`"))
                    .note(format!("types are {}, `T[]`, `T?`, `(A, B)`", known.map(|k| format!("`{k}`")).join(", ")));
                out.push(super::did_you_mean(diagnostic, aten2onnx_schemas::nearest::nearest(name, known.into_iter())));
                None
            }
        },
        TypeExprKind::Optional(inner) => read_type(inner, out).map(|(ty, size)| (Ty::optional(ty), size)),
        TypeExprKind::List(inner, size) => read_type(inner, out).map(|(ty, _)| (Ty::list(ty), *size)),
        TypeExprKind::Tuple(parts) => parts
            .iter()
            .map(|p| read_type(p, out).map(|(ty, _)| ty))
            .collect::<Option<Vec<_>>>()
            .map(|tys| (Ty::Tuple(tys), None)),
    }
}

fn named(name: &str) -> Option<Ty> {
    Some(match name {
        "Tensor" => Ty::Tensor,
        "int" => Ty::Int,
        "float" => Ty::Float,
        "bool" | "SymBool" => Ty::Bool,
        "str" => Ty::Str,
        "Scalar" | "number" | "SymFloat" => Ty::Scalar,
        "SymInt" => Ty::SymInt,
        "ScalarType" => Ty::ScalarType,
        "graph" => Ty::Graph,
        _ if OPAQUE.contains(&name) => Ty::Opaque(name.to_owned()),
        _ => return None,
    })
}

/// Whether `from` converts to `to` implicitly.
pub(crate) fn convertible(from: &Ty, to: &Ty) -> bool {
    if from == to || *from == Ty::Never {
        return true;
    }
    match (from, to) {
        (Ty::Optional(a), Ty::Optional(b)) | (Ty::List(a), Ty::List(b)) => convertible(a, b),
        (Ty::Tuple(a), Ty::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| convertible(a, b)),
        (a, Ty::Optional(b)) => convertible(a, b),
        (Ty::Int, Ty::Float | Ty::SymInt | Ty::Scalar) => true,
        (Ty::Float | Ty::Bool | Ty::SymInt, Ty::Scalar) => true,
        _ => false,
    }
}

/// The common type of both.
pub(crate) fn join(a: &Ty, b: &Ty) -> Option<Ty> {
    if convertible(a, b) {
        return Some(b.clone());
    }
    if convertible(b, a) {
        return Some(a.clone());
    }
    match (a, b) {
        (Ty::Optional(a), Ty::Optional(b)) => join(a, b).map(Ty::optional),
        (Ty::Optional(a), b) | (b, Ty::Optional(a)) => join(a, b).map(Ty::optional),
        (Ty::List(a), Ty::List(b)) => join(a, b).map(Ty::list),
        (Ty::Tuple(a), Ty::Tuple(b)) if a.len() == b.len() => {
            a.iter().zip(b).map(|(a, b)| join(a, b)).collect::<Option<Vec<_>>>().map(Ty::Tuple)
        }
        (Ty::Float, Ty::SymInt) | (Ty::SymInt, Ty::Float) => Some(Ty::Scalar),
        _ => None,
    }
}

impl Checker<'_> {
    /// The expression, converted to this type, or an error.
    pub(crate) fn coerce(&mut self, expr: Expr, to: &Ty) -> Expr {
        if expr.ty == *to || expr.ty == Ty::Never {
            return expr;
        }
        if convertible(&expr.ty, to) {
            let span = expr.span;
            if matches!(expr.kind, Kind::None) {
                return Expr::new(Kind::None, to.clone(), span);
            }
            if let (Kind::List(items), Ty::List(_)) = (&expr.kind, to)
                && items.is_empty()
            {
                return Expr::new(Kind::List(Vec::new()), to.clone(), span);
            }
            return Expr::new(Kind::Convert(Box::new(expr)), to.clone(), span);
        }
        let diagnostic = self.mismatch(&expr, to);
        self.poison(diagnostic)
    }

    fn mismatch(&self, expr: &Expr, to: &Ty) -> Diagnostic {
        let text = self.text(expr.span);
        if let Ty::Optional(inner) = &expr.ty
            && convertible(inner, to)
        {
            return Diagnostic::new("E0404", expr.span, format!("expected `{to}`, found `{}`", expr.ty))
                .label("it may be None")
                .help(UNWRAP);
        }
        if expr.ty == Ty::Tensor && !to.is_graph() {
            return Diagnostic::new("E0402", expr.span, format!("expected `{to}`, found `Tensor`"))
                .label("its value is known only in the graph")
                .help(reader(to, short_or(&text, "x")));
        }
        if expr.ty == Ty::list(Ty::Tensor) && *to == Ty::Tensor {
            return Diagnostic::new("E0406", expr.span, "expected `Tensor`, found `Tensor[]`")
                .label("a `Tensor[]`")
                .help(format!("take one of its elements: `{}[0]`", short_or(&text, "list")));
        }
        if expr.ty == Ty::SymInt && *to == Ty::Int {
            return Diagnostic::new("E0401", expr.span, "expected `int`, found `SymInt`")
                .label("it may be known only in the graph")
                .help(format!("`known({}) ?? fail \"..\"` gives an int", short_or(&text, "n")));
        }
        let shown = if short_or(&text, "").is_empty() { "this is".to_owned() } else { format!("`{text}` is") };
        Diagnostic::new("E0401", expr.span, format!("expected `{to}`, found `{}`", expr.ty))
            .label(format!("{shown} {}", with_article(&expr.ty)))
    }

    /// Both, converted to their common type.
    pub(crate) fn unify(&mut self, left: Expr, right: Expr) -> Option<(Expr, Expr, Ty)> {
        match join(&left.ty, &right.ty) {
            Some(ty) => Some((self.coerce(left, &ty), self.coerce(right, &ty), ty)),
            None => {
                let diagnostic = Diagnostic::new(
                    "E0401",
                    right.span,
                    format!("this branch is `{}`, the other `{}`", right.ty, left.ty),
                )
                .label(with_article(&right.ty))
                .also(left.span, with_article(&left.ty));
                self.out.push(diagnostic);
                None
            }
        }
    }
}

/// How to read the value of a tensor at export time.
fn reader(to: &Ty, tensor: &str) -> String {
    match to {
        Ty::Bool => "conditions are evaluated at export time; use `Where` to choose in the graph".to_owned(),
        Ty::SymInt => format!("`sym({tensor})` reads its only element"),
        Ty::Scalar => format!("`number({tensor})` reads its only element"),
        Ty::Int => format!("`known(sym({tensor})) ?? fail \"..\"` reads its only element, if it is known"),
        Ty::Float => format!("`known_float(number({tensor})) ?? fail \"..\"` reads its only element, if it is known"),
        Ty::List(of) if **of == Ty::SymInt => format!("`sym_ints({tensor})` reads its elements"),
        Ty::List(_) => format!("`contents({tensor}) ?? fail \"..\"` reads its elements, if they are known"),
        _ => "`sym`, `number` and `contents` read elements".to_owned(),
    }
}
