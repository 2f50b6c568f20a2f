//! Trains two small models with tch, exports them with a batch of any size, and compares ONNX Runtime with libtorch.

mod block;
mod net;
mod runtime;

use std::path::Path;

use aten2onnx::Exporter;
use aten2onnx_tch::trace;
use ort::environment::Environment;
use tch::nn::{ModuleT, VarStore};
use tch::{Device, Tensor};

use runtime::Runtime;

fn main() -> anyhow::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let folder = Path::new(&folder);
    tch::manual_seed(0);
    // A process has one environment of ONNX Runtime.
    let environment = ort::init().build().map_err(anyhow::Error::msg)?;
    convolutional_net(&environment, &folder.join("net.onnx"))?;
    transformer_block(&environment, &folder.join("block.onnx"))
}

fn convolutional_net(environment: &Environment, path: &Path) -> anyhow::Result<()> {
    let vs = VarStore::new(Device::Cpu);
    let net = net::net(&vs.root());
    net::train(&net, &vs)?;
    let (image, _) = net::batch(1);
    let summary = trace(&vs, &[image], |xs| vec![net.forward_t(&xs[0], false)])
        .input_names(["image"])
        .output_names(["scores"])
        .dynamic(0, 0, "batch")
        .export(&Exporter::new().opset(17), path)?;
    println!("net: {} nodes at opset {}", summary.nodes, summary.opset);
    let mut runtime = Runtime::load(environment, path)?;
    for size in [1, 5] {
        let (images, _) = net::batch(size);
        let wanted = tch::no_grad(|| net.forward_t(&images, false));
        compare("net", size, &wanted, &runtime.run_floats("image", &images)?)?;
    }
    Ok(())
}

fn transformer_block(environment: &Environment, path: &Path) -> anyhow::Result<()> {
    let vs = VarStore::new(Device::Cpu);
    let block = block::Block::new(&vs.root());
    block::train(&block, &vs)?;
    let (tokens, _) = block::batch(1, 6);
    let summary = trace(&vs, &[tokens], |xs| vec![block.forward(&xs[0])])
        .input_names(["tokens"])
        .output_names(["next"])
        .dynamic(0, 0, "batch")
        .dynamic(0, 1, "length")
        .export(&Exporter::new().opset(17), path)?;
    println!("block: {} nodes at opset {}", summary.nodes, summary.opset);
    let mut runtime = Runtime::load(environment, path)?;
    for (size, length) in [(1, 6), (3, 11)] {
        let (tokens, _) = block::batch(size, length);
        let wanted = tch::no_grad(|| block.forward(&tokens));
        compare("block", size, &wanted, &runtime.run_integers("tokens", &tokens)?)?;
    }
    Ok(())
}

fn compare(name: &str, batch: i64, wanted: &Tensor, have: &Tensor) -> anyhow::Result<()> {
    anyhow::ensure!(wanted.size() == have.size(), "{name}: {:?} in the place of {:?}", have.size(), wanted.size());
    let difference = f64::try_from((wanted - have).abs().max())?;
    anyhow::ensure!(difference < 1e-4, "{name}: the results differ by {difference}");
    println!("{name}, batch {batch}: the largest difference is {difference:.1e}");
    Ok(())
}
