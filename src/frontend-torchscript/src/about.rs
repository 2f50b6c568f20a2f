//! What an archive says of itself: methods with their inputs, operators in its code, weights. Nothing is run, so the
//! inputs need no description.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::code::readable;
use super::inputs;
use super::syntax::{Class, Expr, ExprKind, Function, Stmt, StmtKind};
use aten2onnx_archive::zip::Archive;
use aten2onnx_core::error::Result;
use aten2onnx_core::weights::Weight;
use aten2onnx_options::Spec;

/// The contents of an archive.
#[derive(Debug)]
pub struct About {
    /// What the user is told of it.
    pub facts: Facts,
    /// Its weights; equal ones are one.
    pub weights: Vec<Arc<Weight>>,
    /// Operators, with the function of each place in the code that calls them.
    pub operators: BTreeMap<String, Vec<String>>,
}

/// The version of an archive, and the methods of its module.
#[derive(Debug, Clone, Serialize)]
pub struct Facts {
    /// The version of the format, which tells what old operators mean.
    pub version: u64,
    /// The class of the module.
    pub class: String,
    /// Methods of the module.
    pub methods: Vec<Method>,
}

/// A method.
#[derive(Debug, Clone, Serialize)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// `forward(x: Tensor, n: int = 4) -> Tensor`
    pub signature: String,
    /// Parameters without `self`.
    pub parameters: Vec<Parameter>,
    /// The type of the results.
    pub returns: String,
}

/// A parameter of a method.
#[derive(Debug, Clone, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The type in the code, which says nothing of dtypes and sizes.
    #[serde(rename = "type")]
    pub ty: String,
    /// The default in the code.
    pub default: Option<String>,
    /// What it was when the method was traced: `float32[1, 3, 224, 224]`.
    pub recorded: Option<String>,
    /// The text that describes it: `x:f32[batch,3,224,224]`. None if it was recorded or has a default.
    pub describe: Option<String>,
}

/// Reads what an archive says of itself.
///
/// # Errors
/// A damaged archive.
pub fn about(archive: &Archive) -> Result<About> {
    super::with_stack(|| {
        let mut loaded = super::load(archive)?;
        let class = super::class_of(&loaded.heap, &loaded.root)?;
        let is_shown = |name: &str| !name.starts_with("__") && !is_hook(&class.tree, name);
        let methods = class.tree.methods.iter().filter(|method| is_shown(&method.name));
        let facts = Facts {
            version: loaded.version,
            class: readable(&class.name),
            methods: methods.map(|tree| method(archive, tree)).collect::<Result<Vec<Method>>>()?,
        };
        let weights = loaded.weights.found.into_values().collect();
        let mut found = Operators::default();
        for (file, module) in loaded.code.files()? {
            let unit = readable(&file.trim_start_matches("code/").trim_end_matches(".py").replace('/', "."));
            let name = |parts: &[&str]| {
                let parts = std::iter::once(unit.as_str()).chain(parts.iter().copied());
                parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".")
            };
            for class in &module.classes {
                for method in &class.methods {
                    found.function(&name(&[&class.name, &method.name]), &method.body);
                }
            }
            for function in &module.functions {
                found.function(&name(&[&function.name]), &function.body);
            }
        }
        Ok(About { facts, weights, operators: found.operators })
    })
}

fn is_hook(class: &Class, name: &str) -> bool {
    class.pre_hooks.iter().chain(&class.hooks).any(|hook| **hook == *name)
}

fn method(archive: &Archive, tree: &Function) -> Result<Method> {
    let recorded = inputs::traced(archive, &tree.name)?.unwrap_or_default();
    let mut recorded = recorded.into_iter();
    let parameter = |param| {
        let recorded: Option<Spec> = recorded.next();
        inputs::parameter(param, recorded.as_ref())
    };
    Ok(Method {
        name: tree.name.to_string(),
        signature: inputs::signature(tree),
        parameters: tree.params.iter().skip(1).map(parameter).collect(),
        returns: inputs::return_type(tree).to_string(),
    })
}

/// The operators that code calls.
#[derive(Default)]
struct Operators {
    operators: BTreeMap<String, Vec<String>>,
    function: String,
}

impl Operators {
    fn function(&mut self, name: &str, body: &[Stmt]) {
        name.clone_into(&mut self.function);
        self.block(body);
    }

    fn block(&mut self, body: &[Stmt]) {
        for stmt in body {
            match &stmt.kind {
                StmtKind::Assign { values, .. } => self.all(values),
                StmtKind::Declare { value, .. } => self.expr(value),
                StmtKind::SetAttribute { object, value, .. } => {
                    self.expr(object);
                    self.expr(value);
                }
                StmtKind::If { condition, yes, no } => {
                    self.expr(condition);
                    self.block(yes);
                    self.block(no);
                }
                StmtKind::For { range, body, .. } => {
                    self.all(range);
                    self.block(body);
                }
                StmtKind::While { body, .. } => self.block(body),
                StmtKind::With { object, body, .. } => {
                    self.expr(object);
                    self.block(body);
                }
                StmtKind::Return(Some(value)) | StmtKind::Expr(value) => self.expr(value),
                StmtKind::Define(function) => self.block(&function.body),
                StmtKind::Pass | StmtKind::Return(None) => {}
            }
        }
    }

    fn all(&mut self, exprs: &[Expr]) {
        exprs.iter().for_each(|expr| self.expr(expr));
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Call { callee, args, named } => {
                match operator(callee) {
                    Some(name) => self.operators.entry(name).or_default().push(self.function.clone()),
                    None => self.expr(callee),
                }
                self.all(args);
                named.iter().for_each(|(_, arg)| self.expr(arg));
            }
            ExprKind::Attribute(object, _) => self.expr(object),
            ExprKind::Neg(inner) => self.expr(inner),
            ExprKind::Index(object, index) => {
                self.expr(object);
                self.expr(index);
            }
            ExprKind::Slice(object, ..) => self.expr(object),
            ExprKind::Tuple(items) | ExprKind::List(items) => self.all(items),
            ExprKind::Dict(pairs) => pairs.iter().for_each(|(key, value)| {
                self.expr(key);
                self.expr(value);
            }),
            _ => {}
        }
    }
}

/// `torch.relu` is `aten::relu`, and `ops.quantized.linear` is `quantized::linear`.
fn operator(callee: &Expr) -> Option<String> {
    let ExprKind::Attribute(object, name) = &callee.kind else { return None };
    match &object.kind {
        ExprKind::Name(torch) if &**torch == "torch" => Some(format!("aten::{name}")),
        ExprKind::Attribute(ops, namespace) if matches!(&ops.kind, ExprKind::Name(ops) if &**ops == "ops") => {
            Some(format!("{namespace}::{name}"))
        }
        _ => None,
    }
}
