fn main() {
    let mut s = aten2onnx_codegen::source::Sources::default();
    let mut out = vec![];
    for a in std::env::args().skip(1) {
        let id = s.add(a.clone(), std::fs::read_to_string(&a).unwrap());
        let t = std::time::Instant::now();
        let f = aten2onnx_codegen::syntax::parse_file(&s, id, &mut out);
        let e = t.elapsed();
        println!("{a}: {} items {e:?}", f.items.len());
    }
    println!("{}", aten2onnx_codegen::render::render(&s, &out, std::env::var_os("COLOR").is_some()));
    if std::env::var_os("JSON").is_some() {
        println!("{}", aten2onnx_codegen::render::render_json(&s, &out));
    }
}
