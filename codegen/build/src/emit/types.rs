//! The types of opmap in Rust, and conversions between them.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::ident;
use aten2onnx_opmap::tree::{Expr, Kind};
use aten2onnx_opmap::types::Ty;

/// Whether values are copied.
pub(super) fn is_copy(ty: &Ty) -> bool {
    match ty {
        Ty::Tensor | Ty::Int | Ty::Float | Ty::Bool | Ty::ScalarType => true,
        Ty::Optional(t) => is_copy(t),
        Ty::Tuple(ts) => ts.iter().all(is_copy),
        _ => false,
    }
}

/// The type of an owned value.
pub(super) fn owned_type(ty: &Ty) -> TokenStream {
    match ty {
        Ty::Tensor => quote!(Value),
        Ty::Int => quote!(i64),
        Ty::Float => quote!(f64),
        Ty::Bool => quote!(bool),
        Ty::Str => quote!(String),
        Ty::Scalar => quote!(Scalar),
        Ty::SymInt => quote!(SymInt),
        Ty::ScalarType => quote!(Dtype),
        Ty::List(t) => {
            let t = owned_type(t);
            quote!(Vec<#t>)
        }
        Ty::Optional(t) => {
            let t = owned_type(t);
            quote!(Option<#t>)
        }
        Ty::Tuple(ts) => {
            let ts = ts.iter().map(owned_type);
            quote!((#(#ts),*))
        }
        Ty::Graph => quote!(Graph),
        Ty::Opaque(_) | Ty::Never => quote!(()),
    }
}

/// The type of a parameter.
pub(super) fn param_type(ty: &Ty) -> TokenStream {
    if is_copy(ty) {
        return owned_type(ty);
    }
    match ty {
        Ty::Str => quote!(&str),
        Ty::List(t) => {
            let t = owned_type(t);
            quote!(&[#t])
        }
        ty => {
            let ty = owned_type(ty);
            quote!(&#ty)
        }
    }
}

/// An owned value from a place of this type, borrowed or not.
pub(super) fn cloned(place: TokenStream, ty: &Ty) -> TokenStream {
    match ty {
        ty if is_copy(ty) => place,
        Ty::Str => quote!(#place.to_string()),
        Ty::List(_) => quote!(#place.to_vec()),
        _ => quote!(#place.clone()),
    }
}

/// A conversion of an owned value to another type.
pub(super) fn converted(value: TokenStream, from: &Ty, to: &Ty) -> TokenStream {
    if from == to {
        return value;
    }
    match (from, to) {
        (Ty::Optional(a), Ty::Optional(b)) => {
            if **a == Ty::Never {
                return value;
            }
            let inner = converted(quote!(x), a, b);
            quote!(#value.map(|x| #inner))
        }
        (Ty::List(a), Ty::List(b)) => {
            let inner = converted(quote!(x), a, b);
            quote!(#value.into_iter().map(|x| #inner).collect::<Vec<_>>())
        }
        (Ty::Tuple(a), Ty::Tuple(b)) => {
            let names: Vec<_> = (0..a.len()).map(|i| ident(&format!("x{i}"))).collect();
            let parts = names.iter().zip(a.iter().zip(b)).map(|(n, (a, b))| converted(quote!(#n), a, b));
            quote!({ let (#(#names),*) = #value; (#(#parts),*) })
        }
        (a, Ty::Optional(b)) => {
            let inner = converted(value, a, b);
            quote!(Some(#inner))
        }
        (Ty::Int, Ty::Float) => quote!((#value as f64)),
        (Ty::Int, Ty::SymInt) => quote!(SymInt::from(#value)),
        (Ty::Int, Ty::Scalar) => quote!(Scalar::Int(#value)),
        (Ty::Float, Ty::Scalar) => quote!(Scalar::Float(#value)),
        (Ty::Bool, Ty::Scalar) => quote!(Scalar::Bool(#value)),
        (Ty::SymInt, Ty::Scalar) => quote!(Scalar::Sym(#value)),
        _ => value,
    }
}

/// An int in Rust.
pub(super) fn int(i: i64) -> TokenStream {
    match i {
        i64::MAX => quote!(i64::MAX),
        i64::MIN => quote!(i64::MIN),
        i if i < 0 => {
            let positive = Literal::i64_unsuffixed(-i);
            quote!(-#positive)
        }
        i => {
            let literal = Literal::i64_unsuffixed(i);
            quote!(#literal)
        }
    }
}

/// A float in Rust.
pub(super) fn float(f: f64) -> TokenStream {
    if f.is_nan() {
        return quote!(f64::NAN);
    }
    if f.is_infinite() {
        return if f > 0.0 { quote!(f64::INFINITY) } else { quote!(f64::NEG_INFINITY) };
    }
    let literal = Literal::f64_unsuffixed(f.abs());
    if f.is_sign_negative() { quote!(-#literal) } else { quote!(#literal) }
}

/// `float32` is `Dtype::Float32`.
pub(super) fn dtype(name: &str) -> TokenStream {
    let variant = match name {
        "float8_e4m3fn" => "Float8E4M3FN".to_owned(),
        "float8_e4m3fnuz" => "Float8E4M3FNUZ".to_owned(),
        "float8_e5m2" => "Float8E5M2".to_owned(),
        "float8_e5m2fnuz" => "Float8E5M2FNUZ".to_owned(),
        "float8_e8m0fnu" => "Float8E8M0".to_owned(),
        name => {
            let mut chars = name.chars();
            chars.next().map(|c| c.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
        }
    };
    let variant = ident(&variant);
    quote!(Dtype::#variant)
}

/// The parameters of generated functions, which names of rules must not hide.
const PARAMETERS: [&str; 3] = ["args", "call", "cx"];

/// A name of opmap as a name in Rust.
pub fn rust_name(name: &str) -> String {
    let keyword = syn::parse_str::<syn::Ident>(name).is_err();
    if keyword || PARAMETERS.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// `aten::add.Tensor` is `aten_add_Tensor`; `Gelu before 20` is `Gelu_before_20`.
pub(super) fn function_name(name: &str) -> proc_macro2::Ident {
    let plain: String =
        name.replace("::", "_").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    ident(&rust_name(&plain))
}

/// The expression inside conversions.
pub(super) fn peeled(expr: &Expr) -> &Expr {
    match &expr.kind {
        Kind::Convert(inner) => peeled(inner),
        _ => expr,
    }
}
