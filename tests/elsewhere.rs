//! Weights in safetensors files: bound by name, checked, copied and linked.

use crate::common;
use crate::host;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{MODEL, done, failure, text};
use aten2onnx::frontend::pt2;
use aten2onnx::weights::{Payload, Weight};
use safetensors::tensor::{Dtype, TensorView};

fn bytes(weight: &Weight) -> Vec<u8> {
    let mut all = Vec::new();
    Payload::new(weight).unwrap().write(&mut all).unwrap();
    all
}

/// The weights of the model by name, except those that `keep` refuses.
fn tensors(keep: impl Fn(&str) -> bool) -> BTreeMap<String, (Vec<usize>, Vec<u8>)> {
    let program = pt2::read(&common::root().join(MODEL)).unwrap();
    let weights = program.weights.iter().map(|bound| &bound.weight).filter(|weight| keep(&weight.name));
    let sizes = |weight: &Weight| weight.sizes.iter().map(|size| usize::try_from(*size).unwrap()).collect();
    weights.map(|weight| (weight.name.clone(), (sizes(weight), bytes(weight)))).collect()
}

fn safetensors<'a>(tensors: impl IntoIterator<Item = (&'a String, &'a (Vec<usize>, Vec<u8>))>) -> Vec<u8> {
    let view = |(sizes, bytes): &'a (Vec<usize>, Vec<u8>)| {
        let dtype = if bytes.len() == 8 && sizes.is_empty() { Dtype::I64 } else { Dtype::F32 };
        TensorView::new(dtype, sizes.clone(), bytes).unwrap()
    };
    safetensors::serialize(tensors.into_iter().map(|(name, tensor)| (name, view(tensor))), None).unwrap()
}

fn file(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn weights_of_files_give_the_bytes_of_those_in_the_package() {
    let folder = tempfile::tempdir().unwrap();
    let all = tensors(|_| true);
    let one = file(folder.path(), "one.safetensors", &safetensors(&all));
    let (first, second): (Vec<_>, Vec<_>) = all.iter().partition(|(name, _)| name.as_str() < "features.1");
    let shards = folder.path().join("shards");
    fs::create_dir(&shards).unwrap();
    file(&shards, "a.safetensors", &safetensors(first.iter().copied()));
    file(&shards, "b.safetensors", &safetensors(second.iter().copied()));
    let place = |name: &&String| if name.as_str() < "features.1" { "a.safetensors" } else { "b.safetensors" };
    let map: BTreeMap<&String, &str> = all.keys().map(|name| (name, place(&name))).collect();
    let index = serde_json::json!({ "metadata": { "total_size": 1 }, "weight_map": map }).to_string();
    let index = file(&shards, "model.safetensors.index.json", index.as_bytes());
    let out = folder.path().join("m.onnx");
    done(&["export", MODEL, "-o", text(&out)]);
    let expected = fs::read(&out).unwrap();
    for weights in [&one, &index, &shards] {
        done(&["export", MODEL, "-o", text(&out), "--weights", text(weights)]);
        assert!(fs::read(&out).unwrap() == expected, "{}", weights.display());
    }
    let prefixed =
        all.iter().map(|(name, tensor)| (format!("model.{name}"), tensor.clone())).collect::<BTreeMap<_, _>>();
    let prefixed = file(folder.path(), "prefixed.safetensors", &safetensors(&prefixed));
    done(&["export", MODEL, "-o", text(&out), "--weights", text(&prefixed), "--weight-name", "=model."]);
    assert!(fs::read(&out).unwrap() == expected);
}

#[test]
fn a_linked_model_refers_to_the_files_also_below_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("weights");
    fs::create_dir(&below).unwrap();
    file(&below, "model.safetensors", &safetensors(&tensors(|_| true)));
    let (linked, packed, whole) =
        (folder.path().join("l.onnx"), folder.path().join("p.onnx"), folder.path().join("w.onnx"));
    done(&["export", MODEL, "-o", text(&linked), "--weights", text(&below), "--external-data", "link"]);
    assert!(fs::read(&linked).unwrap().windows(25).any(|part| part == b"weights/model.safetensors"));
    done(&["pack", text(&linked), "-o", text(&packed)]);
    fs::copy(common::root().join(MODEL), folder.path().join("m.pt2")).unwrap();
    done(&["export", text(&folder.path().join("m.pt2")), "-o", text(&whole), "--external-data", "link"]);
    done(&["pack", text(&whole)]);
    assert!(fs::read(&packed).unwrap() == fs::read(&whole).unwrap());
}

#[test]
fn what_does_not_fit_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("m.onnx");
    let refused = |name: &str, bytes: &[u8], more: &[&str]| {
        let path = file(folder.path(), name, bytes);
        failure(&[&["export", MODEL, "-o", text(&out), "--weights", text(&path)], more].concat())
    };
    let all = tensors(|_| true);
    let first = all.keys().next().unwrap().clone();
    let mut other = all.clone();
    other.insert(first.clone(), (vec![1], vec![0; 4]));
    let error = refused("types.safetensors", &safetensors(&other), &[]);
    assert!(
        error.contains(&format!(
            "1 weight is of other types than the program has: `{first}` is float32[1] in the files"
        )),
        "{error}"
    );
    let error = refused("text.safetensors", b"no tensors are in here", &[]);
    assert!(error.contains("it is not a safetensors file, or it is damaged"), "{error}");
    let error = refused("i.json", br#"{"weight_map": {"a": "../a.safetensors"}}"#, &[]);
    assert!(error.contains("`../a.safetensors`, which is not in its folder"), "{error}");
    let error = refused("i.json", br#"{"weights": 1}"#, &[]);
    assert!(error.contains("it is not an index"), "{error}");
    let error = failure(&["export", MODEL, "-o", text(&out), "--weights", text(&folder.path().join("none"))]);
    assert!(error.contains("No such file"), "{error}");
    let error = failure(&["export", MODEL, "-o", text(&out), "--weight-name", "a=b"]);
    assert!(error.contains("no files that have them"), "{error}");
    assert!(!out.exists());
}

#[test]
fn names_that_only_one_side_has_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let mut some = tensors(|name| !name.starts_with("features.0.0"));
    some.insert("spare.weight".to_owned(), (vec![1], vec![0; 4]));
    let weights = file(folder.path(), "some.safetensors", &safetensors(&some));
    let notes = done(&["export", MODEL, "-o", text(&folder.path().join("m.onnx")), "--weights", text(&weights)]);
    assert!(notes.contains("1 weight is not in the given files but in the package: `features.0.0.weight`"), "{notes}");
    assert!(notes.contains("1 weight is in the given files but not in the program: `spare.weight`"), "{notes}");
}

#[test]
fn damaged_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let good = safetensors(&tensors(|_| true));
    let header = 8 + usize::try_from(u64::from_le_bytes(good[..8].try_into().unwrap())).unwrap();
    let mut source = aten2onnx::options::SourceOptions::default();
    source.weights = vec![folder.path().join("w.safetensors")];
    let rules = aten2onnx::rules();
    let read = |bytes: &[u8]| {
        fs::write(&source.weights[0], bytes).unwrap();
        aten2onnx::frontend::read(&common::root().join(MODEL), &source, &rules).map(drop)
    };
    for len in (0..header).step_by(97).chain([header, good.len() - 1]) {
        assert!(read(&good[..len]).is_err(), "{len} bytes");
    }
    for at in (0..header).step_by(13) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x15;
        // A changed name is an unknown one, which the package has.
        let _ = read(&bytes);
    }
    assert!(read(&good).is_ok());
}

/// Compared with PyTorch.
mod python {
    use super::*;

    const TIED: &str = r#"
import sys, subprocess, torch, onnx, onnxruntime as ort
from torch import nn
from safetensors.torch import save_file
program, folder = sys.argv[1:]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.norm, self.mid = nn.Embedding(300, 64), nn.LayerNorm(64), nn.Linear(64, 64)
        self.head = nn.Linear(64, 300, bias=False)
        self.head.weight = self.embed.weight
    def forward(self, x):
        return self.head(self.norm(self.mid(self.embed(x))))

torch.manual_seed(0)
net = Net()
save_file({name: value for name, value in net.state_dict().items() if name != "head.weight"}, f"{folder}/model.safetensors")
with torch.device("meta"):
    empty, x = Net(), torch.zeros(2, 3, dtype=torch.int64)
torch.export.save(torch.export.export(empty, (x,)), f"{folder}/empty.pt2")

def export(*options):
    return subprocess.run([program, "export", f"{folder}/empty.pt2", "-o", f"{folder}/m.onnx", *options], capture_output=True, text=True)

error = export().stderr
assert "it has no data" in error and "--weights DIR" in error, error
error = export("--weights", folder).stderr
assert "1 weight is not in the given files: `head.weight` (nearest: `embed.weight`)" in error, error
assert "`--weight-name head.weight=embed.weight`" in error, error
x = torch.arange(6).reshape(2, 3)
for where in ("auto", "always", "link"):
    done = export("--weights", folder, "--weight-name", "head.weight=embed.weight", "--external-data", where)
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(f"{folder}/m.onnx", full_check=True)
    found, = ort.InferenceSession(f"{folder}/m.onnx", providers=["CPUExecutionProvider"]).run(None, {"x": x.numpy()})
    torch.testing.assert_close(torch.from_numpy(found), net(x).detach(), rtol=1e-4, atol=1e-4)
"#;

    #[test]
    fn a_program_of_the_meta_device_gets_its_weights_from_files() {
        let folder = tempfile::tempdir().unwrap();
        host::python(TIED, &[env!("CARGO_BIN_EXE_aten2onnx"), text(folder.path())]);
    }
}
