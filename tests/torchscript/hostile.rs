//! Refusals by name, and archives that were made to do harm.

use aten2onnx::options::SourceOptions;

use super::samples;

/// The error for a sample with these inputs.
fn error(name: &str, inputs: &[&str]) -> String {
    let mut source = SourceOptions::default();
    source.inputs = inputs.iter().map(|text| text.parse().unwrap()).collect();
    let bytes = std::fs::read(samples::folder().join(name)).unwrap();
    let error = aten2onnx::frontend::read_bytes(name, bytes, &source, &aten2onnx::rules()).unwrap_err();
    format!("{error}; {}", error.help.as_deref().unwrap_or_default())
}

/// An archive with these entries, in a class with this `forward`.
fn of_code(code: &str, more: &[(&str, &[u8])]) -> Vec<u8> {
    use std::io::Write;
    let pickle = b"\x80\x02c__torch__\nM\n)\x81}(X\x08\x00\x00\x00training\x88ub.";
    let class = format!("class M(Module):\n  training : bool\n{code}");
    let mut entries: Vec<(&str, &[u8])> =
        vec![("data.pkl", pickle), ("code/__torch__.py", class.as_bytes()), ("version", b"3\n")];
    entries.extend(more);
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in entries {
        writer.start_file(format!("m/{name}"), options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn error_of_code(code: &str) -> String {
    let result =
        aten2onnx::frontend::read_bytes("m.pt", of_code(code, &[]), &SourceOptions::default(), &aten2onnx::rules());
    result.unwrap_err().to_string()
}

#[test]
fn what_cannot_be_read_is_refused_by_name() {
    assert!(error("mobile_flatbuffer.ptl", &[]).contains("a flatbuffer of the lite interpreter"));
    assert!(error("optimized_cnn.pt", &[]).contains("its weights are not in the file"));
    let text = error("script_for.pt", &[]);
    assert!(text.contains("`forward(x: Tensor, n: int) -> Tensor`"), "{text}");
    assert!(text.contains("--input \"n:int\""), "{text}");
    assert!(error("script_for.pt", &["y:f32[1]"]).contains("has no input `y`"));
    let old = of_code("", &[("model.json", b"{}")]);
    let text =
        aten2onnx::frontend::read_bytes("m.pt", old, &SourceOptions::default(), &aten2onnx::rules()).unwrap_err();
    assert!(text.to_string().contains("torch 1.0 or 1.1"));
}

#[test]
fn floats_without_a_dtype_have_the_default_one() {
    use aten2onnx::Dtype;
    let code = "  def forward(self) -> Tensor:\n    return torch.add(torch.tensor(1.5), torch.ones([2]))\n";
    for dtype in [None, Some(Dtype::Float64), Some(Dtype::Bfloat16)] {
        let mut source = SourceOptions::default();
        source.default_dtype = dtype;
        let program =
            aten2onnx::frontend::read_bytes("m.pt", of_code(code, &[]), &source, &aten2onnx::rules()).unwrap();
        let dtypes: Vec<Dtype> = program.graph.tensors.values().map(|meta| meta.dtype).collect();
        assert!(dtypes.len() >= 2);
        assert!(dtypes.iter().all(|found| *found == dtype.unwrap_or(Dtype::Float32)), "{dtypes:?}");
    }
}

#[test]
fn endless_work_ends_in_an_error() {
    let forever = "  def forward(self) -> int:\n    a = True\n    while a:\n      b = 1\n    return 1\n";
    assert!(error_of_code(forever).contains("never ends"));
    let without_change = "  def forward(self) -> int:\n    a = True\n    b = 1\n    while a:\n      b = torch.add(b, 1)\n      c = 3\n      a = torch.gt(c, 2)\n    return b\n";
    assert!(error_of_code(without_change).contains("never ends"));
    let counting = "  def forward(self) -> int:\n    a = True\n    b = 1\n    while a:\n      b = torch.add(b, 1)\n      a = torch.gt(b, 0)\n    return b\n";
    assert!(error_of_code(counting).contains("rounds"));
    // Refused before the first round: a body that fails would say something else.
    let long = "  def forward(self) -> int:\n    for i in range(9223372036854775807):\n      b = torch.neg(None)\n    return 1\n";
    assert!(error_of_code(long).contains("rounds"));
    let recursion = "  def forward(self) -> int:\n    return (self).forward()\n";
    assert!(error_of_code(recursion).contains("nested"));
    let text = "  def forward(self) -> str:\n    s = \"abc\"\n    n = 1\n    a = True\n    while a:\n      s = torch.add(s, s)\n      n = torch.add(n, 1)\n      a = torch.gt(n, 0)\n    return s\n";
    assert!(error_of_code(text).contains("string is too long"));
    let list = "  def forward(self) -> List[int]:\n    s = [1, 2]\n    n = 1\n    a = True\n    while a:\n      s = torch.add(s, s)\n      n = torch.add(n, 1)\n      a = torch.gt(n, 0)\n    return s\n";
    assert!(error_of_code(list).contains("list is too long"), "{}", error_of_code(list));
}
