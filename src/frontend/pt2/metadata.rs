//! Extracts the user's source line and the module from a node's metadata.
//!
//! Both are found during deserialization, so that the long texts around them are not stored.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};

/// The innermost line of a stack trace outside of torch: `File "x.py", line 3, in forward`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceLine(pub Option<String>);

/// The innermost module of a module stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModuleStack {
    /// `layer1.0.conv1`; None for the root.
    pub path: Option<String>,
    /// `torch.nn.modules.conv.Conv2d`
    pub kind: Option<String>,
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
        let mut parts = [0; 2];
        let mut found = 0;
        let mut depth = 0_u32;
        for (at, c) in innermost.char_indices() {
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
        if found != 2 {
            return ModuleStack::default();
        }
        let path = innermost.get(parts[0] + 1..parts[1]).unwrap_or_default();
        let kind = innermost.get(parts[1] + 1..).unwrap_or_default();
        // torch writes a placeholder if there is no module.
        let is_module = |text: &&str| !text.is_empty() && !text.starts_with("_empty_nn_module_stack");
        let kept = |text: &str| Some(text).filter(is_module).map(str::to_owned);
        ModuleStack { path: kept(&plain_path(path)), kind: kept(kind) }
    }
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

    #[test]
    fn the_innermost_module_is_the_last() {
        let stack = "L__self__,,__main__.M;L__self___a,a.0.b,torch.nn.modules.conv.Conv2d";
        let module = ModuleStack::of(stack);
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
