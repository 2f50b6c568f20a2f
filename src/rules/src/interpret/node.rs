//! Nodes: inputs, attributes, bodies, outputs.

use aten2onnx_opmap::coverage::said::place_of;
use aten2onnx_opmap::source::Span;
use aten2onnx_opmap::tree::{AttrForm, ClosureParams, Expr, Input, Kind, Node, Outputs, Stated};

use super::eval::Frame;
use crate::arguments::value::mismatch;
use crate::arguments::{FromVal, Val};
use crate::support;
use aten2onnx_builder::{Builder, In, OperatorForm, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Value, intern};
use aten2onnx_onnx::schema;

type Attrs = Vec<(&'static str, Attr)>;

impl<'r> Frame<'r> {
    /// A node as one value, a tuple or a list.
    pub(super) fn node(&mut self, cx: &mut Builder, node: &'r Node, written: Span) -> Result<Val> {
        // The count comes first, as in compiled rules, because it may make nodes.
        let count = match &node.outputs {
            Outputs::Typed(stated) => return self.foreign(cx, node, stated),
            Outputs::One => 1,
            Outputs::Tuple(count) => *count,
            Outputs::List(count) => support::count(self.take(cx, count)?)?,
        };
        let op =
            schema::find(&node.op).ok_or_else(|| Error::internal(format!("there is no operator `{}`", node.op)))?;
        let inputs: Vec<In> = node.inputs.iter().map(|input| self.input(cx, input)).collect::<Result<_>>()?;
        let attrs = self.attributes(cx, node, op, &inputs)?;
        // Any larger number also means the newest form.
        let form =
            if node.form == self.rules.newest() { OperatorForm::NEWEST } else { OperatorForm::before(node.form + 1) };
        // The proof knows the call by the same place.
        if cx.trace().emitted().is_some() {
            cx.trace().announce_node_at(place_of(node, written));
        }
        let values = cx.node_in(form, op.name, inputs, attrs, count)?;
        match &node.outputs {
            Outputs::One => values
                .first()
                .map(|value| Val::Tensor(*value))
                .ok_or_else(|| Error::internal(format!("`{}` has no output", node.op))),
            Outputs::List(_) | Outputs::Typed(_) => Ok(values.into()),
            Outputs::Tuple(count) if values.len() == *count => {
                Ok(Val::Tuple(values.into_iter().map(Val::Tensor).collect()))
            }
            Outputs::Tuple(count) => {
                let given = values.len();
                Err(Error::internal(format!("expected {count} outputs of a node, found {given}")))
            }
        }
    }

    /// A node of another domain, whose output types the rule states.
    fn foreign(&mut self, cx: &mut Builder, node: &'r Node, stated: &'r [Stated]) -> Result<Val> {
        let mut types: Vec<(Dtype, Vec<SymInt>)> = Vec::with_capacity(stated.len());
        for output in stated {
            types.push((self.take(cx, &output.dtype)?, self.take(cx, &output.shape)?));
        }
        let inputs: Vec<In> = node.inputs.iter().map(|input| self.input(cx, input)).collect::<Result<_>>()?;
        let mut attrs = Attrs::new();
        for (name, form, value) in &node.attrs {
            match self.eval(cx, value)? {
                Val::None => {}
                value => attrs.push((intern(name), attribute(*form, value)?)),
            }
        }
        let values = cx.foreign(intern(&node.op), node.form, inputs, attrs, types)?;
        match values.as_slice() {
            [value] => Ok(Val::Tensor(*value)),
            _ => Ok(Val::Tuple(values.into_iter().map(Val::Tensor).collect())),
        }
    }

    fn input(&mut self, cx: &mut Builder, input: &'r Input) -> Result<In> {
        Ok(match input {
            Input::Absent => In::None,
            Input::Tensor(e) | Input::Optional(e) => self.take::<Option<Value>>(cx, e)?.into(),
            Input::Number(e) => match self.eval(cx, without_conversions(e))? {
                Val::Int(n) => n.into(),
                Val::Float(x) => x.into(),
                Val::Bool(b) => b.into(),
                Val::SymInt(n) => n.into(),
                Val::Scalar(number) => number.into(),
                other => return Err(mismatch("a number", &other)),
            },
            Input::OptionalNumber(e) => self.take::<Option<Scalar>>(cx, e)?.into(),
            Input::Ints(e) => self.take::<Vec<SymInt>>(cx, e)?.into(),
            Input::Floats(e) => In::Floats(self.take(cx, e)?),
            Input::Spread(e) => In::Values(self.take(cx, e)?),
        })
    }

    /// Bodies come last, because the types of their inputs depend on the other attributes.
    fn attributes(
        &mut self,
        cx: &mut Builder,
        node: &'r Node,
        op: &'static schema::Op,
        inputs: &[In],
    ) -> Result<Attrs> {
        let (bodies, others): (Vec<_>, Vec<_>) = node.attrs.iter().partition(|attr| attr.1 == AttrForm::Graph);
        let mut attrs = Attrs::new();
        for (name, form, value) in others.into_iter().chain(bodies) {
            let name = attribute_name(op, name)?;
            if let Kind::Closure(params, body) = &value.kind {
                let graph = self.graph(cx, op.name, name, params, body, inputs, &attrs)?;
                attrs.push((name, graph));
                continue;
            }
            if *form == AttrForm::Graph {
                let graph = self.eval(cx, value)?;
                let graph = self.graph_attr(cx, graph, op.name, name, inputs, &attrs)?;
                attrs.push((name, graph));
                continue;
            }
            match self.eval(cx, value)? {
                Val::None => {}
                value => attrs.push((name, attribute(*form, value)?)),
            }
        }
        Ok(attrs)
    }

    /// The body of a `_g` attribute; its input types follow from those of the node.
    #[allow(clippy::too_many_arguments)]
    fn graph(
        &mut self,
        cx: &mut Builder,
        op: &str,
        name: &str,
        params: &'r ClosureParams,
        body: &'r Expr,
        inputs: &[In],
        attrs: &Attrs,
    ) -> Result<Attr> {
        let types = cx.body_params(op, name, inputs, attrs)?;
        cx.body(&types, |cx, inputs| {
            self.scoped(|frame| {
                frame.bind_params(params, inputs)?;
                frame.eval(cx, body)?.into_values()
            })
        })
    }
}

/// Removes implicit conversions around an expression.
fn without_conversions(expr: &Expr) -> &Expr {
    match &expr.kind {
        Kind::Convert(inner) => without_conversions(inner),
        _ => expr,
    }
}

/// The static name from the schema.
fn attribute_name(op: &'static schema::Op, name: &str) -> Result<&'static str> {
    let mut all = op.versions.iter().rev().flat_map(|version| version.attributes);
    let found = all.find(|attribute| attribute.name == name);
    found.map(|a| a.name).ok_or_else(|| Error::internal(format!("`{}` has no attribute `{name}`", op.name)))
}

fn attribute(form: AttrForm, value: Val) -> Result<Attr> {
    Ok(match (form, value) {
        (AttrForm::Float, Val::Int(n)) => Attr::Float(n as f64),
        (AttrForm::Float, Val::Scalar(number)) => Attr::Float(support::known_float(&number)?),
        (AttrForm::Float, value) => Attr::Float(f64::from_val(value)?),
        (AttrForm::Int, Val::Bool(b)) => Attr::Int(b.into()),
        (AttrForm::Int, Val::Dtype(dtype)) => Attr::Int(dtype.onnx().into()),
        (AttrForm::Int, value) => Attr::Int(i64::from_val(value)?),
        (AttrForm::Str, value) => Attr::Str(String::from_val(value)?),
        (AttrForm::Floats, Val::List(items)) => Attr::Floats(items.iter().cloned().map(float).collect::<Result<_>>()?),
        (AttrForm::Floats, other) => return Err(mismatch("floats", &other)),
        (AttrForm::Ints, value) => Attr::Ints(Vec::from_val(value)?),
        (AttrForm::Strs, value) => Attr::Strs(Vec::from_val(value)?),
        (AttrForm::Tensor, value) => Attr::Tensor(Value::from_val(value)?),
        (AttrForm::Graph, other) => return Err(mismatch("an attribute", &other)),
    })
}

fn float(value: Val) -> Result<f64> {
    match value {
        Val::Int(n) => Ok(n as f64),
        value => f64::from_val(value),
    }
}
