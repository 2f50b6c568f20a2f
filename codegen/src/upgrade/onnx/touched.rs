//! Where operators of ONNX occur: in rules of PyTorch's operators, in lowerings, in rewrites, in what is known of runtimes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use aten2onnx_opmap::Checked;
use aten2onnx_opmap::source::Span;
use aten2onnx_opmap::syntax::ast::AVOIDED;
use aten2onnx_opmap::tree::{Expr, Function, Kind, is_private, short_name};
use aten2onnx_opmap::visit;
use aten2onnx_schemas::Schemas;

/// By operator.
#[derive(Debug, Clone, Default)]
pub struct Touched {
    places: BTreeMap<String, Places>,
    /// The rules of PyTorch's operators: the name without the namespace, and the file.
    rules: BTreeSet<(String, String)>,
    /// All runtimes that something is known of.
    runtimes: BTreeSet<String>,
}

/// Where an operator occurs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The `lower`, `raise` and `same` that are about it, and their files.
    pub own: BTreeSet<(String, String)>,
    /// What calls it, and its files: rules, lowerings of other operators, helpers, rewrites.
    pub calls: BTreeSet<(String, String)>,
    /// The runtimes of which something is known about it.
    pub targets: BTreeSet<String>,
}

impl Touched {
    /// Of the rules in a folder, as far as these could be checked, and of the runtimes.
    pub fn of(checked: &Checked, mappings: &Path) -> Touched {
        let mut touched = Touched::default();
        let program = &checked.program;
        let file = |span: Span| {
            let path = Path::new(&checked.sources.file(span.file).path);
            let folders = [Some(mappings), mappings.file_name().map(Path::new)];
            folders
                .into_iter()
                .flatten()
                .find_map(|folder| path.strip_prefix(folder).ok())
                .unwrap_or(path)
                .display()
                .to_string()
        };
        for lower in &program.lowers {
            let is_avoided = lower.before == AVOIDED;
            let name = if is_avoided {
                format!("lower {} avoided", lower.op)
            } else {
                format!("lower {} before {}", lower.op, lower.before)
            };
            touched.add_own(&lower.op, &name, &file(lower.function.span));
        }
        for raise in &program.raises {
            touched.add_own(
                &raise.op,
                &format!("raise {} from {}", raise.op, raise.before),
                &file(raise.function.span),
            );
        }
        for same in &program.sames {
            touched.add_own(&same.op, &format!("same {} as {}", same.op, same.to), &file(same.span));
        }
        let maps = program.maps.iter().map(|map| &map.function);
        let lowers = program.lowers.iter().chain(&program.raises).map(|lower| &lower.function);
        for function in maps.chain(lowers).chain(&program.fns) {
            touched.body(function, &file(function.span));
        }
        for map in program.operator_maps() {
            if let Some(name) = map.function.name.strip_prefix("aten::") {
                touched.rules.insert((name.to_owned(), file(map.function.span)));
            }
        }
        touched.targets(&checked.schemas);
        touched
    }

    /// Where an operator occurs.
    pub fn places(&self, op: &str) -> Places {
        self.places.get(op).cloned().unwrap_or_default()
    }

    /// All operators that occur.
    pub fn ops(&self) -> impl Iterator<Item = (&str, &Places)> {
        self.places.iter().map(|(op, places)| (op.as_str(), places))
    }

    /// The rules of PyTorch's operators by their names without `aten::`, and their files.
    pub fn namesakes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rules.iter().map(|(name, file)| (name.as_str(), file.as_str()))
    }

    /// The runtimes of which something is known.
    pub fn runtimes(&self) -> impl Iterator<Item = &str> {
        self.runtimes.iter().map(String::as_str)
    }

    /// Adds a rule that is about an operator.
    pub fn add_own(&mut self, op: &str, rule: &str, file: &str) {
        self.entry(op).own.insert((rule.to_owned(), file.to_owned()));
    }

    /// Adds a rule that calls an operator.
    pub fn add_call(&mut self, op: &str, rule: &str, file: &str) {
        self.entry(op).calls.insert((rule.to_owned(), file.to_owned()));
    }

    /// Adds a runtime of which something is known about an operator.
    pub fn add_target(&mut self, op: &str, runtime: &str) {
        self.entry(op).targets.insert(runtime.to_owned());
        self.runtimes.insert(runtime.to_owned());
    }

    fn entry(&mut self, op: &str) -> &mut Places {
        self.places.entry(op.to_owned()).or_default()
    }

    fn body(&mut self, function: &Function, file: &str) {
        // Helpers that are private have their file before their name.
        let is_private = is_private(&function.name) && function.name.contains('/');
        let name = if is_private { short_name(&function.name) } else { &function.name };
        visit::walk(&function.body, &mut |expr: &Expr| {
            if let Kind::Node(node) = &expr.kind {
                self.add_call(&node.op, name, file);
            }
        });
    }

    fn targets(&mut self, schemas: &Schemas) {
        for runtime in &schemas.runtimes {
            let forms = runtime.avoid.iter().chain(&runtime.warn).map(|form| &form.op);
            let measured = runtime.release.iter().flat_map(|release| {
                let dtypes = release.dtypes.iter().map(|dtypes| &dtypes.op);
                release.lacks.iter().chain(dtypes).chain(release.forms.iter().map(|form| &form.op))
            });
            forms.chain(measured).for_each(|op| self.add_target(op, &runtime.runtime));
        }
        schemas.onnxruntime.lacks.iter().for_each(|lack| self.add_target(&lack.op, "onnxruntime"));
    }
}
