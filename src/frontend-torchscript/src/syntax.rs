//! The tree of a file of code: classes, functions, statements and expressions, with offsets in the code.

use std::fmt;
use std::rc::Rc;

pub use super::lexer::Name;

/// A file.
#[derive(Debug, Default)]
pub struct Module {
    pub classes: Vec<Rc<Class>>,
    pub functions: Vec<Rc<Function>>,
}

/// A class.
#[derive(Debug)]
pub struct Class {
    pub name: Name,
    /// `Module`, `NamedTuple`, `Interface`, `ModuleInterface`, `Enum`; None for a class of the user.
    pub base: Option<Name>,
    /// Attributes, fields and constants in order.
    pub attributes: Vec<Attribute>,
    pub methods: Vec<Rc<Function>>,
    /// Functions to run before and after `forward` when the module itself is called.
    pub pre_hooks: Vec<Name>,
    pub hooks: Vec<Name>,
}

/// An attribute of a class.
#[derive(Debug)]
pub struct Attribute {
    pub name: Name,
    /// None for members of an enum.
    pub ty: Option<Expr>,
    /// A constant, the default of a field, or the value of a member.
    pub value: Option<Expr>,
}

/// A function or method.
#[derive(Debug)]
pub struct Function {
    pub name: Name,
    pub at: usize,
    pub params: Vec<Param>,
    pub returns: Option<Expr>,
    pub body: Vec<Stmt>,
}

/// A parameter.
#[derive(Debug)]
pub struct Param {
    pub name: Name,
    pub ty: Option<Expr>,
    pub default: Option<Expr>,
}

/// A statement.
#[derive(Debug)]
pub struct Stmt {
    pub at: usize,
    pub kind: StmtKind,
}

/// The kinds of statements.
#[derive(Debug)]
pub enum StmtKind {
    /// `a, b, = x` unpacks; `a, b = x, y` assigns one by one.
    Assign {
        targets: Vec<Name>,
        unpack: bool,
        values: Vec<Expr>,
    },
    /// `a : T = x`
    Declare {
        name: Name,
        ty: Expr,
        value: Expr,
    },
    /// `x.a = y`
    SetAttribute {
        object: Expr,
        name: Name,
        value: Expr,
    },
    If {
        condition: Expr,
        yes: Vec<Stmt>,
        no: Vec<Stmt>,
    },
    /// `for i in range(..)`
    For {
        name: Name,
        range: Vec<Expr>,
        body: Vec<Stmt>,
    },
    While {
        condition: Name,
        body: Vec<Stmt>,
    },
    With {
        object: Expr,
        name: Option<Name>,
        body: Vec<Stmt>,
    },
    Pass,
    Return(Option<Expr>),
    Expr(Expr),
    /// A function inside of a function, for `fork`.
    Define(Rc<Function>),
}

/// An expression.
#[derive(Debug, Clone)]
pub struct Expr {
    pub at: usize,
    pub kind: ExprKind,
}

/// The kinds of expressions.
#[derive(Debug, Clone)]
pub enum ExprKind {
    None,
    Bool(bool),
    Int(i64),
    /// An integer that each of several traces has with another value; no parser makes it.
    Varying(Rc<[i64]>),
    Float(f64),
    Complex(f64, f64),
    Str(Name),
    Name(Name),
    Attribute(Box<Expr>, Name),
    Call {
        callee: Box<Expr>,
        args: Vec<Expr>,
        named: Vec<(Name, Expr)>,
    },
    Index(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    Tuple(Vec<Expr>),
    List(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    Neg(Box<Expr>),
}

impl Expr {
    /// `__torch__.a.b` as text, if it is a chain of names.
    pub fn path(&self) -> Option<String> {
        match &self.kind {
            ExprKind::Name(name) => Some(name.to_string()),
            ExprKind::Attribute(object, name) => object.path().map(|path| format!("{path}.{name}")),
            _ => None,
        }
    }
}

/// A literal or name as in Python; other expressions are `..`.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = |items: &[Expr]| items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match &self.kind {
            ExprKind::None => f.write_str("None"),
            ExprKind::Bool(true) => f.write_str("True"),
            ExprKind::Bool(false) => f.write_str("False"),
            ExprKind::Int(number) => write!(f, "{number}"),
            ExprKind::Float(number) => write!(f, "{number:?}"),
            ExprKind::Str(text) => write!(f, "{text:?}"),
            ExprKind::List(items) => write!(f, "[{}]", all(items)),
            ExprKind::Tuple(items) => write!(f, "({})", all(items)),
            _ => f.write_str(self.path().as_deref().unwrap_or("..")),
        }
    }
}
