//! What is wrong with a call of an ONNX operator for all values that its arguments can have on a path, whatever the opset is: dtypes that no
//! version takes, numbers of outputs, ranks, lists of numbers, graphs. Such a call could only be refused when a model is exported.
//!
//! Each file looks at one thing, and says nothing if some values may be right.

mod attributes;
mod counts;
mod dtypes;
mod graphs;
mod lists;
mod ranks;
mod windows;

pub(super) use counts::requested;

use super::Coverage;
use super::call::{AbstractCall, Given, port_at};
use super::opsets::Opsets;
use super::values::{Abs, List, Number, Tensor};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::tree::{Expr, Node, Stated};
use crate::visit::input_expr;
use aten2onnx_schemas::onnx::Version;

/// A call with the places of its arguments.
struct Case<'c, 'a> {
    node: &'a Node,
    call: &'c AbstractCall<'a>,
    version: &'a Version,
    /// The positions of inputs that are numbers, whose dtype follows from others.
    numbers: &'c [usize],
    found: Vec<Diagnostic>,
}

impl<'a> Coverage<'a> {
    /// Errors for a call that is wrong for all values. Whether there are any.
    pub(super) fn check_call(
        &mut self,
        node: &'a Node,
        call: &AbstractCall<'a>,
        version: &'a Version,
        numbers: &[usize],
        at: Opsets,
    ) -> bool {
        self.note_unknown_attributes(call, at);
        if !self.judges || self.quiet > 0 {
            return false;
        }
        let shape = self.schemas.operators.facts(call.op).shape;
        let mut case = Case { node, call, version, numbers, found: Vec::new() };
        self.check_dtypes(&mut case);
        // Of the call of an example more is known than of others, but not its sizes: it may not take this path.
        if self.example.is_none() {
            self.check_attributes(&mut case);
            case.check_counts(shape);
            case.check_lists(shape);
            case.check_windows(shape);
            self.check_ranks(&mut case);
            case.check_graphs(shape);
        }
        let found = case.found;
        let is_wrong = !found.is_empty();
        for diagnostic in found {
            self.wrong(diagnostic, call.op);
        }
        is_wrong
    }

    /// Errors for types that a call of an operator of a domain with a snapshot states for its outputs.
    pub(super) fn check_stated(
        &mut self,
        stated: &'a [Stated],
        results: &Abs,
        call: &AbstractCall<'a>,
        version: &'a Version,
    ) {
        if !self.judges || self.quiet > 0 {
            return;
        }
        for diagnostic in self.wrong_stated(stated, results, call, version) {
            self.wrong(diagnostic, call.op);
        }
    }

    /// Errors for sizes that an `extern fn` is given.
    pub(super) fn check_extern(&mut self, name: &str, values: &[Abs], args: &'a [Expr]) {
        if !self.judges || self.quiet > 0 {
            return;
        }
        let Some(returns) = self.program.results.get(name) else { return };
        if let Some(diagnostic) = lists::wrong_sizes(returns, values, args) {
            self.wrong(diagnostic, crate::tree::short_name(name));
        }
    }

    /// Errors for calls of graphs.
    pub(super) fn check_apply(&mut self, graph: &Abs, given: &Abs, expr: &'a Expr) {
        if !self.judges || self.quiet > 0 {
            return;
        }
        if let Some(diagnostic) = graphs::wrong_call(graph, given, expr) {
            self.wrong(diagnostic, "the graph");
        }
    }

    /// Reports an error once for a place, with the way to it.
    fn wrong(&mut self, diagnostic: Diagnostic, last: &str) {
        let place = diagnostic.primary.0;
        if self.out.iter().any(|known| known.code == diagnostic.code && known.primary.0 == place) {
            return;
        }
        let way: Vec<String> = self.stack.iter().map(|entered| format!("`{}`", entered.name)).collect();
        let diagnostic = match way.len() {
            0 | 1 => diagnostic,
            _ => diagnostic.note(format!("the path: {} -> `{last}`", way.join(" -> "))),
        };
        self.out.push(match self.example {
            Some(example) => diagnostic.also(example, "in this call"),
            None => diagnostic,
        });
    }
}

impl<'a> Case<'_, 'a> {
    /// Reports an error.
    fn report(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    /// The place of an input, or that of the call.
    fn place_of(&self, input: usize) -> Span {
        self.node.inputs.get(input).and_then(input_expr).map_or(self.call.site, |e| e.span)
    }

    /// The place of an attribute's value, or that of the call.
    fn place_of_attribute(&self, name: &str) -> Span {
        self.node.attrs.iter().find(|attr| attr.0 == name).map_or(self.call.site, |attr| attr.2.span)
    }

    /// The name of an input.
    fn name_of(&self, input: usize) -> &'a str {
        port_at(&self.version.inputs, input).map_or("", |port| port.name.as_str())
    }

    /// The operator with the opset of its version.
    fn versioned(&self) -> String {
        format!("{}-{}", self.call.op, self.version.since)
    }

    /// The tensor of an input that is certainly there.
    fn tensor(&self, input: usize) -> Option<&Tensor> {
        match self.call.inputs.get(input)? {
            Given::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// The position of an input by name.
    fn input_named(&self, name: &str) -> Option<usize> {
        self.version.inputs.iter().position(|port| port.name == name)
    }

    /// The elements of an input, if they are a list.
    fn elements(&self, input: usize) -> Option<&List> {
        match self.tensor(input)?.elements.as_deref()? {
            Abs::List(list) => Some(list),
            _ => None,
        }
    }

    /// The value of an attribute that is certainly there.
    fn attribute(&self, name: &str) -> Option<&Abs> {
        match self.call.attr(name)? {
            Abs::Optional(optional) if !optional.absent => Some(&optional.present),
            value => Some(value),
        }
    }

    /// The list of an attribute that is certainly there.
    fn list_attribute(&self, name: &str) -> Option<&List> {
        match self.attribute(name)? {
            Abs::List(list) => Some(list),
            _ => None,
        }
    }

    /// The number of an attribute that is certainly there.
    fn number_attribute(&self, name: &str) -> Option<&Number> {
        match self.attribute(name)? {
            Abs::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The bounds of the rank of an input.
    fn rank_bounds(&self, input: usize) -> Option<(i64, i64)> {
        let ranks = self.tensor(input)?.ranks;
        (!ranks.is_empty()).then(|| ranks.bounds())
    }
}

/// The integers of a list whose elements are all known, or None for those that are not.
fn integers(list: &List) -> Option<Vec<Option<i64>>> {
    let items = list.items.as_deref()?;
    let integer = |item: &Abs| match item {
        Abs::Number(number) => number.integer(),
        _ => None,
    };
    Some(items.iter().map(integer).collect())
}

/// The bounds of the length of a list.
fn length(list: &List) -> (i64, i64) {
    (i64::from(list.least), i64::from(list.most))
}

/// Whether two ranges have no number in common.
fn are_apart((low, high): (i64, i64), (least, most): (i64, i64)) -> bool {
    high < least || most < low
}

/// `3`, `2 to 4`, `2 or more`
fn range_text((low, high): (i64, i64)) -> String {
    match high {
        _ if low == high => low.to_string(),
        high if high >= i64::from(i32::MAX) => format!("{low} or more"),
        high => format!("{low} to {high}"),
    }
}
