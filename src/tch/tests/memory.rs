//! The memory that an export of large weights takes beside them.

use std::process::Command;

use aten2onnx::Exporter;
use aten2onnx_tch::trace;
use tch::nn::{self, Module};
use tch::{Device, Kind, Tensor};

/// The width and the number of layers: 16 matrices of 64 MiB.
const WIDTH: i64 = 4096;
const LAYERS: i64 = 16;
/// What the export may take beside the weights.
const MOST: u64 = 100 << 20;

/// A number of `/proc/self/status`, in bytes.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.trim().strip_suffix("kB").unwrap().trim().parse::<u64>().unwrap() << 10
}

/// Runs in a process of its own: the peak of this one is that of all tests.
#[test]
#[ignore = "the next test starts it"]
fn export_of_a_gigabyte() {
    tch::set_num_threads(1);
    let vs = nn::VarStore::new(Device::Cpu);
    let config = nn::LinearConfig { ws_init: nn::Init::Const(0.5), bs_init: None, bias: false };
    let layers: Vec<nn::Linear> =
        (0..LAYERS).map(|at| nn::linear(vs.root() / format!("layer{at}"), WIDTH, WIDTH, config)).collect();
    let closure = |xs: &[Tensor]| vec![layers.iter().fold(xs[0].shallow_clone(), |x, layer| layer.forward(&x).tanh())];
    let example = Tensor::ones([1, WIDTH], (Kind::Float, Device::Cpu));
    // The kernels of libtorch load libraries when they first run.
    tch::no_grad(|| closure(&[example.shallow_clone()]));
    let folder = tempfile::tempdir().unwrap();
    // From here on the peak is that of the export.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status("VmRSS");
    let exporter = Exporter::new().opset(17);
    trace(&vs, &[example], closure).dynamic(0, 0, "batch").export(&exporter, folder.path().join("model.onnx")).unwrap();
    let peak = status("VmHWM");
    let written: u64 =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(written > 1 << 30, "{written} bytes are not all weights");
    assert!(peak - before <= MOST, "the export takes {} MiB beside {} MiB", (peak - before) >> 20, before >> 20);
}

#[test]
#[cfg(target_os = "linux")]
fn weights_of_a_store_are_not_copied() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "memory::export_of_a_gigabyte", "--ignored", "--nocapture"]);
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{text}");
}
