//! Operators on complex numbers. Linear operators apply to each part; the others are expanded into real arithmetic.

use crate::build::{Builder, In, OperatorForm};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::{Attr, Value};
use aten2onnx_onnx::schema::{self, Function, Linear, Shape, Version};

/// A call with complex inputs.
pub(crate) struct ComplexCall {
    pub before: u32,
    pub op: &'static str,
    pub form: &'static Version,
    pub inputs: Vec<Option<Value>>,
    pub attrs: Vec<(&'static str, Attr)>,
    pub outputs: usize,
}

impl ComplexCall {
    /// The same operator on real inputs.
    fn on(&self, cx: &mut Builder, inputs: Vec<In>) -> Result<Vec<Value>> {
        cx.node_in(OperatorForm::before(self.before), self.op, inputs, self.attrs.clone(), self.outputs)
    }

    fn single_output(&self, cx: &mut Builder, inputs: Vec<In>) -> Result<Value> {
        let values = self.on(cx, inputs)?;
        values.first().copied().ok_or_else(|| cx.fault(format!("`{}` has no output", self.op)))
    }

    fn input(&self, cx: &Builder, i: usize) -> Result<Value> {
        let given = self.inputs.get(i).copied().flatten();
        given.ok_or_else(|| cx.fault(format!("`{}` is called without its input {i}", self.op)))
    }

    /// Whether input `i` may be complex: its own dtype is complex, or its type variable is.
    fn takes_complex(&self, cx: &Builder, i: usize) -> bool {
        let variable = |i: usize| self.form.input_port(i).map(|port| port.ty);
        self.inputs.iter().enumerate().any(|(j, v)| v.is_some_and(|v| cx.is_complex(v)) && variable(i) == variable(j))
    }

    /// The parts are computed apart: linear operators, unless they scatter with a product, a maximum or a minimum, and those that are
    /// linear in each input, if there is one.
    fn is_linear(&self) -> bool {
        let adds = |attr: &Attr| matches!(attr, Attr::Str(s) if s == "none" || s == "add");
        match schema::facts(self.op).linear {
            Linear::No => false,
            Linear::Together => self.attrs.iter().all(|(name, attr)| *name != "reduction" || adds(attr)),
            Linear::Each => self.inputs.len() == 1,
        }
    }

    /// An equation takes any number of factors; the third input of the others is added.
    fn is_bilinear(&self) -> bool {
        let facts = schema::facts(self.op);
        let most = if facts.shape == Shape::Einsum { 2 } else { 3 };
        facts.linear == Linear::Each && (2..=most).contains(&self.inputs.len())
    }
}

impl Builder {
    /// The results of an operator on complex numbers.
    pub(crate) fn complex_node(&mut self, call: &ComplexCall) -> Result<Vec<Value>> {
        let facts = schema::facts(call.op);
        if matches!(facts.shape, Shape::OfShape | Shape::Size) {
            let (re, _) = self.parts(call.input(self, 0)?)?;
            return call.on(self, vec![re.into()]);
        }
        if call.is_linear() {
            return self.part_by_part(call);
        }
        if call.is_bilinear() {
            return Ok(vec![self.product(call)?]);
        }
        match facts.computes {
            Some(Function::Div) => Ok(vec![self.quotient(call.input(self, 0)?, call.input(self, 1)?)?]),
            Some(Function::Equal) => Ok(vec![self.both_equal(call)?]),
            Some(Function::Abs) => Ok(vec![self.modulus(call.input(self, 0)?)?]),
            _ => Err(Error::unsupported(format!("`{}` does not take complex numbers", call.op))),
        }
    }

    fn part_by_part(&mut self, call: &ComplexCall) -> Result<Vec<Value>> {
        let (mut real, mut imaginary) = (Vec::new(), Vec::new());
        let mut is_real = true;
        for (i, input) in call.inputs.iter().enumerate() {
            let Some(value) = *input else {
                real.push(In::None);
                imaginary.push(In::None);
                continue;
            };
            if !call.takes_complex(self, i) {
                real.push(value.into());
                imaginary.push(value.into());
                continue;
            }
            let (re, im) = self.parts(value)?;
            is_real &= im.is_none();
            real.push(re.into());
            imaginary.push(im.map_or(In::None, In::from));
        }
        let reals = call.on(self, real.clone())?;
        if is_real {
            return reals.into_iter().map(|re| self.complex(re, None)).collect();
        }
        for (re, im) in real.iter().zip(imaginary.iter_mut()) {
            if let (In::Value(re), In::None) = (re, &im) {
                *im = self.zeros_like(*re)?.into();
            }
        }
        let imaginaries = call.on(self, imaginary)?;
        reals.into_iter().zip(imaginaries).map(|(re, im)| self.complex(re, Some(im))).collect()
    }

    /// `(a + bi)(c + di)`, plus the parts of an optional third input.
    fn product(&mut self, call: &ComplexCall) -> Result<Value> {
        let (a, b) = self.parts(call.input(self, 0)?)?;
        let (c, d) = self.parts(call.input(self, 1)?)?;
        let (re_bias, im_bias) = match call.inputs.get(2).copied().flatten() {
            Some(bias) => (Some(self.parts(bias)?.0), Some(self.imaginary(bias)?)),
            None => (None, None),
        };
        let with = |x: Value, y: Value, bias: Option<Value>| {
            let mut inputs = vec![In::Value(x), In::Value(y)];
            inputs.extend(bias.map(In::Value));
            inputs
        };
        let mut re = call.single_output(self, with(a, c, re_bias))?;
        if let (Some(b), Some(d)) = (b, d) {
            let other = call.single_output(self, with(b, d, None))?;
            re = self.node1("Sub", vec![re.into(), other.into()], vec![])?;
        }
        let im = match (b, d) {
            (None, None) => im_bias.map(|bias| self.expand_like(bias, re)).transpose()?,
            (Some(b), None) => Some(call.single_output(self, with(b, c, im_bias))?),
            (None, Some(d)) => Some(call.single_output(self, with(a, d, im_bias))?),
            (Some(b), Some(d)) => {
                let first = call.single_output(self, with(a, d, im_bias))?;
                let second = call.single_output(self, with(b, c, None))?;
                Some(self.node1("Add", vec![first.into(), second.into()], vec![])?)
            }
        };
        self.complex(re, im)
    }

    fn expand_like(&mut self, value: Value, like: Value) -> Result<Value> {
        let shape = self.shape(like)?;
        self.expand(value, &shape)
    }

    /// `x / y`. The divisor is first scaled to about 1, so that its square neither overflows nor underflows.
    fn quotient(&mut self, x: Value, y: Value) -> Result<Value> {
        let (a, b) = self.parts(x)?;
        let (c, d) = self.parts(y)?;
        let Some(d) = d else {
            let re = self.binary("Div", a, c)?;
            let im = b.map(|b| self.binary("Div", b, c)).transpose()?;
            return self.complex(re, im);
        };
        let (c_size, d_size) = (self.unary("Abs", c)?, self.unary("Abs", d)?);
        let size = self.binary("Max", c_size, d_size)?;
        let (c, d) = (self.binary("Div", c, size)?, self.binary("Div", d, size)?);
        let (c_square, d_square) = (self.binary("Mul", c, c)?, self.binary("Mul", d, d)?);
        let square = self.binary("Add", c_square, d_square)?;
        let (c, d) = (self.binary("Div", c, square)?, self.binary("Div", d, square)?);
        // x times the conjugate of y, divided by the square of |y|.
        let (ac, ad) = (self.binary("Mul", a, c)?, self.binary("Mul", a, d)?);
        let (re, im) = match b {
            None => (ac, self.unary("Neg", ad)?),
            Some(b) => {
                let (bc, bd) = (self.binary("Mul", b, c)?, self.binary("Mul", b, d)?);
                (self.binary("Add", ac, bd)?, self.binary("Sub", bc, ad)?)
            }
        };
        let (re, im) = (self.binary("Div", re, size)?, self.binary("Div", im, size)?);
        self.complex(re, Some(im))
    }

    fn both_equal(&mut self, call: &ComplexCall) -> Result<Value> {
        let (x, y) = (call.input(self, 0)?, call.input(self, 1)?);
        let (a, c) = (self.parts(x)?.0, self.parts(y)?.0);
        let (b, d) = (self.imaginary(x)?, self.imaginary(y)?);
        let (re, im) = (self.binary("Equal", a, c)?, self.binary("Equal", b, d)?);
        self.binary("And", re, im)
    }

    /// The absolute value, a real number.
    fn modulus(&mut self, x: Value) -> Result<Value> {
        let (re, im) = self.parts(x)?;
        let Some(im) = im else { return self.unary("Abs", re) };
        let (re_square, im_square) = (self.binary("Mul", re, re)?, self.binary("Mul", im, im)?);
        let square = self.binary("Add", re_square, im_square)?;
        self.unary("Sqrt", square)
    }

    fn unary(&mut self, op: &'static str, x: Value) -> Result<Value> {
        self.node1(op, vec![x.into()], vec![])
    }

    fn binary(&mut self, op: &'static str, x: Value, y: Value) -> Result<Value> {
        self.node1(op, vec![x.into(), y.into()], vec![])
    }
}
