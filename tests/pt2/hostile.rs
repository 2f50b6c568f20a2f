//! Archives that torch would not write: each is answered by an error.

use aten2onnx::frontend::pt2;
use aten2onnx::program::Program;
use aten2onnx_core::error::Error;

use super::sample;
use super::zip::{Entry, write, write_claiming};

fn read(bytes: Vec<u8>) -> Result<Program, Error> {
    pt2::read_bytes("hostile.pt2", bytes, None)
}

/// The error's text without the file's name.
fn error(bytes: Vec<u8>) -> String {
    let error = read(bytes).unwrap_err().to_string();
    error.strip_prefix("hostile.pt2: ").unwrap_or_else(|| panic!("{error} does not name the file")).to_owned()
}

/// A program `y = relu(x)`, in parts that can be replaced.
struct Json {
    version: &'static str,
    inputs: String,
    nodes: String,
    outputs: String,
    tensors: String,
    input_specs: String,
    more: String,
}

impl Default for Json {
    fn default() -> Self {
        Json {
            version: r#"{"major": 8, "minor": 20}"#,
            inputs: r#"{"as_tensor": {"name": "x"}}"#.to_owned(),
            nodes: relu("x", "y"),
            outputs: r#"{"as_tensor": {"name": "y"}}"#.to_owned(),
            tensors: format!(r#""x": {0}, "y": {0}"#, tensor(r#"{"as_int": 2}"#)),
            input_specs: r#"{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}"#.to_owned(),
            more: String::new(),
        }
    }
}

impl Json {
    fn text(&self) -> String {
        let Json { version, inputs, nodes, outputs, tensors, input_specs, more } = self;
        format!(
            r#"{{"graph_module": {{"graph": {{"inputs": [{inputs}], "outputs": [{outputs}], "nodes": [{nodes}],
                "tensor_values": {{{tensors}}}, "sym_int_values": {{}}, "sym_bool_values": {{}}}},
                "signature": {{"input_specs": [{input_specs}],
                "output_specs": [{{"user_output": {{"arg": {outputs}}}}}]}}, "module_call_graph": []}},
                "opset_version": {{"aten": 10}}, "range_constraints": {{}}, "schema_version": {version} {more}}}"#
        )
    }

    fn archive(&self) -> Vec<u8> {
        archive(&self.text())
    }

    /// With a parameter `w` that the payload configuration describes.
    fn with_weight(sizes: &str, strides: &str, offset: &str, payload: &[u8]) -> Vec<u8> {
        let json = Json {
            inputs: r#"{"as_tensor": {"name": "w"}}"#.to_owned(),
            nodes: relu("w", "y"),
            input_specs: r#"{"parameter": {"arg": {"name": "w"}, "parameter_name": "w"}}"#.to_owned(),
            ..Json::default()
        };
        let meta = format!(
            r#"{{"dtype": 7, "sizes": [{sizes}], "requires_grad": false, "device": {{"type": "cpu", "index": null}},
                "strides": [{strides}], "storage_offset": {offset}, "layout": 7}}"#
        );
        let config = format!(
            r#"{{"config": {{"w": {{"path_name": "weight_0", "is_param": true, "use_pickle": false, "tensor_meta": {meta}}}}}}}"#
        );
        let mut entries = entries(&json.text());
        entries.push(Entry::new("m/data/weights/model_weights_config.json", config));
        entries.push(Entry::new("m/data/weights/weight_0", payload));
        write(&entries)
    }
}

fn relu(from: &str, to: &str) -> String {
    format!(
        r#"{{"target": "torch.ops.aten.relu.default", "inputs": [{{"name": "self", "arg": {{"as_tensor": {{"name": "{from}"}}}},
            "kind": 1}}], "outputs": [{{"as_tensor": {{"name": "{to}"}}}}], "metadata": {{}}, "name": "{to}"}}"#
    )
}

fn tensor(size: &str) -> String {
    format!(
        r#"{{"dtype": 7, "sizes": [{size}], "requires_grad": false, "device": {{"type": "cpu", "index": null}},
            "strides": [{{"as_int": 1}}], "storage_offset": {{"as_int": 0}}, "layout": 7}}"#
    )
}

fn entries(json: &str) -> Vec<Entry> {
    vec![
        Entry::new("m/models/model.json", json),
        Entry::new("m/archive_format", "pt2"),
        Entry::new("m/archive_version", "0"),
        Entry::new("m/byteorder", "little"),
    ]
}

fn archive(json: &str) -> Vec<u8> {
    write(&entries(json))
}

#[test]
fn the_program_that_the_others_are_made_from_is_good() {
    let program = read(Json::default().archive()).unwrap();
    assert_eq!(program.graph.nodes[0].target, "aten::relu");
    let bytes: Vec<u8> = [1.0_f32, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let program = read(Json::with_weight(r#"{"as_int": 2}"#, r#"{"as_int": 1}"#, r#"{"as_int": 0}"#, &bytes)).unwrap();
    assert_eq!(program.weights[0].weight.storage.bytes(), bytes);
}

mod archives {
    use super::*;

    #[test]
    fn cut_short_anywhere() {
        let whole = std::fs::read(sample("tied_weights")).unwrap();
        for len in (0..whole.len()).step_by(37).chain(whole.len() - 100..whole.len()) {
            assert!(read(whole[..len].to_vec()).is_err(), "the first {len} bytes");
        }
        assert_eq!(error(Vec::new()), "it is empty");
        assert!(error(whole[..whole.len() / 2].to_vec()).starts_with("the archive is damaged or incomplete"));
    }

    #[test]
    fn not_an_archive() {
        assert!(error(b"\x08\x07\x12\x04onnx".to_vec()).starts_with("it is not a zip archive"), "no graph: no model");
        assert!(error(b"\x08\x07\x3a\x00".to_vec()).starts_with("it is an ONNX model already"));
        assert!(error(b"\x80\x00\x00\x00\x00\x00\x00\x00{\"w\":".to_vec()).starts_with("it is a safetensors file"));
        assert!(error(b"version https://git-lfs.github.com/spec/v1\n".to_vec()).contains("Git LFS"));
        assert!(error(b"\x80\x02}q\x00.".to_vec()).starts_with("it is a bare Python pickle"));
        let other = write(&[Entry::new("word/document.xml", "<x/>")]);
        assert_eq!(error(other), "it is a zip archive, but not a torch.export.save file");
        let saved = write(&[Entry::new("archive/data.pkl", "\u{80}")]);
        assert!(error(saved).starts_with("it is a torch.save file"));
        let script = write(&[Entry::new("m/data.pkl", ""), Entry::new("m/code/__torch__.py", "")]);
        assert!(error(script).starts_with("it is a TorchScript file"));
    }

    #[test]
    fn compressed_entries_are_refused_with_help() {
        let mut entries = entries(&Json::default().text());
        entries[0].method = 8;
        let error = read(write(&entries)).unwrap_err();
        assert!(error.to_string().contains("m/models/model.json: it is compressed"), "{error}");
        assert!(error.help.clone().unwrap().contains("zip -0"));
    }

    #[test]
    fn names_that_lead_elsewhere() {
        for name in ["m/../secret", "/etc/passwd", "m\\x", "", "..", "m/a\0b"] {
            let mut entries = entries(&Json::default().text());
            entries.push(Entry::new(name, ""));
            assert!(error(write(&entries)).starts_with(&format!("the name {name:?} of an entry")), "{name}");
        }
    }

    #[test]
    fn two_entries_of_one_name() {
        let mut entries = entries(&Json::default().text());
        entries.push(entries[0].clone());
        assert!(error(write(&entries)).contains("duplicate"));
    }

    #[test]
    fn entries_that_overlap() {
        // Many entries of the same bytes: a small file that unpacks to a huge one.
        let mut entries = entries(&Json::default().text());
        for number in 0..1000 {
            let mut entry = Entry::new(&format!("m/data/weights/weight_{number}"), entries[0].data.clone());
            entry.local_name = Some(entries[0].name.clone());
            entry.same_as = Some(0);
            entries.push(entry);
        }
        assert!(error(write(&entries)).starts_with("the archive is damaged"));
    }

    #[test]
    fn a_local_header_that_disagrees() {
        let mut entries = entries(&Json::default().text());
        entries[0].local_name = Some("m/models/other.json".to_owned());
        assert!(error(write(&entries)).starts_with("the archive is damaged"));
    }

    #[test]
    fn sizes_beyond_the_file() {
        let mut entries = entries(&Json::default().text());
        entries.last_mut().unwrap().claimed = Some(0x7fff_ffff);
        assert!(read(write(&entries)).is_err());
        entries.last_mut().unwrap().claimed = Some(u32::MAX);
        assert!(read(write(&entries)).is_err());
    }

    #[test]
    fn more_entries_than_there_are() {
        assert!(read(write_claiming(&entries(&Json::default().text()), Some(65_534))).is_err());
        // The same in the 64-bit table of contents that torch writes.
        let mut bytes = std::fs::read(sample("tied_weights")).unwrap();
        let end = bytes.windows(4).rposition(|window| window == b"PK\x06\x06").unwrap();
        for at in [24, 32] {
            bytes[end + at..end + at + 8].copy_from_slice(&(1_u64 << 60).to_le_bytes());
        }
        // It counts where the old one is full.
        let end = bytes.windows(4).rposition(|window| window == b"PK\x05\x06").unwrap();
        bytes[end + 8..end + 12].copy_from_slice(&[0xff; 4]);
        assert!(read(bytes).is_err());
    }

    #[test]
    fn versions_and_byte_orders_that_are_not_known() {
        let with = |name: &str, text: &str| {
            let mut entries = entries(&Json::default().text());
            entries.retain(|entry| entry.name != name);
            entries.push(Entry::new(name, text));
            error(write(&entries))
        };
        assert!(with("m/byteorder", "big").contains("unsupported byte order \"big\""));
        assert!(with("m/archive_version", "1").contains("unsupported archive version \"1\""));
        assert!(with("m/archive_format", "zip").contains("the archive's format is \"zip\""));
        assert!(with("m/models/model.json", "").contains("models/model.json"));
    }

    #[test]
    fn no_program_in_it() {
        let bytes = write(&[Entry::new("m/archive_format", "pt2"), Entry::new("m/data/aotinductor/model/a.so", "")]);
        assert!(error(bytes).starts_with("the archive has no exported program"));
    }

    #[test]
    fn a_root_folder_is_not_needed() {
        let entries = entries(&Json::default().text());
        let bare: Vec<Entry> = entries.iter().map(|entry| Entry::new(&entry.name[2..], entry.data.clone())).collect();
        assert_eq!(read(write(&bare)).unwrap().graph.nodes.len(), 1);
    }
}

mod json {
    use super::*;

    #[test]
    fn nested_too_deeply() {
        let nested = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert!(error(archive(&nested)).starts_with("m/models/model.json: "));
        let arguments = Json { inputs: "{\"as_graph\": ".repeat(100_000), ..Json::default() };
        assert!(error(arguments.archive()).starts_with("m/models/model.json: "));
        let graph =
            r#"{"as_graph": {"name": "g", "graph": {"outputs": [], "nodes": [], "tensor_values": {}, "inputs": ["#;
        let deep = format!("{}{}", graph.repeat(1000), "]}}}".repeat(1000));
        let text = error(Json { inputs: deep, ..Json::default() }.archive());
        assert!(text.contains("recursion limit"), "{text}");
        // What is not read may be as deep as it likes.
        let ignored = format!(", \"unknown\": {nested}");
        assert!(read(Json { more: ignored, ..Json::default() }.archive()).is_ok());
    }

    #[test]
    fn of_another_version() {
        let version = |version| Json { version, ..Json::default() }.archive();
        let older = error(version(r#"{"major": 7, "minor": 0}"#));
        assert!(older.contains("the schema version is 7.0, but only 8.x is supported: it is too old"), "{older}");
        let newer = read(version(r#"{"major": 9, "minor": 0}"#)).unwrap();
        assert!(newer.notes[0].contains("9.0"));
        let other = archive(r#"{"graph_module": 7, "schema_version": {"major": 9, "minor": 1}}"#);
        assert!(error(other).contains("the schema version is 9.1"));
        let newer = read(version(r#"{"major": 8, "minor": 99, "patch": 1}"#)).unwrap();
        assert!(newer.notes[0].contains("8.99"));
    }

    #[test]
    fn what_pytorch_refuses_to_load() {
        let changed = |from: &str, to: &str| {
            let text = Json::default().text();
            let (before, after) = text.rsplit_once(from).unwrap();
            error(archive(&format!("{before}{to}{after}")))
        };
        let text = changed(r#"{"as_tensor": {"name": "y"}}"#, r#"{"as_tensor": {"name": "x"}}"#);
        assert!(
            text.contains("output_specs[0]: the signature says that this output is `x`, but in the graph it is `y`"),
            "{text}"
        );
        let text = changed(
            r#"{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}"#,
            r#"{"user_input": {"arg": {"as_int": 3}}}"#,
        );
        assert!(
            text.contains("input_specs[0]: the signature says that this input is `3`, but in the graph it is `x`"),
            "{text}"
        );
        let text = changed(r#"{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}"#, r#"{"user_input": {}}"#);
        assert!(text.contains("missing field `arg`"), "{text}");
        let text =
            changed(r#""range_constraints": {}"#, r#""range_constraints": {"s0": {"min_val": 3, "max_val": 2}}"#);
        assert!(text.contains("no value is possible for `s0`: its range is from 3 to 2"), "{text}");
        let nodes = relu("x", "y").replace("aten.relu.default", "aten.add.Tensor");
        let text = error(Json { nodes, ..Json::default() }.archive());
        assert!(text.contains("`aten::add.Tensor` is not given its argument `other`"), "{text}");
    }

    #[test]
    fn errors_name_the_field() {
        let nodes = relu("x", "y").replace("\"y\"}}]", "\"y\"}}, {\"as_banana\": 1}]");
        let text = error(Json { nodes, ..Json::default() }.archive());
        assert!(text.starts_with("m/models/model.json: graph_module.graph.nodes[0].outputs[1]"), "{text}");
        assert!(text.contains("unknown variant `as_banana`"), "{text}");
        let tensors = format!(r#""x": {}, "y": {{"dtype": "float"}}"#, tensor(r#"{"as_int": 2}"#));
        let text = error(Json { tensors, ..Json::default() }.archive());
        assert!(text.contains("graph_module.graph.tensor_values.y.dtype"), "{text}");
        assert!(error(archive("{\"graph_module\"")).contains("EOF"));
        assert!(error(archive("\u{1}\u{2}")).starts_with("m/models/model.json: "));
        let not_text =
            write(&[Entry::new("m/archive_format", "pt2"), Entry::new("m/models/model.json", vec![0xff, 0xfe])]);
        assert!(error(not_text).contains("not UTF-8"));
        let lone = relu("x", "y").replace("\"name\": \"y\"}", "\"name\": \"\\ud800\"}");
        assert!(read(Json { nodes: lone, ..Json::default() }.archive()).is_err());
    }

    #[test]
    fn values_that_are_used_before_they_are_defined() {
        let cycle = format!("{}, {}", relu("b", "a"), relu("a", "b"));
        let outputs = r#"{"as_tensor": {"name": "b"}}"#.to_owned();
        let text = error(Json { nodes: cycle, outputs, ..Json::default() }.archive());
        assert!(text.contains("node `a` (aten::relu): the value `b` is used before it is defined"), "{text}");
        let itself = error(Json { nodes: relu("y", "y"), ..Json::default() }.archive());
        assert!(itself.contains("the value `y` is used before"), "{itself}");
        let twice = format!("{}, {}", relu("x", "y"), relu("x", "y"));
        assert!(error(Json { nodes: twice, ..Json::default() }.archive()).contains("the value `y` is defined twice"));
        let nothing = r#"{"as_tensor": {"name": "z"}}"#.to_owned();
        assert!(error(Json { outputs: nothing, ..Json::default() }.archive()).contains("output 0: the value `z`"));
    }

    #[test]
    fn a_signature_that_does_not_fit() {
        let input_specs = String::new();
        let text = error(Json { input_specs, ..Json::default() }.archive());
        assert!(text.contains("the signature has 0 inputs, but the graph has 1"), "{text}");
        let input_specs = r#"{"parameter": {"arg": {"name": "x"}, "parameter_name": "w"}}"#.to_owned();
        let text = error(Json { input_specs, ..Json::default() }.archive());
        assert!(text.contains("input_specs[0]: weight `w`: the archive has no data for it"), "{text}");
        let input_specs = r#"{"token": {"arg": {"name": "x"}}}"#.to_owned();
        let text = error(Json { input_specs, ..Json::default() }.archive());
        assert!(text.contains("the value `x` is used before it is defined"), "{text}");
        let input_specs =
            r#"{"custom_obj": {"arg": {"name": "x", "class_fqn": "c"}, "custom_obj_name": "o"}}"#.to_owned();
        assert!(error(Json { input_specs, ..Json::default() }.archive()).contains("object of a custom class"));
    }

    #[test]
    fn sizes_that_make_no_sense() {
        let with = |size: &str| {
            let tensors = format!(r#""x": {0}, "y": {0}"#, tensor(size));
            read(Json { tensors, ..Json::default() }.archive())
        };
        assert!(
            with(r#"{"as_int": -1}"#)
                .unwrap_err()
                .to_string()
                .contains("tensor_values[\"x\"]: the size -1 is negative")
        );
        assert!(with(r#"{"as_int": 99999999999999999999}"#).is_err());
        let expression = |text: &str| with(&format!(r#"{{"as_expr": {{"expr_str": "{text}", "hint": null}}}}"#));
        let deep = format!("{}Integer(1){}", "Add(".repeat(300), ")".repeat(300));
        assert!(expression(&deep).unwrap_err().to_string().contains("nested too deeply"));
        assert!(expression(&"Mul(".repeat(1_000_000)).is_ok());
        let sum = format!("Add({})", vec!["Symbol('a')"; 300].join(", "));
        assert!(expression(&sum).is_ok());
        let factors: Vec<String> = (0..60).map(|n| format!("Add(Symbol('a{n}'), Symbol('b{n}'))")).collect();
        assert!(expression(&format!("Mul({})", factors.join(", "))).is_ok());
        assert!(expression("Pow(Integer(10), Integer(9223372036854775807))").is_ok());
        assert!(expression("Mul(Integer(9223372036854775807), Integer(9223372036854775807))").is_ok());
        assert!(expression("__import__('os')").is_err());
    }
}

mod weights {
    use super::*;

    fn with(sizes: &[i64], strides: &[i64], offset: i64, payload: &[u8]) -> String {
        let list = |numbers: &[i64]| {
            numbers.iter().map(|number| format!(r#"{{"as_int": {number}}}"#)).collect::<Vec<_>>().join(", ")
        };
        let offset = format!(r#"{{"as_int": {offset}}}"#);
        let text = error(Json::with_weight(&list(sizes), &list(strides), &offset, payload));
        let place = "m/models/model.json: graph_module.signature.input_specs[0]: weight `w`: ";
        text.strip_prefix(place).unwrap_or_else(|| panic!("{text}")).to_owned()
    }

    #[test]
    fn that_reach_beyond_their_bytes() {
        let eight = [0; 8];
        assert!(with(&[3], &[1], 0, &eight).contains("need 12 bytes of float32, but there are only 8"));
        assert!(with(&[2], &[1], 1, &eight).contains("only 8"));
        assert!(with(&[2], &[2], 0, &eight).contains("only 8"));
        assert!(with(&[2], &[1], -1, &eight).contains("offset -1 is negative"));
        assert!(with(&[2], &[-1], 1, &eight).contains("stride -1 is negative"));
        assert!(with(&[-2], &[1], 0, &eight).contains("size -2 is negative"));
        assert!(with(&[2], &[1, 1], 0, &eight).contains("1 sizes but 2 strides"));
    }

    #[test]
    fn whose_sizes_overflow() {
        let eight = [0; 8];
        assert!(with(&[2], &[i64::MAX], 1, &eight).contains("overflow"));
        assert!(with(&[i64::MAX, i64::MAX], &[0, 0], 0, &eight).contains("overflow"));
        let expanded = with(&[1 << 29], &[0], 0, &eight);
        assert!(expanded.contains("expand to 2147483648 bytes from the 8 that are there"), "{expanded}");
        assert!(with(&[1 << 40], &[0], 0, &eight).contains("expand to"));
        assert!(with(&[2], &[1], i64::MAX, &eight).contains("overflow"));
    }

    #[test]
    fn that_are_not_there() {
        assert!(with(&[2], &[1], 0, &[]).contains("it has no data: it was on the meta device"));
        let mut entries = entries(&Json::default().text());
        let config = r#"{"config": {"w": {"path_name": "../../x", "is_param": true, "use_pickle": false, "tensor_meta": null}}}"#;
        entries.push(Entry::new("m/data/weights/model_weights_config.json", config));
        assert!(read(write(&entries)).is_ok(), "nobody asks for it");
    }

    #[test]
    fn with_unknown_types() {
        let bytes = Json::with_weight(r#"{"as_int": 2}"#, r#"{"as_int": 1}"#, r#"{"as_int": 0}"#, &[0; 8]);
        let swap = |from: &str, to: &str| {
            // Only the configuration, which comes last.
            let at = bytes.windows(from.len()).rposition(|window| window == from.as_bytes()).unwrap();
            let mut bytes = bytes.clone();
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
            error(bytes)
        };
        assert!(swap("\"dtype\": 7", "\"dtype\": 0").contains("unknown element type 0"));
        assert!(swap("\"layout\": 7", "\"layout\": 1").contains("sparse_coo"));
    }
}

mod pickles {
    use super::*;

    /// An archive of torch 2.8 whose weights are this pickle.
    fn with(pickle: &[u8]) -> Result<Program, Error> {
        let inner = write(&[Entry::new("archive/data.pkl", pickle), Entry::new("archive/data/0", vec![0; 8])]);
        let json = Json {
            inputs: r#"{"as_tensor": {"name": "w"}}"#.to_owned(),
            nodes: relu("w", "y"),
            input_specs: r#"{"parameter": {"arg": {"name": "w"}, "parameter_name": "w"}}"#.to_owned(),
            ..Json::default()
        };
        let mut entries = entries(&json.text());
        entries.push(Entry::new("m/data/weights/model.pt", inner));
        read(write(&entries))
    }

    fn error(pickle: &[u8]) -> String {
        with(pickle).unwrap_err().to_string()
    }

    /// `{'w': _rebuild_tensor_v2(storage, offset, sizes, strides, False, {})}`
    fn tensor(size: u8) -> Vec<u8> {
        let mut pickle =
            b"\x80\x02}X\x01\x00\x00\x00wctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storage".to_vec();
        pickle.extend(b"ctorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x02tQK\x00");
        pickle.extend([b'K', size, 0x85, b'K', 1, 0x85, 0x89, b'}', b't', b'R', b's', b'.']);
        pickle
    }

    #[test]
    fn a_good_one() {
        let program = with(&tensor(2)).unwrap();
        assert_eq!(program.weights[0].weight.sizes, [2]);
    }

    #[test]
    fn what_they_call_is_not_called() {
        let text = error(b"\x80\x02}X\x01\x00\x00\x00wcos\nsystem\nX\x02\x00\x00\x00ls\x85Rs.");
        assert!(text.contains("it was saved as a Python object (os.system)"), "{text}");
    }

    #[test]
    fn damaged_ones() {
        assert!(error(&tensor(3)).contains("but there are only 8"));
        let text = error(b"\x80\x02]q\x00h\x00a.");
        assert!(
            text.contains("m/data/weights/model.pt: archive/data.pkl: it is not a dictionary of tensors"),
            "{text}"
        );
        assert!(error(b"\x80\x02}").contains("the pickle ends early"));
        assert!(error(b"\x80\x02}X\x01\x00\x00\x00wX\xff\xff\xff\xff").contains("the pickle ends early"));
        // A parameter of a parameter of ... of itself.
        let cycle = b"\x80\x02}X\x01\x00\x00\x00wctorch._utils\n_rebuild_parameter\n]q\x00h\x00a\x85Rs.";
        assert!(with(cycle).is_err());
        let mut marks = vec![0x80, 2];
        marks.extend(vec![b'('; 1_000_000]);
        assert!(error(&marks).contains("the pickle ends early"));
        let mut lists = vec![0x80, 2];
        lists.extend(vec![b']'; 500_000]);
        lists.extend(vec![b'a'; 499_999]);
        lists.push(b'.');
        assert!(error(&lists).contains("not a dictionary"));
    }

    #[test]
    fn cut_short_or_not_an_archive() {
        let mut entries = entries(&Json::default().text());
        entries.push(Entry::new("m/data/weights/model.pt", "not a zip"));
        assert!(super::error(write(&entries)).starts_with("m/data/weights/model.pt: it is not a zip archive"));
    }
}

mod guards {
    use std::time::{Duration, Instant};

    use aten2onnx::export::export_program;
    use aten2onnx::program::Guard;

    use super::super::guards::program;
    use super::*;

    /// What is told of a program with these guards.
    fn messages_of(guards: &[&str]) -> Vec<String> {
        export_program(program(guards, "").unwrap(), &crate::pt2::options()).unwrap().conditions
    }

    #[test]
    fn malformed() {
        for guard in [
            "",
            "(",
            "L['",
            "L['x'].size()[",
            "$h <",
            "$h <> 3",
            "import os",
            "\u{0}",
            "é",
            "L['x'].size()[-1] == 3",
            "$h ==== 3",
        ] {
            let told = messages_of(&[guard]);
            assert_eq!(told.len(), 1, "{guard}");
        }
        let json = |more: &str| read(Json { more: more.to_owned(), ..Json::default() }.archive());
        assert!(json(r#", "guards_code": null"#).unwrap().guards.is_empty());
        assert!(json(r#", "guards_code": [7]"#).unwrap_err().to_string().contains("guards_code[0]"));
        assert!(json(r#", "guards_code": "x""#).is_err());
        let program = json(r#", "guards_code": ["L['x'].size()[0] == 2", "L['y'].size()[0] == 2"]"#).unwrap();
        assert!(matches!(program.guards.as_slice(), [Guard::Sizes(_), Guard::Unknown(_)]), "{:?}", program.guards);
    }

    #[test]
    fn nested_and_large() {
        let start = Instant::now();
        let deep = format!("{}$h{} == 32", "(".repeat(100_000), ")".repeat(100_000));
        let long = format!("$h {}> 0", "+ $w*$h ".repeat(100_000));
        let nots = format!("{}($h == 5)", "not ".repeat(1000));
        let wide = (1..60).map(|i| format!("$h*{i}+$w")).collect::<Vec<_>>();
        let product =
            format!("({}) > 0", wide.iter().take(20).map(|sum| format!("({sum})")).collect::<Vec<_>>().join("*"));
        let powers = format!("$h{} > 0", "**64".repeat(20));
        let chain = format!("$h{}", " < $w".repeat(100));
        for guard in [
            deep,
            long,
            nots,
            product,
            powers,
            chain,
            "$h ** 99999999999 > 0".to_owned(),
            "$h // 0 == $h % 0".to_owned(),
        ] {
            let told = messages_of(&[&guard]);
            assert!(told.iter().all(|text| text.len() < 3000), "{told:?}");
        }
        let path = format!("L{}.size()[0] == 1", "['x']".repeat(500));
        assert_eq!(messages_of(&[&path]).len(), 1);
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }

    #[test]
    fn very_many() {
        let start = Instant::now();
        let unequal: Vec<String> = (1000..21_000).map(|i| format!("$h != {i}")).collect();
        let modulo: Vec<String> = (100..5_000).map(|i| format!("($h*$w + $h) % {i} != 7")).collect();
        let all: Vec<&str> = unequal.iter().chain(&modulo).map(String::as_str).collect();
        let exported = export_program(program(&all, "").unwrap(), &crate::pt2::options()).unwrap();
        assert!(exported.conditions.len() > 20_000);
        // Notes list the first, and say how many there are.
        assert!(exported.notes.iter().all(|note| note.len() < 2000));
        assert!(exported.notes.iter().any(|note| note.contains("more conditions hold")));
        let few = r#""h": {"min_val": 0, "max_val": 4000}"#;
        export_program(program(&all, few).unwrap(), &crate::pt2::options()).unwrap();
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }

    #[test]
    fn contradictions() {
        for guards in
            [&["$h > 31", "$h < 32"][..], &["$h == $h + 1"], &["$h*0 == 1"], &["($h % 2) == 0", "($h % 2) == 1"]]
        {
            assert!(!messages_of(guards).is_empty(), "{guards:?}");
        }
    }

    #[test]
    fn trees_of_arguments() {
        let with = |tree: &str| {
            let good = super::super::guards::json(&["$h < 33"], "");
            let start = good.find("[1, {").unwrap();
            let end = good[start..].find(r#"", "#).map(|at| start + at).unwrap();
            // The tree is a string, which ends at the first quote that is not escaped.
            let end = good[start..]
                .match_indices('"')
                .find(|(at, _)| !good[..start + at].ends_with('\\'))
                .map_or(end, |(at, _)| start + at);
            let json = format!("{}{tree}{}", &good[..start], &good[end..]);
            pt2::read_live("tree.pt2", json.as_bytes(), Default::default(), Default::default()).unwrap().guards
        };
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let leaf = r#"{\"type\": null}"#;
        let wide = format!(r#"[1, {{\"type\": \"t\", \"children_spec\": [{}]}}]"#, vec![leaf; 10_000].join(","));
        // Without a tree the names of inputs decide.
        for tree in ["", "null", "[1]", "7", &deep, &wide, r#"[1, {\"type\": 7}]"#] {
            assert!(matches!(with(tree).as_slice(), [Guard::Sizes(_)]), "{}", &tree[..tree.len().min(50)]);
        }
    }
}
