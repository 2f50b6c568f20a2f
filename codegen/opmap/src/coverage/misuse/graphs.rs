//! Graphs in attributes: how many inputs they take, how many results they have and of which dtypes, as their operator asks.

use super::super::call::Given;
use super::super::values::{Abs, Graph};
use super::counts::requested;
use super::dtypes::names;
use super::{Case, are_apart, length, range_text};
use crate::diagnostic::Diagnostic;
use crate::tree::Expr;
use aten2onnx_operators::Shape;
use aten2onnx_schemas::dtypes::DtypeSet;

/// What an operator asks of a graph.
struct Wanted {
    /// How many tensors it gives the graph.
    inputs: (i64, i64),
    /// How many results it reads.
    results: (i64, i64),
    /// What it reads them for.
    why: &'static str,
}

impl Case<'_, '_> {
    pub(super) fn check_graphs(&mut self, shape: Shape) {
        match shape {
            Shape::Branch => self.check_branches(),
            Shape::Loop => self.check_loop(),
            Shape::Scan => self.check_scan(),
            Shape::SequenceMap => self.check_sequence_map(),
            _ => {}
        }
    }

    fn graph(&self, name: &str) -> Option<Graph> {
        match self.call.attr(name)? {
            Abs::Graph(graph) => Some(graph.clone()),
            _ => None,
        }
    }

    /// Two branches without inputs, with the results of the node.
    fn check_branches(&mut self) {
        let outputs = requested(self.call);
        let mut results: Option<(&str, Graph)> = None;
        for name in ["then_branch", "else_branch"] {
            let Some(graph) = self.graph(name) else { continue };
            let wanted = Wanted { inputs: (0, 0), results: outputs, why: "a branch has the outputs of the node" };
            self.check_graph(name, &graph, &wanted);
            let Some((other, first)) = &results else {
                results = Some((name, graph));
                continue;
            };
            let pairs = first.results.items.iter().flat_map(|items| items.iter());
            let pairs = pairs.zip(graph.results.items.iter().flat_map(|items| items.iter()));
            let differing = pairs.enumerate().find(|(_, (a, b))| have_other_dtypes(a.dtypes(), b.dtypes()));
            if let Some((i, (a, b))) = differing {
                let (a, b) = (names(a.dtypes(), "or"), names(b.dtypes(), "or"));
                let text = format!("result {i} of `{name}` of `{}` is {b}, but that of `{other}` is {a}", self.call.op);
                let diagnostic = Diagnostic::new("E0315", self.place_of_attribute(name), text).label(b);
                self.report(diagnostic.help("cast one of them: both branches have the same types"));
            }
        }
    }

    /// The number of the turn, whether it goes on, and what is carried; it goes on, what is carried, and what is collected.
    fn check_loop(&mut self) {
        let Some(graph) = self.graph("body") else { return };
        let carried = self.count_from(2);
        let outputs = requested(self.call);
        let (low, high) = (outputs.0.max(carried.0), outputs.1);
        let wanted = Wanted {
            inputs: (carried.0.saturating_add(2), carried.1.saturating_add(2)),
            results: (low.saturating_add(1), high.saturating_add(1)),
            why: "a body takes the number of the turn, whether it goes on, and what is carried; it returns whether it goes on, what is \
                  carried, and what is collected",
        };
        self.check_graph("body", &graph, &wanted);
        let results = graph.results.items.as_deref().unwrap_or_default();
        if let Some(goes_on) = results.first().map(Abs::dtypes)
            && have_other_dtypes(goes_on, DtypeSet::one("bool"))
        {
            self.report_result(
                "body",
                0,
                goes_on,
                "whether the loop goes on is a bool",
                "return a bool first: the second input, or a condition",
            );
        }
        self.check_carried(results, 1, 2);
    }

    fn check_scan(&mut self) {
        let Some(graph) = self.graph("body") else { return };
        let all = self.count_from(0);
        let scanned = self.number_attribute("num_scan_inputs").and_then(super::Number::integer);
        if let Some(scanned) = scanned.filter(|scanned| !(1..=all.1).contains(scanned)) {
            let text = format!(
                "`num_scan_inputs` of `{}` is {scanned}, but {} tensors are given",
                self.call.op,
                range_text(all)
            );
            let place = self.place_of_attribute("num_scan_inputs");
            let diagnostic = Diagnostic::new("E0314", place, text).label("another number of tensors");
            self.report(diagnostic.help("give what is carried first, then as many tensors as are scanned"));
            return;
        }
        let outputs = requested(self.call);
        let states = scanned.map_or(0, |scanned| all.0.saturating_sub(scanned).max(0));
        let wanted = Wanted {
            inputs: all,
            results: (outputs.0.max(states), outputs.1),
            why: "a body takes what is carried and an element of each scanned tensor; it returns what is carried and what is collected",
        };
        self.check_graph("body", &graph, &wanted);
        let results = graph.results.items.as_deref().unwrap_or_default();
        let states = usize::try_from(states).unwrap_or(0);
        self.check_carried(results.get(..states).unwrap_or_default(), 0, 0);
    }

    fn check_sequence_map(&mut self) {
        let Some(graph) = self.graph("body") else { return };
        let why = "a body takes an element of each input, and returns one for each output";
        let wanted = Wanted { inputs: self.count_from(0), results: requested(self.call), why };
        self.check_graph("body", &graph, &wanted);
    }

    /// What is carried keeps its dtype. `first` is the position of the first result, `input` that of the first input.
    fn check_carried(&mut self, results: &[Abs], first: usize, input: usize) {
        let inputs = self.call.inputs.iter().skip(input);
        let pairs: Vec<(usize, DtypeSet, DtypeSet)> = inputs
            .take_while(|given| matches!(given, Given::Tensor(_)))
            .zip(results.iter().skip(first))
            .enumerate()
            .map(|(i, (given, result))| (i, given.dtypes(), result.dtypes()))
            .collect();
        let differing = pairs.into_iter().find(|(_, before, after)| have_other_dtypes(*before, *after));
        if let Some((i, before, after)) = differing {
            let fact = format!("it is {} before the first turn", names(before, "or"));
            self.report_result("body", first + i, after, &fact, "cast one of them: what is carried keeps its dtype");
        }
    }

    fn report_result(&mut self, name: &str, result: usize, dtypes: DtypeSet, fact: &str, help: &str) {
        let text = format!("result {result} of `{name}` of `{}` is {}", self.call.op, names(dtypes, "or"));
        let diagnostic = Diagnostic::new("E0315", self.place_of_attribute(name), text).label(names(dtypes, "or"));
        self.report(diagnostic.note(fact).help(help));
    }

    fn check_graph(&mut self, name: &str, graph: &Graph, wanted: &Wanted) {
        let takes = (i64::from(graph.least), i64::from(graph.most));
        let gives = length(&graph.results);
        let (what, is, needs) = match (are_apart(takes, wanted.inputs), are_apart(gives, wanted.results)) {
            (true, _) => ("takes", takes, wanted.inputs),
            (_, true) => ("returns", gives, wanted.results),
            _ => return,
        };
        let noun = if what == "takes" { "inputs" } else { "results" };
        let text = format!(
            "`{name}` of `{}` {what} {} {noun}, but the node needs {}",
            self.call.op,
            range_text(is),
            range_text(needs)
        );
        let diagnostic =
            Diagnostic::new("E0315", self.place_of_attribute(name), text).label(format!("{} {noun}", range_text(is)));
        self.report(diagnostic.note(wanted.why).help("make the graph and the inputs and outputs of the node agree"));
    }

    /// The bounds of the number of tensors from an input on.
    fn count_from(&self, first: usize) -> (i64, i64) {
        let count = |given: &Given| match given {
            Given::Spread(list) => length(list),
            // An input in the middle that is absent is counted, too.
            _ => (1, 1),
        };
        let counts = self.call.inputs.iter().skip(first).map(count);
        counts.fold((0, 0), |all, own| (all.0.saturating_add(own.0), all.1.saturating_add(own.1)))
    }
}

fn have_other_dtypes(a: DtypeSet, b: DtypeSet) -> bool {
    !a.is_empty() && !b.is_empty() && !a.meets(b)
}

/// An error for a call of a graph with another number of tensors than it takes.
pub(super) fn wrong_call(graph: &Abs, given: &Abs, expr: &Expr) -> Option<Diagnostic> {
    let (Abs::Graph(graph), Abs::List(given)) = (graph, given) else { return None };
    let takes = (i64::from(graph.least), i64::from(graph.most));
    let own = length(given);
    if are_apart(takes, own) {
        let text = format!("the graph takes {} tensors, but gets {}", range_text(takes), range_text(own));
        let diagnostic = Diagnostic::new("E0315", expr.span, text).label("another number of tensors");
        return Some(diagnostic.help("give it one tensor for each of its names"));
    }
    let gives = length(&graph.results);
    let read = match &expr.ty {
        crate::types::Ty::Tensor => (1, 1),
        crate::types::Ty::Tuple(parts) => (i64::try_from(parts.len()).ok()?, i64::try_from(parts.len()).ok()?),
        _ => return None,
    };
    if !are_apart(gives, read) {
        return None;
    }
    let text = format!("the graph returns {} tensors, but {} are read", range_text(gives), range_text(read));
    let diagnostic = Diagnostic::new("E0315", expr.span, text).label("another number of results");
    Some(diagnostic.help("bind as many names as it returns"))
}
