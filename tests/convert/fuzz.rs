//! Damaged ONNX files by the hundred: whatever is read, there is a model or an error, and no panic.
//!
//! `FUZZ_ITERATIONS` says how many (default 2,000), `FUZZ_SEED` with which the series starts.

use aten2onnx::ConvertOptions;
use aten2onnx::convert::convert;
use aten2onnx_onnx::read::Source;

/// A generator of numbers; the same ones everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Changes a few bytes: any, or those of a name or a number to what stands elsewhere.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes[at] = random.next() as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = bytes[random.below(bytes.len())],
            3 => {
                let len = random.below(24).min(bytes.len() - at);
                let from = random.below(bytes.len() - len + 1);
                bytes.copy_within(from..from + len, at);
            }
            _ => bytes.truncate(at.max(8)),
        }
    }
}

fn run(bytes: Vec<u8>, opset: u32) {
    let mut options = ConvertOptions::default();
    options.output.rules = aten2onnx::rules();
    options.output.opset = Some(opset);
    if let Ok(converted) = Source::from_bytes("damaged.onnx", bytes).and_then(|source| convert(&source, &options)) {
        // A tensor that is declared large is written out by nobody.
        let _ = converted.nodes();
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn functions_that_call_functions_do_not_explode() {
    use aten2onnx_onnx::proto::{FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto};
    use prost::Message;
    let text = |text: &str| Some(text.to_owned());
    let import = |domain: &str| OperatorSetIdProto { domain: text(domain), version: Some(13) };
    let call = |name: String, from: &str, to: &str| NodeProto {
        op_type: Some(name),
        domain: text("mine"),
        input: vec![from.to_owned()],
        output: vec![to.to_owned()],
        ..NodeProto::default()
    };
    let function = |level: u32| FunctionProto {
        name: Some(format!("f{level}")),
        domain: text("mine"),
        input: vec!["a".to_owned()],
        output: vec!["c".to_owned()],
        node: vec![call(format!("f{}", level + 1), "a", "b"), call(format!("f{}", level + 1), "b", "c")],
        opset_import: vec![import(""), import("mine")],
        ..FunctionProto::default()
    };
    let model = |levels: u32| ModelProto {
        ir_version: Some(8),
        opset_import: vec![import(""), import("mine")],
        functions: (0..levels).map(function).collect(),
        graph: Some(GraphProto {
            node: vec![call("f0".to_owned(), "x", "y")],
            input: vec![ValueInfoProto { name: text("x"), ..ValueInfoProto::default() }],
            output: vec![ValueInfoProto { name: text("y"), ..ValueInfoProto::default() }],
            ..GraphProto::default()
        }),
        ..ModelProto::default()
    };
    let refusal = |model: ModelProto| {
        let mut options = ConvertOptions::default();
        options.output.rules = aten2onnx::rules();
        options.inline_functions = true;
        let source = Source::from_bytes("bomb.onnx", model.encode_to_vec());
        source.and_then(|source| convert(&source, &options)).unwrap_err().to_string()
    };
    assert!(refusal(model(40)).contains("more than"), "two to the power of forty nodes");
    // One that calls itself, which is refused also where it would not be inlined.
    let mut endless = model(1);
    endless.functions[0].node.iter_mut().for_each(|node| node.op_type = text("f0"));
    let message = refusal(endless);
    assert!(message.contains("without end: f0 -> f0"), "{message}");
}

/// `tests/run --fast` leaves it out, because it takes long.
mod slow {
    use super::*;

    #[test]
    fn damaged_models_are_answered() {
        let sample = std::fs::read(crate::common::root().join("tests/data/convert/features.onnx")).unwrap();
        run(sample.clone(), 9);
        let first = number("FUZZ_SEED", 0);
        for seed in first..first + number("FUZZ_ITERATIONS", 2000) {
            let mut random = Random(seed);
            let mut bytes = sample.clone();
            damage(&mut bytes, &mut random);
            let opset = [9, 11, 13, 17, 21, 26][random.below(6)];
            let outcome = std::panic::catch_unwind(|| run(bytes, opset));
            assert!(outcome.is_ok(), "FUZZ_SEED={seed} FUZZ_ITERATIONS=1 shows it again");
        }
    }
}
