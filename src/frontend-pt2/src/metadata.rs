//! Extracts the user's source line and the modules from a node's metadata.
//!
//! The line is found during deserialization, so that the long trace around it is not stored. The stack of modules is, until equal stacks
//! share their calls.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};

use aten2onnx_program::ModuleCall;

/// The innermost line of a stack trace outside of torch: `File "x.py", line 3, in forward`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceLine(pub Option<String>);

/// A module stack, and its innermost module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModuleStack {
    /// `layer1.0.conv1`; None for the root.
    pub path: Option<String>,
    /// `torch.nn.modules.conv.Conv2d`
    pub kind: Option<String>,
    /// The whole stack, as torch writes it.
    pub text: Box<str>,
}

impl SourceLine {
    /// The line of this trace.
    pub fn of(trace: &str) -> SourceLine {
        let line = trace.lines().rev().map(str::trim).find(|line| {
            line.strip_prefix("File \"").is_some_and(|path| {
                let is_torch = path.starts_with("torch/") || path.contains("-packages/torch/");
                !is_torch && !path.starts_with("<eval_with_key>")
            })
        });
        SourceLine(line.map(str::to_owned))
    }
}

impl ModuleStack {
    /// The stack is `key,path,type` joined by semicolons, outermost first; paths may contain commas in brackets.
    pub fn of(stack: &str) -> ModuleStack {
        let innermost = stack.rsplit(';').next().unwrap_or_default();
        let Some([_, path, kind]) = parts(innermost).filter(|_| is_module(&innermost)) else {
            return ModuleStack::default();
        };
        let kept = |text: &str| Some(text).filter(is_module).map(str::to_owned);
        ModuleStack { path: kept(&plain_path(path)), kind: kept(kind), text: stack.into() }
    }

    /// The calls of modules that this is in, the outermost first, without that of the root. A second call of a module has a number.
    pub fn calls(&self) -> Vec<ModuleCall> {
        let call = |[key, path, class]: [&str; 3]| {
            let path = Some(plain_path(path)).filter(|path| is_module(&path.as_str()))?;
            let number = key.rsplit_once('@').map(|(_, number)| number).filter(|n| n.parse::<u32>().is_ok());
            let id = number.map_or_else(|| path.clone(), |number| format!("{path}@{number}"));
            is_module(&class).then(|| ModuleCall { id, class: class.to_owned() })
        };
        self.text.split(';').filter_map(parts).filter_map(call).collect()
    }
}

// torch writes a placeholder if there is no module.
fn is_module(text: &&str) -> bool {
    !text.is_empty() && !text.starts_with("_empty_nn_module_stack")
}

/// Key, path and type of an entry.
fn parts(entry: &str) -> Option<[&str; 3]> {
    let mut parts = [0; 2];
    let mut found = 0;
    let mut depth = 0_u32;
    for (at, c) in entry.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                if let Some(part) = parts.get_mut(found) {
                    *part = at;
                }
                found += 1;
            }
            _ => {}
        }
    }
    (found == 2).then(|| {
        let path = entry.get(parts[0] + 1..parts[1]).unwrap_or_default();
        [entry.get(..parts[0]).unwrap_or_default(), path, entry.get(parts[1] + 1..).unwrap_or_default()]
    })
}

/// Removes the additions of torch.export's strict mode: `L['self'].layers._modules['0']` becomes `layers.0`.
fn plain_path(path: &str) -> String {
    let inner = match path.strip_prefix("L['").and_then(|rest| rest.split_once("']")) {
        Some((_, rest)) => rest.trim_start_matches('.'),
        None => path,
    };
    if !inner.contains("._modules['") {
        return inner.to_owned();
    }
    inner.replace("._modules['", ".").replace("']", "")
}

/// Reads a string without storing it; other values give the default.
struct Look<T>(fn(&str) -> T);

impl<'de, T: Default> Visitor<'de> for Look<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok((self.0)(text))
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
}

impl<'de> Deserialize<'de> for SourceLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look(SourceLine::of))
    }
}

impl<'de> Deserialize<'de> for ModuleStack {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look(ModuleStack::of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_line_is_the_last() {
        let trace =
            "  File \"a.py\", line 1, in forward\n    x = f(x)\n  File \"b.py\", line 2, in f\n    return x + 1\n";
        assert_eq!(SourceLine::of(trace).0.as_deref(), Some("File \"b.py\", line 2, in f"));
        let trace = "File \"a.py\", line 1, in forward\nFile \"/x/site-packages/torch/nn/modules/linear.py\", line 2, in forward";
        assert_eq!(SourceLine::of(trace).0.as_deref(), Some("File \"a.py\", line 1, in forward"));
        assert_eq!(SourceLine::of("File \"<eval_with_key>.4\", line 6, in forward").0, None);
        assert_eq!(SourceLine::of("nothing").0, None);
    }

    fn call(id: &str, class: &str) -> ModuleCall {
        ModuleCall { id: id.into(), class: class.into() }
    }

    #[test]
    fn the_innermost_module_is_the_last() {
        let stack = "L__self__,,__main__.M;L__self___a,a.0.b,torch.nn.modules.conv.Conv2d";
        let module = ModuleStack::of(stack);
        assert_eq!(module.calls(), [call("a.0.b", "torch.nn.modules.conv.Conv2d")]);
        let twice = ModuleStack::of("L__self__,,M;L__self__a@1,a,A;L__self__a.b@1,a.b,B");
        assert_eq!(twice.calls(), [call("a@1", "A"), call("a.b@1", "B")]);
        assert_eq!(module.path.as_deref(), Some("a.0.b"));
        assert_eq!(module.kind.as_deref(), Some("torch.nn.modules.conv.Conv2d"));
        assert_eq!(ModuleStack::of("L__self__,,__main__.M").path, None);
        assert_eq!(ModuleStack::of("k,getattr(L['s'], '0'),m.T").path.as_deref(), Some("getattr(L['s'], '0')"));
        assert_eq!(ModuleStack::of("k,L['s'].a._modules['0'].c,m.T").path.as_deref(), Some("a.0.c"));
        assert_eq!(ModuleStack::of("nonsense"), ModuleStack::default());
        let hook = "_empty_nn_module_stack_from_metadata_hook";
        assert_eq!(ModuleStack::of(&format!("{hook},{hook},{hook}")), ModuleStack::default());
    }
}
