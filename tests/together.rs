//! Several programs in one folder: equal weights are written once, by storage or by content.

use crate::common;
use crate::host;

use std::fs;
use std::path::Path;

use crate::command::{MODEL, aten2onnx, text};

#[test]
fn programs_with_equal_weights_share_them() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one.pt2"), folder.path().join("two.pt2"));
    fs::copy(common::root().join(MODEL), &one).unwrap();
    fs::copy(&one, &two).unwrap();
    let out = folder.path().join("out");
    let alone = folder.path().join("alone");
    for (files, out) in [(vec![&one, &two], &out), (vec![&one], &alone)] {
        let mut arguments = vec!["export"];
        arguments.extend(files.iter().map(|path| text(path)));
        arguments.extend(["-o", text(out)]);
        if files.len() == 1 {
            arguments.push("--all");
        }
        let output = aten2onnx(&arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let len = |path: &Path| fs::metadata(path).unwrap().len();
    assert_eq!(len(&out.join("weights.data")), len(&alone.join("weights.data")));
    assert!(fs::read(out.join("one.onnx")).unwrap() == fs::read(out.join("two.onnx")).unwrap());
    assert!(alone.join("model.onnx").exists());
}

#[test]
fn wrong_calls_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let refused = |arguments: &[&str]| {
        let output = aten2onnx(&[&["export", MODEL], arguments].concat());
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(&[MODEL, "-o", text(&out)]).contains("two models would be written to `mobilenet_like.onnx`"));
    assert!(refused(&[MODEL]).contains("give the folder: `-o DIR`"));
    assert!(refused(&["-", "-o", text(&out)]).contains("`-` is one stream"));
    assert!(refused(&["--merge", "-o", text(&out)]).contains("1 models cannot be merged"));
    assert!(refused(&["--all", "-o", MODEL]).contains("is not a folder"));
    assert!(refused(&["--all", "-o", text(&out.join("below"))]).contains("cannot make the folder"));
    assert!(refused(&["--all", "-o", text(&out), "--external-data", "never"]).contains("cannot be inside of each"));
}

/// Judged by ONNX Runtime and onnx.
mod python {
    use super::*;

    const PROGRAMS: &str = r#"
import os, subprocess, sys, numpy as np, onnx, onnxruntime as ort, torch
from torch import nn
from torch.export.pt2_archive._package import package_pt2
program, folder = sys.argv[1:]
os.chdir(folder)

class Prefill(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def forward(self, ids):
        x = self.net[0](ids)
        for layer in self.net[1:-1]:
            x = torch.relu(layer(x))
        return self.net[-1](x), x.sum(1)

class Decode(Prefill):
    def forward(self, ids, past):
        x = self.net[0](ids) + past[:, None]
        for layer in self.net[1:-1]:
            x = torch.relu(layer(x))
        return self.net[-1](x), x.sum(1) + past

torch.manual_seed(0)
net = nn.Sequential(nn.Embedding(500, 128), *(nn.Linear(128, 128) for _ in range(3)), nn.Linear(128, 500, bias=False)).eval()
once = sum(weight.nbytes for weight in net.parameters())
ids, one, past = torch.arange(10).reshape(2, 5), torch.tensor([[3], [4]]), torch.randn(2, 128)
batch, sequence = torch.export.Dim("batch"), torch.export.Dim("sequence")
prefill = torch.export.export(Prefill(net), (ids,), dynamic_shapes=({0: batch, 1: sequence},))
decode = torch.export.export(Decode(net), (one, past), dynamic_shapes=({0: batch}, {0: batch}))
torch.export.save(prefill, "prefill.pt2")
torch.export.save(decode, "decode.pt2")
package_pt2("both.pt2", exported_programs={"prefill": prefill, "decode": decode})

def run(*arguments):
    done = subprocess.run([program, "export", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

def check(found, module, feeds):
    for got, wanted in zip(found, module(**feeds)):
        torch.testing.assert_close(torch.from_numpy(got), wanted.detach(), rtol=1e-4, atol=1e-4)

cases = {"prefill": (Prefill(net), {"ids": ids}), "decode": (Decode(net), {"ids": one, "past": past})}
def numpy(feeds):
    return {name: value.numpy() for name, value in feeds.items()}

for where, arguments in {"a": ["prefill.pt2", "decode.pt2"], "b": ["both.pt2", "--all"], ".": ["both.pt2", "--all", "--external-data", "link"]}.items():
    run(*arguments, "-o", where)
    data = os.path.getsize(f"{where}/weights.data")
    assert data < (once if where == "." else 1.01 * once + 8 * 4096), (data, once)
    for name, (module, feeds) in cases.items():
        onnx.checker.check_model(f"{where}/{name}.onnx", full_check=True)
        check(ort.InferenceSession(f"{where}/{name}.onnx").run(None, numpy(feeds)), module, feeds)

run("prefill.pt2", "decode.pt2", "--merge=later", "-o", "m.onnx", "--output-name", "logits", "--output-name", "state", "--external-data", "always")
onnx.checker.check_model("m.onnx", full_check=True)
assert os.path.getsize("m.onnx.data") < 1.01 * once + 8 * 4096
session = ort.InferenceSession("m.onnx")
for later, (module, feeds) in enumerate(cases.values()):
    given = {"past": np.zeros((2, 128), np.float32), **numpy(feeds), "later": np.array([bool(later)])}
    check(session.run(["logits", "state"], given), module, feeds)
"#;

    #[test]
    fn programs_of_one_module_share_weights_in_files_and_in_a_merged_model() {
        let folder = tempfile::tempdir().unwrap();
        host::python(PROGRAMS, &[env!("CARGO_BIN_EXE_aten2onnx"), text(folder.path())]);
    }
}
