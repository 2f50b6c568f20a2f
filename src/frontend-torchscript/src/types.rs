//! Static types: what annotations and schemas say, and which type may stand for which.

use std::fmt;
use std::rc::Rc;

use super::syntax::{Expr, ExprKind, Name};
use aten2onnx_core::error::{Error, Result};

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    Tensor,
    Int,
    Float,
    Complex,
    Bool,
    Str,
    /// `Scalar`: int, float or complex.
    Number,
    None,
    Any,
    Device,
    /// `Generator`, `Stream`, `Storage`, `Capsule`: of no use here.
    Opaque(Name),
    Optional(Rc<Type>),
    List(Rc<Type>),
    Dict(Rc<(Type, Type)>),
    Tuple(Rc<[Type]>),
    Union(Rc<[Type]>),
    /// Also `Await`.
    Future(Rc<Type>),
    Class(Name),
    /// A variable of a schema.
    Var(Name),
    AnyEnum,
    AnyClass,
    /// A class, function or module path itself.
    Function,
    /// Any list, in `isinstance(x, list)`.
    AnyList,
    AnyTuple,
}

impl Type {
    /// `Optional[T]`, of which there is only one level.
    pub fn optional(of: Type) -> Type {
        match of {
            Type::Optional(_) | Type::None | Type::Any => of,
            of => Type::Optional(Rc::new(of)),
        }
    }

    /// `List[T]`
    pub fn list(of: Type) -> Type {
        Type::List(Rc::new(of))
    }

    /// `Dict[K, V]`
    pub fn dict(key: Type, value: Type) -> Type {
        Type::Dict(Rc::new((key, value)))
    }

    /// `Tuple[..]`
    pub fn tuple(items: Vec<Type>) -> Type {
        Type::Tuple(items.into())
    }

    /// The type without `Optional`.
    pub fn unwrapped(&self) -> &Type {
        match self {
            Type::Optional(of) => of,
            other => other,
        }
    }

    /// The type of the elements of a list.
    pub fn element(&self) -> Type {
        match self.unwrapped() {
            Type::List(of) => Type::clone(of),
            Type::Str => Type::Str,
            _ => Type::Any,
        }
    }

    /// Reads an annotation.
    pub fn read(expr: &Expr) -> Result<Type> {
        let unknown = || Error::unsupported("a type is not understood");
        match &expr.kind {
            ExprKind::None => Ok(Type::None),
            ExprKind::Name(_) | ExprKind::Attribute(..) => Ok(named(&expr.path().ok_or_else(unknown)?)),
            ExprKind::Index(head, args) => {
                let args = match &args.kind {
                    ExprKind::Tuple(items) => items.iter().map(Type::read).collect::<Result<Vec<Type>>>()?,
                    _ => vec![Type::read(args)?],
                };
                let head = head.path().ok_or_else(unknown)?;
                generic(&head, args).ok_or_else(|| Error::unsupported(format!("the type `{head}` is not understood")))
            }
            _ => Err(unknown()),
        }
    }

    /// Whether a value of this type may stand where the other is wanted.
    pub fn is_subtype_of(&self, other: &Type) -> bool {
        match (self, other) {
            (_, Type::Any) => true,
            (a, b) if a == b => true,
            (Type::Optional(a), Type::Optional(b)) => a.is_subtype_of(b),
            (Type::Optional(a), Type::Union(of)) => of.contains(&Type::None) && a.is_subtype_of(other),
            (Type::None, Type::Optional(_)) => true,
            (a, Type::Optional(b)) => a.is_subtype_of(b),
            (Type::Union(of), b) => of.iter().all(|a| a.is_subtype_of(b)),
            (a, Type::Union(of)) => of.iter().any(|b| a.is_subtype_of(b)),
            (Type::Int | Type::Float | Type::Complex, Type::Number) => true,
            (Type::Tuple(a), Type::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.is_subtype_of(b))
            }
            (Type::Class(_), Type::AnyClass | Type::AnyEnum) => true,
            (Type::List(_), Type::AnyList) | (Type::Tuple(_), Type::AnyTuple) => true,
            // Interfaces: the class of the object decides when it is used.
            (Type::Class(a), Type::Class(b)) => !is_builtin_class(a) && !is_builtin_class(b),
            _ => false,
        }
    }
}

/// Whether it is a class of C++.
fn is_builtin_class(name: &str) -> bool {
    name.starts_with("__torch__.torch.classes.")
}

/// A type without arguments.
pub fn named(name: &str) -> Type {
    match name {
        "Tensor" => Type::Tensor,
        "int" | "SymInt" | "ScalarType" | "Layout" | "MemoryFormat" | "QScheme" => Type::Int,
        "float" => Type::Float,
        "complex" => Type::Complex,
        "bool" => Type::Bool,
        "str" | "Dimname" => Type::Str,
        "number" | "Scalar" => Type::Number,
        "NoneType" | "None" => Type::None,
        "Any" | "Future" => Type::Any,
        "Device" => Type::Device,
        "Generator" | "Stream" | "Storage" | "Capsule" | "Quantizer" => Type::Opaque(Rc::from(name)),
        "AnyEnumType" => Type::AnyEnum,
        "AnyClassType" => Type::AnyClass,
        "list" => Type::AnyList,
        "tuple" => Type::AnyTuple,
        _ => Type::Class(Rc::from(name)),
    }
}

/// A type with arguments, with the names of Python and of schemas.
pub fn generic(head: &str, mut args: Vec<Type>) -> Option<Type> {
    let one = |args: &mut Vec<Type>| if args.len() == 1 { args.pop() } else { None };
    Some(match head {
        "Optional" => Type::optional(one(&mut args)?),
        "List" => Type::list(one(&mut args)?),
        "Final" => one(&mut args)?,
        "Future" | "Await" => Type::Future(Rc::new(one(&mut args)?)),
        "Dict" => match (args.pop(), args.pop()) {
            (Some(value), Some(key)) if args.is_empty() => Type::dict(key, value),
            _ => return None,
        },
        "Tuple" => Type::tuple(args),
        "Union" => Type::Union(args.into()),
        _ => return None,
    })
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, head: &str, items: &[Type]| {
            write!(f, "{head}[")?;
            for (index, item) in items.iter().enumerate() {
                write!(f, "{}{item}", if index > 0 { ", " } else { "" })?;
            }
            f.write_str("]")
        };
        match self {
            Type::Tensor => f.write_str("Tensor"),
            Type::Int => f.write_str("int"),
            Type::Float => f.write_str("float"),
            Type::Complex => f.write_str("complex"),
            Type::Bool => f.write_str("bool"),
            Type::Str => f.write_str("str"),
            Type::Number => f.write_str("number"),
            Type::None => f.write_str("None"),
            Type::Any => f.write_str("Any"),
            Type::Device => f.write_str("Device"),
            Type::Opaque(name) | Type::Var(name) => f.write_str(name),
            Type::Optional(of) => write!(f, "Optional[{of}]"),
            Type::List(of) => write!(f, "List[{of}]"),
            Type::Dict(of) => write!(f, "Dict[{}, {}]", of.0, of.1),
            Type::Tuple(items) => list(f, "Tuple", items),
            Type::Union(items) => list(f, "Union", items),
            Type::Future(of) => write!(f, "Future[{of}]"),
            Type::Class(name) => f.write_str(&super::code::readable(name)),
            Type::AnyEnum => f.write_str("enum"),
            Type::AnyClass => f.write_str("class"),
            Type::Function => f.write_str("function"),
            Type::AnyList => f.write_str("list"),
            Type::AnyTuple => f.write_str("tuple"),
        }
    }
}
